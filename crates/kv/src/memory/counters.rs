//! Counters that many threads count at once.
//!
//! **Invariant:** a thread counts on its own stripe, so that no cache line is handed from core to core for a number.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

const STRIPES_MAX: usize = 64;

/// What is counted on every stripe. Wrapping: an item may be added on one stripe and removed on another.
#[repr(align(128))]
#[derive(Debug, Default)]
pub(super) struct Stripe {
    pub(super) items: AtomicU64,
    pub(super) total_items: AtomicU64,
    pub(super) evictions: AtomicU64,
    pub(super) evicted_unfetched: AtomicU64,
    pub(super) expired: AtomicU64,
    pub(super) expired_unfetched: AtomicU64,
    pub(super) flushed: AtomicU64,
    pub(super) read_expired: AtomicU64,
    pub(super) read_flushed: AtomicU64,
    pub(super) out_of_memory: AtomicU64,
}

/// All stripes.
#[derive(Debug)]
pub(super) struct Counters {
    stripes: Box<[Stripe]>,
}

static THREADS: AtomicUsize = AtomicUsize::new(0);
thread_local! {
    static THREAD: usize = THREADS.fetch_add(1, Relaxed);
}

/// A small number that's this thread's own.
#[inline]
pub(super) fn thread_number() -> usize {
    THREAD.with(|&number| number)
}

impl Counters {
    /// One stripe a core.
    pub(super) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let stripes = cores.next_power_of_two().min(STRIPES_MAX);
        Counters {
            stripes: (0..stripes).map(|_| Stripe::default()).collect(),
        }
    }

    /// The calling thread's stripe.
    #[inline]
    pub(super) fn mine(&self) -> &Stripe {
        &self.stripes[thread_number() & (self.stripes.len() - 1)]
    }

    /// The sum of one number over all stripes.
    pub(super) fn sum(&self, of: impl Fn(&Stripe) -> &AtomicU64) -> u64 {
        self.stripes
            .iter()
            .fold(0, |sum, stripe| sum.wrapping_add(of(stripe).load(Relaxed)))
    }
}

/// Counts one.
#[inline]
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}
