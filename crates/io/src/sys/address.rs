//! Addresses as the kernel has them, and the addresses of sockets.
#![allow(unsafe_code)]

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::mem;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use libc::{c_int, socklen_t};

use super::retry;
use crate::Address;

/// An address as the kernel wants it.
pub(super) struct RawAddress {
    storage: libc::sockaddr_storage,
    pub(super) length: socklen_t,
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

    pub(super) fn of(address: &Address) -> io::Result<RawAddress> {
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

    pub(super) fn pointer(&self) -> *const libc::sockaddr {
        (&raw const self.storage).cast()
    }
}

/// The socket's own IP address; `None` for a Unix socket.
pub(crate) fn local_address(fd: &OwnedFd) -> io::Result<Option<SocketAddr>> {
    let mut raw = RawAddress::empty();
    let storage = (&raw mut raw.storage).cast();
    // SAFETY: the kernel writes at most `length` bytes, the size of the storage.
    retry(|| unsafe { libc::getsockname(fd.as_raw_fd(), storage, &raw mut raw.length) as isize })?;
    Ok(raw.ip())
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
