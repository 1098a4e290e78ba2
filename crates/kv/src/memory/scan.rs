//! Looking at everything: bounded walks over the index, and figures.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Memory, class};
use crate::{ClassStatistics, Cursor, Entry, Now, Statistics};

/// Bits of a cursor that tell the bucket; those above count merges.
const INDEX_BITS: u32 = 40;
const MERGES_MASK: u64 = u64::MAX >> INDEX_BITS;

/// The contents of a cursor: the next bucket, and the number of merges when it was made.
struct Position {
    index: u64,
    merges: u64,
}

impl Position {
    fn of(cursor: &Cursor) -> Position {
        let number = match cursor {
            Cursor::Number(number) => *number,
            Cursor::Start | Cursor::After(_) => 0,
        };
        Position {
            index: number & !(MERGES_MASK << INDEX_BITS),
            merges: number >> INDEX_BITS,
        }
    }

    fn cursor(self) -> Cursor {
        Cursor::Number(self.merges << INDEX_BITS | self.index)
    }
}

impl Memory {
    /// Visits the items of some buckets. New buckets are made at the end and get their items from lower ones, so walking
    /// upwards misses nothing. When buckets were merged meanwhile, items may have moved the other way; then it begins anew.
    pub(super) fn visit(
        &self,
        from: &Cursor,
        steps: usize,
        now: Now,
        mut f: impl FnMut(&Entry<'_>),
    ) -> Option<Cursor> {
        self.pass_time(now);
        let merges = self.table.merges();
        let begin = match Position::of(from) {
            Position { merges: then, .. } if then != merges & MERGES_MASK => 0,
            Position { index, .. } => index,
        };
        let end = begin.saturating_add(steps.max(1) as u64);
        for index in begin..end {
            if index >= self.table.count() {
                break;
            }
            let guard = self.table.lock_index(index);
            for location in guard.slots().filter_map(|slot| slot.load().location()) {
                let item = guard.item(location);
                if self.gone(location, &item, now).is_none() {
                    f(&self.entry(location, item));
                }
            }
        }
        let step = |index| Position {
            index,
            merges: merges & MERGES_MASK,
        };
        if end < self.table.count() {
            return Some(step(end).cursor());
        }
        (self.table.merges() != merges).then(|| step(0).cursor())
    }

    /// All figures. Costs a look at every arena's header.
    pub(super) fn figures(&self) -> Statistics {
        let (expired, flushed) = (
            self.counters.sum(|stripe| &stripe.expired),
            self.counters.sum(|stripe| &stripe.flushed),
        );
        let mut figures = Statistics {
            engine: "memory",
            total_items: self.counters.sum(|stripe| &stripe.total_items),
            evictions: self.counters.sum(|stripe| &stripe.evictions),
            evicted_unfetched: self.counters.sum(|stripe| &stripe.evicted_unfetched),
            expired,
            expired_unfetched: self.counters.sum(|stripe| &stripe.expired_unfetched),
            flushed,
            reclaimed: expired + flushed,
            read_expired: self.counters.sum(|stripe| &stripe.read_expired),
            read_flushed: self.counters.sum(|stripe| &stripe.read_flushed),
            out_of_memory: self.counters.sum(|stripe| &stripe.out_of_memory),
            capacity: self.budget.capacity() as u64,
            used: self.budget.used() as u64,
            table_bytes: self.table.bytes() as u64,
            buckets: self.table.count(),
            free_arenas: self.pool.free() as u64,
            arena_size: self.pool.arenas.size() as u64,
            extent_bytes: self.heap.used() as u64,
            item_size_max: self.limits.item_size_max,
            ..Statistics::default()
        };
        figures.arena_bytes = figures
            .used
            .saturating_sub(figures.table_bytes + figures.extent_bytes);
        figures.classes = self.class_figures();
        figures.items = figures.classes.iter().map(|class| class.items).sum();
        figures.bytes = figures.classes.iter().map(|class| class.bytes).sum();
        figures.arenas = figures.classes.iter().map(|class| class.arenas).sum();
        figures
    }

    fn class_figures(&self) -> Vec<ClassStatistics> {
        let mut classes = Vec::with_capacity(2 * class::COUNT);
        for number in 0..class::COUNT as u8 {
            classes.push(self.history(number, false));
            classes.push(self.history(number, true));
        }
        let known = self.pool.known();
        for index in 0..known.count() {
            let header = self.pool.arenas.header(known.number(index));
            if header.items() > 0 {
                let queue = header.queue();
                let class = &mut classes[2 * usize::from(queue.class()) + usize::from(queue.large())];
                let size = self.pool.cost(queue.large()) as u64;
                class.arenas += 1;
                class.items += header.items();
                class.arena_bytes += size;
                class.free_bytes += size.saturating_sub(u64::from(header.written()));
                class.dead_bytes += header.dead_bytes() as u64;
                class.block_bytes += header.block_bytes();
                class.bytes += header.live_bytes() + header.block_bytes();
                let oldest = header.oldest();
                class.oldest = Some(class.oldest.map_or(oldest, |other| other.min(oldest)));
            }
        }
        classes.retain(|class| class.arenas + class.evicted + class.reclaimed > 0);
        classes
    }

    /// The removals of a class.
    fn history(&self, number: u8, large: bool) -> ClassStatistics {
        let counters = self.counters.class(number, large);
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ClassStatistics {
            ttl_min: class::ttl_min(number),
            large,
            evicted: load(&counters.evicted),
            evicted_expiring: load(&counters.evicted_expiring),
            evicted_unfetched: load(&counters.evicted_unfetched),
            evicted_idle: load(&counters.evicted_idle),
            reclaimed: load(&counters.reclaimed),
            expired_unfetched: load(&counters.expired_unfetched),
            ..ClassStatistics::default()
        }
    }
}
