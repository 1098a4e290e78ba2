//! Counters that many threads count at once.
//!
//! **Invariant:** a thread counts on its own stripe, so that no cache line is handed from core to core for a number.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use super::class::{self, Queue};

const STRIPES_MAX: usize = 64;

/// The counters of a stripe. They wrap: an item may be added on one stripe and removed on another.
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

/// The counters of a class: removals that the store decides on, which are rare beside reads and writes.
#[derive(Debug, Default)]
pub(super) struct ClassCounters {
    pub(super) evicted: AtomicU64,
    pub(super) evicted_expiring: AtomicU64,
    pub(super) evicted_unfetched: AtomicU64,
    /// Seconds that the item evicted last had not been asked for.
    pub(super) evicted_idle: AtomicU64,
    pub(super) reclaimed: AtomicU64,
    pub(super) expired_unfetched: AtomicU64,
}

/// All stripes.
#[derive(Debug)]
pub(super) struct Counters {
    stripes: Box<[Stripe]>,
    /// By class, small items before large ones.
    classes: Box<[[ClassCounters; 2]]>,
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
            classes: (0..class::COUNT).map(|_| Default::default()).collect(),
        }
    }

    /// The calling thread's stripe.
    #[inline]
    pub(super) fn mine(&self) -> &Stripe {
        &self.stripes[thread_number() & (self.stripes.len() - 1)]
    }

    /// The counters of a queue's class.
    pub(super) fn of(&self, queue: Queue) -> &ClassCounters {
        self.class(queue.class(), queue.large())
    }

    pub(super) fn class(&self, class: u8, large: bool) -> &ClassCounters {
        &self.classes[usize::from(class)][usize::from(large)]
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
