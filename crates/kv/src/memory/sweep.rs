//! Emptying a segment: what has to stay moves to another one, then the segment is free.
//!
//! Evicting this way keeps what proved to be worth it, like S3-FIFO, whose three rules we follow: new items queue apart and
//! may take a tenth of the memory; whoever was asked for while queueing moves on to the proven ones; and who was evicted is
//! remembered for a while (a ghost, in a slot that's vacant anyway) and goes straight to the proven ones when it returns.
//!
//! **Invariant:** an item moves under its bucket's lock, after checking that the slot still points to it.

use super::chain::Guard;
use super::item::{FETCHED, LARGE, Shape, Tail};
use super::room::{Sweeper, refuge};
use super::segment::{Burden, Fresh};
use super::slot::Location;
use super::{Found, Memory, count};
use crate::Now;

/// Items looked up ahead, so that their buckets are in the cache when they're needed.
const BATCH: usize = 16;

/// Who survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mercy {
    /// Everyone whose time isn't over.
    All,
    /// Those worth so much.
    WorthAtLeast(u16),
}

impl Memory {
    /// Empties a sealed segment. False if not everyone could be moved: then it's sealed again.
    pub(super) fn sweep(&self, sweeper: &mut Sweeper, number: u32, now: Now, mercy: Mercy) -> bool {
        if !self.pool.unlist(number) {
            return false;
        }
        let segments = &self.pool.segments;
        segments.settle(number);
        let queue = segments.header(number).queue();
        let mut complete = true;
        let mut batch = Vec::with_capacity(BATCH);
        let mut items = segments.walk(number);
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
                complete &= self.sweep_item(sweeper, location, hash, now, mercy);
            }
        }
        drop(items);
        if !complete {
            self.pool.seal(number);
            return false;
        }
        debug_assert_eq!(segments.header(number).items(), 0);
        let spare = &mut sweeper.spares[usize::from(queue.large())];
        match spare {
            None => *spare = Some(number),
            Some(_) => self.pool.release(number, queue.large()),
        }
        true
    }

    /// Moves or removes one item; false if it has to stay where it is for lack of memory.
    fn sweep_item(
        &self,
        sweeper: &mut Sweeper,
        location: Location,
        hash: u64,
        now: Now,
        mercy: Mercy,
    ) -> bool {
        let guard = self.table.lock(hash);
        let Some(place) = guard.find_location(location) else {
            return true;
        };
        let found = Found { place, location };
        let item = guard.item(location);
        let gone = self.gone(location, &item, now);
        let (moved, block) = if gone.is_some() {
            (true, self.remove_gone(&guard, found, gone))
        } else if self.survives(&guard, found, mercy) && self.migrate(sweeper, &guard, found, mercy) {
            (true, None)
        } else if mercy == Mercy::All {
            (false, None)
        } else {
            let stripe = self.counters.mine();
            count(&stripe.evictions);
            if !item.shape().has(FETCHED) {
                count(&stripe.evicted_unfetched);
            }
            self.observers
                .evicted(|| self.entry(location, guard.item(location)));
            (true, self.remove(&guard, found, true))
        };
        drop(guard);
        drop(block);
        moved
    }

    fn survives(&self, _guard: &Guard<'_>, found: Found<'_>, mercy: Mercy) -> bool {
        match mercy {
            Mercy::All => true,
            Mercy::WorthAtLeast(least) => u16::from(found.place.slot().worth()) >= least,
        }
    }

    /// Moves an item to where survivors go; false if there's no memory.
    fn migrate(&self, sweeper: &mut Sweeper, guard: &Guard<'_>, found: Found<'_>, mercy: Mercy) -> bool {
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
        let burden = Burden {
            stride: shape.stride(),
            expiry: item.expiry(),
            version,
            block: block.as_ref().map_or(0, |block| block.block().cost()),
        };
        let Some(fresh) = self.shelter(sweeper, found, &burden, mercy) else {
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
        let slot = found.place.slot();
        let worth = if mercy == Mercy::All {
            slot.worth()
        } else {
            slot.worth() / 2
        };
        found
            .place
            .set(slot.with_location(fresh.location).with_worth(worth));
        self.bury(found.location, &item, burden.block);
        true
    }

    /// Space for a survivor.
    fn shelter(
        &self,
        sweeper: &mut Sweeper,
        found: Found<'_>,
        burden: &Burden,
        mercy: Mercy,
    ) -> Option<Fresh<'_>> {
        let queue = self
            .pool
            .segments
            .header(self.pool.segments.number(found.location))
            .queue();
        let door = self.pool.sweeping_door(refuge(queue, mercy));
        self.pool.allocate(door, burden).or_else(|| {
            let spare = sweeper.spares[usize::from(queue.large())].take()?;
            self.pool.install(door, spare, self.base_now());
            self.pool.allocate(door, burden)
        })
    }
}
