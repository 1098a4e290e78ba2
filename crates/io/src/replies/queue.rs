//! The replies of one stream that have not left yet, in the order of their requests.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::mem;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use crate::core::Core;
use crate::output::Output;

/// Bytes of finished replies that may wait behind an unfinished one before no more requests are read.
const PARKED_MAX: usize = 256 << 10;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
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
    pub(super) ready: Output,
    pub(super) ordered: bool,
    open: usize,
    open_max: usize,
    /// Bytes of memory that parked replies keep.
    pub(super) parked: usize,
    /// Replies that are held back.
    held_back: usize,
    /// The stream is about to look by itself.
    lent: bool,
    /// Nothing is wanted any more: a reply was aborted, or the stream has gone.
    pub(super) over: bool,
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
    pub(super) fn poll_room(&mut self, number: u64, context: &Context<'_>) -> Poll<Result<(), Gone>> {
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
    pub(super) fn open(&mut self) -> Option<u64> {
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
    pub(super) fn is_oldest(&self, number: u64) -> bool {
        self.ordered && number == self.base && (self.held_back == 0 || !self.is_held_back(number))
    }

    #[cold]
    fn is_held_back(&self, number: u64) -> bool {
        self.slots[(number - self.base) as usize].state == State::HeldBack
    }

    /// Holds an ordered reply back, or no longer; returns whom to tell that there is something to send.
    pub(super) fn hold_back(&mut self, number: u64, hold: bool) -> Option<Waker> {
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

    pub(super) fn parked(&mut self, number: u64) -> &mut Output {
        let slot = &mut self.slots[(number - self.base) as usize];
        slot.parked
            .get_or_insert_with(|| self.core.spares.borrow_mut().take())
    }

    /// Ends a reply; answers whom to tell that there is something to send, or room.
    #[inline]
    pub(super) fn finish(&mut self, number: u64, state: State) -> Option<Waker> {
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
    pub(super) fn whom_to_wake(&mut self) -> Option<Waker> {
        if self.lent { None } else { self.waker.take() }
    }
}

/// The stream that a reply belongs to has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the stream has ended")]
pub struct Gone;
