//! Bytes that connections hold outside the loop's buffers, and their bound.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use super::{Core, Counters};
use crate::Error;

/// Held bytes of one loop.
#[derive(Default)]
pub(super) struct Memory {
    held: Cell<usize>,
}

impl Core {
    /// Changes what a connection holds from `before` to `after` bytes, unless that were too much for the loop.
    pub(crate) fn hold(&self, before: usize, after: usize) -> Result<(), Error> {
        let held = self.memory.held.get();
        let max = self.config.held_max;
        if after > before && held - before + after > max {
            Counters::add(&self.counters.held_refused);
            return Err(Error::HeldLimit {
                held,
                asked: after - before,
                max,
            });
        }
        self.memory.held.set(held - before + after);
        self.counters
            .held
            .store(self.memory.held.get() as u64, Ordering::Relaxed);
        Ok(())
    }
}
