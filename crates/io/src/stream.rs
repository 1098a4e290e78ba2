//! A connection, whatever it is made of: TCP, a Unix socket, TLS over either, or one end of an in-memory pair.
//!
//! **Invariant:** a stream holds memory of its own only while it has a part of a request or an unsent reply; what it
//! holds then counts against its loop's allowance.

use std::future::{Future, poll_fn};
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use crate::cold::Cold;
use crate::connection::{Connection, LINGER_BYTES_MAX, LINGER_MAX, Lent, Liveness};
use crate::core::Core;
use crate::notifier::Notifier;
use crate::output::{Exchange, Output, Took};
use crate::piece::Piece;
use crate::replies::{Replies, Unordered};
use crate::source::Source;
use crate::sys::SocketOption;
use crate::tls::TlsInfo;
use crate::transport::{Transport, Wire};
use crate::{Error, Peer, pair, sys};

/// The farthest deadline: ticks go round in 49 days.
const DEADLINE_MAX: Duration = Duration::from_secs(20 * 24 * 3600);

/// A connection.
///
/// Its methods are to be awaited one at a time, on the loop it was made on. Dropping it closes it at once; to have
/// everything arrive, [`close`](Stream::close) it.
pub struct Stream {
    connection: Box<Connection>,
}

impl Stream {
    pub(crate) fn from_connection(connection: Box<Connection>) -> Stream {
        Stream { connection }
    }

    pub(crate) fn new(wire: Wire) -> Stream {
        Stream {
            connection: Box::new(Connection::new(wire)),
        }
    }

    pub(crate) fn into_connection(self) -> Box<Connection> {
        self.connection
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
                transport: Transport::Memory(Box::new(end)),
                cold: Cold::default(),
            })
        });
        (a, b)
    }

    /// A stream over an end of a pipe, or of anything else that is polled, read and written like one. It has the one
    /// direction that the end has: to ask for the other is an error. The descriptor is made non-blocking, and with it all
    /// its copies, here and in other processes.
    ///
    /// When the reading end is closed, writing raises `SIGPIPE`, unless the process ignores it.
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
        Ok(Stream::new(Wire {
            source,
            transport,
            cold: Cold::default(),
        }))
    }

    /// Lends both buffers of the loop to `f`, once, as soon as all earlier output was taken by the kernel and there is
    /// input. `f` answers how much of the input it is done with, and the rest is kept for the next exchange. See [`Took`] for
    /// when that begins.
    ///
    /// The output is sent at once, or, if it is small and other tasks are ready, in a batch with theirs: before
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
            Ok(Lent::None(exchange)) => return Poll::Ready(Ok(exchange)),
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

    /// Discards the next `bytes` bytes of input.
    ///
    /// # Errors
    /// As [`read_exact`](Stream::read_exact).
    pub async fn discard(&mut self, bytes: u64) -> Result<(), Error> {
        let mut left = bytes;
        poll_fn(|context| self.connection.poll_discard(context, &mut left)).await
    }

    /// Sends a piece as soon as all earlier output was taken by the kernel. The rest of this one
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

    /// Waits for something else, such as a commit, while the caller keeps output for the stream: memory that counts against
    /// [`held_max`](crate::Config::held_max) meanwhile, like output that the kernel does not accept.
    ///
    /// # Errors
    /// The stream has to end: it would hold too much, or its deadline has passed. The wait is given up then.
    pub async fn wait_holding<F: Future>(&mut self, bytes: usize, wait: F) -> Result<F::Output, Error> {
        let mut wait = pin!(wait);
        self.connection.account_with(bytes)?;
        let result = poll_fn(|context| {
            if let Poll::Ready(done) = wait.as_mut().poll(context) {
                return Poll::Ready(Ok(done));
            }
            self.connection.poll_faults(context).map(Err)
        })
        .await;
        // Less than before is always accepted.
        self.connection.account()?;
        result
    }

    /// Waits until the kernel has taken everything.
    ///
    /// # Errors
    /// As [`exchange`](Stream::exchange).
    pub async fn flush(&mut self) -> Result<(), Error> {
        poll_fn(|context| self.connection.poll_flush(context)).await
    }

    /// Sends what is left and ends our side of the stream: the peer reads an end after that. Input can still be read;
    /// writing is an error from now on.
    ///
    /// # Errors
    /// As [`exchange`](Stream::exchange).
    pub async fn shutdown_write(&mut self) -> Result<(), Error> {
        let mut notified = false;
        poll_fn(|context| self.connection.poll_shutdown(context, &mut notified)).await
    }

    /// Sends what is left, ends our side, and closes when the peer has ended its own, which it does when it has read
    /// everything: a socket that is closed while its peer still sends resets the connection, and what the peer has not
    /// read is lost. So the reply to a request whose body is too large arrives while the body is on its way. The wait is
    /// bounded: by a second, by 16 MiB of input, which is discarded, and while the loop drains by what has come already.
    ///
    /// # Errors
    /// As [`exchange`](Stream::exchange); the connection is closed all the same.
    pub fn close(mut self) -> impl Future<Output = Result<(), Error>> {
        // Boxed: it would enlarge the future of every idle connection.
        Box::pin(async move {
            self.connection.prepare_close();
            self.shutdown_write().await?;
            if self.connection.must_linger() {
                let mut left = LINGER_BYTES_MAX;
                let to_the_end = poll_fn(|context| self.connection.poll_discard(context, &mut left));
                let _ = crate::timeout(LINGER_MAX, to_the_end).await;
            }
            Ok(())
        })
    }

    /// Checks a stream on which no input is expected: a pooled connection can be used while it is
    /// [`Quiet`](Liveness::Quiet). Asks the kernel, so it knows of an end that no event has told yet.
    pub fn liveness(&mut self) -> Liveness {
        self.connection.liveness()
    }

    /// Returns a handle that has the closure of [`exchange`](Stream::exchange) called although there may be no input, for
    /// output that no request asked for. Any task of this loop may use it, and its
    /// [`remote`](Notifier::remote) any thread.
    pub fn notifier(&mut self) -> Notifier {
        self.connection.notifier()
    }

    /// The peer's address.
    #[must_use]
    pub fn peer(&self) -> Peer {
        self.address_by(sys::peer_address)
    }

    /// The local address.
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

    /// Returns true if the stream speaks TLS.
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

    /// Has the stream's methods fail with [`Error::DeadlineExceeded`] from an instant on, whatever moves until then;
    /// `None` lifts the deadline. For the time that a header, a handshake, a request or a response may take as a whole.
    /// To set and lift it with each request costs no timer each.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) {
        let core = self.connection.core();
        // Farther away than ticks go is as good as never.
        let latest = core.timers.now() + DEADLINE_MAX;
        let tick = deadline.map(|deadline| core.timers.tick_of(deadline.min(latest)));
        self.connection.wire.source.set_deadline(tick);
    }

    /// Has the kernel take no more output than leaves this many bytes unsent, by `TCP_NOTSENT_LOWAT`: what is to be sent
    /// next is then decided late, when the peer is about to receive it.
    ///
    /// # Errors
    /// When the stream is not a TCP connection.
    pub fn set_notsent_lowat(&mut self, bytes: u32) -> Result<(), Error> {
        let value = i32::try_from(bytes).unwrap_or(i32::MAX);
        let set = match &self.connection.wire.transport {
            Transport::Socket(fd) => sys::set_option(fd, SocketOption::NotSentLowWater, value),
            _ => Err(std::io::ErrorKind::Unsupported.into()),
        };
        set.map_err(Error::system("setsockopt(TCP_NOTSENT_LOWAT)"))
    }

    /// How many bytes of input lie here unconsumed.
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.connection.kept().len()
    }

    /// Answers the stream's requests by ordered replies from now on, with at most `open_max` open at once.
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
