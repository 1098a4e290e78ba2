//! Every system call that the standard library does not have: epoll, CPU clocks, affinity, the open-file limit.
//!
//! The generator has its own event loop on purpose: a measurement of `io` must not share its faults, and may have to spin.
#![allow(unsafe_code)]

use crate::Error;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Readiness of sockets, level-triggered.
pub(crate) struct Poll {
    epoll: OwnedFd,
    events: Vec<libc::epoll_event>,
}

impl Poll {
    pub(crate) fn new(events_max: usize) -> Result<Poll, Error> {
        // SAFETY: takes no pointers.
        let fd = check("epoll_create1", unsafe {
            libc::epoll_create1(libc::EPOLL_CLOEXEC)
        })?;
        // SAFETY: the descriptor is new, so this is its only owner.
        let epoll = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Poll {
            epoll,
            events: vec![libc::epoll_event { events: 0, u64: 0 }; events_max],
        })
    }

    /// Registers a socket for input under a token.
    pub(crate) fn add(&self, fd: BorrowedFd<'_>, token: usize) -> Result<(), Error> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, false)
    }

    /// Adds or removes interest in room to write.
    pub(crate) fn interest(&self, fd: BorrowedFd<'_>, token: usize, write: bool) -> Result<(), Error> {
        self.control(libc::EPOLL_CTL_MOD, fd, token, write)
    }

    fn control(&self, operation: i32, fd: BorrowedFd<'_>, token: usize, write: bool) -> Result<(), Error> {
        let events = libc::EPOLLIN | if write { libc::EPOLLOUT } else { 0 };
        let mut event = libc::epoll_event {
            events: events as u32,
            u64: token as u64,
        };
        // SAFETY: both descriptors are open and `event` lives through the call.
        let done = unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), operation, fd.as_raw_fd(), &mut event) };
        check("epoll_ctl", done).map(drop)
    }

    /// Waits for readiness and returns the number of events; [`token`](Self::token) returns each.
    pub(crate) fn wait(&mut self, timeout_ms: i32) -> Result<usize, Error> {
        let (events, room) = (self.events.as_mut_ptr(), self.events.len() as i32);
        // SAFETY: `events` points to `room` events that live through the call.
        let count = unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events, room, timeout_ms) };
        match check("epoll_wait", count) {
            Ok(count) => Ok(count as usize),
            Err(Error::System { source, .. }) if source.kind() == io::ErrorKind::Interrupted => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// The token of one of the events that the last `wait` found.
    pub(crate) fn token(&self, event: usize) -> usize {
        self.events[event].u64 as usize
    }
}

/// CPU time of a process and all its threads so far; `None` without such a process.
pub(crate) fn process_cpu(pid: u32) -> Option<Duration> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: `clock` lives through the call.
    let found = unsafe { libc::clock_getcpuclockid(pid as libc::pid_t, &mut clock) };
    if found == 0 { read_clock(clock) } else { None }
}

/// CPU time of this thread so far.
pub(crate) fn thread_cpu() -> Duration {
    read_clock(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or_default()
}

fn read_clock(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` lives through the call.
    let done = unsafe { libc::clock_gettime(clock, &mut time) };
    (done == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// Binds the calling thread to one CPU.
pub(crate) fn pin(cpu: usize) -> Result<(), Error> {
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(Error::Option {
            option: "--pin",
            problem: format!("there is no CPU {cpu}"),
        });
    }
    // SAFETY: a cpu_set_t is plain bits, all zero is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `cpu` is below CPU_SETSIZE.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: `set` has the length that is passed with it.
    let done = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) };
    check("sched_setaffinity", done).map(drop)
}

/// Raises the limit of open files to the hard limit, since every connection is one, and returns it.
pub(crate) fn raise_file_limit() -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` lives through the call.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } == 0 {
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: as above. If it is refused, connecting fails later and names the reason.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
    }
    limit.rlim_cur
}

/// Gives the calling thread a file table of its own, so that the limit of open files holds for each thread by itself.
pub(crate) fn own_file_table() -> Result<(), Error> {
    // SAFETY: takes no pointers. Descriptors that this thread has, it has in the copy too; those that it opens from now
    // on are used by no other thread.
    check("unshare", unsafe { libc::unshare(libc::CLONE_FILES) }).map(drop)
}

/// Gives the scheduler's group of this session the highest weight, where the kernel groups sessions and permits it, so
/// that other sessions disturb a measurement less.
pub(crate) fn raise_weight() {
    let _ = fs::write("/proc/self/autogroup", "-20");
}

fn check(call: &'static str, result: i32) -> Result<i32, Error> {
    if result < 0 {
        Err(Error::System {
            call,
            source: io::Error::last_os_error(),
        })
    } else {
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_process_clock_counts_its_own_work() {
        let pid = std::process::id();
        let before = process_cpu(pid).expect("own process");
        let mut number = 1u64;
        while process_cpu(pid).expect("own process") < before + Duration::from_millis(2) {
            number = std::hint::black_box(number.wrapping_mul(3));
        }
        assert!(thread_cpu() > Duration::ZERO);
    }

    #[test]
    fn a_missing_process_has_no_clock() {
        // Linux gives no process a number above 2^22.
        assert_eq!(process_cpu(5_000_000), None);
    }

    #[test]
    fn poll_reports_input_and_room() {
        let (mut one, other) = UnixStream::pair().expect("pair");
        let mut poll = Poll::new(4).expect("epoll");
        poll.add(other.as_fd(), 17).expect("add");
        assert_eq!(poll.wait(0).expect("wait"), 0);
        one.write_all(b"x").expect("write");
        assert_eq!(poll.wait(1000).expect("wait"), 1);
        assert_eq!(poll.token(0), 17);
        poll.add(one.as_fd(), 18).expect("add");
        poll.interest(one.as_fd(), 18, true).expect("modify");
        assert_eq!(poll.wait(1000).expect("wait"), 2);
    }
}
