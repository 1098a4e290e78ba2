//! Bytes that connections hold outside the loop's buffers, and their bound.
//!
//! **Invariant:** when connections would hold more than [`Config::held_max`] together, the one that holds the most ends,
//! which is the one that asks only if none holds more. Connections that have to end, and have not yet, hold at most a
//! quarter of the bound beyond it.
//!
//! [`Config::held_max`]: crate::Config::held_max

use std::cell::Cell;
use std::sync::atomic::Ordering;

use super::{Core, Counters};
use crate::Error;
use crate::source::{self, EVICTED};

/// Connections end until this part of the bound is free again, so that the search for them is rare.
const FREED: usize = 64;

/// Held bytes of one loop.
#[derive(Default)]
pub(super) struct Memory {
    held: Cell<usize>,
    /// The part of it held by connections that have to end.
    evicted: Cell<usize>,
}

impl Core {
    /// Counts `after` bytes in place of `before`, if no connection has to end for them and none is about to.
    #[inline]
    pub(crate) fn try_hold(&self, before: usize, after: usize) -> bool {
        let memory = &self.memory;
        let held = memory.held.get() - before + after;
        if memory.evicted.get() > 0 || (after > before && held > self.config.held_max) {
            return false;
        }
        self.set_held(held);
        true
    }

    fn set_held(&self, held: usize) {
        self.memory.held.set(held);
        self.counters.held.store(held as u64, Ordering::Relaxed);
    }

    /// Changes what the connection of a source holds to `after` bytes, unless that were too much.
    #[cold]
    pub(crate) fn hold(&self, token: u64, after: usize) -> Result<(), Error> {
        let (before, evicted) = self.sources.borrow_mut().held(token);
        let memory = &self.memory;
        if after > before {
            self.evict_largest(token, before, after, evicted)?;
        }
        if evicted {
            memory.evicted.set(memory.evicted.get() - before + after);
        }
        self.set_held(memory.held.get() - before + after);
        self.sources.borrow_mut().set_held(token, after);
        Ok(())
    }

    /// Ends the connections that hold the most, or refuses the one that asks.
    fn evict_largest(&self, token: u64, before: usize, after: usize, evicted: bool) -> Result<(), Error> {
        let max = self.config.held_max;
        let memory = &self.memory;
        let asked = after - before;
        let refused = Error::HeldLimit {
            held: before,
            asked,
            max,
        };
        if evicted || memory.held.get() + asked > max + max / 4 {
            Counters::add(&self.counters.held_refused);
            return Err(refused);
        }
        let mut bound = max;
        while memory.held.get() - memory.evicted.get() + asked > bound {
            bound = max - max / FREED;
            let largest = self.sources.borrow().largest_holder();
            match largest {
                Some((other, held)) if other != token && held >= after => {
                    memory.evicted.set(memory.evicted.get() + held);
                    Counters::add(&self.counters.held_refused);
                    source::signal(self, other, EVICTED);
                }
                // Below the bound itself, nothing forces a smaller connection out.
                _ if memory.held.get() - memory.evicted.get() + asked <= max => break,
                _ => {
                    Counters::add(&self.counters.held_refused);
                    return Err(refused);
                }
            }
        }
        Ok(())
    }
}
