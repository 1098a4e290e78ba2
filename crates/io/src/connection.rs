//! What a stream is inside: input that waits, output that waits, and how both move.
//!
//! ```text
//!            kernel ──> loop's input ──(closure)──> loop's output ──> kernel
//!                        ^      |                        |      ^
//!                        |      v what it left           v      | what the kernel refused
//!                       rest of this connection         queue of this connection
//! ```
//!
//! **Invariant:** a closure is lent input only while the queue is empty, so that one connection's unsent output is
//! bounded by what one turn writes.

use std::rc::Rc;
use std::task::{Context, Poll, ready};

use crate::Error;
use crate::accept::Permit;
use crate::core::{Core, Counters, Hot};
use crate::outbox::{LETTER_MAX, Returned};
use crate::output::{Output, Piece, Took};
use crate::queue::Queue;
use crate::replies::{Line, SharedLine};
use crate::rest::Rest;
use crate::source::{EXPIRED, POSTED, READABLE, RETURNED, WRITABLE};
use crate::tls::{HandshakePermit, TlsLayer};
use crate::transport::{Part, Wire};

/// A remainder up to this size is copied before the bytes that follow it; a larger one has them copied behind it.
const REJOIN_MAX: usize = 4 << 10;

pub(crate) struct Connection {
    pub(crate) wire: Wire,
    pub(crate) tls: Option<Box<TlsLayer>>,
    /// Input that no closure has consumed.
    rest: Rest,
    /// How many bytes of input the next closure wants; at least 1.
    need: usize,
    queue: Option<Box<Queue>>,
    line: Option<SharedLine>,
    /// What this connection holds, as the loop counts it.
    held: usize,
    /// The peer has ended its side.
    ended: bool,
    /// Counts it among the connections of its listener.
    permit: Option<Permit>,
}

/// Where the input lies that is lent to a closure.
#[derive(Clone, Copy)]
pub(crate) enum Lent {
    /// In the loop's buffer, so many bytes.
    Hot(usize),
    /// In the connection's own.
    Rest,
    /// There is none and will be none.
    Nothing,
}

impl Connection {
    pub(crate) fn new(wire: Wire) -> Connection {
        let (tls, queue, line) = (None, None, None);
        Connection {
            wire,
            tls,
            rest: Rest::default(),
            need: 1,
            queue,
            line,
            held: 0,
            ended: false,
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

    // ── input ────────────────────────────────────────────────────────────────────────────────────────────────────

    /// Waits until a closure can be called.
    #[inline]
    pub(crate) fn poll_input(&mut self, context: &mut Context<'_>) -> Poll<Result<Lent, Error>> {
        if !self.core().may_go_on(context) {
            return Poll::Pending;
        }
        self.core().spend_turn();
        let bits = self.wire.source.bits();
        let goes_on = bits & READABLE != 0 || !self.rest.is_empty();
        if bits & RETURNED != 0 || (bits & POSTED != 0 && goes_on) {
            self.settle_outbox()?;
        }
        if self.line.is_some() || self.must_flush() {
            ready!(self.poll_before_input(context))?;
        }
        if !self.rest.is_empty() && self.rest.len() >= self.need {
            return Poll::Ready(Ok(Lent::Rest));
        }
        self.poll_more_input(context)
    }

    /// The output of earlier turns, and replies.
    fn poll_before_input(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        ready!(self.poll_flush(context))?;
        if let Some(line) = &self.line {
            let mut line = line.borrow_mut();
            line.wait(context);
            if !line.has_room() {
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
                return Poll::Ready(Ok(Lent::Nothing));
            }
            if self.ended || !self.may_read()? {
                if !self.ended && core.draining.get() && self.rest.is_empty() && !self.has_open_replies() {
                    return Poll::Ready(Ok(Lent::Nothing));
                }
                self.wire.source.wait(context, READABLE);
                return Poll::Pending;
            }
            let hot = &mut *core.hot.borrow_mut();
            match self.read_joined(hot)? {
                Lent::Nothing => {}
                lent => return Poll::Ready(Ok(lent)),
            }
        }
    }

    /// Whether there is nothing more to be done: the peer has ended its side, or a reply was aborted, and no answer is
    /// still being worked on.
    fn is_over(&self) -> bool {
        let aborted = self.line.as_ref().is_some_and(|line| line.borrow().is_over());
        aborted || (self.ended && !self.has_open_replies())
    }

    fn has_open_replies(&self) -> bool {
        self.line.as_ref().is_some_and(|line| line.borrow().is_open())
    }

    /// Whether a read is worth trying.
    fn may_read(&self) -> Result<bool, Error> {
        let bits = self.wire.source.bits();
        if bits & EXPIRED != 0 {
            self.bear_idleness()?;
        }
        Ok(bits & READABLE != 0 || self.tls.as_ref().is_some_and(|tls| tls.has_input()))
    }

    /// An idle connection ends, unless it is we who still owe it an answer: then it is given the time again.
    #[cold]
    fn bear_idleness(&self) -> Result<(), Error> {
        if !self.has_open_replies() {
            return Err(self.idle_timeout());
        }
        let source = &self.wire.source;
        source.clear(EXPIRED);
        source.set_idle(source.idle());
        Ok(())
    }

    #[cold]
    fn idle_timeout(&self) -> Error {
        Counters::add(&self.core().counters.idle_ended);
        Error::IdleTimeout {
            after: self.wire.source.idle(),
        }
    }

    /// Reads once, to where it joins what is here already; `Lent::Nothing` as long as that is too little.
    fn read_joined(&mut self, hot: &mut Hot) -> Result<Lent, Error> {
        let kept = self.rest.len();
        let rejoin = kept <= REJOIN_MAX.min(hot.input.len() / 2) && self.need <= hot.input.len();
        let front = if rejoin { kept } else { 0 };
        let count = match self.read_some(&mut hot.input[front..])? {
            None => return Ok(Lent::Nothing),
            Some(0) => {
                self.end_input()?;
                return Ok(Lent::Nothing);
            }
            Some(count) => count,
        };
        self.core().spend_bytes(count);
        if rejoin && kept + count >= self.need {
            if kept > 0 {
                hot.input[..kept].copy_from_slice(self.rest.bytes());
                self.rest.consume(kept);
                self.account()?;
            }
            return Ok(Lent::Hot(kept + count));
        }
        self.keep(&hot.input[front..front + count])?;
        Ok(if self.rest.len() >= self.need {
            Lent::Rest
        } else {
            Lent::Nothing
        })
    }

    /// Reads what is there; `None` when nothing is, 0 at the end of the stream.
    #[inline]
    fn read_some(&mut self, destination: &mut [u8]) -> Result<Option<usize>, Error> {
        match &mut self.tls {
            None => self.wire.read(destination),
            Some(tls) => {
                let result = tls.read(&self.wire, destination);
                self.account()?;
                result
            }
        }
    }

    /// The peer has ended its side. Under TLS it has to say so, or someone else may have cut the stream short.
    fn end_input(&mut self) -> Result<(), Error> {
        self.ended = true;
        if !self.rest.is_empty() && self.tls.as_ref().is_some_and(|tls| !tls.ended_properly()) {
            return Err(Error::UnexpectedEnd {
                missing: (self.need.max(self.rest.len() + 1) - self.rest.len()) as u64,
            });
        }
        Ok(())
    }

    /// Puts bytes behind those that the connection keeps.
    fn keep(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let held = self.rest.held_with(bytes.len(), self.need);
        let more = held - self.rest.held();
        self.core().hold(self.held, self.held + more)?;
        self.held += more;
        self.rest.append(bytes, held);
        self.account()
    }

    /// Gives up the input that the connection keeps, for another owner to account for.
    pub(crate) fn take_rest(&mut self) -> Result<Rest, Error> {
        let rest = std::mem::take(&mut self.rest);
        self.account()?;
        Ok(rest)
    }

    /// Input that the connection keeps.
    #[inline]
    pub(crate) fn kept(&self) -> &[u8] {
        self.rest.bytes()
    }

    // ── a turn ───────────────────────────────────────────────────────────────────────────────────────────────────

    /// Prepares the loop's output for a closure.
    #[inline]
    pub(crate) fn begin(&mut self, output: &mut Output) {
        if !output.is_empty() {
            // A closure that panicked left it behind.
            output.clear();
        }
        if let Some(line) = &self.line {
            line.borrow_mut().swap(output, true);
        }
    }

    /// After a closure: keeps what it left of the input, sends what it wrote.
    #[inline]
    pub(crate) fn settle(&mut self, lent: Lent, took: Took, hot: &mut Hot) -> Result<(), Error> {
        if let Some(line) = &self.line {
            line.borrow_mut().take_back(&mut hot.output);
        }
        let Took { consumed, need } = took;
        let progress = consumed > 0 || hot.output.full();
        let left = match lent {
            Lent::Hot(length) if consumed == length => 0,
            _ => self.settle_input(lent, consumed, hot)?,
        };
        self.need = if progress { need.max(1) } else { need.max(left + 1) };
        self.write_output(&mut hot.output)
    }

    /// Drops what was consumed and keeps the rest; answers how much that is.
    fn settle_input(&mut self, lent: Lent, consumed: usize, hot: &Hot) -> Result<usize, Error> {
        match lent {
            Lent::Hot(length) => {
                assert!(consumed <= length, "consumed {consumed} bytes of {length}");
                self.keep(&hot.input[consumed..length])?;
            }
            _ => {
                assert!(
                    consumed <= self.rest.len(),
                    "consumed {consumed} bytes of {}",
                    self.rest.len()
                );
                self.rest.consume(consumed);
                self.account()?;
            }
        }
        Ok(self.rest.len())
    }

    // ── output ───────────────────────────────────────────────────────────────────────────────────────────────────

    /// Sends what the kernel takes of an output now, queues the rest and empties the output.
    #[inline]
    pub(crate) fn write_output(&mut self, output: &mut Output) -> Result<(), Error> {
        if output.is_empty() {
            return Ok(());
        }
        if self.post(output) {
            return Ok(());
        }
        self.core().empty_outbox();
        self.settle_outbox()?;
        if self.tls.is_none() && output.pieces.is_empty() && self.queue.is_none() {
            let count = self.wire.write(&output.bytes)?;
            self.core().spend_bytes(count);
            if count == output.bytes.len() {
                output.clear();
                return Ok(());
            }
            return self.queue_rest(output, count as u64);
        }
        self.write_parts_of(output)
    }

    /// Has an output wait for others, if it is small and there are any.
    #[inline]
    fn post(&self, output: &mut Output) -> bool {
        let small = output.bytes.len() <= LETTER_MAX && output.pieces.is_empty();
        if !small || !self.core().is_in_company() || self.tls.is_some() || self.queue.is_some() {
            return false;
        }
        let Some(fd) = self.wire.descriptor() else {
            return false;
        };
        let Some(token) = self.wire.source.post() else {
            return false;
        };
        self.core().spend_bytes(output.bytes.len());
        self.core().outbox.borrow_mut().post(token, fd, output);
        true
    }

    /// Has the output leave that lies in the outbox, and takes back what the kernel refused of it.
    fn settle_outbox(&mut self) -> Result<(), Error> {
        if self.wire.source.bits() & POSTED != 0 {
            self.core().empty_outbox();
        }
        if self.wire.source.bits() & RETURNED != 0 {
            return self.take_returned();
        }
        Ok(())
    }

    #[cold]
    fn take_returned(&mut self) -> Result<(), Error> {
        self.wire.source.clear(RETURNED);
        let token = self.wire.source.token();
        let returned = self.core().outbox.borrow_mut().take_returned(token);
        match returned {
            Some(Returned::Refused(bytes)) => {
                self.held += bytes.len();
                self.queue.get_or_insert_default().push(bytes.into());
                self.account()
            }
            Some(Returned::Failed(error)) => Err(error),
            None => Ok(()),
        }
    }

    fn write_parts_of(&mut self, output: &mut Output) -> Result<(), Error> {
        let taken = match self.queue {
            Some(_) => 0,
            None => write_parts(&self.wire, &mut self.tls, &output.parts())?,
        };
        if taken == output.len() as u64 {
            output.clear();
            return self.account();
        }
        self.queue_rest(output, taken)
    }

    #[cold]
    fn queue_rest(&mut self, output: &mut Output, taken: u64) -> Result<(), Error> {
        let more = output.bytes.len().saturating_sub(taken as usize);
        if let Err(error) = self.core().hold(self.held, self.held + more) {
            output.clear();
            return Err(error);
        }
        self.held += more;
        self.queue.get_or_insert_default().push_rest(output, taken);
        self.account()
    }

    /// Sends a piece; nothing is queued before it.
    pub(crate) fn send(&mut self, piece: Piece) -> Result<(), Error> {
        let part = Part::of(&piece, 0);
        let taken = write_parts(&self.wire, &mut self.tls, &[part])?;
        if taken < piece.len() {
            let queue = self.queue.get_or_insert_default();
            queue.push(piece);
            queue.taken(taken);
        }
        self.account()
    }

    #[inline]
    fn must_flush(&self) -> bool {
        self.queue.is_some() || self.tls.as_ref().is_some_and(|tls| tls.has_output())
    }

    /// Waits until the kernel has taken everything.
    pub(crate) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.settle_outbox()?;
        loop {
            self.write_replies()?;
            if !self.must_flush() {
                return Poll::Ready(Ok(()));
            }
            if !self.core().may_go_on(context) {
                return Poll::Pending;
            }
            if !self.write_queued()? {
                self.wire.source.wait(context, WRITABLE);
                return Poll::Pending;
            }
        }
    }

    /// Tries to send what is queued; `false` when the kernel takes no more now.
    fn write_queued(&mut self) -> Result<bool, Error> {
        let bits = self.wire.source.bits();
        if bits & EXPIRED != 0 {
            return Err(self.idle_timeout());
        }
        if bits & WRITABLE == 0 {
            return Ok(false);
        }
        if let Some(queue) = &mut self.queue {
            let taken = write_parts(&self.wire, &mut self.tls, &queue.parts())?;
            queue.taken(taken);
            if queue.is_empty() {
                self.queue = None;
            }
        } else if let Some(tls) = &mut self.tls {
            tls.flush(&self.wire)?;
        }
        self.account()?;
        Ok(true)
    }

    /// Sends what replies have written meanwhile, if nothing is queued before it.
    fn write_replies(&mut self) -> Result<(), Error> {
        let Some(line) = &self.line else { return Ok(()) };
        if self.queue.is_some() || !line.borrow().has_ready() {
            return Ok(());
        }
        let core = Rc::clone(self.core());
        let mut ready = Output::new(core.config.output_size);
        line.borrow_mut().swap(&mut ready, false);
        self.write_output(&mut ready)
    }

    // ── large input ──────────────────────────────────────────────────────────────────────────────────────────────

    pub(crate) fn poll_read_exact(
        &mut self,
        context: &mut Context<'_>,
        destination: &mut [u8],
        filled: &mut usize,
    ) -> Poll<Result<(), Error>> {
        if !self.rest.is_empty() && *filled < destination.len() {
            *filled += self.rest.take(&mut destination[*filled..]);
            self.account()?;
        }
        self.need = 1;
        while *filled < destination.len() {
            let missing = (destination.len() - *filled) as u64;
            ready!(self.poll_readable(context, missing))?;
            let count = self.read_some(&mut destination[*filled..])?;
            *filled += self.count_input(count)?;
        }
        Poll::Ready(Ok(()))
    }

    pub(crate) fn poll_discard(
        &mut self,
        context: &mut Context<'_>,
        left: &mut u64,
    ) -> Poll<Result<(), Error>> {
        let here = usize::try_from(*left).unwrap_or(usize::MAX).min(self.rest.len());
        if here > 0 {
            self.rest.consume(here);
            self.account()?;
        }
        *left -= here as u64;
        self.need = 1;
        let core = Rc::clone(self.core());
        while *left > 0 {
            ready!(self.poll_readable(context, *left))?;
            let hot = &mut *core.hot.borrow_mut();
            let most = usize::try_from(*left).unwrap_or(usize::MAX).min(hot.input.len());
            let count = self.read_some(&mut hot.input[..most])?;
            *left -= self.count_input(count)? as u64;
        }
        Poll::Ready(Ok(()))
    }

    /// Waits until a read is worth trying, sending meanwhile what is queued: the peer may want to see that first.
    fn poll_readable(&mut self, context: &mut Context<'_>, missing: u64) -> Poll<Result<(), Error>> {
        if self.ended {
            return Poll::Ready(Err(Error::UnexpectedEnd { missing }));
        }
        if !self.core().may_go_on(context) {
            return Poll::Pending;
        }
        self.settle_outbox()?;
        if let Some(line) = &self.line {
            line.borrow_mut().wait(context);
            self.write_replies()?;
        }
        while self.must_flush() && self.write_queued()? {
            if !self.core().may_go_on(context) {
                return Poll::Pending;
            }
        }
        if self.may_read()? {
            return Poll::Ready(Ok(()));
        }
        self.wire.source.wait(
            context,
            if self.must_flush() {
                READABLE | WRITABLE
            } else {
                READABLE
            },
        );
        Poll::Pending
    }

    /// Notes the outcome of a read; answers the bytes it brought.
    fn count_input(&mut self, count: Option<usize>) -> Result<usize, Error> {
        if count == Some(0) {
            self.end_input()?;
        }
        let count = count.unwrap_or(0);
        self.core().spend_bytes(count);
        Ok(count)
    }

    // ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────

    /// Under TLS, puts into words that there will be no more.
    pub(crate) fn say_goodbye(&mut self) -> Result<(), Error> {
        match &mut self.tls {
            Some(tls) => tls.close_notify(&self.wire),
            None => Ok(()),
        }
    }

    pub(crate) fn shutdown(&mut self) -> Result<(), Error> {
        self.wire.shutdown_write()
    }

    pub(crate) fn has_unread_input(&self) -> bool {
        !self.ended && (!self.rest.is_empty() || self.wire.source.bits() & READABLE != 0)
    }

    /// Has the stream answered by replies.
    pub(crate) fn set_line(&mut self, ordered: bool, open_max: usize) -> SharedLine {
        let line = Line::new(self.core(), ordered, open_max);
        self.line = Some(Rc::clone(&line));
        line
    }

    /// Tells the loop what this connection holds now.
    #[inline]
    pub(crate) fn account(&mut self) -> Result<(), Error> {
        let held = self.rest.held()
            + self.queue.as_ref().map_or(0, |queue| queue.held())
            + self.tls.as_ref().map_or(0, |tls| tls.held())
            + self.line.as_ref().map_or(0, |line| line.borrow().held());
        if held != self.held {
            self.core().hold(self.held, held)?;
            self.held = held;
        }
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // What it has written is sent, as if it had never waited; nobody is left to learn of a failure.
        let _ = self.settle_outbox();
        if let Some(line) = &self.line {
            line.borrow_mut().end();
        }
        // Holding less is never refused.
        let _ = self.core().hold(self.held, 0);
    }
}

/// Sends what the kernel, or the encryption before it, takes of some parts.
fn write_parts(wire: &Wire, tls: &mut Option<Box<TlsLayer>>, parts: &[Part<'_>]) -> Result<u64, Error> {
    let taken = match tls {
        None => wire.write_parts(parts)?,
        Some(tls) => tls.write_parts(wire, parts)?,
    };
    wire.source.core.spend_bytes(taken as usize);
    Ok(taken)
}
