//! System calls that the standard library has no function for: signals that are meant for the compiler, and a file in memory.
//!
//! A process that becomes the compiler needs none of it; one that waits for it must pass on what `make` or a shell sends.
//!
//! **Invariant:** a signal is never sent to a process identifier that may belong to another process: the child has not been
//! reaped while its identifier is in `CHILD`.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::FromRawFd;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};

/// The process to pass signals on to; 0 if there is none yet.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// The last signal that arrived.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// Signals that end a program on request.
const FORWARDED: [i32; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// True for a signal that requests an end, false for one that a crash raises.
pub(crate) fn asks_to_end(signal: i32) -> bool {
    ![
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGABRT,
        libc::SIGILL,
        libc::SIGFPE,
    ]
    .contains(&signal)
}

extern "C" fn forward(signal: i32) {
    RECEIVED.store(signal, Ordering::SeqCst);
    let child = CHILD.load(Ordering::SeqCst);
    if child > 0 {
        // SAFETY: `kill` is safe in a signal handler and takes no pointers. The child has not been reaped, see above.
        unsafe { libc::kill(child, signal) };
    }
}

/// Signals go to the child while this value lives.
pub(crate) struct Forwarding {
    previous: [Option<libc::sighandler_t>; FORWARDED.len()],
}

impl Forwarding {
    /// Takes the signals that this process does not ignore.
    pub(crate) fn start() -> Self {
        Self {
            previous: FORWARDED.map(|signal| {
                let handler: extern "C" fn(i32) = forward;
                // SAFETY: `forward` calls only what a signal handler may call.
                let previous = unsafe { libc::signal(signal, handler as libc::sighandler_t) };
                if previous == libc::SIG_IGN {
                    // SAFETY: this puts back what was there.
                    unsafe { libc::signal(signal, libc::SIG_IGN) };
                }
                (previous != libc::SIG_IGN).then_some(previous)
            }),
        }
    }

    /// Waits until `child` ends; also whether a signal was passed on to it.
    pub(crate) fn wait(&self, child: &mut Child) -> io::Result<(ExitStatus, bool)> {
        let id = child.id().cast_signed();
        CHILD.store(id, Ordering::SeqCst);
        let early = RECEIVED.load(Ordering::SeqCst);
        if early != 0 {
            // SAFETY: no pointers; the child has not been reaped.
            unsafe { libc::kill(id, early) };
        }
        // SAFETY: all zeros are a valid value of this plain structure, which the call then fills in.
        let mut end: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: `end` outlives the call. WNOWAIT leaves the child to be reaped below.
        while unsafe {
            libc::waitid(
                libc::P_PID,
                child.id(),
                &raw mut end,
                libc::WEXITED | libc::WNOWAIT,
            )
        } != 0
        {
            let fault = io::Error::last_os_error();
            if fault.kind() != io::ErrorKind::Interrupted {
                return Err(fault);
            }
        }
        CHILD.store(0, Ordering::SeqCst);
        Ok((child.wait()?, RECEIVED.load(Ordering::SeqCst) != 0))
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        for (signal, previous) in FORWARDED.into_iter().zip(self.previous) {
            if let Some(previous) = previous {
                // SAFETY: this puts back what was there.
                unsafe { libc::signal(signal, previous) };
            }
        }
    }
}

/// Ends this process by `signal`, as the child was.
pub(crate) fn end_by(signal: i32) {
    // SAFETY: no pointers; the default action is the kernel's.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// A file in memory, which goes when its last descriptor is closed.
pub(crate) fn unnamed_file() -> io::Result<File> {
    // SAFETY: the name is a literal that ends with a zero byte.
    let descriptor = unsafe { libc::memfd_create(c"qrintf-cc".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and nothing else owns it.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}
