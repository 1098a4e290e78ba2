//! Every write ends: stored or refused, in bounded time, whatever the sizes and however full the store is.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{Random, open, set};
use kv::{Engine, Now, Store, StoreError};

const NOW: Now = Now(1_000_000);
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// How long a batch of writes may take before it counts as hung. A batch takes milliseconds, in the largest store seconds.
const PATIENCE: Duration = Duration::from_secs(900);

/// Runs `work` on a thread of its own and fails if it does not come back. Returns the time that it took.
fn must_end(name: &str, work: impl FnOnce() + Send + 'static) -> Duration {
    let begun = Instant::now();
    let (done, ended) = mpsc::channel();
    let worker = thread::spawn(move || {
        work();
        done.send(()).expect("the test waits");
    });
    match ended.recv_timeout(PATIENCE) {
        Ok(()) => worker.join().expect("the worker has ended"),
        Err(mpsc::RecvTimeoutError::Disconnected) => panic!("{name}: the worker failed"),
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{name}: a write hangs"),
    }
    begun.elapsed()
}

/// Fills a store to just below the brim with small items, then stores new keys with values of 33 to 64 KiB that arrive whole.
/// A bucket must be full when the memory is; that depends on the number of items, so every seed has another.
fn flood(capacity: u64, seed: u64) {
    let store = open(&format!("memory:?capacity={capacity}"));
    let mut random = Random::new(seed);
    let value = vec![7u8; (64 * KIB) as usize];
    let small = [30, 300, 3000, 12_000][random.below(4) as usize];
    let brim = capacity - random.below(capacity / 8);
    for number in 0.. {
        if number % 64 == 0 {
            let figures = store.statistics();
            if figures.used >= brim || figures.evictions > 0 {
                break;
            }
        }
        let length = random.below(small) as usize;
        write(&store, number, &value[..length]);
    }
    for number in 0..8 + capacity / (32 * KIB) {
        let length = 33 * KIB + random.below(31 * KIB);
        write(&store, (1 << 32) + number, &value[..length as usize]);
        for more in 0..random.below(8) {
            let length = random.below(small) as usize;
            write(&store, (2 << 32) + 8 * number + more, &value[..length]);
        }
    }
    let figures = store.statistics();
    assert!(figures.used <= figures.capacity, "{figures:?}");
}

fn write(store: &Store, number: u64, value: &[u8]) {
    let outcome = set(store, &number.to_le_bytes(), value, NOW);
    assert!(
        matches!(outcome, Ok(_) | Err(StoreError::OutOfMemory)),
        "{outcome:?}"
    );
}

/// A worker once hung for ever: a write that found no overflow bucket gave the block of its value back, which paid for the
/// bucket's page, which the next attempt's block took again.
#[test]
fn values_that_arrive_whole_never_hang_a_nearly_full_store() {
    for (capacity, seeds) in [(MIB, 40), (2 * MIB, 10), (16 * MIB, 1)] {
        for seed in 0..seeds {
            must_end(&format!("{capacity} bytes, seed {seed}"), move || {
                flood(capacity, seed)
            });
        }
    }
}

/// The same with a hundred seeds in every store from 1 to 256 MiB. Prints the slowest batch of each.
#[test]
#[ignore = "takes minutes; `make test-long` runs it"]
fn values_that_arrive_whole_never_hang_any_store() {
    for mebibytes in (0..=8).map(|power| 1u64 << power) {
        let capacity = mebibytes * MIB;
        let slowest = (0..100)
            .map(|seed| {
                must_end(&format!("{capacity} bytes, seed {seed}"), move || {
                    flood(capacity, seed)
                })
            })
            .fold(Duration::ZERO, Duration::max);
        println!("{mebibytes} MiB: 100 seeds, the slowest batch took {slowest:?}");
    }
}
