//! Sockets that connections come to.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::sys::{self, SocketOption};
use crate::{Address, Error, ListenOptions};

/// A listening socket.
pub(crate) struct Socket {
    pub(crate) fd: OwnedFd,
    pub(crate) address: Address,
    /// The file of a Unix socket that was bound here, removed with the socket.
    file: Option<SocketFile>,
}

impl Socket {
    pub(crate) fn bind(address: &Address, options: &ListenOptions) -> Result<Socket, Error> {
        Socket::try_bind(address, options).map_err(|source| Error::Bind {
            address: address.to_string(),
            source,
        })
    }

    fn try_bind(address: &Address, options: &ListenOptions) -> io::Result<Socket> {
        let fd = sys::socket(address)?;
        let mut file = None;
        let address = match address {
            Address::Tcp(ip) => {
                prepare_tcp(&fd, ip, options.reuse_port)?;
                if let Some(bytes) = options.notsent_lowat {
                    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
                    sys::set_option(&fd, SocketOption::NotSentLowWater, bytes)?;
                }
                sys::bind(&fd, address)?;
                sys::local_address(&fd)?.map_or_else(|| address.clone(), Address::Tcp)
            }
            Address::Unix(path) => {
                bind_unix(&fd, address, path)?;
                if let Some(mode) = options.unix_mode {
                    // Nobody can have connected yet: the socket does not listen before it has its permissions.
                    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
                }
                file = Some(SocketFile::new(path)?);
                address.clone()
            }
        };
        sys::listen(&fd, options.backlog)?;
        Ok(Socket { fd, address, file })
    }

    /// Takes over a listening socket of another process. The file of a Unix socket stays that process's concern.
    pub(crate) fn inherited(fd: OwnedFd) -> Result<Socket, Error> {
        let number = fd.as_raw_fd();
        Socket::try_inherited(fd).map_err(|source| Error::Bind {
            address: format!("descriptor {number}"),
            source,
        })
    }

    fn try_inherited(fd: OwnedFd) -> io::Result<Socket> {
        if !sys::is_listening(&fd)? {
            return Err(io::Error::new(
                ErrorKind::InvalidInput,
                "the socket is not listening",
            ));
        }
        sys::set_nonblocking(&fd)?;
        sys::set_close_on_exec(&fd)?;
        let address = match sys::local_address(&fd)? {
            Some(address) => Address::Tcp(address),
            None => Address::Unix(sys::local_path(&fd)?),
        };
        let file = None;
        Ok(Socket { fd, address, file })
    }

    /// A copy of the descriptor for another process. The socket's file is not removed any more.
    pub(crate) fn hand_over(&self) -> io::Result<OwnedFd> {
        let fd = self.fd.try_clone()?;
        if let Some(file) = &self.file {
            file.handed_over.store(true, Ordering::Relaxed);
        }
        Ok(fd)
    }
}

/// The congestion control of connections that never leave the machine: the one that every kernel has, and the cheapest.
const LOOPBACK_CONGESTION_CONTROL: &str = "reno";

/// Sets what accepted connections inherit on Linux, which spares them a call each.
fn prepare_tcp(fd: &OwnedFd, ip: &SocketAddr, reuse_port: bool) -> io::Result<()> {
    sys::set_option(fd, SocketOption::ReuseAddress, 1)?;
    sys::set_option(fd, SocketOption::NoDelay, 1)?;
    sys::set_option(fd, SocketOption::KeepAlive, 1)?;
    prepare_loopback(fd, ip);
    if ip.is_ipv6() {
        // `[::]` means both kinds of address, whatever the system's default is.
        sys::set_option(fd, SocketOption::OnlyV6, 0)?;
    }
    if reuse_port {
        sys::set_option(fd, SocketOption::ReusePort, 1)?;
    }
    Ok(())
}

/// Nothing is ever lost on loopback. A system default that paces, as BBR does, would cost each write a timer there. Where a
/// policy forbids the choice, the default serves as well, only dearer.
pub(crate) fn prepare_loopback(fd: &OwnedFd, ip: &SocketAddr) {
    if ip.ip().is_loopback() {
        let _ = sys::set_congestion_control(fd, LOOPBACK_CONGESTION_CONTROL);
    }
}

/// Binds; a socket file that a dead process left is put out of the way.
fn bind_unix(fd: &OwnedFd, address: &Address, path: &Path) -> io::Result<()> {
    match sys::bind(fd, address) {
        Err(error) if error.kind() == ErrorKind::AddrInUse && is_stale(address, path) => {
            fs::remove_file(path)?;
            sys::bind(fd, address)
        }
        result => result,
    }
}

/// True if the file is a socket left by a process that no longer runs.
fn is_stale(address: &Address, path: &Path) -> bool {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
    is_socket
        && sys::socket(address)
            .and_then(|probe| sys::connect(&probe, address))
            .is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

/// The file of a Unix socket, removed when the listener ends, unless the socket was handed over or the file replaced.
struct SocketFile {
    handed_over: AtomicBool,
    path: PathBuf,
    identity: (u64, u64),
}

impl SocketFile {
    fn new(path: &Path) -> io::Result<SocketFile> {
        Ok(SocketFile {
            handed_over: AtomicBool::new(false),
            path: path.to_owned(),
            identity: identity(path)?,
        })
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|metadata| (metadata.dev(), metadata.ino()))
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let handed_over = self.handed_over.load(Ordering::Relaxed);
        if !handed_over && identity(&self.path).is_ok_and(|identity| identity == self.identity) {
            // If it was removed in this moment, there is nothing left to do.
            let _ = fs::remove_file(&self.path);
        }
    }
}
