//! `stats items` and `stats slabs`: the store's classes, under the names of memcached's slab classes.
//!
//! memcached's classes are of items of one size. Here they are of items with about the same time to live, small and large ones
//! apart:
//!
//! | class | items |
//! |---|---|
//! | 1, 2 | that never expire: small, large |
//! | 3 + 2n, 4 + 2n | that had 2ⁿ seconds or more to live when they were stored, and less than the next class: small, large |
//!
//! A chunk is an item of the class's mean size, a page is an arena of the store. Commands, and stores that were refused for
//! lack of memory, are counted per service and not per class: the first class carries them.

use std::collections::BTreeMap;

use kv::{ClassStatistics, Engine, Now, Statistics};

use super::{Tell, since_reset};
use crate::counters::Totals;
use crate::operations::Exchange;

/// The number of a class, which is the same whatever else the store holds.
fn number(class: &ClassStatistics) -> u32 {
    let small = class.ttl_min.map_or(1, |seconds| 3 + 2 * seconds.max(1).ilog2());
    small + u32::from(class.large)
}

/// The classes that hold items or have lost some, by number.
fn numbered(classes: &[ClassStatistics]) -> BTreeMap<u32, ClassStatistics> {
    let mut rows = BTreeMap::<u32, ClassStatistics>::new();
    for class in classes {
        let row = rows.entry(number(class)).or_default();
        row.arenas += class.arenas;
        row.free_bytes += class.free_bytes;
        row.dead_bytes += class.dead_bytes;
        row.bytes += class.bytes;
        row.items += class.items;
        row.oldest = row.oldest.into_iter().chain(class.oldest).min();
        row.evicted += class.evicted;
        row.evicted_expiring += class.evicted_expiring;
        row.evicted_unfetched += class.evicted_unfetched;
        row.evicted_idle = row.evicted_idle.max(class.evicted_idle);
        row.reclaimed += class.reclaimed;
        row.expired_unfetched += class.expired_unfetched;
    }
    rows.retain(|_, row| row.items + row.evicted + row.reclaimed > 0);
    rows
}

/// The first class that `stats items` tells of.
pub(crate) fn first_class(exchange: &Exchange<'_>) -> Option<u32> {
    numbered(&exchange.service.store.statistics().classes)
        .into_keys()
        .next()
}

/// Tells `stats items`.
pub(super) fn items(exchange: &Exchange<'_>, tell: &mut Tell<'_>) {
    let store = since_reset(exchange.service);
    let mut refused = store.out_of_memory;
    for (number, class) in numbered(&store.classes) {
        let mut tell = |name: &str, value: u64| tell(&format!("items:{number}:{name}"), &value);
        tell("number", class.items);
        tell("age", class.oldest.map_or(0, |second| age(second, exchange.now)));
        tell("mem_requested", class.bytes);
        tell("evicted", class.evicted);
        tell("evicted_nonzero", class.evicted_expiring);
        tell("evicted_time", class.evicted_idle);
        tell("outofmemory", std::mem::take(&mut refused));
        tell("tailrepairs", 0);
        tell("reclaimed", class.reclaimed);
        tell("expired_unfetched", class.expired_unfetched);
        tell("evicted_unfetched", class.evicted_unfetched);
        tell("crawler_reclaimed", 0);
        tell("crawler_items_checked", 0);
        tell("lrutail_reflocked", 0);
    }
}

fn age(stored: u32, now: Now) -> u64 {
    u64::from(now.0.saturating_sub(stored))
}

/// Tells `stats slabs`.
pub(super) fn slabs(exchange: &Exchange<'_>, tell: &mut Tell<'_>) {
    let store = exchange.service.store.statistics();
    let mut commands = exchange.service.loops.since_reset();
    let rows = numbered(&store.classes);
    let mut active = 0;
    for (number, class) in rows.iter().filter(|(_, class)| class.items > 0) {
        active += 1;
        slab(*number, class, &std::mem::take(&mut commands), tell);
    }
    tell("active_slabs", &active);
    tell("total_malloced", &store.used);
}

fn slab(number: u32, class: &ClassStatistics, commands: &Totals, tell: &mut Tell<'_>) {
    let mut tell = |name: &str, value: u64| tell(&format!("{number}:{name}"), &value);
    let chunk = class.bytes.div_ceil(class.items).max(1);
    let free = (class.free_bytes + class.dead_bytes) / chunk;
    let chunks = class.items + free;
    tell("chunk_size", chunk);
    tell("chunks_per_page", chunks.div_ceil(class.arenas.max(1)));
    tell("total_pages", class.arenas);
    tell("total_chunks", chunks);
    tell("used_chunks", class.items);
    tell("free_chunks", free);
    tell("free_chunks_end", 0);
    tell("get_hits", commands.get_hits);
    tell("cmd_set", commands.cmd_set);
    tell("delete_hits", commands.delete_hits);
    tell("incr_hits", commands.incr_hits);
    tell("decr_hits", commands.decr_hits);
    tell("cas_hits", commands.cas_hits);
    tell("cas_badval", commands.cas_badval);
    tell("touch_hits", commands.touch_hits);
}

/// Subtracts what the classes had counted earlier.
pub(super) fn subtract(store: &mut Statistics, earlier: &Statistics) {
    for class in &mut store.classes {
        let is_same = |other: &&ClassStatistics| (other.ttl_min, other.large) == (class.ttl_min, class.large);
        let Some(before) = earlier.classes.iter().find(is_same) else {
            continue;
        };
        class.evicted -= before.evicted;
        class.evicted_expiring -= before.evicted_expiring;
        class.evicted_unfetched -= before.evicted_unfetched;
        class.reclaimed -= before.reclaimed;
        class.expired_unfetched -= before.expired_unfetched;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(ttl_min: Option<u32>, large: bool) -> u32 {
        let mut class = ClassStatistics::default();
        (class.ttl_min, class.large) = (ttl_min, large);
        number(&class)
    }

    #[test]
    fn classes_have_numbers_that_memcached_could_have() {
        assert_eq!((class(None, false), class(None, true)), (1, 2));
        assert_eq!((class(Some(1), false), class(Some(1), true)), (3, 4));
        assert_eq!(class(Some(256), false), class(Some(384), false), "one octave");
        assert_eq!(class(Some(1 << 23), true), 50);
    }

    #[test]
    fn half_octaves_are_summed() {
        let mut halves = [ClassStatistics::default(); 2];
        for (half, ttl_min) in halves.iter_mut().zip([256, 384]) {
            (half.ttl_min, half.items, half.oldest) = (Some(ttl_min), 2, Some(ttl_min));
        }
        let rows = numbered(&halves);
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[&19].items, rows[&19].oldest), (4, Some(256)));
    }
}
