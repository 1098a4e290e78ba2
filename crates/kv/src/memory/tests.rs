//! Tests that need to look or reach inside.

#![allow(clippy::unwrap_used)]

use std::sync::atomic::Ordering::Relaxed;

use super::*;
use crate::{Change, New};

const NOW: Now = Now(1_000_000);

fn set(memory: &Memory, key: u64, value: &[u8]) -> u64 {
    let (key, parts) = (key.to_le_bytes(), [value]);
    memory
        .write(&memory.key(&key), NOW, |_| (Decision::Put(New::new(&parts)), ()))
        .unwrap()
        .1
}

fn get(memory: &Memory, key: u64) -> Option<(Vec<u8>, u64)> {
    let key = key.to_le_bytes();
    let seen = memory.read(&memory.key(&key), NOW, |entry| {
        entry.map(|entry| (entry.bytes().to_vec(), entry.cas()))
    });
    seen.ready().unwrap()
}

/// An item that's four thousand million writes old no longer fits the version field of a new segment. It must keep its cas
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
    let (_, cas) = memory.write(&memory.key(&key), NOW, |_| (change, ())).unwrap();
    assert!(cas > 6 << 30 && get(&memory, 5).unwrap().1 == cas);
    memory.flush(None, NOW);
    assert!((0..300).all(|key| get(&memory, key).is_none()));
}

/// What is read again and again survives any number of items that are written once.
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
            .write(&memory.key(&bytes), NOW, |_| (Decision::Remove, ()))
            .unwrap();
        assert_eq!(get(&memory, key), None);
    }
    assert_eq!(memory.statistics().items, 0);
}

/// Runs `work` on a thread of its own and fails if it does not come back.
fn must_end<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(work()));
    ended
        .recv_timeout(std::time::Duration::from_secs(30))
        .expect("a write hangs")
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
