//! Many threads at one store: nothing torn, nothing lost.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::scope;

use crate::common::{Random, apply, get, open, put, ready, set, stored};
use kv::{Cursor, Decision, Edit, Engine, Expiry, New, Now, Payload, Store, Value};

const NOW: Now = Now(1_000_000);

/// A value that tells whether it's whole: its length and seed, then bytes that follow from the seed.
fn sealed_value(seed: u64, length: usize) -> Vec<u8> {
    let mut value = seed.to_le_bytes().to_vec();
    value.extend_from_slice(&(length as u64).to_le_bytes());
    value.extend((0..length).map(|at| (seed.wrapping_mul(at as u64 | 1) >> 13) as u8));
    value
}

fn assert_whole(value: &[u8]) {
    let number = |at: usize| u64::from_le_bytes(value[at..at + 8].try_into().expect("eight bytes"));
    assert_eq!(value, sealed_value(number(0), number(8) as usize), "a torn value");
}

#[test]
fn values_are_never_torn() {
    let store = open("memory:?capacity=3MiB");
    let clock = AtomicU32::new(NOW.0);
    scope(|threads| {
        for thread in 0..4 {
            let (store, clock) = (&store, &clock);
            threads.spawn(move || {
                let mut random = Random::new(thread + 1);
                for step in 0..15_000u32 {
                    let now = Now(clock.load(Ordering::Relaxed));
                    if thread == 0 && step.is_multiple_of(100) {
                        clock.fetch_add(1, Ordering::Relaxed);
                        store.tick(now, 16);
                    }
                    disturb(store, &mut random, now);
                }
            });
        }
    });
    let figures = store.statistics();
    assert!(
        figures.evictions > 0 && figures.expired > 0,
        "not disturbed enough: {figures:?}"
    );
    assert!(figures.used <= figures.capacity);
}

/// One random operation, on one of many keys.
fn disturb(store: &Store, random: &mut Random, now: Now) {
    let key = random.below(6000).to_le_bytes();
    match random.below(12) {
        0..5 => {
            let length = if random.below(50) == 0 {
                40_000
            } else {
                random.below(6) * 100
            };
            let value = sealed_value(random.next(), length as usize);
            let expiry = match random.below(4) {
                0 => Expiry::At(now.0 + random.below(4) as u32),
                _ => Expiry::Never,
            };
            put(
                store,
                &key,
                New {
                    expiry,
                    ..New::new(&[&value])
                },
                now,
            )
            .expect("evicting makes room");
        }
        5 => drop(apply(store, &key, Decision::Remove, now)),
        6 => drop(apply(store, &key, Decision::touch(Expiry::At(now.0 + 5)), now)),
        _ => {
            let kept = ready(store.read(&store.key(&key), now, |entry| {
                entry.and_then(|entry| match entry.value() {
                    Value::Bytes(bytes) => {
                        assert_whole(bytes);
                        None
                    }
                    Value::Shared(pinned) => Some(pinned),
                    other => panic!("this engine keeps values in memory, not in {other:?}"),
                })
            }));
            if let Some(pinned) = kept {
                assert_whole(pinned.as_ref());
            }
        }
    }
}

#[test]
fn increments_are_never_lost() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 5000;
    const COUNTERS: u64 = 7;
    // Nothing may be evicted, but other writes make arenas move all the time.
    let store = open("memory:?capacity=4MiB&evict=false");
    for counter in 0..COUNTERS {
        set(&store, &counter.to_le_bytes(), b"0", NOW).expect("there's room");
    }
    scope(|threads| {
        for thread in 0..THREADS {
            let store = &store;
            threads.spawn(move || {
                let mut random = Random::new(thread + 7);
                for round in 0..ROUNDS {
                    increment(store, &(round % COUNTERS).to_le_bytes());
                    let filler = random.bytes(random_length(round));
                    set(
                        store,
                        &(1000 + round % 300 + thread * 1000).to_le_bytes(),
                        &filler,
                        NOW,
                    )
                    .expect("there's room");
                }
            });
        }
    });
    let sum: u64 = (0..COUNTERS)
        .filter_map(|counter| get(&store, &counter.to_le_bytes(), NOW))
        .map(|value| String::from_utf8_lossy(&value).parse::<u64>().expect("a number"))
        .sum();
    assert_eq!(sum, THREADS * ROUNDS);
}

fn random_length(round: u64) -> usize {
    (round * 131 % 1500) as usize
}

/// Adds one to a number, as arithmetic commands do: read outside, written with the CAS that was read.
fn increment(store: &Store, key: &[u8]) {
    loop {
        let hashed = store.key(key);
        let (number, cas) = ready(store.read(&hashed, NOW, |entry| {
            let entry = entry.expect("counters stay");
            (
                String::from_utf8_lossy(entry.bytes())
                    .parse::<u64>()
                    .expect("a number"),
                entry.cas(),
            )
        }));
        let text = (number + 1).to_string();
        let parts = [text.as_bytes()];
        let outcome = store.update(&hashed, NOW, |entry| match entry {
            Some(entry) if entry.cas() == cas => (
                Decision::Rewrite(Edit {
                    value: Payload::Parts(&parts),
                    cas: None,
                }),
                true,
            ),
            _ => (Decision::Keep, false),
        });
        let (written, after) = stored(outcome).expect("there's room");
        if written {
            assert!(after > cas);
            return;
        }
    }
}

#[test]
fn growing_hides_nothing() {
    const THREADS: u64 = 4;
    const KEYS: u64 = 30_000;
    let store = open("memory:?capacity=64MiB&evict=false");
    let done = AtomicBool::new(false);
    scope(|threads| {
        let writers = (0..THREADS).map(|thread| {
            let store = &store;
            threads.spawn(move || {
                for number in 0..KEYS {
                    let key = (number * THREADS + thread).to_le_bytes();
                    set(store, &key, &key, NOW).expect("there's room");
                    let earlier = (number / 2 * THREADS + thread).to_le_bytes();
                    assert_eq!(get(store, &earlier, NOW).as_deref(), Some(&earlier[..]));
                }
            })
        });
        let writers = writers.collect::<Vec<_>>();
        threads.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let before = store.statistics().items;
                assert!(
                    count(&store) >= before,
                    "a scan misses items while the table grows"
                );
            }
        });
        writers
            .into_iter()
            .for_each(|writer| writer.join().expect("a writer found everything"));
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(count(&store), THREADS * KEYS);
    assert_eq!(store.statistics().items, THREADS * KEYS);
    assert!(store.statistics().buckets > THREADS * KEYS / 7);
}

fn count(store: &Store) -> u64 {
    let (mut items, mut cursor) = (0, Some(Cursor::default()));
    while let Some(from) = cursor {
        cursor = ready(store.scan(&from, 64, NOW, |_| items += 1));
    }
    items
}

#[test]
fn shared_values_outlive_their_items() {
    let store = open("memory:?capacity=16MiB");
    scope(|threads| {
        for thread in 0..3u64 {
            let store = &store;
            threads.spawn(move || {
                let mut random = Random::new(thread + 3);
                let mut held = Vec::new();
                for _ in 0..1500 {
                    let key = random.below(20).to_le_bytes();
                    let value = sealed_value(random.next(), 100_000 + random.below(100_000) as usize);
                    // While others hold old values there may be no memory for new ones.
                    let stored = set(store, &key, &value, NOW);
                    let read = ready(store.read(&store.key(&key), NOW, |entry| {
                        entry.map(|entry| entry.value()).and_then(|value| match value {
                            Value::Shared(pinned) => Some(pinned),
                            _ => None,
                        })
                    }));
                    held.extend(read);
                    if held.len() > 15 || stored.is_err() {
                        held.drain(..).for_each(|pinned| assert_whole(pinned.as_ref()));
                    }
                    assert!(store.statistics().used <= store.statistics().capacity);
                }
            });
        }
    });
}
