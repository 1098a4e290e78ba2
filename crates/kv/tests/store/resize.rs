//! A store gets another capacity while it's in use.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;

use crate::common::{Random, get, open, ready, set};
use kv::{Cursor, Engine, Now, Store, StoreError, Value};

const NOW: Now = Now(1_000_000);
const MIB: u64 = 1 << 20;

/// A key and the only value that it ever has.
fn pair(number: u64, length: usize) -> ([u8; 8], Vec<u8>) {
    (number.to_le_bytes(), Random::new(number).bytes(length))
}

fn fill(store: &Store, numbers: std::ops::Range<u64>, length: impl Fn(u64) -> usize) {
    for number in numbers {
        let (key, value) = pair(number, length(number));
        set(store, &key, &value, NOW).unwrap_or_else(|error| panic!("{number}: {error}"));
    }
}

/// How many of these items are there; those are unchanged.
fn count(store: &Store, numbers: std::ops::Range<u64>, length: impl Fn(u64) -> usize) -> u64 {
    let there = |&number: &u64| {
        let (key, value) = pair(number, length(number));
        get(store, &key, NOW)
            .inspect(|found| assert!(*found == value, "item {number} changed"))
            .is_some()
    };
    numbers.filter(there).count() as u64
}

/// Ticks until there's nothing more to do.
fn settle(store: &Store) {
    while store.tick(NOW, 64) {}
}

fn assert_settled(store: &Store, capacity: u64) {
    let figures = store.statistics();
    assert_eq!(figures.capacity, capacity);
    assert!(figures.used <= capacity, "{figures:?}");
}

#[test]
fn a_larger_store_takes_more_at_once() {
    let store = open("memory:?capacity=1MiB&item_size_max=100KiB");
    fill(&store, 0..3000, |_| 500);
    let evictions = store.statistics().evictions;
    assert!(evictions > 900);
    let before = count(&store, 0..3000, |_| 500);
    store.resize(16 * MIB).expect("the machine has that much");
    fill(&store, 3000..20_000, |_| 500);
    fill(&store, 20_000..20_030, |_| 50_000);
    assert_eq!(store.statistics().evictions, evictions, "there was room");
    assert_eq!(count(&store, 0..20_000, |_| 500), before + 17_000);
    assert_eq!(count(&store, 20_000..20_030, |_| 50_000), 30);
    fill(&store, 30_000..70_000, |_| 500);
    assert!(store.statistics().evictions > evictions);
    assert_settled(&store, 16 * MIB);
    assert!(store.statistics().used > 15 * MIB);
}

/// An arena of a store that was opened with 64 MiB.
const ARENA: u64 = 256 << 10;

#[test]
fn a_smaller_store_gets_there_step_by_step() {
    let store = open("memory:?capacity=64MiB");
    let length = |number: u64| if number.is_multiple_of(1000) { 300_000 } else { 300 };
    fill(&store, 0..150_000, length);
    let full = store.statistics();
    assert!(full.used > 60 * MIB);
    store.resize(8 * MIB).expect("eight megabytes are enough");
    assert_eq!(store.statistics().capacity, 8 * MIB);
    let mut before = store.statistics().used;
    let mut ticks = 0;
    loop {
        let more = store.tick(NOW, 1);
        let used = store.statistics().used;
        assert!(used <= before, "a shrinking store takes no more");
        assert!(before - used <= 2 * MIB, "one step froze the store");
        // Requests are served all the while, and stay within what there is.
        let (key, value) = pair(1_000_000 + ticks, 200);
        set(&store, &key, &value, NOW).expect("evicting makes room");
        assert_eq!(get(&store, &key, NOW), Some(value));
        // A write may take an arena that a step has freed and not yet withdrawn.
        assert!(store.statistics().used <= before + ARENA);
        assert!(store.statistics().used <= full.used);
        before = store.statistics().used;
        ticks += 1;
        if !more && used <= 8 * MIB {
            break;
        }
    }
    assert!(ticks > 50, "{ticks} steps");
    assert_settled(&store, 8 * MIB);
    let left = count(&store, 0..150_000, length);
    assert!(left > 5_000, "only {left} items left");
    fill(&store, 200_000..230_000, |_| 300);
    assert_settled(&store, 8 * MIB);
}

/// The index of many tiny items is larger than the capacity that comes.
#[test]
fn the_index_gets_smaller_too() {
    let store = open("memory:?capacity=64MiB&item_size_max=1MiB");
    fill(&store, 0..700_000, |_| 8);
    let large = store.statistics();
    assert!(large.table_bytes > 7 * MIB, "{large:?}");
    for capacity in [16 * MIB, 4 * MIB, 2 * MIB] {
        store.resize(capacity).expect("within the bounds");
        settle(&store);
        assert_settled(&store, capacity);
        let figures = store.statistics();
        assert!(figures.table_bytes < figures.items * 24, "{figures:?}");
        assert!(figures.items * 90 > capacity, "hardly anything left: {figures:?}");
        assert_eq!(count(&store, 0..700_000, |_| 8), figures.items);
    }
    store.resize(64 * MIB).expect("within the bounds");
    fill(&store, 1_000_000..1_500_000, |_| 8);
    assert_eq!(count(&store, 1_000_000..1_500_000, |_| 8), 500_000);
    assert_settled(&store, 64 * MIB);
}

#[test]
fn nobody_shrinks_what_may_not_be_evicted() {
    let store = open("memory:?capacity=8MiB&evict=false&item_size_max=100KiB");
    fill(&store, 0..12_000, |_| 500);
    store.resize(2 * MIB).expect("within the bounds");
    settle(&store);
    assert_eq!(count(&store, 0..12_000, |_| 500), 12_000);
    assert_eq!(
        set(&store, b"one more", &[0; 60_000], NOW),
        Err(StoreError::OutOfMemory)
    );
    store.flush(None, NOW).expect("a cache can be flushed");
    settle(&store);
    assert_settled(&store, 2 * MIB);
    set(&store, b"one more", &[0; 60_000], NOW).expect("there's room");
}

#[test]
fn held_values_are_waited_for() {
    let store = open("memory:?capacity=16MiB&item_size_max=1MiB");
    fill(&store, 0..12, |_| 1_000_000);
    let held: Vec<_> = (0..12u64)
        .filter_map(|number| {
            ready(store.read(&store.key(&number.to_le_bytes()), NOW, |entry| {
                entry.and_then(|entry| match entry.value() {
                    Value::Shared(pinned) => Some(pinned),
                    _ => None,
                })
            }))
        })
        .collect();
    assert_eq!(held.len(), 12);
    store.resize(4 * MIB).expect("within the bounds");
    settle(&store);
    assert!(
        store.statistics().used > 11 * MIB,
        "held values have their memory"
    );
    for (number, value) in held.iter().enumerate() {
        assert!(
            value.as_ref() == pair(number as u64, 1_000_000).1,
            "a held value changed"
        );
    }
    drop(held);
    settle(&store);
    assert_settled(&store, 4 * MIB);
    fill(&store, 0..12, |_| 1_000_000);
    assert_settled(&store, 4 * MIB);
}

#[test]
fn capacities_out_of_bounds_are_refused() {
    let store = open("memory:?capacity=16MiB&item_size_max=4MiB");
    for capacity in [0, 8 * MIB - 1, u64::MAX] {
        assert!(matches!(
            store.resize(capacity),
            Err(StoreError::CapacityOutOfBounds { capacity: told, min, .. }) if told == capacity && min == 8 * MIB
        ));
    }
    assert_eq!(store.statistics().capacity, 16 * MIB);
    store.resize(8 * MIB).expect("the least");
}

#[test]
fn a_scan_misses_nothing_while_the_store_shrinks() {
    let store = open("memory:?capacity=16MiB");
    fill(&store, 0..100_000, |_| 16);
    let mut seen = HashSet::new();
    let mut cursor = Some(Cursor::default());
    let mut capacity = 16 * MIB;
    while let Some(from) = cursor {
        cursor = ready(store.scan(&from, 700, NOW, |entry| {
            seen.insert(entry.key().to_vec());
        }));
        if capacity > 4 * MIB {
            capacity -= MIB;
            store.resize(capacity).expect("within the bounds");
            settle(&store);
        }
    }
    let missed = (0..100_000u64)
        .filter(|number| !seen.contains(&number.to_le_bytes()[..]))
        .find(|&number| count(&store, number..number + 1, |_| 16) > 0);
    assert_eq!(missed, None);
    assert!(store.statistics().items > 10_000);
}

#[test]
fn threads_read_and_write_while_the_capacity_changes() {
    let store = open("memory:?capacity=8MiB&item_size_max=256KiB");
    let done = AtomicBool::new(false);
    let length = |number: u64| {
        if number.is_multiple_of(50) {
            40_000
        } else {
            (number % 300) as usize
        }
    };
    scope(|threads| {
        let workers: Vec<_> = (0..3)
            .map(|thread| {
                let store = &store;
                threads.spawn(move || {
                    let mut random = Random::new(thread + 1);
                    for _ in 0..40_000 {
                        let number = random.below(50_000);
                        if random.below(2) == 0 {
                            fill(store, number..number + 1, length);
                        } else {
                            count(store, number..number + 1, length);
                        }
                    }
                })
            })
            .collect();
        let (store, done) = (&store, &done);
        threads.spawn(move || {
            let mut random = Random::new(9);
            while !done.load(Ordering::Relaxed) {
                store
                    .resize(MIB + random.below(8 * MIB))
                    .expect("within the bounds");
                for _ in 0..random.below(200) {
                    store.tick(NOW, 64);
                }
            }
        });
        for worker in workers {
            worker.join().expect("no worker panics");
        }
        done.store(true, Ordering::Relaxed);
    });
    store.resize(2 * MIB).expect("within the bounds");
    settle(&store);
    assert_settled(&store, 2 * MIB);
    let figures = store.statistics();
    assert_eq!(count(&store, 0..50_000, length), figures.items);
    fill(&store, 0..20_000, length);
    assert_settled(&store, 2 * MIB);
}
