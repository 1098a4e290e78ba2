//! The two directions of a stream, each used by itself: for tunnels, and for protocols that talk both ways at once.
//!
//! **Invariant:** the connection is not borrowed while a closure runs, so a closure that is lent input may write to any
//! stream, its own included.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use crate::connection::{Connection, Lent};
use crate::output::{Exchange, Took};
use crate::piece::Piece;
use crate::{Error, Stream, waker};

type Shared = Rc<RefCell<Box<Connection>>>;

impl Stream {
    /// Divides the stream into halves which read and write independently: output that the peer does not read does not
    /// stop input, and the other way round.
    ///
    /// # Panics
    /// If the stream is answered by [`Replies`](crate::Replies) or [`Unordered`](crate::Unordered), which need both halves.
    #[must_use]
    pub fn split(self) -> (ReadHalf, WriteHalf) {
        let connection = self.into_connection();
        assert!(
            !connection.has_replies(),
            "a stream that is answered by replies cannot be split"
        );
        connection.wire.source.set_split(true);
        let shared = Rc::new(RefCell::new(connection));
        let reads = ReadHalf {
            shared: Rc::clone(&shared),
        };
        (reads, WriteHalf { shared })
    }
}

/// The half of a stream that reads; made by [`Stream::split`]. The connection is closed when both halves are dropped.
pub struct ReadHalf {
    shared: Shared,
}

/// The half of a stream that writes; made by [`Stream::split`].
///
/// To drop it does not end our side of the stream: [`shutdown`](WriteHalf::shutdown) does.
pub struct WriteHalf {
    shared: Shared,
}

impl ReadHalf {
    /// Lends input to `f`, once, as soon as there is some: [`Stream::exchange`] without the output.
    ///
    /// # Errors
    /// As [`Stream::exchange`].
    ///
    /// # Panics
    /// When `f` says that it consumed more than there was.
    pub async fn receive<F, T>(&mut self, f: F) -> Result<Exchange, Error>
    where
        F: FnOnce(&[u8]) -> T,
        T: Into<Took>,
    {
        let mut f = Some(f);
        poll_fn(|context| self.poll_receive(context, &mut f)).await
    }

    fn poll_receive<F, T>(
        &self,
        context: &mut Context<'_>,
        f: &mut Option<F>,
    ) -> Poll<Result<Exchange, Error>>
    where
        F: FnOnce(&[u8]) -> T,
        T: Into<Took>,
    {
        let mut connection = self.shared.borrow_mut();
        let lent = match ready!(connection.poll_input_alone(context))? {
            Lent::None(exchange) => return Poll::Ready(Ok(exchange)),
            lent => lent,
        };
        let f = f.take().expect("an exchange that is over is not polled again");
        let core = Rc::clone(connection.core());
        let hot = &*core.hot.borrow();
        let took = match lent {
            Lent::Hot(length) => {
                drop(connection);
                f(&hot.input[..length]).into()
            }
            _ => {
                let rest = connection.lift_rest();
                drop(connection);
                let took = f(rest.bytes()).into();
                self.shared.borrow_mut().put_rest(rest);
                took
            }
        };
        let settled = self.shared.borrow_mut().settle_input(lent, took, hot);
        Poll::Ready(settled.map(|()| Exchange::Open))
    }

    /// Fills `destination`, as [`Stream::read_exact`].
    ///
    /// # Errors
    /// As [`Stream::read_exact`].
    pub async fn read_exact(&mut self, destination: &mut [u8]) -> Result<(), Error> {
        let mut filled = 0;
        poll_fn(|context| {
            let mut connection = self.shared.borrow_mut();
            connection.poll_read_exact(context, destination, &mut filled)
        })
        .await
    }

    /// Hands everything that comes to another stream, until this one ends, and returns the number of bytes. No more is
    /// read than the other stream takes, but for the one read that fills it.
    ///
    /// # Errors
    /// Those of either stream.
    pub async fn relay(&mut self, to: &mut WriteHalf) -> Result<u64, Error> {
        let mut relayed = 0;
        loop {
            let mut written = Ok(());
            let received = poll_fn(|context| {
                ready!(to.shared.borrow_mut().poll_relay(context))?;
                let writer = waker::task_of(context.waker());
                let mut hand_on = Some(|input: &[u8]| {
                    written = to.shared.borrow_mut().relay(input, writer);
                    relayed += input.len() as u64;
                    input.len()
                });
                self.poll_receive(context, &mut hand_on)
            });
            let exchange = received.await?;
            written?;
            if let Exchange::Ended { .. } = exchange {
                to.flush().await?;
                return Ok(relayed);
            }
        }
    }

    /// Joins the halves of one stream again.
    ///
    /// # Panics
    /// If they are halves of different streams.
    #[must_use]
    pub fn unsplit(self, writes: WriteHalf) -> Stream {
        assert!(
            Rc::ptr_eq(&self.shared, &writes.shared),
            "these are halves of different streams"
        );
        drop(writes);
        let connection = Rc::into_inner(self.shared).expect("a stream has two halves");
        let connection = connection.into_inner();
        connection.wire.source.set_split(false);
        Stream::from_connection(connection)
    }
}

impl WriteHalf {
    /// Sends a piece as soon as all earlier output was taken by the kernel, as [`Stream::send`].
    ///
    /// # Errors
    /// As [`Stream::send`].
    pub async fn send(&mut self, piece: impl Into<Piece>) -> Result<(), Error> {
        let mut piece = Some(piece.into());
        poll_fn(|context| {
            let mut connection = self.shared.borrow_mut();
            ready!(connection.poll_flush(context))?;
            Poll::Ready(piece.take().map_or(Ok(()), |piece| connection.send(piece)))
        })
        .await
    }

    /// Writes bytes behind all earlier output, without waiting: the stream copies and keeps what the kernel does not take.
    /// [`flush`](WriteHalf::flush) before the next call bounds what is kept.
    ///
    /// # Errors
    /// As [`Stream::send`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.shared.borrow_mut().write_or_queue(bytes)
    }

    /// Waits until the kernel has taken everything.
    ///
    /// # Errors
    /// As [`Stream::flush`].
    pub async fn flush(&mut self) -> Result<(), Error> {
        poll_fn(|context| self.shared.borrow_mut().poll_flush(context)).await
    }

    /// Sends what is left and ends our side of the stream: the peer reads an end after that.
    ///
    /// # Errors
    /// As [`Stream::shutdown_write`].
    pub async fn shutdown(&mut self) -> Result<(), Error> {
        let mut notified = false;
        poll_fn(|context| self.shared.borrow_mut().poll_shutdown(context, &mut notified)).await
    }
}

impl std::fmt::Debug for ReadHalf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadHalf").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for WriteHalf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WriteHalf").finish_non_exhaustive()
    }
}
