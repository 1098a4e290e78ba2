//! The input of a connection: what a closure left unconsumed, and when a read is worth trying.

use std::rc::Rc;
use std::task::{Context, Poll, ready};

use super::{Connection, Lent};
use crate::Error;
use crate::core::Hot;
use crate::rest::Rest;
use crate::source::{EXPIRED, POSTED, READABLE, RETURNED};

/// A remainder up to this size is copied before the bytes that follow it; a larger one has them copied behind it.
const REJOIN_MAX: usize = 4 << 10;

/// The input side of a connection.
pub(super) struct Input {
    /// Input that no closure has consumed.
    pub(super) rest: Rest,
    /// Bytes of input that the next closure waits for; at least 1.
    pub(super) need: usize,
    /// Whether the peer has ended its side.
    pub(super) ended: bool,
}

impl Default for Input {
    fn default() -> Input {
        Input {
            rest: Rest::default(),
            need: 1,
            ended: false,
        }
    }
}

impl Input {
    /// Bytes of memory that it takes.
    #[inline]
    pub(super) fn held(&self) -> usize {
        self.rest.held()
    }
}

impl Connection {
    /// Waits until a closure can be called.
    #[inline]
    pub(crate) fn poll_input(&mut self, context: &mut Context<'_>) -> Poll<Result<Lent, Error>> {
        if !self.core().may_go_on(context) {
            return Poll::Pending;
        }
        self.core().spend_exchange();
        let bits = self.wire.source.bits();
        let goes_on = bits & READABLE != 0 || !self.input.rest.is_empty();
        if bits & RETURNED != 0 || (bits & POSTED != 0 && goes_on) {
            self.settle_outbox()?;
        }
        if self.replies.is_some() || self.must_flush() {
            ready!(self.poll_before_input(context))?;
        }
        if !self.input.rest.is_empty() && self.input.rest.len() >= self.input.need {
            return Poll::Ready(Ok(Lent::Rest));
        }
        self.poll_more_input(context)
    }

    /// The output of earlier exchanges, and replies.
    fn poll_before_input(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        ready!(self.poll_flush(context))?;
        if let Some(replies) = &self.replies {
            let mut replies = replies.borrow_mut();
            replies.wait(context);
            if !replies.has_room() {
                self.wire.source.wait(context, EXPIRED);
                return Poll::Pending;
            }
        }
        Poll::Ready(Ok(()))
    }

    fn poll_more_input(&mut self, context: &mut Context<'_>) -> Poll<Result<Lent, Error>> {
        let core = Rc::clone(self.core());
        loop {
            if self.is_over() {
                return Poll::Ready(Ok(Lent::Ended {
                    clean: self.ended_cleanly(),
                }));
            }
            if self.input.ended || !self.may_read()? {
                let quiet = self.input.rest.is_empty() && !self.has_open_replies();
                if !self.input.ended && core.draining.get() && quiet {
                    return Poll::Ready(Ok(Lent::Draining));
                }
                self.wire.source.wait(context, READABLE);
                return Poll::Pending;
            }
            let hot = &mut *core.hot.borrow_mut();
            if let Some(lent) = self.read_joined(hot)? {
                return Poll::Ready(Ok(lent));
            }
        }
    }

    /// Whether there is nothing more to be done: the peer has ended its side, or a reply was aborted, and no answer is
    /// still being worked on.
    fn is_over(&self) -> bool {
        self.was_aborted() || (self.input.ended && !self.has_open_replies())
    }

    fn was_aborted(&self) -> bool {
        self.replies
            .as_ref()
            .is_some_and(|replies| replies.borrow().is_over())
    }

    /// Whether the peer ended its side between two messages, and under TLS said so.
    fn ended_cleanly(&self) -> bool {
        let ended = self.input.ended && self.input.rest.is_empty() && !self.was_aborted();
        ended && self.tls.as_ref().is_none_or(|tls| tls.ended_properly())
    }

    /// Whether a read is worth trying.
    pub(super) fn may_read(&self) -> Result<bool, Error> {
        let bits = self.wire.source.bits();
        if bits & EXPIRED != 0 {
            self.handle_idle_timeout()?;
        }
        Ok(bits & READABLE != 0 || self.tls.as_ref().is_some_and(|tls| tls.has_input()))
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
        self.core().spend_bytes(count);
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

    /// Reads what is there; `None` when nothing is, 0 at the end of the stream.
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
        self.core().hold(self.held, self.held + more)?;
        self.held += more;
        self.input.rest.append(bytes, held);
        self.account()
    }

    /// Gives up the input that the connection keeps, for another owner to account for.
    pub(crate) fn take_rest(&mut self) -> Result<Rest, Error> {
        let rest = std::mem::take(&mut self.input.rest);
        self.account()?;
        Ok(rest)
    }

    /// Input that the connection keeps.
    #[inline]
    pub(crate) fn kept(&self) -> &[u8] {
        self.input.rest.bytes()
    }
}
