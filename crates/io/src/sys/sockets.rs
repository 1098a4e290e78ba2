//! Making sockets, connecting them, and their options.
#![allow(unsafe_code)]

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use libc::{c_int, c_void, socklen_t};

use super::address::RawAddress;
use super::{owned, retry};
use crate::Address;

/// A new non-blocking socket of the address's kind.
pub(crate) fn socket(address: &Address) -> io::Result<OwnedFd> {
    let domain = match address {
        Address::Tcp(SocketAddr::V4(_)) => libc::AF_INET,
        Address::Tcp(SocketAddr::V6(_)) => libc::AF_INET6,
        Address::Unix(_) => libc::AF_UNIX,
    };
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: takes no memory.
    owned(|| unsafe { libc::socket(domain, kind, 0) } as isize)
}

pub(crate) fn bind(fd: &OwnedFd, address: &Address) -> io::Result<()> {
    let raw = RawAddress::of(address)?;
    // SAFETY: pointer and length describe `raw`, which lives through the call.
    retry(|| unsafe { libc::bind(fd.as_raw_fd(), raw.pointer(), raw.length) as isize }).map(drop)
}

pub(crate) fn listen(fd: &OwnedFd, backlog: u32) -> io::Result<()> {
    let backlog = backlog.min(c_int::MAX as u32) as c_int;
    // SAFETY: takes no memory.
    retry(|| unsafe { libc::listen(fd.as_raw_fd(), backlog) as isize }).map(drop)
}

/// The next connection that waits, non-blocking from the start.
pub(crate) fn accept(fd: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: null pointers say that the peer's address is not asked for.
    owned(|| unsafe {
        libc::accept4(fd.as_raw_fd(), std::ptr::null_mut(), std::ptr::null_mut(), flags) as isize
    })
}

/// Begins to connect; `Ok(false)` while it is under way.
pub(crate) fn connect(fd: &OwnedFd, address: &Address) -> io::Result<bool> {
    let raw = RawAddress::of(address)?;
    // SAFETY: pointer and length describe `raw`, which lives through the call.
    match retry(|| unsafe { libc::connect(fd.as_raw_fd(), raw.pointer(), raw.length) as isize }) {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(false),
        Err(error) => Err(error),
    }
}

/// An integer option of a socket.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SocketOption {
    NoDelay,
    KeepAlive,
    ReuseAddress,
    ReusePort,
    OnlyV6,
    /// Unsent bytes above which a socket takes no more.
    NotSentLowWater,
}

impl SocketOption {
    fn raw(self) -> (c_int, c_int) {
        match self {
            SocketOption::NoDelay => (libc::IPPROTO_TCP, libc::TCP_NODELAY),
            SocketOption::KeepAlive => (libc::SOL_SOCKET, libc::SO_KEEPALIVE),
            SocketOption::ReuseAddress => (libc::SOL_SOCKET, libc::SO_REUSEADDR),
            SocketOption::ReusePort => (libc::SOL_SOCKET, libc::SO_REUSEPORT),
            SocketOption::OnlyV6 => (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY),
            SocketOption::NotSentLowWater => (libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT),
        }
    }
}

pub(crate) fn set_option(fd: &OwnedFd, option: SocketOption, value: c_int) -> io::Result<()> {
    let (level, name) = option.raw();
    let length = size_of::<c_int>() as socklen_t;
    let pointer = (&raw const value).cast::<c_void>();
    // SAFETY: the kernel reads one integer, which `value` is.
    retry(|| unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, pointer, length) as isize }).map(drop)
}

/// Chooses the congestion control of a socket, and of the connections that it accepts, by its name.
pub(crate) fn set_congestion_control(fd: &OwnedFd, name: &str) -> io::Result<()> {
    let (pointer, length) = (name.as_ptr().cast::<c_void>(), name.len() as socklen_t);
    let raw = fd.as_raw_fd();
    // SAFETY: the kernel reads `length` bytes of `name`, which lives through the call.
    retry(|| unsafe {
        libc::setsockopt(raw, libc::IPPROTO_TCP, libc::TCP_CONGESTION, pointer, length) as isize
    })
    .map(drop)
}

fn option(fd: &OwnedFd, level: c_int, name: c_int) -> io::Result<c_int> {
    let mut value: c_int = 0;
    let mut length = size_of::<c_int>() as socklen_t;
    let pointer = (&raw mut value).cast::<c_void>();
    // SAFETY: the kernel writes at most `length` bytes to `value`.
    retry(|| unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, pointer, &raw mut length) as isize })?;
    Ok(value)
}

fn queued(fd: &OwnedFd, request: libc::Ioctl) -> io::Result<u32> {
    let mut count: c_int = 0;
    // SAFETY: the requests that this is called with write one integer, which `count` is.
    retry(|| unsafe { libc::ioctl(fd.as_raw_fd(), request, &raw mut count) as isize })?;
    Ok(count.max(0) as u32)
}

/// Bytes written to a socket that its peer has not acknowledged.
pub(crate) fn unsent(fd: &OwnedFd) -> io::Result<u32> {
    queued(fd, libc::TIOCOUTQ)
}

/// Bytes in a pipe that have not been read.
pub(crate) fn unread(fd: &OwnedFd) -> io::Result<u32> {
    queued(fd, libc::FIONREAD)
}

/// The outcome of a connection attempt.
pub(crate) fn pending_error(fd: &OwnedFd) -> io::Result<()> {
    match option(fd, libc::SOL_SOCKET, libc::SO_ERROR)? {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// True if it is a TCP connection that sends small packets at once.
#[cfg(test)]
pub(crate) fn is_no_delay(fd: &OwnedFd) -> bool {
    option(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY).is_ok_and(|value| value != 0)
}

/// Whether it is a socket that accepts connections.
pub(crate) fn is_listening(fd: &OwnedFd) -> io::Result<bool> {
    option(fd, libc::SOL_SOCKET, libc::SO_ACCEPTCONN).map(|value| value != 0)
}
