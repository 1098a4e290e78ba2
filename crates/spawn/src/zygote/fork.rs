//! Making the zygote: the only real fork in this crate, of a process with a single thread and little memory.
#![allow(unsafe_code)]

use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Rules, server};
use crate::process::Process;
use crate::{Error, calls, sys};

/// Forks a zygote that serves on `theirs`, unless this process has other threads.
pub(crate) fn start(theirs: OwnedFd, rules: &Rules) -> Result<Process, Error> {
    let failed = |operation| move |source| Error::ZygoteSocket { operation, source };
    let tasks = fs::read_dir("/proc/self/task").map_err(failed("counting the threads"))?;
    match tasks.count() {
        // SAFETY: this thread has just seen that it is the only one.
        1 => unsafe { fork(theirs, rules) }.map_err(failed("fork")),
        threads => Err(Error::ZygoteThreads { threads }),
    }
}

/// # Safety
/// This thread is the only one of the process.
unsafe fn fork(theirs: OwnedFd, rules: &Rules) -> io::Result<Process> {
    // SAFETY: the only thread forks, so no lock is held by a thread that the child lacks, and the child may run any code.
    let pid = calls::retry(|| unsafe { libc::fork() } as isize)? as libc::pid_t;
    if pid == 0 {
        // A panic must not unwind into what the caller meant to do next.
        let served = catch_unwind(AssertUnwindSafe(|| be_zygote(theirs, rules)));
        // SAFETY: ends the process at once, without flushing the parent's buffers a second time.
        unsafe { libc::_exit(if served.is_ok() { 0 } else { 101 }) };
    }
    drop(theirs);
    let pidfd = calls::pidfd_open(pid).inspect_err(|_| {
        // SAFETY: takes no memory; the child has not been waited for, so the number is still its own.
        unsafe {
            libc::kill(pid, libc::SIGKILL);
            libc::waitpid(pid, std::ptr::null_mut(), 0);
        }
    })?;
    Ok(Process::new(pid, pidfd))
}

fn be_zygote(socket: OwnedFd, rules: &Rules) {
    // The zygote ignores signals to the daemon and ends when the daemon's socket closes. Children have masks of their own.
    sys::exchange_signal_mask(!0);
    // SAFETY: the name is a string; a disposition is set to the default, so that no handler of the daemon's remains and
    // children can be waited for.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, c"zygote".as_ptr());
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
    }
    let Ok(socket) = keep_only(socket) else { return };
    server::serve(socket, rules);
}

/// Closes all descriptors but one, so that the zygote keeps no listener or pipe of the daemon open.
fn keep_only(socket: OwnedFd) -> io::Result<OwnedFd> {
    const KEPT: RawFd = 3;
    let socket = socket.into_raw_fd();
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    let copy = calls::copy_from(null.as_fd(), KEPT + 1)?;
    drop(null);
    // SAFETY: the owners of these descriptors exist only in the daemon; this process runs no other code.
    unsafe {
        if socket != KEPT {
            libc::dup3(socket, KEPT, libc::O_CLOEXEC);
        }
        for standard in 0..3 {
            libc::dup2(copy.as_raw_fd(), standard);
        }
    }
    // With all the others.
    let _ = copy.into_raw_fd();
    calls::close_from(KEPT + 1)?;
    // SAFETY: the number is open, and nothing else in this process uses it.
    Ok(unsafe { OwnedFd::from_raw_fd(KEPT) })
}
