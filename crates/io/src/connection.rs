//! The inside of a stream: pending input, pending output, and how both move.
//!
//! ```text
//!            kernel ──> loop's input ──(closure)──> loop's output ──> kernel
//!                        ^      |                        |      ^
//!                        |      v not consumed           v      | refused by the kernel
//!                       input.rs: Input              output.rs: Queue
//! ```
//!
//! `exchange.rs` calls the closure, `bulk.rs` receives what is too large for one, `idle.rs` decides when silence is a
//! fault, `closing.rs` ends the connection so that everything arrives.
//!
//! **Invariant:** a closure is lent input only while the queue is empty, so that one connection's unsent output is
//! bounded by what one exchange writes.

mod bulk;
mod closing;
mod exchange;
mod idle;
mod input;
mod output;

use std::rc::Rc;

use crate::Error;
use crate::core::Core;
use crate::notifier::Notifier;
use crate::permit::Permit;
use crate::queue::Queue;
use crate::replies::{ReplyQueue, SharedReplies};
use crate::tls::{HandshakePermit, TlsLayer};
use crate::transport::Wire;

pub use closing::Liveness;
pub(crate) use closing::{LINGER_BYTES_MAX, LINGER_MAX};
pub(crate) use exchange::Lent;
use input::Input;

pub(crate) struct Connection {
    pub(crate) wire: Wire,
    pub(crate) tls: Option<Box<TlsLayer>>,
    input: Input,
    /// Output that the kernel has refused so far.
    queue: Option<Box<Queue>>,
    replies: Option<SharedReplies>,
    /// Counts it among the connections of its listener.
    permit: Option<Permit>,
}

impl Connection {
    pub(crate) fn new(wire: Wire) -> Connection {
        Connection {
            wire,
            tls: None,
            input: Input::default(),
            queue: None,
            replies: None,
            permit: None,
        }
    }

    /// Keeps the listener's permit for as long as the connection lives.
    pub(crate) fn set_permit(&mut self, permit: Permit) {
        self.permit = Some(permit);
    }

    pub(crate) fn take_handshake_permit(&mut self) -> Option<HandshakePermit> {
        self.permit.as_mut()?.handshake.take()
    }

    #[inline]
    pub(crate) fn core(&self) -> &Rc<Core> {
        &self.wire.source.core
    }

    /// Has the stream answered by replies.
    pub(crate) fn set_replies(&mut self, ordered: bool, open_max: usize) -> SharedReplies {
        let replies = ReplyQueue::new(self.core(), ordered, open_max);
        self.replies = Some(Rc::clone(&replies));
        replies
    }

    /// A handle that asks for exchanges of this connection.
    pub(crate) fn notifier(&mut self) -> Notifier {
        self.input.has_notifier = true;
        Notifier::new(self.core(), self.wire.source.token())
    }

    pub(crate) fn has_replies(&self) -> bool {
        self.replies.is_some()
    }

    fn has_open_replies(&self) -> bool {
        self.replies
            .as_ref()
            .is_some_and(|replies| replies.borrow().is_open())
    }

    /// Tells the loop what this connection holds now.
    #[inline]
    pub(crate) fn account(&mut self) -> Result<(), Error> {
        self.account_with(0)
    }

    /// The same with bytes that the stream's user keeps.
    #[inline]
    pub(crate) fn account_with(&mut self, more: usize) -> Result<(), Error> {
        let held = more
            + self.input.held()
            + self.queue.as_ref().map_or(0, |queue| queue.held())
            + self.tls.as_ref().map_or(0, |tls| tls.held())
            + self.replies.as_ref().map_or(0, |replies| replies.borrow().held());
        self.wire.source.hold(held)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Output in the outbox is sent as if it had never waited. No caller is left to learn of a failure.
        let _ = self.settle_outbox();
        if let Some(replies) = &self.replies {
            replies.borrow_mut().end();
        }
        // Holding less is never refused.
        let _ = self.wire.source.hold(0);
    }
}
