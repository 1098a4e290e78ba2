//! Every order of allocations in stores of a few KiB: each write ends, is stored whenever evicting everything makes room for it,
//! and costs no other item when it is refused.
//!
//! Keys all belong to one bucket, so that overflow buckets are needed as often as blocks, arenas and pages are. The clock of the
//! bound is the number of arenas swept, which is the only thing that makes a write take long.

#![allow(clippy::unwrap_used)]

use super::tests::{must_end, set_to};
use super::*;
use crate::region::PAGE;

/// Arenas that one write may sweep: every arena of the largest store here, in each of the gentle and strict rounds.
const SWEEPS_MAX: u64 = 8 * 144;

/// The capacities: from one that cannot even hold a table, two spares and an arena, to the least that may be configured.
const CAPACITIES: [usize; 6] = [20_480, 24_576, 28_672, 33_000, 49_152, 65_536];

/// The sizes of values: within an arena, at the limit of small ones, at pages' ends, up to half of the store.
fn sizes(capacity: usize) -> Vec<usize> {
    let mut sizes = vec![0, 900, 3072, 3073, 4096, 4097, 8000, capacity / 2 - 100];
    sizes.retain(|&size| size <= capacity / 2 - 100);
    sizes
}

/// Keys of one bucket of a table that has not grown.
fn crowd(memory: &Memory, count: usize) -> Vec<u64> {
    let of_one_bucket = |key: &u64| memory.hash(&key.to_le_bytes()) & 63 == 9;
    (0u64..).filter(of_one_bucket).take(count).collect()
}

/// One write with all that must hold of it.
fn write(memory: &Memory, key: u64, length: usize) {
    let (evictions, sweeps) = (memory.statistics().evictions, memory.sweeper.lock().sweeps);
    let (pages, limit) = (
        memory.table.bytes() + 2 * PAGE + memory.pool.arenas.size(),
        memory.budget.limit(),
    );
    let value = vec![length as u8; length];
    let outcome = set_to(memory, key, &value);
    let swept = memory.sweeper.lock().sweeps - sweeps;
    assert!(swept <= SWEEPS_MAX, "{swept} arenas were swept for one write");
    match outcome {
        Ok(_) => assert_eq!(tests::get(memory, key).map(|(value, _)| value), Some(value)),
        Err(StoreError::OutOfMemory) => {
            let after = memory.statistics().evictions;
            assert_eq!(after, evictions, "a refusal of {length} bytes cost items");
            // A table page, the spares, an arena for the item: what must be left beside the value.
            let least = if length > memory.limits.small_max {
                pages + Heap::cost(length) + PAGE
            } else {
                pages + memory.pool.arenas.size() + PAGE
            };
            assert!(
                least > limit || !memory.limits.evict,
                "{length} bytes had room in {limit}"
            );
        }
        Err(error) => panic!("{error}"),
    }
    assert!(memory.budget.used() <= memory.budget.capacity());
}

/// All words of this length over an alphabet of this size, in one sequence that has each of them once.
fn de_bruijn(letters: usize, length: usize) -> Vec<usize> {
    fn extend(word: &mut [usize], sequence: &mut Vec<usize>, letters: usize, at: usize, period: usize) {
        let length = word.len() - 1;
        if at > length {
            if length.is_multiple_of(period) {
                sequence.extend_from_slice(&word[1..=period]);
            }
            return;
        }
        word[at] = word[at - period];
        extend(word, sequence, letters, at + 1, period);
        for letter in word[at - period] + 1..letters {
            word[at] = letter;
            extend(word, sequence, letters, at + 1, at);
        }
    }
    let mut sequence = Vec::new();
    extend(&mut vec![0; length + 1], &mut sequence, letters, 1, 1);
    sequence
}

#[test]
fn every_order_of_three_writes_in_fresh_stores() {
    for capacity in CAPACITIES {
        for evict in [true, false] {
            must_end(move || {
                let sizes = sizes(capacity);
                for order in 0..sizes.len().pow(3) {
                    let memory = Memory::new(capacity, capacity as u64 / 2, evict).unwrap();
                    let keys = crowd(&memory, bucket::SLOTS + 3);
                    // From an empty bucket to a full one: the next item needs an overflow bucket.
                    let present = order % (bucket::SLOTS + 1);
                    for &key in &keys[..present] {
                        write(&memory, key, 1);
                    }
                    for (nth, &key) in keys[bucket::SLOTS..].iter().enumerate() {
                        let size = order / sizes.len().pow(nth as u32) % sizes.len();
                        write(&memory, key, sizes[size]);
                    }
                }
            });
        }
    }
}

#[test]
fn every_order_of_four_writes_in_full_stores() {
    for capacity in CAPACITIES {
        for evict in [true, false] {
            must_end(move || {
                let sizes = sizes(capacity);
                let memory = Memory::new(capacity, capacity as u64 / 2, evict).unwrap();
                let keys = crowd(&memory, 64);
                for (nth, size) in de_bruijn(sizes.len(), 4).into_iter().enumerate() {
                    let key = keys[nth * 7 % keys.len()];
                    write(&memory, key, sizes[size]);
                    if !evict && nth.is_multiple_of(3) {
                        tests::remove(&memory, keys[nth * 5 % keys.len()]);
                    }
                }
            });
        }
    }
}
