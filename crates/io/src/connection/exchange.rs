//! One call of a closure: its input, and the handling of the bytes that it consumed and wrote.

use super::Connection;
use crate::Error;
use crate::core::{Hot, NOTIFIED};
use crate::output::{Again, Exchange, Output, Took};

/// The place of a closure's input, or the reason why there is none.
#[derive(Clone, Copy)]
pub(crate) enum Lent {
    /// In the loop's buffer: the number of bytes.
    Hot(usize),
    /// In the connection's own.
    Rest,
    /// Nowhere: the closure does not run, for this reason.
    None(Exchange),
}

impl Connection {
    /// Prepares the loop's output for a closure.
    #[inline]
    pub(crate) fn begin(&mut self, output: &mut Output) {
        if self.input.has_notifier {
            self.wire.source.clear(NOTIFIED);
        }
        if !output.is_empty() {
            // A closure that panicked left it behind.
            output.clear();
        }
        if let Some(replies) = &self.replies {
            replies.borrow_mut().swap(output, true);
        }
    }

    /// After a closure: keeps what it left of the input, sends what it wrote.
    #[inline]
    pub(crate) fn settle(&mut self, lent: Lent, took: Took, hot: &mut Hot) -> Result<(), Error> {
        if let Some(replies) = &self.replies {
            replies.borrow_mut().take_back(&mut hot.output);
        }
        self.input.wants_room = took.again == Again::Room;
        self.settle_input(lent, took, hot)?;
        self.write_output(&mut hot.output)
    }

    /// Keeps what a closure left of the input, and notes how much the next one needs.
    #[inline]
    pub(crate) fn settle_input(&mut self, lent: Lent, took: Took, hot: &Hot) -> Result<(), Error> {
        let Took { consumed, need, .. } = took;
        let progress = consumed > 0 || hot.output.full();
        let left = match lent {
            Lent::Hot(length) if consumed == length => 0,
            _ => self.keep_unconsumed(lent, consumed, hot)?,
        };
        self.input.need = if progress { need.max(1) } else { need.max(left + 1) };
        Ok(())
    }

    /// Drops what was consumed and keeps the rest; returns the number of bytes kept.
    fn keep_unconsumed(&mut self, lent: Lent, consumed: usize, hot: &Hot) -> Result<usize, Error> {
        let length = match lent {
            Lent::Hot(length) => length,
            _ => self.input.rest.len(),
        };
        assert!(consumed <= length, "consumed {consumed} bytes of {length}");
        match lent {
            Lent::Hot(_) => self.keep(&hot.input[consumed..length])?,
            _ => {
                self.input.rest.consume(consumed);
                self.account()?;
            }
        }
        Ok(self.input.rest.len())
    }
}
