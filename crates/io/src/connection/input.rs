//! The input of a connection: what a closure left unconsumed, and when a read is worth trying.

use std::mem;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use super::{Connection, Lent};
use crate::Error;
use crate::core::{FAULTS, Hot, NOTIFIED, POSTED, READABLE, RETURNED, WRITABLE};
use crate::output::Exchange;
use crate::replies::SharedReplies;
use crate::rest::Rest;

/// A remainder up to this size is copied before the bytes that follow it; a larger one has them copied behind it.
const REJOIN_MAX: usize = 4 << 10;

/// The input side of a connection.
pub(super) struct Input {
    /// Input that no closure has consumed.
    pub(super) rest: Rest,
    /// Bytes of input that the next closure waits for; at least 1.
    pub(super) need: usize,
    /// True if the peer has ended its side.
    pub(super) ended: bool,
    /// True if the closure wants to be called again as soon as its output has left.
    pub(super) wants_room: bool,
    /// True if a notifier may ask for an exchange at any time.
    pub(super) has_notifier: bool,
    /// True if an exchange has told that the peer ended its side.
    told_end: bool,
    /// True if an exchange has told that the loop drains.
    told_drain: bool,
    /// Whether anything has been received.
    pub(super) received: bool,
}

impl Default for Input {
    fn default() -> Input {
        Input {
            rest: Rest::default(),
            need: 1,
            ended: false,
            wants_room: false,
            has_notifier: false,
            told_end: false,
            told_drain: false,
            received: false,
        }
    }
}

impl Input {
    /// Bytes of memory that it takes.
    #[inline]
    pub(super) fn held(&self) -> usize {
        self.rest.held()
    }

    /// True if anything but input may have to be told to an exchange.
    #[inline]
    fn is_special(&self) -> bool {
        self.ended || self.wants_room
    }
}

impl Connection {
    /// Waits until a closure can be called.
    #[inline]
    pub(crate) fn poll_input(&mut self, context: &mut Context<'_>) -> Poll<Result<Lent, Error>> {
        if !self.core().scheduler.may_go_on(context) {
            return Poll::Pending;
        }
        self.core().scheduler.spend_exchange();
        let bits = self.wire.source.bits();
        if bits & FAULTS != 0 {
            self.check_faults()?;
        }
        let goes_on =
            bits & (READABLE | NOTIFIED) != 0 || !self.input.rest.is_empty() || self.input.wants_room;
        if bits & RETURNED != 0 || (bits & POSTED != 0 && goes_on) {
            self.settle_outbox()?;
        }
        if self.replies.is_some() || self.must_flush() {
            ready!(self.poll_before_input(context))?;
        }
        self.poll_lendable(context)
    }

    /// As [`poll_input`](Connection::poll_input), for a half that reads: output of the other half does not hold it up.
    pub(crate) fn poll_input_alone(&mut self, context: &mut Context<'_>) -> Poll<Result<Lent, Error>> {
        if !self.core().scheduler.may_go_on(context) {
            return Poll::Pending;
        }
        self.core().scheduler.spend_exchange();
        if self.wire.source.bits() & FAULTS != 0 {
            self.check_faults()?;
        }
        if let (Some(tls), None) = (&mut self.tls, &self.queue) {
            // What TLS itself has to answer, such as a key update.
            tls.flush(&self.wire)?;
        }
        self.poll_lendable(context)
    }

    #[inline]
    fn poll_lendable(&mut self, context: &mut Context<'_>) -> Poll<Result<Lent, Error>> {
        if !self.input.rest.is_empty() && self.input.rest.len() >= self.input.need {
            return Poll::Ready(Ok(Lent::Rest));
        }
        self.poll_more_input(context)
    }

    /// The output of earlier exchanges, and replies.
    fn poll_before_input(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let has_ready = |replies: &SharedReplies| replies.borrow().has_ready();
        if self.must_flush() || self.replies.as_ref().is_some_and(has_ready) {
            ready!(self.poll_flush(context))?;
        }
        if let Some(replies) = &self.replies {
            let mut replies = replies.borrow_mut();
            replies.wait(context);
            if !replies.has_room() {
                self.wire.source.wait(context, 0);
                return Poll::Pending;
            }
        }
        Poll::Ready(Ok(()))
    }

    #[inline]
    fn poll_more_input(&mut self, context: &mut Context<'_>) -> Poll<Result<Lent, Error>> {
        if self.may_read() && !self.input.ended && !self.was_aborted() {
            let core = Rc::clone(self.core());
            let hot = &mut *core.hot.borrow_mut();
            loop {
                if let Some(lent) = self.read_joined(hot)? {
                    return Poll::Ready(Ok(lent));
                }
                if self.input.ended || !self.may_read() {
                    break;
                }
                if !core.scheduler.may_go_on(context) {
                    return Poll::Pending;
                }
            }
        }
        let bits = self.wire.source.bits();
        let input_alone = bits & NOTIFIED == 0 && self.replies.is_none() && self.tls.is_none();
        if !input_alone || self.input.is_special() || self.core().any_drain.get() {
            return self.poll_without_input(context);
        }
        self.wire.source.wait(context, READABLE | NOTIFIED);
        Poll::Pending
    }

    fn poll_without_input(&mut self, context: &mut Context<'_>) -> Poll<Result<Lent, Error>> {
        if let Some(lent) = self.lend_without_input() {
            return Poll::Ready(Ok(lent));
        }
        let interest = match self.tls.as_ref().is_some_and(|tls| tls.has_output()) {
            true => READABLE | WRITABLE | NOTIFIED,
            false => READABLE | NOTIFIED,
        };
        self.wire.source.wait(context, interest);
        Poll::Pending
    }

    /// Why an exchange goes on although there is not the input that it needs.
    fn lend_without_input(&mut self) -> Option<Lent> {
        let aborted = self.was_aborted();
        if !aborted && (self.wire.source.bits() & NOTIFIED != 0 || self.input.wants_room) {
            return Some(match self.input.rest.is_empty() {
                true => Lent::Hot(0),
                false => Lent::Rest,
            });
        }
        if aborted || (self.input.ended && !self.has_open_replies()) {
            if mem::replace(&mut self.input.told_end, true) && self.input.has_notifier && !aborted {
                return None;
            }
            let clean = self.ended_cleanly();
            return Some(Lent::None(Exchange::Ended { clean }));
        }
        let quiet = self.input.rest.is_empty() && !self.has_open_replies();
        if !self.input.ended && quiet && self.is_draining() {
            let told = mem::replace(&mut self.input.told_drain, true);
            return (!told).then_some(Lent::None(Exchange::Draining));
        }
        None
    }

    /// Whether the connection ends once it is idle. A new one may be about to send its first request, which it gets the time
    /// to do.
    fn is_draining(&self) -> bool {
        let (core, received) = (self.core(), self.input.received);
        let begun = if received {
            core.draining.get()
        } else {
            core.drains_new.get()
        };
        let listener = self.permit.as_ref();
        begun || listener.is_some_and(|permit| permit.is_draining(received))
    }

    fn was_aborted(&self) -> bool {
        self.replies
            .as_ref()
            .is_some_and(|replies| replies.borrow().is_over())
    }

    /// True if the peer ended its side between two messages, and under TLS said so.
    fn ended_cleanly(&self) -> bool {
        let ended = self.input.ended && self.input.rest.is_empty() && !self.was_aborted();
        ended && self.tls.as_ref().is_none_or(|tls| tls.ended_properly())
    }

    /// True if a read is worth trying.
    pub(super) fn may_read(&self) -> bool {
        self.wire.source.bits() & READABLE != 0 || self.tls.as_ref().is_some_and(|tls| tls.has_input())
    }

    /// Reads once, to where it joins what is here already; `None` as long as that is too little.
    fn read_joined(&mut self, hot: &mut Hot) -> Result<Option<Lent>, Error> {
        let (kept, need) = (self.input.rest.len(), self.input.need);
        let rejoin = kept <= REJOIN_MAX.min(hot.input.len() / 2) && need <= hot.input.len();
        let front = if rejoin { kept } else { 0 };
        let count = match self.read_some(&mut hot.input[front..])? {
            None => return Ok(None),
            Some(0) => {
                self.end_input()?;
                return Ok(None);
            }
            Some(count) => count,
        };
        self.input.received = true;
        self.core().scheduler.spend_bytes(count);
        if rejoin && kept + count >= need {
            if kept > 0 {
                hot.input[..kept].copy_from_slice(self.input.rest.bytes());
                self.input.rest.consume(kept);
                self.account()?;
            }
            return Ok(Some(Lent::Hot(kept + count)));
        }
        self.keep(&hot.input[front..front + count])?;
        Ok((self.input.rest.len() >= need).then_some(Lent::Rest))
    }

    /// Reads what is there; `None` when nothing is, 0 at the end of the stream. The caller sets [`Input::received`].
    #[inline]
    pub(super) fn read_some(&mut self, destination: &mut [u8]) -> Result<Option<usize>, Error> {
        match &mut self.tls {
            None => self.wire.read(destination),
            Some(tls) => {
                let result = tls.read(&self.wire, destination);
                self.account()?;
                result
            }
        }
    }

    /// The peer has ended its side. Under TLS it has to say so: otherwise an attacker may have cut the stream short.
    pub(super) fn end_input(&mut self) -> Result<(), Error> {
        self.input.ended = true;
        let kept = self.input.rest.len();
        if kept > 0 && self.tls.as_ref().is_some_and(|tls| !tls.ended_properly()) {
            return Err(Error::UnexpectedEnd {
                missing: (self.input.need.max(kept + 1) - kept) as u64,
            });
        }
        Ok(())
    }

    /// Puts bytes behind those that the connection keeps.
    pub(super) fn keep(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let held = self.input.rest.held_with(bytes.len(), self.input.need);
        let more = held - self.input.rest.held();
        if more > 0 {
            let source = &self.wire.source;
            source.hold(source.held() + more)?;
        }
        self.input.rest.append(bytes, held);
        self.account()
    }

    /// Gives up the input that the connection keeps, for another owner to account for.
    pub(crate) fn take_rest(&mut self) -> Result<Rest, Error> {
        let rest = std::mem::take(&mut self.input.rest);
        self.account()?;
        Ok(rest)
    }

    /// Takes the kept input away for as long as a closure looks at it; it still counts as held.
    pub(crate) fn lift_rest(&mut self) -> Rest {
        mem::take(&mut self.input.rest)
    }

    pub(crate) fn put_rest(&mut self, rest: Rest) {
        self.input.rest = rest;
    }

    /// Input that the connection keeps.
    #[inline]
    pub(crate) fn kept(&self) -> &[u8] {
        self.input.rest.bytes()
    }
}
