//! Streams that we begin.

use std::future::poll_fn;
use std::os::fd::OwnedFd;
use std::task::Poll;
use std::time::Duration;

use crate::core::Core;
use crate::source::{Source, WRITABLE};
use crate::sys::{self, SocketOption};
use crate::tls::{ClientTls, ServerTls, Session};
use crate::transport::{Transport, Wire};
use crate::{Address, Error, Stream};

/// How long a client's TLS handshake may take.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

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
        if matches!(address, Address::Tcp(_)) {
            sys::set_option(&fd, SocketOption::NoDelay, 1).map_err(failed)?;
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
        }))
    }

    /// Connects to an address and shakes hands with the server of that name.
    ///
    /// # Errors
    /// When nobody listens there, or the server does not prove that it has this name.
    ///
    /// # Panics
    /// When no loop runs on this thread.
    pub async fn connect_tls(address: &Address, tls: &ClientTls, server_name: &str) -> Result<Stream, Error> {
        let session = Session::client(tls, server_name)?;
        let mut stream = Stream::connect(address).await?;
        stream.shake_hands(session, HANDSHAKE_TIMEOUT).await?;
        Ok(stream)
    }

    pub(crate) async fn shake_hands_as_server(
        &mut self,
        tls: &ServerTls,
        timeout: Duration,
    ) -> Result<(), Error> {
        self.shake_hands(Session::server(tls)?, timeout).await
    }

    async fn shake_hands(&mut self, session: Session, timeout: Duration) -> Result<(), Error> {
        let connection = self.connection();
        connection.tls = Some(Box::new(session));
        let handshake = poll_fn(|context| connection.poll_handshake(context));
        crate::timeout(timeout, handshake)
            .await
            .unwrap_or(Err(Error::HandshakeTimeout { after: timeout }))
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
