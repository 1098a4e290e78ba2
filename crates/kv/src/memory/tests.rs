//! Tests that need to look or reach inside.

#![allow(clippy::unwrap_used)]

use std::sync::atomic::Ordering::Relaxed;

use super::*;
use crate::{Change, Need, New};

pub(super) const NOW: Now = Now(1_000_000);

fn set(memory: &Memory, key: u64, value: &[u8]) -> u64 {
    set_to(memory, key, value).unwrap()
}

pub(super) fn set_to(memory: &Memory, key: u64, value: &[u8]) -> Result<u64, StoreError> {
    let (key, parts) = (key.to_le_bytes(), [value]);
    let outcome = memory.write(&memory.key(&key), NOW, Need::Nothing, |_| {
        (Decision::Put(New::new(&parts)), ())
    });
    outcome.map(|((), cas)| cas)
}

pub(super) fn remove(memory: &Memory, key: u64) {
    let key = key.to_le_bytes();
    memory
        .write(&memory.key(&key), NOW, Need::Nothing, |_| (Decision::Remove, ()))
        .unwrap();
}

pub(super) fn get(memory: &Memory, key: u64) -> Option<(Vec<u8>, u64)> {
    let key = key.to_le_bytes();
    let seen = memory.read(&memory.key(&key), NOW, |entry| {
        entry.map(|entry| (entry.bytes().to_vec(), entry.cas()))
    });
    seen.unwrap().ready().unwrap()
}

/// An item that's four thousand million writes old no longer fits the version field of a new arena. It must keep its cas
/// when it moves, and a later flush must still see it.
#[test]
fn old_items_keep_their_cas_when_they_move() {
    let memory = Memory::new(1 << 20, 1 << 18, false).unwrap();
    let large = vec![7; 50_000];
    let mut cases = Vec::new();
    for key in 0..300 {
        let value = if key % 100 == 0 {
            &large[..]
        } else {
            &[key as u8; 100][..]
        };
        cases.push((key, value.to_vec(), set(&memory, key, value)));
    }
    memory.version.0.fetch_add(3 << 30, Relaxed);
    // Holes, so that compaction moves what is left.
    for round in 0..40_000u64 {
        set(
            &memory,
            1000 + round % 500,
            &[1; 700][..(round * 13 % 700) as usize],
        );
    }
    memory.version.0.fetch_add(3 << 30, Relaxed);
    for round in 0..40_000u64 {
        set(
            &memory,
            1000 + round % 500,
            &[1; 700][..(round * 13 % 700) as usize],
        );
    }
    for (key, value, cas) in &cases {
        assert_eq!(get(&memory, *key), Some((value.clone(), *cas)));
    }
    // Changing such an item in place isn't possible either.
    let key = 5u64.to_le_bytes();
    let change = Decision::Change(Change {
        cas: crate::Cas::Next,
        ..Change::default()
    });
    let (_, cas) = memory
        .write(&memory.key(&key), NOW, Need::Value, |_| (change, ()))
        .unwrap();
    assert!(cas > 6 << 30 && get(&memory, 5).unwrap().1 == cas);
    memory.flush(None, NOW).unwrap();
    assert!((0..300).all(|key| get(&memory, key).is_none()));
}

/// Items that are read again and again survive any number of items that are written once.
#[test]
fn proven_items_survive_a_flood() {
    let memory = Memory::new(4 << 20, 1 << 20, true).unwrap();
    for key in 0..2000 {
        set(&memory, key, &[1; 200]);
    }
    for key in 10_000..200_000 {
        get(&memory, key % 2000);
        set(&memory, key, &[2; 200]);
    }
    let left = (0..2000).filter(|&key| get(&memory, key).is_some()).count();
    assert!(left > 1980, "only {left} of 2000 survived");
}

/// Items whose keys share a bucket spill over, and every one is found and can go.
#[test]
fn chains_grow_and_shrink() {
    let memory = Memory::new(1 << 20, 1 << 18, true).unwrap();
    let crowd = (0u64..)
        .filter(|key| memory.hash(&key.to_le_bytes()) & 63 == 9)
        .take(60)
        .collect::<Vec<_>>();
    for &key in &crowd {
        set(&memory, key, &key.to_le_bytes());
    }
    for (gone, &key) in crowd.iter().enumerate() {
        assert!(
            crowd[gone..]
                .iter()
                .all(|&key| get(&memory, key).is_some_and(|(value, _)| value == key.to_le_bytes()))
        );
        let bytes = key.to_le_bytes();
        memory
            .write(&memory.key(&bytes), NOW, Need::Nothing, |_| {
                (Decision::Remove, ())
            })
            .unwrap();
        assert_eq!(get(&memory, key), None);
    }
    assert_eq!(memory.statistics().items, 0);
}

/// How long some thousands of writes may take before they count as hung, on a machine that is busy with other things.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(900);

/// Runs `work` on a thread of its own and fails if it does not come back.
pub(super) fn must_end<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(work()));
    ended.recv_timeout(PATIENCE).expect("a write hangs")
}

/// A worker hung for ever: a write that found no overflow bucket gave the block of its value back, which paid for the
/// bucket's page, which the next attempt's block took again.
#[test]
fn a_block_and_an_overflow_bucket_do_not_take_each_others_memory() {
    let memory = Memory::new(1 << 20, 1 << 18, true).unwrap();
    set(&memory, u64::MAX, &[7; 40_000]);
    let crowd = (0u64..)
        .filter(|key| memory.hash(&key.to_le_bytes()) & 63 == 9)
        .take(bucket::SLOTS + 1)
        .collect::<Vec<_>>();
    for &key in &crowd[..bucket::SLOTS] {
        set(&memory, key, b"small");
    }
    // As much is left as the block takes, and not a page more.
    let left = memory.budget.capacity() - memory.budget.used();
    assert!(memory.budget.take(left - Heap::cost(40_000) - 100));
    let last = crowd[bucket::SLOTS];
    let memory = must_end(move || {
        set(&memory, last, &[8; 40_000]);
        memory
    });
    assert_eq!(get(&memory, last).map(|(value, _)| value.len()), Some(40_000));
}

/// An arena that was opened for a write may stay empty: making room for it evicted the item that was to be replaced, and the
/// next attempt went to another queue. Such an arena could not be freed, and another write was refused for want of it.
#[test]
fn an_arena_that_was_opened_in_vain_is_used_elsewhere() {
    for evict in [true, false] {
        // Room for the table, the spares, and one arena.
        let memory = Memory::new(30_000, 15_000, evict).unwrap();
        let class = memory.classes.of(crate::Expiry::Never, NOW);
        let point = memory.pool.point(class::Queue::new(class, false, true));
        memory.open_arena(point, NOW).unwrap();
        set(&memory, 1, b"of a new item's queue");
    }
}

/// Where nothing may be evicted, a refusal looks at no arena that has nothing to give.
#[test]
fn a_refusal_without_eviction_looks_at_no_arena() {
    let memory = Memory::new(8 << 20, 1 << 20, false).unwrap();
    let full = (0..)
        .find(|&key| set_to(&memory, key, &[1; 500]).is_err())
        .unwrap();
    assert!(memory.pool.known().count() > 100);
    let (cursor, sweeps) = {
        let sweeper = memory.sweeper.lock();
        (sweeper.position(), sweeper.sweeps)
    };
    for _ in 0..100 {
        assert_eq!(set_to(&memory, full, &[1; 500]), Err(StoreError::OutOfMemory));
    }
    let sweeper = memory.sweeper.lock();
    assert_eq!((sweeper.position(), sweeper.sweeps), (cursor, sweeps));
    drop(sweeper);
    // The space of removed items is used again, and only their arenas are swept.
    for key in (0..full).step_by(3) {
        remove(&memory, key);
    }
    for key in 0..full / 4 {
        set(&memory, full + key, &[2; 500]);
    }
    assert!((0..full).all(|key| get(&memory, key).is_some() != key.is_multiple_of(3)));
}

/// Writers find free arenas: a write sweeps a few at most, and housekeeping frees some before anyone asks.
#[test]
fn arenas_are_kept_in_reserve() {
    let memory = Memory::new(64 << 20, 1 << 20, true).unwrap();
    let value = [1; 400];
    let mut worst = 0;
    for key in 0..400_000 {
        let before = memory.sweeper.lock().sweeps;
        set(&memory, key, &value);
        if key % 3 == 0 {
            get(&memory, key / 2);
        }
        worst = worst.max(memory.sweeper.lock().sweeps - before);
    }
    assert!(memory.statistics().evictions > 100_000);
    assert!(worst <= 3, "one write swept {worst} arenas");
    // Blocks take the reserve away; a tick brings it back.
    for key in 0..20 {
        set(&memory, key, &vec![2; 300_000]);
    }
    memory.tick(NOW, 1 << 10);
    assert_eq!(memory.pool.free(), 2, "a 128th of 256 arenas");
}

/// A dropped store frees its blocks, except those that readers hold.
#[test]
fn a_store_that_goes_frees_its_blocks() {
    let memory = Memory::new(16 << 20, 1 << 20, true).unwrap();
    for key in 0..100 {
        set(&memory, key, &[key as u8; 200_000]);
    }
    let key = 99u64.to_le_bytes();
    let held = memory.read(&memory.key(&key), NOW, |entry| match entry.unwrap().value() {
        crate::Value::Shared(pinned) => pinned,
        other => panic!("a block holds it, not {other:?}"),
    });
    let held = held.unwrap().ready().unwrap();
    let heap = Arc::downgrade(&memory.heap);
    drop(memory);
    assert_eq!(heap.upgrade().unwrap().pinned(), Heap::cost(200_000));
    assert!(
        heap.upgrade().unwrap().used() <= 11 * Heap::cost(200_000),
        "an eighth of the capacity is cached, beside the one that is held"
    );
    assert!(held.as_ref().iter().all(|&byte| byte == 99));
    drop(held);
    assert!(heap.upgrade().is_none());
}
