//! The end of a connection, in such a way that everything arrives.

use std::task::{Context, Poll, ready};
use std::time::Duration;

use super::Connection;
use crate::Error;
use crate::core::FAULTS;
use crate::transport::Transport;

/// How long a connection that is being closed waits for its peer to end its side.
pub(crate) const LINGER_MAX: Duration = Duration::from_secs(1);
/// Bytes of input that a connection that is being closed discards meanwhile.
pub(crate) const LINGER_BYTES_MAX: u64 = 16 << 20;

/// The result of [`Stream::liveness`](crate::Stream::liveness).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Liveness {
    /// Nothing has come.
    Quiet,
    /// Input has come, and is kept for the next exchange.
    Input,
    /// The peer has ended its side, or the connection has failed.
    Ended,
}

impl Connection {
    /// Sends all output, then ends our side: the peer reads an end after what was sent.
    pub(crate) fn poll_shutdown(
        &mut self,
        context: &mut Context<'_>,
        notified: &mut bool,
    ) -> Poll<Result<(), Error>> {
        ready!(self.poll_flush(context))?;
        if !*notified {
            *notified = true;
            self.send_close_notify()?;
            ready!(self.poll_flush(context))?;
        }
        Poll::Ready(self.wire.shutdown_write())
    }

    /// Under TLS, sends the alert that says that no more follows.
    fn send_close_notify(&mut self) -> Result<(), Error> {
        match &mut self.tls {
            Some(tls) => tls.close_notify(&self.wire),
            None => Ok(()),
        }
    }

    /// Lets a connection that has timed out say so to its peer before it ends: it gets its idle timeout again, and
    /// [`LINGER_MAX`] in place of its deadline.
    pub(crate) fn prepare_close(&mut self) {
        let source = &self.wire.source;
        if source.bits() & FAULTS == 0 {
            return;
        }
        source.set_idle(source.idle());
        let core = self.core();
        source.set_deadline(Some(core.timers.tick_of(core.timers.now() + LINGER_MAX)));
    }

    /// True if the kernel would discard unread output when the socket is closed now: a socket that has unread input, or
    /// receives more, resets its connection.
    ///
    /// While the loop drains, only a peer that is sending is waited for: the others would hold up the end.
    pub(crate) fn must_linger(&mut self) -> bool {
        if self.input.ended || !matches!(self.wire.transport, Transport::Socket(_)) {
            return false;
        }
        !self.input.rest.is_empty() || !self.core().draining.get() || self.liveness() == Liveness::Input
    }

    /// Reads what a peer has sent of which nothing is expected.
    pub(crate) fn liveness(&mut self) -> Liveness {
        if !self.input.rest.is_empty() {
            return Liveness::Input;
        }
        if self.input.ended {
            return Liveness::Ended;
        }
        let core = std::rc::Rc::clone(self.core());
        let hot = &mut *core.hot.borrow_mut();
        match self.read_some(&mut hot.input) {
            Ok(None) => Liveness::Quiet,
            Ok(Some(0)) | Err(_) => {
                self.input.ended = true;
                Liveness::Ended
            }
            Ok(Some(count)) => {
                self.input.received = true;
                match self.keep(&hot.input[..count]) {
                    Ok(()) => Liveness::Input,
                    Err(_) => Liveness::Ended,
                }
            }
        }
    }
}
