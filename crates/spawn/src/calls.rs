//! The parent's system calls, through libc: on descriptors and processes.
//!
//! **Invariant:** each function makes one call and retries it after `EINTR`.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::AtomicU32;
use std::time::Instant;

use libc::c_int;

/// Turns -1 and `errno` into a result; retries after `EINTR`.
pub(crate) fn retry(mut call: impl FnMut() -> isize) -> io::Result<usize> {
    loop {
        let result = call();
        if result >= 0 {
            return Ok(result as usize);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// A descriptor that a call has just made.
pub(crate) fn owned(call: impl FnMut() -> isize) -> io::Result<OwnedFd> {
    let fd = retry(call)? as RawFd;
    // SAFETY: the call has just made this descriptor, so nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// An empty file in memory.
pub(crate) fn memory_file(name: &CStr) -> io::Result<File> {
    // SAFETY: the name lives through the call.
    owned(|| unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) } as isize).map(File::from)
}

/// A counter that a poll can wait for.
pub(crate) fn event_fd() -> io::Result<OwnedFd> {
    // SAFETY: takes no memory.
    owned(|| unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) } as isize)
}

/// Adds one to a counter.
pub(crate) fn notify(counter: &OwnedFd) {
    let one = 1_u64.to_ne_bytes();
    // SAFETY: the kernel reads the eight bytes of `one`. A counter at its greatest, where this fails, wakes as well.
    let _ = retry(|| unsafe { libc::write(counter.as_raw_fd(), one.as_ptr().cast(), one.len()) });
}

/// Sets a counter to zero.
pub(crate) fn clear(counter: &OwnedFd) {
    let mut count = [0_u8; 8];
    // SAFETY: the kernel writes eight bytes at most. It fails when the counter is zero already.
    let _ = retry(|| unsafe { libc::read(counter.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) });
}

/// A copy of a descriptor with a number from `minimum` on.
pub(crate) fn copy_from(fd: BorrowedFd<'_>, minimum: c_int) -> io::Result<OwnedFd> {
    // SAFETY: takes no memory.
    owned(|| unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, minimum) } as isize)
}

/// Closes descriptors from `first` on.
pub(crate) fn close_from(first: c_int) -> io::Result<()> {
    // SAFETY: takes no memory; the caller guarantees that these descriptors are unused.
    let closed = retry(|| unsafe { libc::syscall(libc::SYS_close_range, first, c_int::MAX, 0) as isize });
    if closed.is_ok() {
        return Ok(());
    }
    let names =
        std::fs::read_dir("/proc/self/fd")?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let open: Vec<c_int> = names
        .filter_map(|name| name.parse().ok())
        .filter(|fd| *fd >= first)
        .collect();
    for fd in open {
        // SAFETY: as above.
        unsafe { libc::close(fd) };
    }
    Ok(())
}

/// The flags of a descriptor, if it is one.
pub(crate) fn descriptor_flags(fd: RawFd) -> Option<c_int> {
    // SAFETY: takes no memory.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
    (flags >= 0).then_some(flags)
}

/// Returns whether this is a file in memory, which never blocks its reader.
pub(crate) fn is_memory_file(fd: BorrowedFd<'_>) -> bool {
    // SAFETY: takes no memory. Other files have no seals.
    unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) >= 0 }
}

/// The working directory as an `O_PATH` descriptor.
pub(crate) fn open_working_directory() -> io::Result<OwnedFd> {
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: the path lives through the call.
    owned(|| unsafe { libc::open(c".".as_ptr(), flags) } as isize)
}

/// Shuts a connection down in both directions.
pub(crate) fn shutdown(socket: &OwnedFd) {
    // SAFETY: takes no memory. It fails when the other side has ended it already.
    unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_RDWR) };
}

// ── processes ────────────────────────────────────────────────────────────────────────────────────────────────────

/// A pidfd of a process that has this number.
pub(crate) fn pidfd_open(pid: c_int) -> io::Result<OwnedFd> {
    // SAFETY: takes no memory.
    owned(|| unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as isize)
}

/// Sends a signal to the process behind a pidfd.
pub(crate) fn send_signal(pidfd: BorrowedFd<'_>, signal: c_int) -> io::Result<()> {
    // SAFETY: no information is passed, so no memory.
    retry(|| unsafe {
        let none = std::ptr::null::<libc::siginfo_t>();
        libc::syscall(libc::SYS_pidfd_send_signal, pidfd.as_raw_fd(), signal, none, 0) as isize
    })
    .map(drop)
}

/// Waits for the end of a child and reaps it: the wait status, or `None` if it still runs and `block` is not set.
pub(crate) fn wait(pidfd: BorrowedFd<'_>, block: bool) -> io::Result<Option<i32>> {
    // SAFETY: all zeroes is a valid `siginfo_t`.
    let mut information: libc::siginfo_t = unsafe { MaybeUninit::zeroed().assume_init() };
    let options = libc::WEXITED | libc::__WALL | if block { 0 } else { libc::WNOHANG };
    // SAFETY: the kernel writes one `siginfo_t`.
    retry(|| unsafe {
        libc::waitid(
            libc::P_PIDFD,
            pidfd.as_raw_fd() as libc::id_t,
            &raw mut information,
            options,
        ) as isize
    })?;
    // SAFETY: `waitid` fills these two, or leaves the zeroes when there was nothing to wait for.
    let (pid, status) = unsafe { (information.si_pid(), information.si_status()) };
    Ok((pid != 0).then_some(match information.si_code {
        libc::CLD_EXITED => (status & 0xff) << 8,
        libc::CLD_DUMPED => status | 0x80,
        _ => status,
    }))
}

/// Kills and reaps a child. It must not have been reaped yet, so that the number is still its own.
pub(crate) fn kill_and_reap(pid: c_int) {
    // SAFETY: these take no memory.
    unsafe {
        libc::kill(pid, libc::SIGKILL);
        libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL);
    }
}

/// The kernel's `pidfd_info`, first version, 64 bytes.
#[repr(C)]
#[derive(Default)]
struct PidfdInfo {
    mask: u64,
    cgroup: u64,
    ids: [u32; 11],
    exit_code: i32,
}

const PIDFD_INFO_EXIT: u64 = 1 << 3;
/// `_IOWR(0xff, 11, struct pidfd_info)`.
const PIDFD_GET_INFO: libc::Ioctl = 0xc040_ff0b_u32 as libc::Ioctl;

/// The status of a process that other code has reaped, which Linux provides from 6.15 on.
pub(crate) fn status_after_all(pidfd: BorrowedFd<'_>) -> Option<i32> {
    let mut information = PidfdInfo {
        mask: PIDFD_INFO_EXIT,
        ..PidfdInfo::default()
    };
    let descriptor = pidfd.as_raw_fd();
    // SAFETY: the number of the request says how large the structure is that the kernel reads and writes.
    let done = retry(|| unsafe { libc::ioctl(descriptor, PIDFD_GET_INFO, &raw mut information) as isize });
    (done.is_ok() && information.mask & PIDFD_INFO_EXIT != 0).then_some(information.exit_code)
}

/// This process's dumpable flag: 0, 1 or 2.
pub(crate) fn dumpable() -> c_int {
    // SAFETY: takes no memory.
    unsafe { libc::prctl(libc::PR_GET_DUMPABLE) }
}

/// Sets that flag.
pub(crate) fn set_dumpable(value: c_int) {
    // SAFETY: takes no memory. It fails only for values other than 0 and 1.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, value as libc::c_ulong) };
}

pub(crate) fn is_privileged() -> bool {
    // SAFETY: takes no memory, cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Makes this thread `SCHED_BATCH` if it is `SCHED_OTHER`, so that it does not preempt others on wakeup. Returns whether it did. No
/// privilege is needed.
pub(crate) fn become_batch() -> bool {
    let none = libc::sched_param { sched_priority: 0 };
    // SAFETY: the kernel reads one structure.
    unsafe {
        libc::sched_getscheduler(0) == libc::SCHED_OTHER
            && libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const none) == 0
    }
}

/// Blocks all signals in this thread until dropped, except libc's own. New threads inherit the mask.
pub(crate) struct Blocked(libc::sigset_t);

impl Blocked {
    pub(crate) fn all() -> Blocked {
        let mut all = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the first call fills one set, the second reads it and fills the other; neither can fail.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            Blocked(before.assume_init())
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: one set is read.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

/// Waits on a futex while the word has a value. May return early.
pub(crate) fn futex_wait(word: &AtomicU32, while_value: u32) {
    // SAFETY: the word lives through the call, and no time-out is given.
    unsafe {
        let none = std::ptr::null::<libc::timespec>();
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT,
            while_value,
            none,
        )
    };
}

// ── waiting ──────────────────────────────────────────────────────────────────────────────────────────────────────

/// A descriptor and the events to wait for.
pub(crate) type PollFd = libc::pollfd;

pub(crate) fn poll_for(fd: BorrowedFd<'_>, events: i16) -> PollFd {
    PollFd {
        fd: fd.as_raw_fd(),
        events,
        revents: 0,
    }
}

/// Waits until one of them is ready or the deadline passes; returns whether one is ready.
pub(crate) fn poll(fds: &mut [PollFd], deadline: Option<Instant>) -> io::Result<bool> {
    let ready = retry(|| {
        let timeout = deadline.map(|at| {
            let left = at.saturating_duration_since(Instant::now());
            libc::timespec {
                tv_sec: libc::time_t::try_from(left.as_secs()).unwrap_or(libc::time_t::MAX),
                tv_nsec: left.subsec_nanos().into(),
            }
        });
        let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the kernel reads and writes `fds.len()` entries, and reads the time-out, if there is one.
        unsafe {
            let count = fds.len() as libc::nfds_t;
            libc::ppoll(fds.as_mut_ptr(), count, timeout, std::ptr::null()) as isize
        }
    })?;
    Ok(ready > 0)
}
