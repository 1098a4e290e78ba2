//! Bytes to and from descriptors, and files on their way from the page cache.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, ErrorKind};
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

use libc::{c_int, c_void};

use super::retry;

/// No address, for the system calls behind `recv` and `send`.
const NO_ADDRESS: *const c_void = std::ptr::null();

/// Receives what is there.
///
/// This and [`send`] pass by the C library's functions: those are points at which a thread can be cancelled, for which
/// they execute two atomic instructions per call in a process with several threads.
#[inline]
pub(crate) fn recv(fd: &OwnedFd, destination: &mut [u8]) -> io::Result<usize> {
    let (fd, length) = (fd.as_raw_fd(), destination.len());
    let pointer = destination.as_mut_ptr();
    // SAFETY: the kernel writes at most `length` bytes to the slice, and no address.
    retry(|| unsafe {
        libc::syscall(libc::SYS_recvfrom, fd, pointer, length, 0, NO_ADDRESS, NO_ADDRESS) as isize
    })
}

/// Sends what the kernel accepts.
#[inline]
pub(crate) fn send(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    let (pointer, length) = (bytes.as_ptr(), bytes.len());
    // SAFETY: the kernel only reads the slice, and no address.
    retry(|| unsafe {
        libc::syscall(
            libc::SYS_sendto,
            fd,
            pointer,
            length,
            libc::MSG_NOSIGNAL,
            NO_ADDRESS,
            0,
        ) as isize
    })
}

/// Slices that one [`send_vectored`] takes at most.
pub(crate) const VECTORS_MAX: usize = 64;

/// Sends several slices at once; `more` says that other bytes follow at once, so that no short packet leaves.
pub(crate) fn send_vectored(fd: &OwnedFd, parts: &[io::IoSlice<'_>], more: bool) -> io::Result<usize> {
    // SAFETY: all zeroes is a valid header that names no memory.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    // `IoSlice` is guaranteed to have the layout of `iovec`; the kernel does not write to either.
    header.msg_iov = parts.as_ptr().cast_mut().cast();
    header.msg_iovlen = parts.len().min(VECTORS_MAX) as _;
    let flags = libc::MSG_NOSIGNAL | if more { libc::MSG_MORE } else { 0 };
    // SAFETY: `header` names `msg_iovlen` slices of `parts`, which live through the call and are only read.
    retry(|| unsafe { libc::sendmsg(fd.as_raw_fd(), &raw const header, flags) })
}

/// Sends a range of a file. Zero means that the file ends before `offset`.
pub(crate) fn send_file(fd: &OwnedFd, file: &File, offset: u64, length: usize) -> io::Result<usize> {
    let mut offset = libc::off_t::try_from(offset).map_err(|_| ErrorKind::InvalidInput)?;
    // SAFETY: `offset` lives through the call; both descriptors are open.
    retry(|| unsafe { libc::sendfile(fd.as_raw_fd(), file.as_raw_fd(), &raw mut offset, length) })
}

/// Whether the byte of a file at `offset` can be read without waiting for the device. True beyond the end, on errors, and of
/// file systems that cannot tell, since a read tells more.
pub(crate) fn is_cached(file: BorrowedFd<'_>, offset: u64) -> bool {
    let Ok(offset) = libc::off_t::try_from(offset) else {
        return true;
    };
    let mut byte = 0_u8;
    let part = libc::iovec {
        iov_base: (&raw mut byte).cast(),
        iov_len: 1,
    };
    // SAFETY: the kernel writes one byte to `byte`, which lives through the call.
    let result =
        retry(|| unsafe { libc::preadv2(file.as_raw_fd(), &raw const part, 1, offset, libc::RWF_NOWAIT) });
    !matches!(result, Err(error) if error.kind() == ErrorKind::WouldBlock)
}

/// Asks the kernel to read a range of a file into the page cache. It is a hint, so errors do not matter.
pub(crate) fn will_need(file: BorrowedFd<'_>, offset: u64, length: u64) {
    if let (Ok(offset), Ok(length)) = (offset.try_into(), length.try_into()) {
        // SAFETY: takes no memory.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), offset, length, libc::POSIX_FADV_WILLNEED) };
    }
}

/// How many of a file's `pages` pages from `offset` on, a multiple of the page size, are in the page cache without a gap; all
/// if the kernel does not tell.
pub(crate) fn cached_pages(file: BorrowedFd<'_>, offset: u64, pages: u64) -> u64 {
    let (Ok(offset), Ok(count)) = (libc::off_t::try_from(offset), usize::try_from(pages)) else {
        return pages;
    };
    let length = count * 4096;
    // SAFETY: the kernel chooses an address that is free; the mapping is private, read-only and not used as memory.
    let map = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ,
            libc::MAP_PRIVATE,
            file.as_raw_fd(),
            offset,
        )
    };
    if map == libc::MAP_FAILED {
        return pages;
    }
    let mut present = vec![0_u8; count];
    // SAFETY: the range was mapped above, and `present` has a byte for each of its pages.
    let result = unsafe { libc::mincore(map, length, present.as_mut_ptr().cast()) };
    // SAFETY: the range was mapped above, and no reference into it exists.
    unsafe { libc::munmap(map, length) };
    match result {
        0 => present.iter().take_while(|&&page| page & 1 != 0).count() as u64,
        _ => pages,
    }
}

/// Reads from what is no socket.
pub(crate) fn read(fd: &OwnedFd, destination: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the kernel writes at most `destination.len()` bytes to the slice.
    retry(|| unsafe { libc::read(fd.as_raw_fd(), destination.as_mut_ptr().cast(), destination.len()) })
}

/// Writes several slices at once to a descriptor other than a socket. If the reading end is closed this raises `SIGPIPE`, which there is no flag
/// against: the process has to ignore it.
pub(crate) fn write_vectored(fd: &OwnedFd, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
    let count = parts.len().min(VECTORS_MAX) as c_int;
    // SAFETY: `IoSlice` is guaranteed to have the layout of `iovec`; the slices live through the call and are only read.
    retry(|| unsafe { libc::writev(fd.as_raw_fd(), parts.as_ptr().cast(), count) })
}

/// Ends our side of a connection: the peer reads an end after what was sent.
pub(crate) fn shutdown_write(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: takes no memory.
    retry(|| unsafe { libc::shutdown(fd.as_raw_fd(), libc::SHUT_WR) as isize }).map(drop)
}
