//! Every system call of the loop, and nothing else: another backend would be another copy of this file.
//!
//! **Invariant:** functions here keep no state and make one call each (but for setting up a socket); `EINTR` never
//! leaves this module.
#![allow(unsafe_code)]

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::mem::{self, MaybeUninit};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use libc::{c_int, c_void, socklen_t};

use crate::Address;

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

// ── epoll ────────────────────────────────────────────────────────────────────────────────────────────────────────

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

// ── bytes ────────────────────────────────────────────────────────────────────────────────────────────────────────

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

/// Ends our side of a connection: the peer reads an end after what was sent.
pub(crate) fn shutdown_write(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: takes no memory.
    retry(|| unsafe { libc::shutdown(fd.as_raw_fd(), libc::SHUT_WR) as isize }).map(drop)
}

// ── wake-ups and signals ─────────────────────────────────────────────────────────────────────────────────────────

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

// ── sockets ──────────────────────────────────────────────────────────────────────────────────────────────────────

/// An address as the kernel wants it.
struct RawAddress {
    storage: libc::sockaddr_storage,
    length: socklen_t,
}

impl RawAddress {
    fn empty() -> RawAddress {
        // SAFETY: all zeroes is a valid `sockaddr_storage` of no family.
        let storage = unsafe { mem::zeroed() };
        RawAddress {
            storage,
            length: size_of::<libc::sockaddr_storage>() as socklen_t,
        }
    }

    fn of(address: &Address) -> io::Result<RawAddress> {
        match address {
            Address::Tcp(SocketAddr::V4(v4)) => Ok(RawAddress::holding(libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(v4.ip().octets()),
                },
                sin_zero: [0; 8],
            })),
            Address::Tcp(SocketAddr::V6(v6)) => Ok(RawAddress::holding(libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr {
                    s6_addr: v6.ip().octets(),
                },
                sin6_scope_id: v6.scope_id(),
            })),
            Address::Unix(path) => {
                let mut raw = libc::sockaddr_un {
                    sun_family: libc::AF_UNIX as libc::sa_family_t,
                    sun_path: [0; 108],
                };
                let path = path.as_os_str().as_bytes();
                if path.len() >= raw.sun_path.len() || path.contains(&0) {
                    let reason = format!(
                        "a Unix socket's path has at most {} bytes",
                        raw.sun_path.len() - 1
                    );
                    return Err(io::Error::new(ErrorKind::InvalidInput, reason));
                }
                for (to, from) in raw.sun_path.iter_mut().zip(path) {
                    *to = *from as libc::c_char;
                }
                Ok(RawAddress::holding(raw))
            }
        }
    }

    fn holding<T: Copy>(address: T) -> RawAddress {
        const { assert!(size_of::<T>() <= size_of::<libc::sockaddr_storage>()) };
        let mut raw = RawAddress::empty();
        // SAFETY: the storage is large enough, as asserted, aligned for every kind of address, and `T` is a plain C
        // structure that begins with the family, as the storage does.
        unsafe { (&raw mut raw.storage).cast::<T>().write(address) };
        raw.length = size_of::<T>() as socklen_t;
        raw
    }

    /// The IP address it holds, if it does.
    fn ip(&self) -> Option<SocketAddr> {
        match c_int::from(self.storage.ss_family) {
            libc::AF_INET => {
                // SAFETY: the family says that the storage holds this structure.
                let v4 = unsafe { (&raw const self.storage).cast::<libc::sockaddr_in>().read() };
                let ip = Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes());
                Some(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)).into())
            }
            libc::AF_INET6 => {
                // SAFETY: the family says that the storage holds this structure.
                let v6 = unsafe { (&raw const self.storage).cast::<libc::sockaddr_in6>().read() };
                let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
                let port = u16::from_be(v6.sin6_port);
                Some(SocketAddrV6::new(ip, port, v6.sin6_flowinfo, v6.sin6_scope_id).into())
            }
            _ => None,
        }
    }

    fn pointer(&self) -> *const libc::sockaddr {
        (&raw const self.storage).cast()
    }
}

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

/// The socket's own IP address; `None` for a Unix socket.
pub(crate) fn local_address(fd: &OwnedFd) -> io::Result<Option<SocketAddr>> {
    let mut raw = RawAddress::empty();
    let storage = (&raw mut raw.storage).cast();
    // SAFETY: the kernel writes at most `length` bytes, the size of the storage.
    retry(|| unsafe { libc::getsockname(fd.as_raw_fd(), storage, &raw mut raw.length) as isize })?;
    Ok(raw.ip())
}

/// Whether it is a socket that accepts connections.
pub(crate) fn is_listening(fd: &OwnedFd) -> io::Result<bool> {
    option(fd, libc::SOL_SOCKET, libc::SO_ACCEPTCONN).map(|value| value != 0)
}

/// The path of a Unix socket; empty if it has none.
pub(crate) fn local_path(fd: &OwnedFd) -> io::Result<PathBuf> {
    let mut raw = RawAddress::empty();
    let storage = (&raw mut raw.storage).cast();
    // SAFETY: the kernel writes at most `length` bytes, the size of the storage.
    retry(|| unsafe { libc::getsockname(fd.as_raw_fd(), storage, &raw mut raw.length) as isize })?;
    if c_int::from(raw.storage.ss_family) != libc::AF_UNIX {
        return Err(ErrorKind::Unsupported.into());
    }
    // SAFETY: the family says that the storage holds this structure; unused bytes are zero.
    let unix = unsafe { (&raw const raw.storage).cast::<libc::sockaddr_un>().read() };
    let path: Vec<u8> = unix.sun_path.iter().map(|&byte| byte as u8).collect();
    let end = path.iter().position(|&byte| byte == 0).unwrap_or(path.len());
    Ok(PathBuf::from(OsStr::from_bytes(&path[..end])))
}

/// The peer's IP address; `None` for a Unix socket.
pub(crate) fn peer_address(fd: &OwnedFd) -> io::Result<Option<SocketAddr>> {
    let mut raw = RawAddress::empty();
    let storage = (&raw mut raw.storage).cast();
    // SAFETY: the kernel writes at most `length` bytes, the size of the storage.
    retry(|| unsafe { libc::getpeername(fd.as_raw_fd(), storage, &raw mut raw.length) as isize })?;
    Ok(raw.ip())
}

// ── the process ──────────────────────────────────────────────────────────────────────────────────────────────────

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
