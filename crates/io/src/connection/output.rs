//! The output of a connection: sent at once, with that of others, or queued when the kernel refuses it.

use std::os::fd::RawFd;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::Connection;
use crate::Error;
use crate::core::{BATCHED_MAX, FAULTS, POSTED, RETURNED, Returned, WRITABLE};
use crate::flush::empty_outbox;
use crate::output::Output;
use crate::piece::{Part, Piece};
use crate::task::TaskId;
use crate::tls::TlsLayer;
use crate::transport::Wire;

impl Connection {
    /// Sends what the kernel takes of an output now, queues the rest and empties the output.
    #[inline]
    pub(crate) fn write_output(&mut self, output: &mut Output) -> Result<(), Error> {
        if output.is_empty() {
            return Ok(());
        }
        if self.post(output) {
            return Ok(());
        }
        empty_outbox(self.core());
        self.settle_outbox()?;
        if self.tls.is_none() && output.pieces.is_empty() && self.queue.is_none() {
            let count = self.wire.write(&output.bytes)?;
            self.core().scheduler.spend_bytes(count);
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
        if !output.pieces.is_empty() {
            return false;
        }
        let Some((token, fd)) = self.begin_post(output.bytes.len()) else {
            return false;
        };
        self.core().outbox.borrow_mut().post(token, fd, output);
        true
    }

    /// The token and the descriptor for so many bytes in the outbox, if they may wait there.
    #[inline]
    fn begin_post(&self, bytes: usize) -> Option<(u64, RawFd)> {
        let core = self.core();
        if bytes > BATCHED_MAX
            || !core.scheduler.more_tasks_follow()
            || self.tls.is_some()
            || self.queue.is_some()
        {
            return None;
        }
        let fd = self.wire.descriptor()?;
        let token = self.wire.source.post()?;
        core.scheduler.spend_bytes(bytes);
        Some((token, fd))
    }

    /// Sends the output that lies in the outbox, and takes back what the kernel refused of it.
    #[inline]
    pub(super) fn settle_outbox(&mut self) -> Result<(), Error> {
        match self.wire.source.bits() & (POSTED | RETURNED) {
            0 => Ok(()),
            _ => self.empty_outbox_of(),
        }
    }

    fn empty_outbox_of(&mut self) -> Result<(), Error> {
        if self.wire.source.bits() & POSTED != 0 {
            empty_outbox(self.core());
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
        let source = &self.wire.source;
        if let Err(error) = source.hold(source.held() + more) {
            output.clear();
            return Err(error);
        }
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

    /// Writes bytes, behind all that is queued; queues what the kernel does not take.
    pub(crate) fn write_or_queue(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.settle_outbox()?;
        let taken = match self.must_flush() {
            true => 0,
            false => write_bytes(&self.wire, &mut self.tls, bytes)?,
        };
        if taken < bytes.len() {
            let source = &self.wire.source;
            source.hold(source.held() + bytes.len() - taken)?;
            self.queue
                .get_or_insert_default()
                .push(Piece::from(&bytes[taken..]));
        }
        self.account()
    }

    /// Writes bytes as [`write_or_queue`](Connection::write_or_queue), or has them wait for the output of other tasks. The
    /// task `writer` is woken if they do not leave then; a caller without a task of the loop is not kept waiting.
    #[inline]
    pub(crate) fn relay(&mut self, bytes: &[u8], writer: Option<TaskId>) -> Result<(), Error> {
        if let Some(writer) = writer
            && let Some((token, fd)) = self.begin_post(bytes.len())
        {
            let mut outbox = self.core().outbox.borrow_mut();
            outbox.post_copy(token, fd, bytes, writer);
            return Ok(());
        }
        empty_outbox(self.core());
        self.write_or_queue(bytes)
    }

    /// Waits until the kernel has taken everything, or has not been asked yet.
    #[inline]
    pub(crate) fn poll_relay(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if self.wire.source.bits() & (RETURNED | FAULTS) == 0 && !self.must_flush() {
            return Poll::Ready(Ok(()));
        }
        self.poll_flush(context)
    }

    #[inline]
    pub(super) fn must_flush(&self) -> bool {
        self.queue.is_some() || self.tls.as_ref().is_some_and(|tls| tls.has_output())
    }

    /// Waits until the kernel has taken everything.
    pub(crate) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if self.wire.source.bits() & FAULTS != 0 {
            self.check_faults()?;
        }
        self.settle_outbox()?;
        loop {
            self.write_replies()?;
            if !self.must_flush() {
                return Poll::Ready(Ok(()));
            }
            if !self.core().scheduler.may_go_on(context) {
                return Poll::Pending;
            }
            if !self.write_queued()? {
                self.wire.source.wait_for_output(context);
                return Poll::Pending;
            }
        }
    }

    /// Tries to send what is queued; `false` when the kernel takes no more now.
    pub(super) fn write_queued(&mut self) -> Result<bool, Error> {
        if self.wire.source.bits() & WRITABLE == 0 {
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
    pub(super) fn write_replies(&mut self) -> Result<(), Error> {
        let Some(replies) = &self.replies else {
            return Ok(());
        };
        if !replies.borrow().has_ready() {
            return Ok(());
        }
        if self.queue.is_some() {
            // Writers that do not wait for room are counted as they go.
            return self.account();
        }
        let core = Rc::clone(self.core());
        let mut ready = Output::new(core.config.output_size);
        replies.borrow_mut().swap(&mut ready, false);
        self.write_output(&mut ready)
    }
}

/// Sends what the kernel, or the encryption before it, takes of some bytes: by `send`, which is cheaper than `sendmsg`.
#[inline]
fn write_bytes(wire: &Wire, tls: &mut Option<Box<TlsLayer>>, bytes: &[u8]) -> Result<usize, Error> {
    if tls.is_some() {
        return write_parts(wire, tls, &[Part::Bytes(bytes)]).map(|taken| taken as usize);
    }
    let taken = wire.write(bytes)?;
    wire.source.core.scheduler.spend_bytes(taken);
    Ok(taken)
}

/// Sends what the kernel, or the encryption before it, takes of some parts.
fn write_parts(wire: &Wire, tls: &mut Option<Box<TlsLayer>>, parts: &[Part<'_>]) -> Result<u64, Error> {
    let taken = match tls {
        None => wire.write_parts(parts)?,
        Some(tls) => tls.write_parts(wire, parts)?,
    };
    wire.source.core.scheduler.spend_bytes(taken as usize);
    Ok(taken)
}
