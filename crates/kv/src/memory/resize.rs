//! Another capacity for a store in use.
//!
//! Growing is a matter of numbers, since address space was reserved for more. Shrinking takes its time: piece by piece memory
//! is freed, given back to the system and withdrawn from the budget, cheap sources first; a write meanwhile
//! finds a full store and makes room for itself alone.
//!
//! **Invariant:** a step frees an arena at most, and no lock is held between steps.

use super::Memory;
use super::merge::Merge;
use super::room::{ITEMS_IN_TWO_BUCKETS, Sweeper};
use crate::heap::Denied;
use crate::{Now, StoreError};

/// Buckets merged in one step.
const MERGES_A_STEP: u32 = 1024;
/// Chains whose overflow buckets are moved in one step.
const CHAINS_A_STEP: u64 = 1024;
/// Steps of housekeeping that one step of shrinking takes the place of.
const TICKS_A_STEP: usize = 64;

impl Memory {
    pub(super) fn change_capacity(&self, capacity: u64) -> Result<(), StoreError> {
        let capacity = self.limits.check_capacity(capacity)?;
        self.budget.resize(capacity);
        self.pool.resize(self.limits.blocks_max(capacity));
        self.classes.resize(capacity >> self.limits.arena_shift);
        Ok(())
    }

    /// Frees what is above the capacity, a bounded part of it. True if there's more that can be freed.
    pub(super) fn shrink(&self, now: Now, budget: usize) -> bool {
        for _ in 0..budget / TICKS_A_STEP + 1 {
            let piece = self.budget.excess().min(self.pool.arenas.size());
            if piece == 0 || !self.free(piece, now) {
                return false;
            }
        }
        self.budget.excess() > 0
    }

    /// Withdraws these bytes, or makes room for that; false if neither is possible at present.
    fn free(&self, bytes: usize, now: Now) -> bool {
        if self.budget.withdraw(bytes) {
            return true;
        }
        if self.heap.trim(bytes) > 0 || self.pool.shed(bytes) > 0 {
            self.budget.withdraw(bytes);
            return true;
        }
        if self.waits_for_readers() {
            return false;
        }
        let mut sweeper = self.sweeper.lock();
        // An index that has become too large for its items goes before more of them.
        self.fold(&mut sweeper)
            || self.budget.withdraw(bytes)
            || self.sweep_some(&mut sweeper, now, Denied::Budget).is_ok()
    }

    /// True if evicting would be in vain: readers hold more than the capacity, and everything else has shrunk to it.
    fn waits_for_readers(&self) -> bool {
        let (pinned, capacity) = (self.heap.pinned(), self.budget.capacity());
        let rest = self.budget.used().saturating_sub(pinned);
        pinned + self.table.bytes() + self.pool.arenas.size() > capacity && rest <= capacity
    }

    /// Makes the index smaller if it's larger than its items need, by some buckets. Tells whether there may be more to do.
    fn fold(&self, sweeper: &mut Sweeper) -> bool {
        let (before, chain) = (self.table.bytes(), sweeper.chain);
        let items = self.items();
        let mut merged = 0;
        // One item less for two buckets than growing wants, so that the next insert doesn't split again.
        while merged < MERGES_A_STEP
            && items * 2 <= (self.table.count() - 1) * (ITEMS_IN_TWO_BUCKETS - 1)
            && self.table.merge() == Merge::Done
        {
            merged += 1;
        }
        self.table.gather_overflow(&mut sweeper.chain, CHAINS_A_STEP);
        merged > 0 || self.table.bytes() < before || sweeper.chain != chain
    }
}
