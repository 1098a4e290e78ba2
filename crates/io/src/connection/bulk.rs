//! Input that is too large for an exchange: received straight into its place, or discarded.

use std::rc::Rc;
use std::task::{Context, Poll, ready};

use super::Connection;
use crate::Error;
use crate::core::{FAULTS, READABLE, WRITABLE};

impl Connection {
    pub(crate) fn poll_read_exact(
        &mut self,
        context: &mut Context<'_>,
        destination: &mut [u8],
        filled: &mut usize,
    ) -> Poll<Result<(), Error>> {
        if !self.input.rest.is_empty() && *filled < destination.len() {
            *filled += self.input.rest.take(&mut destination[*filled..]);
            self.account()?;
        }
        self.input.need = 1;
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
        let here = usize::try_from(*left)
            .unwrap_or(usize::MAX)
            .min(self.input.rest.len());
        if here > 0 {
            self.input.rest.consume(here);
            self.account()?;
        }
        *left -= here as u64;
        self.input.need = 1;
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

    /// Waits until a read is worth trying, and meanwhile sends queued output: the peer may wait for that first.
    fn poll_readable(&mut self, context: &mut Context<'_>, missing: u64) -> Poll<Result<(), Error>> {
        if self.input.ended {
            return Poll::Ready(Err(Error::UnexpectedEnd { missing }));
        }
        if !self.core().scheduler.may_go_on(context) {
            return Poll::Pending;
        }
        if self.wire.source.bits() & FAULTS != 0 {
            self.check_faults()?;
        }
        self.settle_outbox()?;
        if let Some(replies) = &self.replies {
            replies.borrow_mut().wait(context);
            self.write_replies()?;
        }
        while self.must_flush() && self.write_queued()? {
            if !self.core().scheduler.may_go_on(context) {
                return Poll::Pending;
            }
        }
        if self.may_read() {
            return Poll::Ready(Ok(()));
        }
        let interest = if self.must_flush() {
            READABLE | WRITABLE
        } else {
            READABLE
        };
        self.wire.source.wait(context, interest);
        Poll::Pending
    }

    /// Notes the outcome of a read; returns the number of bytes it brought.
    fn count_input(&mut self, count: Option<usize>) -> Result<usize, Error> {
        if count == Some(0) {
            self.end_input()?;
        }
        let count = count.unwrap_or(0);
        self.input.received |= count > 0;
        self.core().scheduler.spend_bytes(count);
        Ok(count)
    }
}
