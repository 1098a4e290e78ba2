//! Events: `epoll`, and the counters and signals that wake it besides sockets.
#![allow(unsafe_code)]

use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

use libc::c_int;

use super::{owned, retry};

/// A readiness event: what is ready, and the token given at registration.
pub(crate) type Event = libc::epoll_event;

/// Bits of an event.
pub(crate) const IN: u32 = libc::EPOLLIN as u32;
pub(crate) const OUT: u32 = libc::EPOLLOUT as u32;
/// The peer shut its side, or the connection failed: a read must go on to the end to learn which.
pub(crate) const GONE: u32 = (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32;
/// The connection failed or ended both ways: a write must be tried to learn why.
pub(crate) const BROKEN: u32 = (libc::EPOLLHUP | libc::EPOLLERR) as u32;

pub(crate) fn epoll() -> io::Result<OwnedFd> {
    // SAFETY: takes no memory.
    owned(|| unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) } as isize)
}

/// Registers `fd` once and for all, edge-triggered, for everything that can happen to it.
pub(crate) fn epoll_add(epoll: &OwnedFd, fd: BorrowedFd<'_>, token: u64) -> io::Result<()> {
    let events = (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET) as u32;
    let mut event = Event { events, u64: token };
    // SAFETY: `event` lives through the call, and the kernel only reads it.
    retry(|| unsafe {
        libc::epoll_ctl(
            epoll.as_raw_fd(),
            libc::EPOLL_CTL_ADD,
            fd.as_raw_fd(),
            &raw mut event,
        ) as isize
    })
    .map(drop)
}

/// Ends a registration.
pub(crate) fn epoll_remove(epoll: &OwnedFd, fd: RawFd) -> io::Result<()> {
    // SAFETY: to remove takes no event; a number that is not registered is answered with an error.
    retry(|| unsafe {
        libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_DEL, fd, std::ptr::null_mut()) as isize
    })
    .map(drop)
}

/// Waits for events: not at all (zero), for a while rounded up to milliseconds, or until something happens (`None`).
pub(crate) fn epoll_wait(
    epoll: &OwnedFd,
    events: &mut [Event],
    timeout: Option<Duration>,
) -> io::Result<usize> {
    let timeout_ms = match timeout {
        None => -1,
        Some(wait) => wait.as_micros().div_ceil(1000).min(c_int::MAX as u128) as c_int,
    };
    // SAFETY: the kernel writes at most `events.len()` events to the slice, which is borrowed for us alone.
    let result = unsafe {
        libc::epoll_wait(
            epoll.as_raw_fd(),
            events.as_mut_ptr(),
            events.len() as c_int,
            timeout_ms,
        )
    };
    match result {
        0.. => Ok(result as usize),
        // A signal that interrupts the wait is as good as a time-out: the caller's next turn waits again.
        _ => match io::Error::last_os_error() {
            error if error.kind() == ErrorKind::Interrupted => Ok(0),
            error => Err(error),
        },
    }
}

// ── counters and signals ──────────────────────────────────────────────────────────────────────────────────────

/// A counter that a poll can wait for.
pub(crate) fn event_fd() -> io::Result<OwnedFd> {
    // SAFETY: takes no memory.
    owned(|| unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) } as isize)
}

/// Adds one to the counter. It cannot fail in a way that matters: a counter at its greatest wakes as well.
pub(crate) fn event_notify(fd: &OwnedFd) {
    let one = 1_u64.to_ne_bytes();
    // SAFETY: the kernel reads the eight bytes of `one`.
    let _ = retry(|| unsafe { libc::write(fd.as_raw_fd(), one.as_ptr().cast(), one.len()) });
}

fn signal_set(signals: &[i32]) -> io::Result<libc::sigset_t> {
    let mut set = MaybeUninit::uninit();
    // SAFETY: `sigemptyset` initializes the set that it is given, and cannot fail for a valid pointer.
    let mut set = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    };
    for &signal in signals {
        // SAFETY: `set` is initialized and ours.
        retry(|| unsafe { libc::sigaddset(&raw mut set, signal) as isize })?;
    }
    Ok(set)
}

/// Keeps signals from interrupting this thread and those that it starts.
pub(crate) fn block_signals(signals: &[i32]) -> io::Result<()> {
    let set = signal_set(signals)?;
    // SAFETY: `set` is initialized and only read; no old mask is asked for.
    match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// A descriptor from which blocked signals can be read.
pub(crate) fn signal_fd(signals: &[i32]) -> io::Result<OwnedFd> {
    let set = signal_set(signals)?;
    // SAFETY: `set` is initialized and only read.
    owned(|| unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) } as isize)
}

/// The number of the next signal that waits in `fd`.
pub(crate) fn signal_read(fd: &OwnedFd) -> io::Result<i32> {
    let mut information = MaybeUninit::<libc::signalfd_siginfo>::zeroed();
    // SAFETY: the kernel writes at most the size of the structure, any bytes of which are valid.
    retry(|| unsafe {
        libc::read(
            fd.as_raw_fd(),
            information.as_mut_ptr().cast(),
            size_of::<libc::signalfd_siginfo>(),
        )
    })?;
    // SAFETY: it was zeroed, which is valid, before the kernel wrote to it.
    Ok(unsafe { information.assume_init() }.ssi_signo as i32)
}
