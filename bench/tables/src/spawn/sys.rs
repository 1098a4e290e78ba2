//! System calls of the measured parents: clocks, memory, standard streams.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::time::Duration;

const PAGE: usize = 4096;

/// CPU time, user and system together, since only the sum is exact.
#[derive(Debug, Clone, Copy)]
pub(super) struct Usage {
    pub(super) own: Duration,
    pub(super) children: Duration,
}

/// CPU time of this process and of its reaped children.
pub(super) fn usage() -> Usage {
    let of = |who| {
        // SAFETY: all zeroes is a valid rusage, and getrusage only writes into it.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(who, &raw mut usage);
            usage
        };
        let time = |value: libc::timeval| Duration::new(value.tv_sec as u64, value.tv_usec as u32 * 1000);
        time(usage.ru_utime) + time(usage.ru_stime)
    };
    Usage {
        own: of(libc::RUSAGE_SELF),
        children: of(libc::RUSAGE_CHILDREN),
    }
}

/// Memory in small pages, each of them touched, kept until the process ends.
pub(super) fn touch(bytes: usize) -> io::Result<()> {
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: a new private mapping without other users; each touched byte lies inside it.
    unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let start = libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            flags,
            -1,
            0,
        );
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        for offset in (0..bytes).step_by(PAGE) {
            start.cast::<u8>().add(offset).write_volatile(1);
        }
    }
    Ok(())
}

/// Forbids huge pages for this process and its children: they would make a fork of much memory look cheap, and differ
/// between machines.
pub(super) fn forbid_huge_pages() {
    // SAFETY: no pointers. If the kernel refuses, its default applies.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
}

/// Takes standard input and output for the coordinator's commands and answers. Children get the null device instead.
pub(super) fn take_standard_streams() -> io::Result<(File, File)> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    let take = |fd: i32| {
        // SAFETY: duplicates descriptors by number; this is the only owner of the copy.
        unsafe {
            let copy = libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 10);
            if copy < 0 || libc::dup2(null.as_raw_fd(), fd) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(File::from(OwnedFd::from_raw_fd(copy)))
        }
    };
    Ok((take(0)?, take(1)?))
}

/// Waits until a descriptor can be read.
pub(super) fn await_readable(descriptor: &impl AsFd) -> io::Result<()> {
    let mut poll = libc::pollfd {
        fd: descriptor.as_fd().as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one structure, which outlives the call.
    let result = unsafe { libc::poll(&raw mut poll, 1, -1) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
