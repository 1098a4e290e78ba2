//! Raw system calls, the only calls that a child may make while it shares its parent's memory.
//!
//! Libc's wrappers write `errno`, which is thread-local memory that the child shares with a thread of its parent, and some take
//! locks. These do neither: a call is one instruction, and its result is a number.
//!
//! **Invariant:** nothing here allocates, panics, or touches memory other than what it is given.
#![allow(unsafe_code)]

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::{clone_onto, syscall};
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{clone_onto, syscall};

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("spawn has system-call stubs for x86-64 and aarch64 alone; add a file like sys/x86_64.rs");

/// The entry point of a new process. It never returns, because its stack has no caller.
pub(crate) type Entry = unsafe extern "C" fn(usize) -> !;

/// The kernel's signal sets have eight bytes; libc's may be larger.
pub(crate) const SIGNAL_SET_SIZE: usize = 8;

/// The error number in a result: results from -4095 to -1 are errors.
#[inline(always)]
pub(crate) const fn failure(answer: isize) -> Option<i32> {
    if answer < 0 && answer >= -4095 {
        Some(-answer as i32)
    } else {
        None
    }
}

/// Replaces this thread's signal mask and returns the old one. Unlike libc's function, it also blocks the signals that libc
/// reserves for itself.
pub(crate) fn exchange_signal_mask(mask: u64) -> u64 {
    let mut old = 0_u64;
    let arguments = [
        libc::SIG_SETMASK as usize,
        (&raw const mask) as usize,
        (&raw mut old) as usize,
        SIGNAL_SET_SIZE,
        0,
        0,
    ];
    // SAFETY: both sets live through the call and have the size that is given; the call cannot fail then.
    unsafe { syscall(libc::SYS_rt_sigprocmask as usize, arguments) };
    old
}

/// This thread's signal mask.
pub(crate) fn signal_mask() -> u64 {
    let mut mask = 0_u64;
    let arguments = [0, 0, (&raw mut mask) as usize, SIGNAL_SET_SIZE, 0, 0];
    // SAFETY: no new mask is given, so nothing is read; the old one is written to eight bytes of ours.
    unsafe { syscall(libc::SYS_rt_sigprocmask as usize, arguments) };
    mask
}

/// The kernel's own signal action, which is not libc's.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Action {
    pub(crate) handler: usize,
    pub(crate) flags: usize,
    #[cfg(target_arch = "x86_64")]
    restorer: usize,
    mask: u64,
}

impl Action {
    #[inline(always)]
    pub(crate) const fn new(handler: usize) -> Action {
        Action {
            handler,
            flags: 0,
            #[cfg(target_arch = "x86_64")]
            restorer: 0,
            mask: 0,
        }
    }
}
