//! Every system call of the loop, and nothing else: another backend would be another copy of this folder.
//!
//! **Invariant:** functions here keep no state and make one call each (but for setting up a socket); `EINTR` never
//! leaves this module.
#![allow(unsafe_code)]

mod address;
mod bytes;
mod events;
mod sockets;

use std::io::{self, ErrorKind};
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use libc::c_int;

pub(crate) use address::{local_address, local_path, peer_address};
pub(crate) use bytes::{
    VECTORS_MAX, cached_pages, is_cached, read, recv, send, send_file, send_vectored, shutdown_write,
    will_need, write_vectored,
};
pub(crate) use events::{
    BROKEN, Event, GONE, IN, OUT, block_signals, epoll, epoll_add, epoll_remove, epoll_wait, event_fd,
    event_notify, signal_fd, signal_read,
};
#[cfg(test)]
pub(crate) use sockets::is_no_delay;
pub(crate) use sockets::{
    SocketOption, accept, bind, connect, is_listening, listen, pending_error, set_congestion_control,
    set_option, socket, unread, unsent,
};

/// Turns the usual `-1 and errno` into a result, again after `EINTR`.
fn retry(mut call: impl FnMut() -> isize) -> io::Result<usize> {
    loop {
        let result = call();
        if result >= 0 {
            return Ok(result as usize);
        }
        let error = io::Error::last_os_error();
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn owned(call: impl FnMut() -> isize) -> io::Result<OwnedFd> {
    let fd = retry(call)? as RawFd;
    // SAFETY: the call that has just succeeded made this descriptor, and no other code knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Has calls on this descriptor, and on all its copies, return rather than wait.
pub(crate) fn set_nonblocking(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: takes no memory.
    let flags = retry(|| unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) as isize })? as c_int;
    // SAFETY: takes no memory.
    retry(|| unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) as isize })
        .map(drop)
}

/// Has the descriptor closed when the process runs another program.
pub(crate) fn set_close_on_exec(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: takes no memory.
    retry(|| unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) as isize }).map(drop)
}

/// Keeps this thread on one processor.
pub(crate) fn pin_to(cpu: usize) -> io::Result<()> {
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(ErrorKind::InvalidInput.into());
    }
    // SAFETY: all zeroes is the empty set of processors, and `cpu` lies within the set, as checked.
    let set = unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        set
    };
    // SAFETY: the kernel reads the set, whose size it is told.
    retry(|| unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) as isize }).map(drop)
}

/// Raises the number of files that may be open to what the hard limit allows, and answers it.
pub(crate) fn raise_open_files() -> io::Result<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the kernel writes to `limit`.
    retry(|| unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) as isize })?;
    if limit.rlim_cur < limit.rlim_max {
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: the kernel reads `limit`.
        retry(|| unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) as isize })?;
    }
    Ok(limit.rlim_cur)
}
