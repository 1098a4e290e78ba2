//! TLS handshakes: how a stream begins to speak TLS, and how long one may take.
//!
//! The number of handshakes in flight is bounded by the permits of `tls/permits.rs`, the time of each by
//! [`ServerFiles::handshake_timeout`]; the bytes that half a handshake keeps count as held bytes of its loop.
//!
//! [`ServerFiles::handshake_timeout`]: crate::tls::ServerFiles::handshake_timeout

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::connection::Connection;
use crate::core::{FAULTS, READABLE, WRITABLE};
use crate::tls::{ClientTls, ServerTls, TlsLayer};
use crate::{Address, Error, Stream};

/// How long a client's handshake may take.
const CLIENT_HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

impl Stream {
    /// Performs the server's side of a handshake. Input that the stream has buffered already belongs to the handshake, so a
    /// handler may read a PROXY protocol header first.
    ///
    /// A failure is counted in [`ServerTls::statistics`] and logged at debug level; the stream is then of no further use.
    ///
    /// # Errors
    /// [`Error::Tls`] if the peer violates the protocol or is refused, [`Error::HandshakeTimeout`],
    /// [`Error::HandshakeDisplaced`], [`Error::HeldLimit`], and errors of the connection.
    pub async fn accept_tls(&mut self, tls: &ServerTls) -> Result<(), Error> {
        let layer = TlsLayer::server(tls)?;
        let mut result = self.handshake(layer, tls.handshake_timeout()).await;
        if let Some(permit) = self.connection().take_handshake_permit() {
            let max = permit.max();
            if !permit.end() && result.is_ok() {
                result = Err(Error::HandshakeDisplaced { max });
            }
        }
        result.inspect_err(|error| {
            tls.count_failed_handshake();
            tracing::debug!(peer = %self.peer(), %error, "TLS handshake failed");
        })
    }

    /// Connects to an address and performs the client's side of a handshake with the server of that name.
    ///
    /// # Errors
    /// As [`connect`](Stream::connect); [`Error::Tls`] if the server does not prove that it has this name.
    ///
    /// # Panics
    /// If no loop runs on this thread.
    pub async fn connect_tls(address: &Address, tls: &ClientTls, server_name: &str) -> Result<Stream, Error> {
        let layer = TlsLayer::client(tls, server_name)?;
        let mut stream = Stream::connect(address).await?;
        stream.handshake(layer, CLIENT_HANDSHAKE_TIMEOUT).await?;
        Ok(stream)
    }

    async fn handshake(&mut self, mut layer: TlsLayer, timeout: Duration) -> Result<(), Error> {
        let connection = self.connection();
        let handshake = async {
            poll_fn(|context| connection.poll_flush(context)).await?;
            layer.receive(connection.take_rest()?)?;
            connection.tls = Some(Box::new(layer));
            poll_fn(|context| connection.poll_handshake(context)).await
        };
        crate::timeout(timeout, handshake)
            .await
            .unwrap_or(Err(Error::HandshakeTimeout { after: timeout }))
    }
}

impl Connection {
    /// Drives the handshake to its end.
    fn poll_handshake(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        loop {
            let Some(tls) = &mut self.tls else {
                return Poll::Ready(Ok(()));
            };
            if !tls.info().is_handshaking() && !tls.has_output() {
                return Poll::Ready(Ok(()));
            }
            if self.wire.source.bits() & FAULTS != 0 {
                self.check_faults()?;
            }
            let Some(tls) = &mut self.tls else {
                return Poll::Ready(Ok(()));
            };
            let (interest, ready) = match tls.has_output() {
                true => (WRITABLE, false),
                false => (READABLE, tls.has_unread()),
            };
            if !ready && self.wire.source.bits() & interest == 0 {
                self.wire.source.wait(context, interest);
                return Poll::Pending;
            }
            let result = if tls.has_output() {
                tls.flush(&self.wire)
            } else {
                match tls.read_handshake(&self.wire) {
                    Ok(false) => Ok(()),
                    Ok(true) => Err(Error::UnexpectedEnd { missing: 1 }),
                    Err(error) => Err(error),
                }
            };
            self.account()?;
            result?;
        }
    }
}
