//! A connection, whatever it is made of: TCP, a Unix socket, TLS over either, or one end of an in-memory pair.
//!
//! **Invariant:** a stream holds memory of its own only while it has a part of a request or an unsent reply; what it
//! holds then counts against its loop's allowance.

use std::future::{Future, poll_fn};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use crate::connection::{Connection, Lent};
use crate::core::Core;
use crate::output::{Exchange, Output, Piece, Took};
use crate::replies::{Replies, Unordered};
use crate::source::Source;
use crate::tls::TlsInfo;
use crate::transport::{Transport, Wire};
use crate::{Error, Peer, pair, sys};

/// How long [`Stream::close`] waits for a peer that goes on sending to see that we are done.
const LINGER_MAX: Duration = Duration::from_secs(1);

/// A connection.
///
/// Its methods are to be awaited one at a time, on the loop it was made on. Dropping it closes it at once; to have
/// everything arrive, [`close`](Stream::close) it.
pub struct Stream {
    connection: Box<Connection>,
}

impl Stream {
    pub(crate) fn new(wire: Wire) -> Stream {
        Stream {
            connection: Box::new(Connection::new(wire)),
        }
    }

    pub(crate) fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Two streams joined in memory, each holding 64 KiB for the other.
    ///
    /// # Panics
    /// When no loop runs on this thread.
    #[must_use]
    pub fn pair() -> (Stream, Stream) {
        let [a, b] = pair::pair(&Core::current()).map(|(source, end)| {
            Stream::new(Wire {
                source,
                transport: Transport::Memory(end),
            })
        });
        (a, b)
    }

    /// A stream over an end of a pipe, or of anything else that is polled, read and written like one. It has the one
    /// direction that the end has: to ask for the other is an error. The descriptor is made non-blocking, and with it all
    /// its copies, here and in other processes.
    ///
    /// When nobody reads any more, writing raises `SIGPIPE`, unless the process ignores it.
    ///
    /// # Errors
    /// When it cannot be polled, as an ordinary file.
    ///
    /// # Panics
    /// When no loop runs on this thread.
    pub fn pipe(end: impl Into<OwnedFd>) -> Result<Stream, Error> {
        let fd = end.into();
        sys::set_nonblocking(&fd).map_err(Error::system("fcntl"))?;
        let source = Source::register(&Core::current(), &fd)?;
        let transport = Transport::Pipe(fd);
        Ok(Stream::new(Wire { source, transport }))
    }

    /// Lends both buffers of the loop to `f`, once, as soon as all earlier output was taken by the kernel and there is
    /// input. `f` answers how much of the input it is done with, and the rest is kept for the next exchange. See [`Took`] for
    /// when that begins.
    ///
    /// What it wrote is sent at once, or, when it is little and other tasks are ready, with what those write: before
    /// the loop polls, and before this stream does anything else. Should sending fail then, the next call tells.
    ///
    /// The future may be dropped before it is ready without harm: nothing was consumed then.
    ///
    /// # Errors
    /// When the connection failed, was idle for too long, or would hold more than it may.
    ///
    /// # Panics
    /// When `f` says that it consumed more than there was.
    pub fn exchange<'a, F, T>(&'a mut self, f: F) -> impl Future<Output = Result<Exchange, Error>> + 'a
    where
        F: FnOnce(&[u8], &mut Output) -> T + 'a,
        T: Into<Took> + 'a,
    {
        let mut f = Some(f);
        poll_fn(move |context| self.poll_exchange(context, &mut f))
    }

    #[inline]
    fn poll_exchange<F, T>(
        &mut self,
        context: &mut Context<'_>,
        f: &mut Option<F>,
    ) -> Poll<Result<Exchange, Error>>
    where
        F: FnOnce(&[u8], &mut Output) -> T,
        T: Into<Took>,
    {
        let lent = match ready!(self.connection.poll_input(context)) {
            Ok(Lent::Ended { clean }) => return Poll::Ready(Ok(Exchange::Ended { clean })),
            Ok(Lent::Draining) => return Poll::Ready(Ok(Exchange::Draining)),
            Ok(lent) => lent,
            Err(error) => return Poll::Ready(Err(error)),
        };
        let f = f.take().expect("an exchange that is over is not polled again");
        let core = Rc::clone(self.connection.core());
        let hot = &mut *core.hot.borrow_mut();
        self.connection.begin(&mut hot.output);
        let input = match lent {
            Lent::Hot(length) => &hot.input[..length],
            _ => self.connection.kept(),
        };
        let took = f(input, &mut hot.output).into();
        Poll::Ready(self.connection.settle(lent, took, hot).map(|()| Exchange::Open))
    }

    /// Fills `destination`: with what lies here first, then straight from the socket.
    ///
    /// # Errors
    /// As [`exchange`](Stream::exchange), and when the stream ends before.
    pub async fn read_exact(&mut self, destination: &mut [u8]) -> Result<(), Error> {
        let mut filled = 0;
        poll_fn(|context| self.connection.poll_read_exact(context, destination, &mut filled)).await
    }

    /// Drops so many bytes of input.
    ///
    /// # Errors
    /// As [`read_exact`](Stream::read_exact).
    pub async fn discard(&mut self, bytes: u64) -> Result<(), Error> {
        let mut left = bytes;
        poll_fn(|context| self.connection.poll_discard(context, &mut left)).await
    }

    /// Sends a piece as soon as all earlier output was taken by the kernel. What that does not take at once of this one
    /// is sent while the stream is used further: by the next exchange, [`flush`](Stream::flush) or [`close`](Stream::close).
    ///
    /// # Errors
    /// As [`exchange`](Stream::exchange).
    pub async fn send(&mut self, piece: impl Into<Piece>) -> Result<(), Error> {
        let mut piece = Some(piece.into());
        poll_fn(|context| {
            ready!(self.connection.poll_flush(context))?;
            Poll::Ready(piece.take().map_or(Ok(()), |piece| self.connection.send(piece)))
        })
        .await
    }

    /// Waits until the kernel has taken everything.
    ///
    /// # Errors
    /// As [`exchange`](Stream::exchange).
    pub async fn flush(&mut self) -> Result<(), Error> {
        poll_fn(|context| self.connection.poll_flush(context)).await
    }

    /// Sends what is left, tells the peer that this was all, and closes, in such a way that everything arrives: a
    /// kernel that is still sent to resets the connection, so a peer in the midst of sending gets a second to stop.
    ///
    /// # Errors
    /// As [`exchange`](Stream::exchange); the connection is closed all the same.
    pub async fn close(mut self) -> Result<(), Error> {
        self.flush().await?;
        self.connection.send_close_notify()?;
        self.flush().await?;
        self.connection.shutdown()?;
        if self.connection.has_unread_input() {
            let to_the_end = poll_fn(|context| self.connection.poll_discard(context, &mut { u64::MAX }));
            let _ = crate::timeout(LINGER_MAX, to_the_end).await;
        }
        Ok(())
    }

    /// Who is at the other end.
    #[must_use]
    pub fn peer(&self) -> Peer {
        self.address_by(sys::peer_address)
    }

    /// What this end's address is.
    #[must_use]
    pub fn local(&self) -> Peer {
        self.address_by(sys::local_address)
    }

    fn address_by(
        &self,
        call: impl FnOnce(&OwnedFd) -> std::io::Result<Option<std::net::SocketAddr>>,
    ) -> Peer {
        match &self.connection.wire.transport {
            Transport::Memory(_) | Transport::Pipe(_) => Peer::Memory,
            Transport::Socket(fd) => match call(fd) {
                Ok(Some(address)) => Peer::Tcp(address),
                Ok(None) => Peer::Unix,
                Err(_) => Peer::Gone,
            },
        }
    }

    /// Whether it speaks TLS.
    #[must_use]
    pub fn is_tls(&self) -> bool {
        self.connection.tls.is_some()
    }

    /// The parameters of its TLS, if it speaks TLS.
    #[must_use]
    pub fn tls(&self) -> Option<&TlsInfo> {
        self.connection.tls.as_ref().map(|tls| tls.info())
    }

    /// Has the stream's methods fail when nothing came or went for so long; zero is never.
    pub fn set_idle_timeout(&mut self, timeout: Duration) {
        self.connection.wire.source.set_idle(timeout);
    }

    /// How many bytes of input lie here unconsumed.
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.connection.kept().len()
    }

    /// Has the stream answered by ordered replies from now on, of which at most `open_max` are unfinished at once.
    pub fn replies(&mut self, open_max: usize) -> Replies {
        Replies(self.connection.set_replies(true, open_max))
    }

    /// The same for a protocol whose replies name their requests: they leave as they are finished.
    pub fn unordered(&mut self, open_max: usize) -> Unordered {
        Unordered(self.connection.set_replies(false, open_max))
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream")
            .field("peer", &self.peer())
            .field("tls", &self.is_tls())
            .finish()
    }
}
