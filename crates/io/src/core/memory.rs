//! The number of bytes that connections hold outside the loop's buffers.
//!
//! `eviction.rs` decides which connection ends when they would hold more than the bound.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::counters::Counters;

/// Held bytes of one loop.
pub(crate) struct Memory {
    max: usize,
    counters: Arc<Counters>,
    held: Cell<usize>,
    /// The part of it held by connections that have to end.
    evicted: Cell<usize>,
}

impl Memory {
    pub(super) fn new(max: usize, counters: Arc<Counters>) -> Memory {
        Memory {
            max,
            counters,
            held: Cell::new(0),
            evicted: Cell::new(0),
        }
    }

    /// Counts `after` bytes in place of `before`, if no connection has to end for them and none is about to.
    #[inline]
    pub(crate) fn try_hold(&self, before: usize, after: usize) -> bool {
        let held = self.held.get() - before + after;
        if self.evicted.get() > 0 || (after > before && held > self.max) {
            return false;
        }
        self.set_held(held);
        true
    }

    /// Counts `after` bytes in place of `before`, of a connection that has to end if `evicted`.
    pub(crate) fn change(&self, before: usize, after: usize, evicted: bool) {
        if evicted {
            self.evicted.set(self.evicted.get() - before + after);
        }
        self.set_held(self.held.get() - before + after);
    }

    /// Counts the bytes of a connection that has to end.
    pub(crate) fn evict(&self, held: usize) {
        self.evicted.set(self.evicted.get() + held);
    }

    /// All held bytes.
    pub(crate) fn held(&self) -> usize {
        self.held.get()
    }

    /// Held bytes but for those of connections that have to end.
    pub(crate) fn held_to_stay(&self) -> usize {
        self.held.get() - self.evicted.get()
    }

    fn set_held(&self, held: usize) {
        self.held.set(held);
        self.counters.held.store(held as u64, Ordering::Relaxed);
    }
}
