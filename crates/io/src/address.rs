//! Where to listen, where to connect, who is there.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

use crate::Error;

/// An address to listen on or to connect to: `127.0.0.1:11211`, `[::]:443`, `unix:/run/x.sock`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// An IP address and a port; port 0 lets the kernel choose one.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl FromStr for Address {
    type Err = Error;

    /// Understands numeric addresses, `unix:PATH`, and names that the resolver knows (`localhost:1234`).
    fn from_str(text: &str) -> Result<Address, Error> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Address::Unix(PathBuf::from(path)));
        }
        if let Ok(address) = text.parse() {
            return Ok(Address::Tcp(address));
        }
        let resolved = text
            .to_socket_addrs()
            .ok()
            .and_then(|mut addresses| addresses.next());
        resolved.map(Address::Tcp).ok_or_else(|| Error::Address {
            text: text.to_owned(),
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Address {
        Address::Tcp(address)
    }
}

/// Who is at an end of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Peer {
    /// An IP address and a port.
    Tcp(SocketAddr),
    /// A Unix socket; clients rarely have a path.
    Unix,
    /// The other half of [`Stream::pair`](crate::Stream::pair), or the other end of a pipe.
    Memory,
    /// The kernel no longer knows: the connection was reset.
    Gone,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Peer::Tcp(address) => address.fmt(f),
            Peer::Unix => f.write_str("unix"),
            Peer::Memory => f.write_str("memory"),
            Peer::Gone => f.write_str("gone"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn addresses_read_as_they_are_written() {
        for text in ["127.0.0.1:11211", "[::]:443", "unix:/run/hikyaku.sock"] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        for text in ["", "unix:", "127.0.0.1", "127.0.0.1:99999"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
