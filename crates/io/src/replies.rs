//! Replies that leave in the order of their requests, even if they are finished out of order.
//!
//! ```text
//!   requests    1      2      3              a Reply is opened for each, in order, and the task that answers owns it
//!   replies   [done] [open] [done, parked]
//!                |      |          \ waits in memory until 2 is finished
//!                |      \ the oldest that is open: what it writes goes straight to the stream's output
//!                \ gone already
//! ```
//!
//! **Invariant:** protocol code handles no sequence numbers, and it cannot forget a reply: dropping a reply
//! finishes it. One dropped by a panic ends the connection instead, since half an answer would be taken for a whole one.

mod queue;

use std::future::poll_fn;
use std::mem;
use std::rc::Rc;
use std::thread;

use crate::oneshot::{Sender, oneshot};
use crate::output::Output;

pub use queue::Gone;
use queue::State;
pub(crate) use queue::{ReplyQueue, SharedReplies};

/// The ordered replies of a stream; made by [`Stream::replies`](crate::Stream::replies).
///
/// The stream sends what they write by itself, as long as its task waits in [`exchange`](crate::Stream::exchange) or another of
/// its methods. A protocol that answers by replies writes nothing else to the output.
#[derive(Clone)]
pub struct Replies(pub(crate) SharedReplies);

impl Replies {
    /// Opens the reply to the next request. `None` when as many are open as may be: then the request is left in the
    /// input, and the closure is called again when there is room. The first call in a closure always succeeds.
    #[inline]
    #[must_use]
    pub fn open(&self) -> Option<Reply> {
        open(&self.0)
    }
}

/// Opens the next reply of a queue, of whichever order.
#[inline]
fn open(queue: &SharedReplies) -> Option<Reply> {
    let number = queue.borrow_mut().open()?;
    Some(Reply {
        queue: Rc::clone(queue),
        number,
        own: None,
    })
}

/// Replies of a protocol whose replies name their requests: each leaves as soon as it is finished, whole.
#[derive(Clone)]
pub struct Unordered(pub(crate) SharedReplies);

impl Unordered {
    /// As [`Replies::open`].
    #[inline]
    #[must_use]
    pub fn open(&self) -> Option<Reply> {
        open(&self.0)
    }
}

/// The reply to one request. Dropping it finishes it.
pub struct Reply {
    queue: SharedReplies,
    number: u64,
    /// The output of an unordered reply.
    own: Option<Box<Output>>,
}

impl Reply {
    /// Appends to the reply by copy.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) {
        self.with(|output| output.write(bytes));
    }

    /// Appends to the reply whatever an [`Output`] can take, such as pieces that are not copied. What `f` finds in the
    /// output already is not its own. It must not touch other replies of the stream.
    #[inline]
    pub fn with<R>(&mut self, f: impl FnOnce(&mut Output) -> R) -> R {
        let mut queue = self.queue.borrow_mut();
        if queue.over {
            return f(&mut Output::default());
        }
        if queue.is_oldest(self.number) {
            let result = f(&mut queue.ready);
            let waker = queue.whom_to_wake();
            drop(queue);
            if let Some(waker) = waker {
                waker.wake();
            }
            return result;
        }
        if !queue.ordered {
            drop(queue);
            return f(self.own.get_or_insert_default());
        }
        let parked = queue.parked(self.number);
        let before = parked.memory();
        let result = f(parked);
        let grown = parked.memory() - before;
        queue.parked += grown;
        result
    }

    /// Waits until the reply may write more: until the peer has taken most of what the oldest reply has written, or, for
    /// a younger one, until less than 256 KiB are parked. A reply of unknown length calls this before each part, or its
    /// connection may be ended for holding the most.
    ///
    /// # Errors
    /// [`Gone`] when the stream has ended: further output is discarded.
    pub async fn room(&mut self) -> Result<(), Gone> {
        poll_fn(|context| self.queue.borrow_mut().poll_room(self.number, context)).await
    }

    /// True if the stream has ended, and all further output is discarded.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.queue.borrow().over
    }

    /// Lets nothing of the reply leave before it is [released](Reply::release) or finished, even when it is the oldest:
    /// for one that is written before what it says is true, such as that a commit has succeeded. At most 256 KiB can be
    /// held back while waiting for [`room`](Reply::room). Output that has left already is not affected. Unordered replies leave
    /// when they are finished anyway.
    pub fn hold_back(&mut self) {
        self.queue.borrow_mut().hold_back(self.number, true);
    }

    /// Lets the reply leave as soon as it is the oldest.
    pub fn release(&mut self) {
        let waker = self.queue.borrow_mut().hold_back(self.number, false);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Ends the connection, after the replies before this one have left.
    pub fn abort(mut self) {
        self.finish(State::Aborted);
    }

    /// A handle on the reply that can go to another thread. Its output is moved here when it is finished.
    #[must_use]
    pub fn into_remote(self) -> RemoteReply {
        let (sender, receiver) = oneshot();
        crate::spawn(async move {
            let mut reply = self;
            match receiver.await {
                Some(Some(mut output)) => reply.with(|here| here.append(&mut output)),
                _ => reply.abort(),
            }
        })
        .detach();
        RemoteReply {
            output: Output::default(),
            sender: Some(sender),
        }
    }

    #[inline]
    fn finish(&mut self, state: State) {
        let mut queue = self.queue.borrow_mut();
        if let Some(mut own) = self.own.take().filter(|_| state == State::Done) {
            queue.ready.append(&mut own);
        }
        let waker = queue.finish(self.number, state);
        // Whatever is dropped or aborted twice is over the second time.
        self.number = FINISHED;
        drop(queue);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// The number of a reply that was finished before it was dropped.
const FINISHED: u64 = u64::MAX;

impl Drop for Reply {
    #[inline]
    fn drop(&mut self) {
        if self.number != FINISHED {
            self.finish(if thread::panicking() {
                State::Aborted
            } else {
                State::Done
            });
        }
    }
}

/// A [`Reply`] in the hands of another thread. Dropping it finishes it.
pub struct RemoteReply {
    output: Output,
    sender: Option<Sender<Option<Output>>>,
}

impl RemoteReply {
    /// Appends to the reply by copy.
    pub fn write(&mut self, bytes: &[u8]) {
        self.output.write(bytes);
    }

    /// The output so far, to append to.
    pub fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    /// Ends the connection, after the replies before this one have left.
    pub fn abort(mut self) {
        if let Some(sender) = self.sender.take() {
            sender.send(None);
        }
    }
}

impl Drop for RemoteReply {
    fn drop(&mut self) {
        if let Some(sender) = self.sender.take() {
            sender.send((!thread::panicking()).then(|| mem::take(&mut self.output)));
        }
    }
}

macro_rules! opaque_debug {
    ($($type:ident)*) => {$(
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($type)).finish_non_exhaustive()
            }
        }
    )*};
}
opaque_debug!(Replies Unordered Reply RemoteReply);
