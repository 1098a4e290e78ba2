//! Processes seen through the operating system: their end, their memory, their limits.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// The signals that users send to the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Drain and exit.
    Terminate,
    /// Read configuration and certificates again.
    Hangup,
    /// Control-C of a terminal.
    Interrupt,
}

impl Signal {
    fn number(self) -> i32 {
        match self {
            Signal::Terminate => libc::SIGTERM,
            Signal::Hangup => libc::SIGHUP,
            Signal::Interrupt => libc::SIGINT,
        }
    }
}

/// Sends a signal to a process that the caller has started and not reaped yet.
///
/// # Panics
/// If the process does not exist.
pub fn send_signal(pid: u32, signal: Signal) {
    // SAFETY: kill takes plain numbers; `pid` is a child that has not been reaped, so it names no other process.
    let done = unsafe { libc::kill(pid.cast_signed(), signal.number()) };
    assert_eq!(
        done,
        0,
        "signal {signal:?} to {pid}: {}",
        std::io::Error::last_os_error()
    );
}

/// Waits until the child has ended, without reaping it. Returns false if it still runs after this time.
pub(crate) fn ended_within(pid: u32, patience: Duration) -> bool {
    // SAFETY: pidfd_open takes plain numbers and returns a descriptor or -1.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let fd = i32::try_from(fd).expect("a descriptor is small");
    assert!(fd >= 0, "pidfd_open({pid}): {}", std::io::Error::last_os_error());
    // SAFETY: the descriptor is new, so this is its only owner.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut wanted = libc::pollfd {
        fd: fd.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let milliseconds = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: one pollfd is passed and its count says one; it lives until the call returns.
    let ready = unsafe { libc::poll(&raw mut wanted, 1, milliseconds) };
    ready == 1
}

/// Raises this process's limit of open files to the hard limit and returns it. Children inherit it.
///
/// # Panics
/// If the limit can't be read.
pub fn raise_open_files() -> usize {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the struct is writable and of the type that the call expects.
    let read = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    assert_eq!(read, 0, "{}", std::io::Error::last_os_error());
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: the struct is initialised; the soft limit asked for is the hard limit, which is always allowed.
    let raised = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    assert_eq!(raised, 0, "{}", std::io::Error::last_os_error());
    usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
}

/// A field of the process's status in bytes, such as `VmRSS` (memory now) or `VmHWM` (its peak).
pub(crate) fn memory(pid: u32, field: &str) -> usize {
    let status =
        std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the status of a live process");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
        .expect("the field");
    let kilobytes: usize = line
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .expect("a number of kB");
    kilobytes * 1024
}
