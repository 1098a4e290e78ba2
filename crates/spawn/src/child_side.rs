//! The code that a child runs between `clone` and `execve`: it executes the operations of its block in order.
//!
//! The child shares all memory with its parent, whose other threads keep running, so this code relies on no library.
//!
//! **Invariant:** raw system calls only; no libc, allocation, lock, thread-local variable, panic or drop. It writes to
//! its own stack, its block's report and one slot of the shell's arguments. Optimized, it is one function without calls;
//! otherwise it calls `memcpy`, which touches nothing else either.
#![allow(unsafe_code)]

use std::ffi::c_char;
use std::mem::MaybeUninit;

use libc::{
    EACCES, EINVAL, ENODEV, ENOENT, ENOEXEC, ENOSYS, ENOTDIR, ESRCH, ESTALE, ETIMEDOUT, F_DUPFD_CLOEXEC,
    F_SETFD, FD_CLOEXEC, O_CLOEXEC, O_DIRECTORY, O_RDONLY, O_WRONLY,
};

use crate::block::{Block, Operation};
use crate::stage::Stage;
use crate::sys::{self, Action, SIGNAL_SET_SIZE, failure};

/// The stage that failed, its subject, and the error.
type Failure = (Stage, i32, i32);

/// The highest signal number.
const SIGNALS: usize = 64;
const CLOSE_RANGE_UNSHARE: usize = 2;
const CLOSE_RANGE_CLOEXEC: usize = 4;
/// Version 3 of the kernel's capability sets: two words of 32 bits for each set.
const CAPABILITY_VERSION: u32 = 0x2008_0522;

/// Executes the block at this address and then the program, or reports the error and exits with status 127.
///
/// # Safety
/// To be called in a child that has a stack of its own, with the address of a [`Block`] that obeys its invariant.
pub(crate) unsafe extern "C" fn main(block: usize) -> ! {
    // SAFETY: the caller passes a block; other threads write to it only through atomics.
    let block = unsafe { &*(block as *const Block) };
    let (stage, detail, errno) = run(block);
    block.report(stage, detail, errno);
    if block.pipe >= 0 {
        tell(block.pipe, [stage as i32 + 1, detail, errno]);
    }
    loop {
        call(libc::SYS_exit_group, [127, 0, 0, 0, 0]);
    }
}

/// Reports through a pipe, to a parent that does not share this memory.
fn tell(pipe: i32, report: [i32; 3]) {
    let size = size_of_val(&report);
    call(
        libc::SYS_write,
        [pipe as usize, (&raw const report) as usize, size, 0, 0],
    );
}

#[inline(always)]
fn call(number: libc::c_long, arguments: [usize; 5]) -> isize {
    let [a, b, c, d, e] = arguments;
    // SAFETY: every caller in this file passes numbers, or pointers to locals, or pointers from the block, which are good
    // for the call according to the block's invariant.
    unsafe { sys::syscall(number as usize, [a, b, c, d, e, 0]) }
}

/// Returns only if a stage fails.
fn run(block: &Block) -> Failure {
    if block.legacy
        && let Some(failed) = complete_clone(block)
    {
        return failed;
    }
    if block.batch {
        unbatch();
    }
    let mut saved = -1;
    let mut index = 0;
    while index < block.operation_count {
        // SAFETY: there are `operation_count` operations at `operations`.
        let operation = unsafe { &*block.operations.add(index) };
        if let Some(failed) = perform(block, operation, &mut saved) {
            return failed;
        }
        index = index.wrapping_add(1);
    }
    let mask = &raw const block.signal_mask as usize;
    let set = [libc::SIG_SETMASK as usize, mask, 0, SIGNAL_SET_SIZE, 0];
    if let Some(errno) = failure(call(libc::SYS_rt_sigprocmask, set)) {
        return (Stage::SignalMask, 0, errno);
    }
    (Stage::Exec, 0, execute(block))
}

fn perform(block: &Block, operation: &Operation, saved: &mut i32) -> Option<Failure> {
    match *operation {
        Operation::Call {
            number,
            arguments,
            stage,
            detail,
            tolerated,
        } => match failure(call(number as libc::c_long, arguments)) {
            Some(errno) if errno != tolerated => Some((stage, detail, errno)),
            _ => None,
        },
        Operation::Save { from, minimum } => {
            let copy = [from as usize, F_DUPFD_CLOEXEC as usize, minimum as usize, 0, 0];
            let answer = call(libc::SYS_fcntl, copy);
            *saved = answer as i32;
            failure(answer).map(|errno| (Stage::Descriptor, from, errno))
        }
        Operation::Restore { to } => {
            let place = [*saved as usize, to as usize, 0, 0, 0];
            failure(call(libc::SYS_dup3, place)).map(|errno| (Stage::Descriptor, to, errno))
        }
        // A forked child shares no table, and must keep the pipe.
        Operation::Unshare { first } if block.pipe >= 0 => close(first, u32::MAX),
        Operation::Unshare { first } => unshare(first),
        Operation::Close { first, last } => close(first, last),
        Operation::Capabilities { set, narrow } => set_capabilities(set, narrow),
        Operation::CheckParent { parent } => {
            let now = call(libc::SYS_getppid, [0; 5]);
            (now != parent as isize).then_some((Stage::ParentDeath, 0, ESRCH))
        }
    }
}

// ── the program ──────────────────────────────────────────────────────────────────────────────────────────────────

/// Tries the candidates as `execvp` does and returns its error if none can be executed: `EACCES` if any candidate was not
/// permitted.
fn execute(block: &Block) -> i32 {
    let mut denied = false;
    let mut last = ENOENT;
    let mut next = block.candidates;
    loop {
        // SAFETY: the candidates end with a null, at which this stops.
        let candidate = unsafe { *next };
        if candidate.is_null() {
            return if denied { EACCES } else { last };
        }
        last = execute_one(block, candidate);
        match last {
            EACCES => denied = true,
            ENOENT | ENOTDIR | ESTALE | ENODEV | ETIMEDOUT => {}
            fatal => return fatal,
        }
        // SAFETY: this was not the null, so there is one more.
        next = unsafe { next.add(1) };
    }
}

fn execute_one(block: &Block, path: *const c_char) -> i32 {
    let (argv, envp) = (block.argv as usize, block.envp as usize);
    let errno = failure(call(libc::SYS_execve, [path as usize, argv, envp, 0, 0])).unwrap_or(ENOEXEC);
    if errno != ENOEXEC || block.shell_argv.is_null() {
        return errno;
    }
    // SAFETY: the shell's arguments begin with its path and the slot for the file; only this child accesses them.
    let shell = unsafe {
        *block.shell_argv.add(1) = path;
        *block.shell_argv
    };
    let shelled = [shell as usize, block.shell_argv as usize, envp, 0, 0];
    failure(call(libc::SYS_execve, shelled)).unwrap_or(ENOEXEC)
}

// ── scheduling ───────────────────────────────────────────────────────────────────────────────────────────────────

/// Undoes the `SCHED_BATCH` of a spawner's thread. A failure is harmless: the policy is only a hint.
fn unbatch() {
    let priority = 0_i32;
    let pointer = (&raw const priority) as usize;
    call(
        libc::SYS_sched_setscheduler,
        [0, libc::SCHED_OTHER as usize, pointer, 0, 0],
    );
}

// ── capabilities ─────────────────────────────────────────────────────────────────────────────────────────────────

#[repr(C)]
#[derive(Clone, Copy)]
struct CapabilityWord {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

fn set_capabilities(set: u64, narrow: bool) -> Option<Failure> {
    let header = [CAPABILITY_VERSION, 0];
    let zero = CapabilityWord {
        effective: 0,
        permitted: 0,
        inheritable: 0,
    };
    let mut low = [zero, zero];
    let pointers = [(&raw const header) as usize, (&raw mut low) as usize, 0, 0, 0];
    if let Some(errno) = failure(call(libc::SYS_capget, pointers)) {
        return Some((Stage::Capabilities, 0, errno));
    }
    let [mut first, mut second] = low;
    apply(&mut first, set as u32, narrow);
    apply(&mut second, (set >> 32) as u32, narrow);
    let changed = [first, second];
    let pointers = [
        (&raw const header) as usize,
        (&raw const changed) as usize,
        0,
        0,
        0,
    ];
    failure(call(libc::SYS_capset, pointers)).map(|errno| (Stage::Capabilities, 0, errno))
}

fn apply(word: &mut CapabilityWord, set: u32, narrow: bool) {
    word.inheritable = set;
    if narrow {
        word.permitted = set;
        word.effective = set;
    }
}

// ── descriptors ──────────────────────────────────────────────────────────────────────────────────────────────────

fn unshare(first: u32) -> Option<Failure> {
    let last = u32::MAX;
    let range = [first as usize, last as usize, CLOSE_RANGE_UNSHARE, 0, 0];
    match failure(call(libc::SYS_close_range, range)) {
        None => None,
        // Before Linux 5.9, or behind a filter that does not know it.
        Some(ENOSYS | EINVAL | libc::EPERM) => {
            match failure(call(libc::SYS_unshare, [libc::CLONE_FILES as usize, 0, 0, 0, 0])) {
                None => close(first, last),
                Some(errno) => Some((Stage::Close, first as i32, errno)),
            }
        }
        Some(errno) => Some((Stage::Close, first as i32, errno)),
    }
}

fn close(first: u32, last: u32) -> Option<Failure> {
    let range = [first as usize, last as usize, CLOSE_RANGE_CLOEXEC, 0, 0];
    match failure(call(libc::SYS_close_range, range)) {
        None => None,
        // Before Linux 5.11, or behind a filter that does not know it.
        Some(ENOSYS | EINVAL | libc::EPERM) => close_one_by_one(first, last),
        Some(errno) => Some((Stage::Close, first as i32, errno)),
    }
}

/// Offsets in the kernel's directory entries.
const NAME_OFFSET: usize = 19;
const LENGTH_OFFSET: usize = 16;

#[repr(C, align(8))]
struct Entries([u8; 1024]);

fn close_one_by_one(first: u32, last: u32) -> Option<Failure> {
    let path = c"/proc/self/fd".as_ptr() as usize;
    let flags = (O_RDONLY | O_DIRECTORY | O_CLOEXEC) as usize;
    let directory = call(libc::SYS_openat, [libc::AT_FDCWD as usize, path, flags, 0, 0]);
    if let Some(errno) = failure(directory) {
        return Some((Stage::Close, first as i32, errno));
    }
    // Not cleared, because that could call libc.
    let mut entries = MaybeUninit::<Entries>::uninit();
    loop {
        let buffer = entries.as_mut_ptr() as usize;
        let answer = call(libc::SYS_getdents64, [directory as usize, buffer, 1024, 0, 0]);
        if let Some(errno) = failure(answer) {
            return Some((Stage::Close, first as i32, errno));
        }
        if answer == 0 {
            break;
        }
        mark_entries(entries.as_ptr().cast(), answer as usize, first, last);
    }
    call(libc::SYS_close, [directory as usize, 0, 0, 0, 0]);
    None
}

fn mark_entries(bytes: *const u8, length: usize, first: u32, last: u32) {
    let mut at = 0_usize;
    while at < length {
        // SAFETY: the kernel filled `length` bytes with whole entries; each has its length and a name that ends with a 0.
        let (size, name) = unsafe {
            let size = bytes.add(at).add(LENGTH_OFFSET).cast::<u16>().read_unaligned();
            (size, bytes.add(at).add(NAME_OFFSET))
        };
        if let Some(fd) = number(name)
            && fd >= first
            && fd <= last
        {
            call(
                libc::SYS_fcntl,
                [fd as usize, F_SETFD as usize, FD_CLOEXEC as usize, 0, 0],
            );
        }
        at = at.wrapping_add(size as usize);
    }
}

/// Parses a decimal name; `None` for `.` and `..`.
fn number(mut name: *const u8) -> Option<u32> {
    let mut number = 0_u32;
    loop {
        // SAFETY: the caller's name ends with a 0, at which this stops.
        let digit = unsafe { *name };
        match digit {
            0 => return Some(number),
            b'0'..=b'9' => {
                let value = digit.wrapping_sub(b'0') as u32;
                number = number.wrapping_mul(10).wrapping_add(value);
            }
            _ => return None,
        }
        // SAFETY: this was not the 0, so there is one more.
        name = unsafe { name.add(1) };
    }
}

// ── kernels without clone3 ───────────────────────────────────────────────────────────────────────────────────────

/// Does the work of `clone3`: resets signal handlers and enters the control group.
fn complete_clone(block: &Block) -> Option<Failure> {
    reset_handlers().or_else(|| (block.cgroup >= 0).then(|| enter_cgroup(block.cgroup)).flatten())
}

fn reset_handlers() -> Option<Failure> {
    let mut signal = 1_usize;
    while signal <= SIGNALS {
        let mut action = Action::new(libc::SIG_DFL);
        let pointer = (&raw mut action) as usize;
        call(libc::SYS_rt_sigaction, [signal, 0, pointer, SIGNAL_SET_SIZE, 0]);
        if action.handler != libc::SIG_DFL && action.handler != libc::SIG_IGN {
            action.handler = libc::SIG_DFL;
            action.flags = 0;
            let reset = [signal, (&raw const action) as usize, 0, SIGNAL_SET_SIZE, 0];
            if let Some(errno) = failure(call(libc::SYS_rt_sigaction, reset)) {
                return Some((Stage::Handlers, signal as i32, errno));
            }
        }
        signal = signal.wrapping_add(1);
    }
    None
}

fn enter_cgroup(directory: i32) -> Option<Failure> {
    let path = c"cgroup.procs".as_ptr() as usize;
    let flags = (O_WRONLY | O_CLOEXEC) as usize;
    let file = call(libc::SYS_openat, [directory as usize, path, flags, 0, 0]);
    if let Some(errno) = failure(file) {
        return Some((Stage::Cgroup, 0, errno));
    }
    let ourselves = c"0".as_ptr() as usize;
    let answer = call(libc::SYS_write, [file as usize, ourselves, 1, 0, 0]);
    call(libc::SYS_close, [file as usize, 0, 0, 0, 0]);
    failure(answer).map(|errno| (Stage::Cgroup, 0, errno))
}
