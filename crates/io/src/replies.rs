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
//! **Invariant:** protocol code handles no sequence numbers, and it cannot forget a reply: dropping a reply finishes it. One dropped by a panic ends the connection instead, since half an answer would be taken for a whole one.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::thread;

use crate::core::Core;
use crate::oneshot::{Sender, oneshot};
use crate::output::Output;

/// Bytes of finished replies that may wait behind an unfinished one before no more requests are read.
const PARKED_MAX: usize = 256 << 10;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// Open, and nothing of it leaves even when it is the oldest.
    HeldBack,
    Done,
    Aborted,
}

struct Slot {
    parked: Option<Box<Output>>,
    state: State,
}

/// The replies of one stream.
pub(crate) struct ReplyQueue {
    core: Rc<Core>,
    /// Those that have not left, the oldest first. Unused by unordered ones.
    slots: VecDeque<Slot>,
    /// The number of the first slot.
    base: u64,
    /// Output that may leave now. While the stream's closure runs, this is the loop's own output buffer.
    ready: Output,
    ordered: bool,
    open: usize,
    open_max: usize,
    /// Bytes of memory that parked replies keep.
    parked: usize,
    /// Replies that are held back.
    held_back: usize,
    /// The stream is about to look by itself.
    lent: bool,
    /// Nothing is wanted any more: a reply was aborted, or the stream has gone.
    over: bool,
    waker: Option<Waker>,
    /// Replies that wait for room.
    room: Vec<Waker>,
}

pub(crate) type SharedReplies = Rc<RefCell<ReplyQueue>>;

impl ReplyQueue {
    pub(crate) fn new(core: &Rc<Core>, ordered: bool, open_max: usize) -> SharedReplies {
        Rc::new(RefCell::new(ReplyQueue {
            core: Rc::clone(core),
            slots: VecDeque::new(),
            base: 0,
            ready: Output::new(core.config.output_size),
            ordered,
            open: 0,
            open_max: open_max.max(1),
            parked: 0,
            held_back: 0,
            room: Vec::new(),
            lent: false,
            over: false,
            waker: None,
        }))
    }

    /// True if another reply may be opened.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.slots.len().max(self.open) < self.open_max && self.parked < PARKED_MAX
    }

    /// True if a reply is being worked on.
    pub(crate) fn is_open(&self) -> bool {
        self.open > 0
    }

    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// True if the connection is to end after what is ready.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    pub(crate) fn held(&self) -> usize {
        self.parked + self.ready.held()
    }

    /// Exchanges the bytes that may leave for `output`: before a closure runs, and again after it.
    pub(crate) fn swap(&mut self, output: &mut Output, lent: bool) {
        mem::swap(&mut self.ready, output);
        self.lent = lent;
        self.tell_room();
    }

    /// Appends the bytes that the closure wrote directly to those that the replies wrote.
    pub(crate) fn take_back(&mut self, output: &mut Output) {
        self.swap(output, false);
        if !self.ready.is_empty() {
            output.append(&mut self.ready);
        }
    }

    pub(crate) fn wait(&mut self, context: &Context<'_>) {
        match &mut self.waker {
            Some(waker) => waker.clone_from(context.waker()),
            None => self.waker = Some(context.waker().clone()),
        }
    }

    /// The stream has gone.
    pub(crate) fn end(&mut self) {
        self.over = true;
        self.slots = VecDeque::new();
        self.ready.clear();
        self.tell_room();
    }

    /// Wakes those that wait for room: there may be some, or there will be none.
    #[inline]
    fn tell_room(&mut self) {
        if !self.room.is_empty() {
            mem::take(&mut self.room).into_iter().for_each(Waker::wake);
        }
    }

    /// Waits until a reply may write more.
    fn poll_room(&mut self, number: u64, context: &Context<'_>) -> Poll<Result<(), Gone>> {
        if self.over {
            return Poll::Ready(Err(Gone));
        }
        let room = if self.is_oldest(number) {
            !self.ready.full()
        } else {
            !self.ordered || self.parked < PARKED_MAX
        };
        if room {
            return Poll::Ready(Ok(()));
        }
        if !self.room.iter().any(|waker| waker.will_wake(context.waker())) {
            self.room.push(context.waker().clone());
        }
        Poll::Pending
    }

    /// The number of a new reply.
    #[inline]
    fn open(&mut self) -> Option<u64> {
        if !self.has_room() {
            return None;
        }
        self.open += 1;
        if self.ordered {
            self.slots.push_back(Slot {
                parked: None,
                state: State::Open,
            });
        }
        Some(self.base + self.slots.len() as u64 - u64::from(self.ordered))
    }

    /// True if a reply writes straight to the output.
    #[inline]
    fn is_oldest(&self, number: u64) -> bool {
        self.ordered && number == self.base && (self.held_back == 0 || !self.is_held_back(number))
    }

    #[cold]
    fn is_held_back(&self, number: u64) -> bool {
        self.slots[(number - self.base) as usize].state == State::HeldBack
    }

    /// Holds an ordered reply back, or no longer; returns whom to tell that there is something to send.
    fn hold_back(&mut self, number: u64, hold: bool) -> Option<Waker> {
        if self.over || !self.ordered || self.is_held_back(number) == hold {
            return None;
        }
        let slot = &mut self.slots[(number - self.base) as usize];
        if hold {
            slot.state = State::HeldBack;
            self.held_back += 1;
            return None;
        }
        slot.state = State::Open;
        self.held_back -= 1;
        if number == self.base {
            self.advance();
        }
        self.whom_to_wake()
    }

    fn parked(&mut self, number: u64) -> &mut Output {
        let slot = &mut self.slots[(number - self.base) as usize];
        slot.parked
            .get_or_insert_with(|| self.core.spares.borrow_mut().take())
    }

    /// Ends a reply; answers whom to tell that there is something to send, or room.
    #[inline]
    fn finish(&mut self, number: u64, state: State) -> Option<Waker> {
        if self.over {
            return None;
        }
        self.open -= 1;
        if self.held_back > 0 && self.ordered && self.is_held_back(number) {
            self.held_back -= 1;
        }
        if !self.ordered {
            self.over |= state == State::Aborted;
        } else if number == self.base
            && self.slots.len() == 1
            && state == State::Done
            && self.slots[0].parked.is_none()
        {
            self.slots.pop_front();
            self.base += 1;
        } else {
            self.slots[(number - self.base) as usize].state = state;
            if number == self.base {
                self.advance();
            }
        }
        self.whom_to_wake()
    }

    /// Lets everything leave that no unfinished reply stands before.
    fn advance(&mut self) {
        while let Some(slot) = self.slots.front_mut() {
            if slot.state == State::HeldBack {
                break;
            }
            if let Some(mut parked) = slot.parked.take() {
                self.parked -= parked.memory();
                // Of an aborted reply nothing is to be seen that has not left already.
                if slot.state != State::Aborted {
                    self.ready.append(&mut parked);
                    self.core.spares.borrow_mut().put(parked);
                }
            }
            match slot.state {
                State::Open | State::HeldBack => break,
                State::Aborted => {
                    self.over = true;
                    self.slots = VecDeque::new();
                    break;
                }
                State::Done => {
                    self.slots.pop_front();
                    self.base += 1;
                }
            }
        }
        self.tell_room();
    }

    #[inline]
    fn whom_to_wake(&mut self) -> Option<Waker> {
        if self.lent { None } else { self.waker.take() }
    }
}

/// The stream that a reply belongs to has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the stream has ended")]
pub struct Gone;

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
