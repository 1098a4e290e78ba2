//! Emptying an arena: what has to stay moves to another one, then the arena is free.
//!
//! Evicting this way keeps the items that are read again, like S3-FIFO, whose three rules we follow: new items queue apart and
//! may take a tenth of the memory; an item that is read while queueing moves on to the protected ones; and an evicted one is
//! remembered for a while (a ghost, in a slot that's vacant anyway) and goes straight to the protected ones when it returns.
//!
//! **Invariant:** an item moves under its bucket's lock, after checking that the slot still points to it.

use std::sync::atomic::Ordering::Relaxed;

use super::arena::{Allocation, Footprint};
use super::chain::Guard;
use super::item::{FETCHED, Item, LARGE, Shape, Tail};
use super::room::{Sweeper, survivor_queue};
use super::slot::Location;
use super::{Found, Memory, count};
use crate::Now;

/// Items looked up ahead, so that their buckets are in the cache when they're needed.
const BATCH: usize = 16;

/// The items that survive a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retention {
    /// All that have not expired.
    All,
    /// Those of at least this frequency.
    FrequencyAtLeast(u16),
}

impl Memory {
    /// Empties a sealed arena. False if some items could not be moved: then it's sealed again.
    pub(super) fn sweep(&self, sweeper: &mut Sweeper, number: u32, now: Now, retention: Retention) -> bool {
        if !self.pool.unlist(number) {
            return false;
        }
        sweeper.sweeps += 1;
        let arenas = &self.pool.arenas;
        arenas.settle(number);
        let queue = arenas.header(number).queue();
        let mut complete = true;
        let mut batch = Vec::with_capacity(BATCH);
        let mut items = arenas.walk(number);
        loop {
            batch.clear();
            batch.extend(items.by_ref().take(BATCH).map(|(location, key)| {
                let hash = self.hash(key);
                self.table.prefetch(hash);
                (location, hash)
            }));
            if batch.is_empty() {
                break;
            }
            for &(location, hash) in &batch {
                complete &= self.sweep_item(sweeper, location, hash, now, retention);
            }
        }
        drop(items);
        if !complete {
            self.pool.seal(number);
            return false;
        }
        debug_assert_eq!(arenas.header(number).items(), 0);
        let spare = &mut sweeper.spares[usize::from(queue.large())];
        match spare {
            None => *spare = Some(number),
            Some(_) => self.pool.release(number, queue.large()),
        }
        true
    }

    /// Moves or removes one item; false if it has to stay where it is for shortage of memory.
    fn sweep_item(
        &self,
        sweeper: &mut Sweeper,
        location: Location,
        hash: u64,
        now: Now,
        retention: Retention,
    ) -> bool {
        let guard = self.table.lock(hash);
        let Some(slot) = guard.find_location(location) else {
            return true;
        };
        let found = Found { slot, location };
        let item = guard.item(location);
        let gone = self.gone(location, &item, now);
        let (moved, block) = if gone.is_some() {
            (true, self.remove_gone(&guard, found, gone))
        } else if self.survives(&guard, found, retention) && self.migrate(sweeper, &guard, found, retention) {
            (true, None)
        } else if retention == Retention::All {
            (false, None)
        } else {
            self.count_eviction(location, &item, now);
            self.observers
                .evicted(|| self.entry(location, guard.item(location)));
            (true, self.remove(&guard, found, true))
        };
        drop(guard);
        drop(block);
        moved
    }

    fn count_eviction(&self, location: Location, item: &Item<'_>, now: Now) {
        let stripe = self.counters.mine();
        let class = self.counters.of(self.pool.arenas.queue(location));
        count(&stripe.evictions);
        count(&class.evicted);
        if !item.shape().has(FETCHED) {
            count(&stripe.evicted_unfetched);
            count(&class.evicted_unfetched);
        }
        if item.expiry() != 0 {
            count(&class.evicted_expiring);
        }
        let idle = now.0.saturating_sub(item.last_access());
        class.evicted_idle.store(u64::from(idle), Relaxed);
    }

    fn survives(&self, _guard: &Guard<'_>, found: Found<'_>, retention: Retention) -> bool {
        match retention {
            Retention::All => true,
            Retention::FrequencyAtLeast(least) => u16::from(found.slot.load().frequency()) >= least,
        }
    }

    /// Moves an item to where survivors go; false if there's no memory.
    fn migrate(
        &self,
        sweeper: &mut Sweeper,
        guard: &Guard<'_>,
        found: Found<'_>,
        retention: Retention,
    ) -> bool {
        let item = guard.item(found.location);
        let mut wanted = self.current(found, &item);
        let plain = wanted.cas;
        self.renew(&mut wanted);
        let shape = item.shape();
        let renewed = wanted.cas != plain;
        let shape = if renewed {
            Shape {
                bits: shape.bits | super::item::CAS,
                ..shape
            }
        } else {
            shape
        };
        let block = shape.has(LARGE).then(|| item.block());
        let version = wanted.version.unwrap_or_else(|| self.latest_version());
        let footprint = Footprint {
            stride: shape.stride(),
            expiry: item.expiry(),
            version,
            block: block.as_ref().map_or(0, |block| block.cost()),
        };
        let Some(fresh) = self.allocate_survivor(sweeper, found, &footprint, retention) else {
            return false;
        };
        if renewed {
            let facts = wanted.facts(version, fresh.base);
            fresh
                .item
                .write(shape, &facts, item.key(), Tail::Pieces(item.tail(), &[], &[]));
        } else {
            item.copy_to(&fresh.item);
            fresh.item.set_delta(version.wrapping_sub(fresh.base) as u32);
        }
        let slot = found.slot.load();
        let frequency = if retention == Retention::All {
            slot.frequency()
        } else {
            slot.frequency() / 2
        };
        found
            .slot
            .set(slot.with_location(fresh.location).with_frequency(frequency));
        self.mark_dead(found.location, &item, footprint.block);
        true
    }

    /// Space for a survivor.
    fn allocate_survivor(
        &self,
        sweeper: &mut Sweeper,
        found: Found<'_>,
        footprint: &Footprint,
        retention: Retention,
    ) -> Option<Allocation<'_>> {
        let source = self.pool.arenas.header(self.pool.arenas.number(found.location));
        let (queue, oldest) = (source.queue(), source.oldest());
        let point = self.pool.survivors_point(survivor_queue(queue, retention));
        let space = self.pool.allocate(point, footprint).or_else(|| {
            let spare = sweeper.spares[usize::from(queue.large())].take()?;
            self.pool.install(point, spare, self.base_now(), Now(oldest));
            self.pool.allocate(point, footprint)
        })?;
        space.came_from(oldest);
        Some(space)
    }
}
