//! Streams that we begin.

use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::task::Poll;

use crate::cold::Cold;
use crate::core::{Core, WRITABLE};
use crate::socket::prepare_loopback;
use crate::source::Source;
use crate::sys::{self, SocketOption};
use crate::transport::{Transport, Wire};
use crate::{Address, Error, Stream};

impl Stream {
    /// Connects to an address.
    ///
    /// # Errors
    /// When nobody listens there.
    ///
    /// # Panics
    /// When no loop runs on this thread.
    pub async fn connect(address: &Address) -> Result<Stream, Error> {
        let failed = |source| Error::Connect {
            address: address.to_string(),
            source,
        };
        let fd = sys::socket(address).map_err(failed)?;
        if let Address::Tcp(ip) = address {
            sys::set_option(&fd, SocketOption::NoDelay, 1).map_err(failed)?;
            prepare_loopback(&fd, ip);
        }
        let connected = sys::connect(&fd, address).map_err(failed)?;
        let source = register(&fd, connected)?;
        poll_fn(|context| {
            if source.bits() & WRITABLE != 0 {
                return Poll::Ready(());
            }
            source.wait(context, WRITABLE);
            Poll::Pending
        })
        .await;
        sys::pending_error(&fd).map_err(failed)?;
        Ok(Stream::new(Wire {
            source,
            transport: Transport::Socket(fd),
            cold: Cold::default(),
        }))
    }
}

/// Registers a socket; one that is not connected yet becomes writable when it is.
fn register(fd: &OwnedFd, connected: bool) -> Result<Source, Error> {
    let source = Source::register(&Core::current(), fd)?;
    if !connected {
        source.clear(WRITABLE);
    }
    Ok(source)
}
