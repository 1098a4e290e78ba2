//! Signals that end the measurement. The files are removed before the program ends.
#![allow(unsafe_code)]

use crate::Error;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// The signal that arrived; 0 for none.
static CAUGHT: AtomicI32 = AtomicI32::new(0);

/// The number of signals that arrived.
static COUNT: AtomicU32 = AtomicU32::new(0);
/// This many signals end the program at once, in case the disk hangs. Two are not enough: `timeout` sends each one twice.
const COUNT_MAX: u32 = 3;

extern "C" fn note(signal: i32) {
    CAUGHT.store(signal, Ordering::Relaxed);
    if COUNT.fetch_add(1, Ordering::Relaxed) + 1 >= COUNT_MAX {
        // SAFETY: _exit is allowed in a signal handler.
        unsafe { libc::_exit(128 + signal) };
    }
}

/// Notes SIGINT, SIGTERM and SIGHUP instead of ending at once.
pub(super) fn catch() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: all zeroes is a valid sigaction. The handler only changes atomics and calls _exit, which is safe at any
        // point of the program. A signal that the parent ignores, as nohup does, stays ignored.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
                && action.sa_sigaction != libc::SIG_IGN
            {
                action.sa_sigaction = note as *const () as usize;
                action.sa_flags = libc::SA_RESTART;
                libc::sigaction(signal, &raw const action, std::ptr::null_mut());
            }
        }
    }
}

/// The signal that ended the measurement, if one did.
pub(super) fn caught() -> Option<i32> {
    match CAUGHT.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(signal),
    }
}

/// Fails if a signal ended the measurement.
pub(super) fn check() -> Result<(), Error> {
    caught().map_or(Ok(()), |signal| Err(Error::Interrupted { signal }))
}
