//! Copying from mapped files, whose bytes a device may refuse to give.
//!
//! Touching a mapped page that the device cannot read, or that lies behind the end of a file which another program has cut, is a
//! SIGBUS. Only one function of this crate touches mapped bytes: [`append`], which is a few instructions of assembly. The handler of
//! the signal lets it return false if it was interrupted there; a SIGBUS anywhere else goes to the handler that was there before,
//! and ends the process as it did without this module.
//!
//! **Invariant:** no reference to a mapped byte exists. A reference would promise the compiler that the byte can be read.

#![allow(unsafe_code)]

use std::sync::Once;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Appends `length` bytes from `source` on to a buffer. Returns false if they could not be read; the buffer is unchanged then.
///
/// # Safety
/// All of the range is mapped, for reading, until the call returns.
#[inline]
pub(super) unsafe fn append(out: &mut Vec<u8>, source: *const u8, length: usize) -> bool {
    out.reserve(length);
    let end = out.len();
    // SAFETY: the reserved bytes lie behind the end, and the caller vouches for the source. What faults is left half done, behind
    // the end.
    let is_whole = unsafe { copy(out.as_mut_ptr().add(end), source, length) };
    if is_whole {
        // SAFETY: the bytes were written.
        unsafe { out.set_len(end + length) };
    }
    is_whole
}

/// The SIGBUS handler that was there before.
static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(std::ptr::null_mut());

/// Installs the handler, once per process. Without it, a failing device ends the process.
pub(super) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: all fields of the structures are plain numbers, for which zero is valid; the handler does what handlers may do.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let mut before: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut before) != 0 {
                return;
            }
            BEFORE.store(Box::into_raw(Box::new(before)), Ordering::Release);
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
        }
    });
}

extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel gives a handler with SA_SIGINFO the context that it returns to.
    if unsafe { interrupted::leave(&mut *context.cast()) } {
        return;
    }
    // SAFETY: the pointer is null or that of an action that is never freed; its handler is called as the kernel would do.
    unsafe {
        let before = BEFORE.load(Ordering::Acquire);
        match before.as_ref() {
            Some(action) if action.sa_sigaction == libc::SIG_IGN => {}
            Some(action) if action.sa_sigaction != libc::SIG_DFL => {
                if action.sa_flags & libc::SA_SIGINFO != 0 {
                    type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
                    let handler: Handler = std::mem::transmute(action.sa_sigaction);
                    handler(signal, info, context);
                } else {
                    let handler: extern "C" fn(libc::c_int) = std::mem::transmute(action.sa_sigaction);
                    handler(signal);
                }
            }
            _ => {
                // The instruction runs again after the return, and has the default effect.
                let mut default: libc::sigaction = std::mem::zeroed();
                default.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &raw const default, std::ptr::null_mut());
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    #[link_name = "hikyaku_kv_copy"]
    fn copy(to: *mut u8, from: *const u8, length: usize) -> bool;
}

#[cfg(target_arch = "x86_64")]
mod interrupted {
    use std::arch::global_asm;

    // The first and the last bytes overlap if the length is not a multiple of 16.
    global_asm!(
        ".balign 64",
        ".hidden hikyaku_kv_copy",
        ".hidden hikyaku_kv_copy_begin",
        ".hidden hikyaku_kv_copy_end",
        ".hidden hikyaku_kv_copy_failed",
        ".globl hikyaku_kv_copy",
        ".globl hikyaku_kv_copy_begin",
        ".globl hikyaku_kv_copy_end",
        ".globl hikyaku_kv_copy_failed",
        ".type hikyaku_kv_copy, @function",
        "hikyaku_kv_copy:",
        "hikyaku_kv_copy_begin:",
        "cmp rdx, 16",
        "jb 3f",
        "movups xmm1, xmmword ptr [rsi + rdx - 16]",
        "lea rcx, [rdx - 1]",
        "and rcx, -16",
        "lea r8, [rdi + rdx - 16]",
        "add rsi, rcx",
        "add rdi, rcx",
        "neg rcx",
        "jz 2f",
        ".balign 16",
        "1:",
        "movups xmm0, xmmword ptr [rsi + rcx]",
        "movups xmmword ptr [rdi + rcx], xmm0",
        "add rcx, 16",
        "jnz 1b",
        "2:",
        "movups xmmword ptr [r8], xmm1",
        "mov eax, 1",
        "ret",
        "3:",
        "mov rcx, rdx",
        "rep movsb",
        "mov eax, 1",
        "ret",
        "hikyaku_kv_copy_end:",
        "hikyaku_kv_copy_failed:",
        "xor eax, eax",
        "ret",
        ".size hikyaku_kv_copy, . - hikyaku_kv_copy",
    );

    // The function has a second name here: with link-time optimization, a symbol cannot be declared as a function and as data.
    unsafe extern "C" {
        static hikyaku_kv_copy_begin: u8;
        static hikyaku_kv_copy_end: u8;
        static hikyaku_kv_copy_failed: u8;
    }

    /// Lets an interrupted copy return false; false if it was something else that was interrupted.
    pub(super) fn leave(context: &mut libc::ucontext_t) -> bool {
        let at = &mut context.uc_mcontext.gregs[libc::REG_RIP as usize];
        let [begin, end, failed] = [
            &raw const hikyaku_kv_copy_begin,
            &raw const hikyaku_kv_copy_end,
            &raw const hikyaku_kv_copy_failed,
        ]
        .map(|symbol| symbol.addr() as i64);
        let is_ours = (begin..end).contains(at);
        if is_ours {
            // The function has changed neither the stack nor a register that its caller keeps.
            *at = failed;
        }
        is_ours
    }
}

#[cfg(target_arch = "aarch64")]
unsafe extern "C" {
    #[link_name = "hikyaku_kv_copy"]
    fn copy(to: *mut u8, from: *const u8, length: usize) -> bool;
}

#[cfg(target_arch = "aarch64")]
mod interrupted {
    use std::arch::global_asm;

    global_asm!(
        ".balign 64",
        ".hidden hikyaku_kv_copy",
        ".hidden hikyaku_kv_copy_begin",
        ".hidden hikyaku_kv_copy_end",
        ".hidden hikyaku_kv_copy_failed",
        ".globl hikyaku_kv_copy",
        ".globl hikyaku_kv_copy_begin",
        ".globl hikyaku_kv_copy_end",
        ".globl hikyaku_kv_copy_failed",
        ".type hikyaku_kv_copy, %function",
        "hikyaku_kv_copy:",
        "hikyaku_kv_copy_begin:",
        "cmp x2, #16",
        "b.lo 2f",
        "1:",
        "ldr q0, [x1], #16",
        "str q0, [x0], #16",
        "sub x2, x2, #16",
        "cmp x2, #16",
        "b.hs 1b",
        "2:",
        "cbz x2, 4f",
        "3:",
        "ldrb w3, [x1], #1",
        "strb w3, [x0], #1",
        "subs x2, x2, #1",
        "b.ne 3b",
        "4:",
        "mov w0, #1",
        "ret",
        "hikyaku_kv_copy_end:",
        "hikyaku_kv_copy_failed:",
        "mov w0, #0",
        "ret",
        ".size hikyaku_kv_copy, . - hikyaku_kv_copy",
    );

    // The function has a second name here: with link-time optimization, a symbol cannot be declared as a function and as data.
    unsafe extern "C" {
        static hikyaku_kv_copy_begin: u8;
        static hikyaku_kv_copy_end: u8;
        static hikyaku_kv_copy_failed: u8;
    }

    /// Lets an interrupted copy return false; false if it was something else that was interrupted.
    pub(super) fn leave(context: &mut libc::ucontext_t) -> bool {
        let at = &mut context.uc_mcontext.pc;
        let [begin, end, failed] = [
            &raw const hikyaku_kv_copy_begin,
            &raw const hikyaku_kv_copy_end,
            &raw const hikyaku_kv_copy_failed,
        ]
        .map(|symbol| symbol.addr() as u64);
        let is_ours = (begin..end).contains(at);
        if is_ours {
            // The function has changed neither the stack nor a register that its caller keeps.
            *at = failed;
        }
        is_ours
    }
}

/// On other processors a failing device ends the process.
///
/// # Safety
/// `length` bytes can be read at `from` and written at `to`, and the two ranges do not overlap.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn copy(to: *mut u8, from: *const u8, length: usize) -> bool {
    // SAFETY: the caller vouches for both ranges.
    unsafe { std::ptr::copy_nonoverlapping(from, to, length) };
    true
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod interrupted {
    pub(super) fn leave(_: &mut libc::ucontext_t) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn bytes_of_every_length_are_copied() {
        let source: Vec<u8> = (0..200_u8).collect();
        for length in 0..150 {
            for from in 0..20 {
                let mut out = vec![9; 3];
                // SAFETY: the range lies in the vector.
                assert!(unsafe { append(&mut out, source[from..].as_ptr(), length) });
                assert_eq!(out[..3], [9; 3]);
                assert_eq!(out[3..], source[from..][..length]);
            }
        }
    }

    /// The file is cut while it is mapped: without the handler, the process would end here.
    #[test]
    fn a_page_that_cannot_be_read_is_a_failure_and_the_process_goes_on() {
        install();
        let path = std::env::temp_dir().join(format!("hikyaku-guarded-{}", std::process::id()));
        std::fs::write(&path, vec![7; 3 * 4096]).unwrap();
        let file = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .unwrap();
        std::fs::remove_file(&path).unwrap();
        // SAFETY: a new mapping at an address that the kernel chooses.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                3 * 4096,
                libc::PROT_READ,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        assert_ne!(base, libc::MAP_FAILED);
        let base = base.cast::<u8>();
        let mut out = vec![1];
        // SAFETY: the range is mapped.
        assert!(unsafe { append(&mut out, base.add(4000), 8000) });
        assert_eq!(out.len(), 8001);
        file.set_len(2 * 4096).unwrap();
        for (from, length, is_whole) in [
            (4000, 4000, true),
            (4000, 8000, false),
            (8180, 13, false),
            (8184, 8, true),
            (9000, 1, false),
        ] {
            out.truncate(1);
            // SAFETY: the range is mapped.
            let copied = unsafe { append(&mut out, base.add(from), length) };
            assert_eq!(copied, is_whole, "{length} bytes from {from} on");
            assert_eq!(out.len(), if is_whole { 1 + length } else { 1 });
        }
        // SAFETY: nothing refers to the mapping.
        unsafe { libc::munmap(base.cast(), 3 * 4096) };
    }
}
