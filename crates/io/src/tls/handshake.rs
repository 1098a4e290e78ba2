//! Handshakes: how a stream begins to speak TLS, and the bounds on handshakes in flight.
//!
//! A listener takes a [`HandshakePermit`] for each connection before it accepts it. The connection returns the permit when
//! its handshake, or the connection itself, ends. So at most [`ServerFiles::handshakes_max`] connections keep half a
//! handshake in memory, and each of them for [`ServerFiles::handshake_timeout`] at most; the bytes they keep count as held
//! bytes of their loop.
//!
//! [`ServerFiles::handshakes_max`]: super::ServerFiles::handshakes_max
//! [`ServerFiles::handshake_timeout`]: super::ServerFiles::handshake_timeout

use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::layer::TlsLayer;
use super::{ClientTls, ServerTls};
use crate::connection::Connection;
use crate::source::{READABLE, WRITABLE};
use crate::{Address, Error, Stream};

/// How long a client's handshake may take.
const CLIENT_HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// The handshakes in flight of one [`ServerTls`].
pub(super) struct Handshakes {
    max: usize,
    in_flight: AtomicUsize,
    /// Acceptors that wait for a permit.
    waiting: Mutex<Vec<Waker>>,
}

impl Handshakes {
    pub(super) fn new(max: usize) -> Handshakes {
        Handshakes {
            max: max.max(1),
            in_flight: AtomicUsize::new(0),
            waiting: Mutex::default(),
        }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::SeqCst)
    }
}

/// The right to have one handshake in flight, returned on drop.
pub(crate) struct HandshakePermit {
    tls: Arc<ServerTls>,
}

impl HandshakePermit {
    /// Takes a permit if there is one.
    pub(crate) fn take(tls: &Arc<ServerTls>) -> Option<HandshakePermit> {
        let before = tls.handshakes.in_flight.fetch_add(1, Ordering::SeqCst);
        let permit = HandshakePermit { tls: Arc::clone(tls) };
        (before < tls.handshakes.max).then_some(permit)
    }

    /// True if a permit is free; otherwise the task is woken when one may be.
    pub(crate) fn poll_free(tls: &ServerTls, context: &Context<'_>) -> bool {
        let handshakes = &tls.handshakes;
        if handshakes.in_flight() < handshakes.max {
            return true;
        }
        let mut waiting = handshakes.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            waiting.push(context.waker().clone());
        }
        // A permit returned before the waker was registered wakes no task.
        handshakes.in_flight() < handshakes.max
    }
}

impl Drop for HandshakePermit {
    fn drop(&mut self) {
        let handshakes = &self.tls.handshakes;
        let before = handshakes.in_flight.fetch_sub(1, Ordering::SeqCst);
        if before >= handshakes.max {
            let mut waiting = handshakes.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let wakers = std::mem::take(&mut *waiting);
            drop(waiting);
            wakers.into_iter().for_each(Waker::wake);
        }
    }
}

impl Stream {
    /// Performs the server's side of a handshake. Input that the stream has buffered already belongs to the handshake, so a
    /// handler may read a PROXY protocol header first.
    ///
    /// A failure is counted in [`ServerTls::statistics`] and logged at debug level; the stream is then of no further use.
    ///
    /// # Errors
    /// [`Error::Tls`] if the peer violates the protocol or is refused, [`Error::HandshakeTimeout`],
    /// [`Error::HeldLimit`], and errors of the connection.
    pub async fn accept_tls(&mut self, tls: &ServerTls) -> Result<(), Error> {
        let layer = TlsLayer::server(tls)?;
        let result = self.handshake(layer, tls.handshake_timeout()).await;
        drop(self.connection().take_handshake_permit());
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
