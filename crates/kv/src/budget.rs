//! How many bytes a store may still take.
//!
//! A store that shall become smaller can't at once: its limit sinks with every piece of memory that's withdrawn, until it has
//! reached the capacity.
//!
//! **Invariant:** `used` never exceeds `limit`, which is the capacity unless the store is shrinking; then it only sinks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;

/// Attempts to withdraw what is unused when the capacity shrinks. Each fails only because another thread took bytes
/// meanwhile; what remains is withdrawn step by step like everything else.
const WITHDRAWALS_MAX: u32 = 64;

/// One account for index, arenas and large values.
#[derive(Debug)]
pub(super) struct Budget {
    capacity: AtomicUsize,
    limit: AtomicUsize,
    /// The limit less what is used.
    left: AtomicUsize,
    /// Held while the capacity or the limit changes.
    changing: Mutex<()>,
}

impl Budget {
    pub(super) fn new(capacity: usize) -> Self {
        Budget {
            capacity: AtomicUsize::new(capacity),
            limit: AtomicUsize::new(capacity),
            left: AtomicUsize::new(capacity),
            changing: Mutex::default(),
        }
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity.load(Relaxed)
    }

    pub(super) fn used(&self) -> usize {
        self.limit.load(Relaxed).saturating_sub(self.left.load(Relaxed))
    }

    /// Takes these bytes; false, and nothing is taken, if fewer are left.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let less = |left: usize| left.checked_sub(bytes);
        self.left.fetch_update(Relaxed, Relaxed, less).is_ok()
    }

    /// Takes bytes for later use.
    pub(super) fn reserve(self: &Arc<Self>, bytes: usize) -> Option<Reservation> {
        self.take(bytes).then(|| Reservation {
            budget: self.clone(),
            bytes,
        })
    }

    /// The most that may be used at present: the capacity, or more while the store is shrinking.
    pub(super) fn limit(&self) -> usize {
        self.limit.load(Relaxed)
    }

    /// Bytes that may still be taken.
    pub(super) fn left(&self) -> usize {
        self.left.load(Relaxed)
    }

    /// Gives back what was taken.
    pub(super) fn give(&self, bytes: usize) {
        // Comparing with the limit here would compare two moments: it may sink in between.
        self.left.fetch_add(bytes, Relaxed);
    }

    /// Sets the capacity. A larger one may be used at once; on the way to a smaller one there's an [`excess`](Budget::excess).
    pub(super) fn resize(&self, capacity: usize) {
        let _changing = self.changing.lock();
        self.capacity.store(capacity, Relaxed);
        let more = capacity.saturating_sub(self.limit.load(Relaxed));
        self.limit.fetch_add(more, Relaxed);
        self.left.fetch_add(more, Relaxed);
        // What isn't in use needs no freeing first.
        for _ in 0..WITHDRAWALS_MAX {
            if self.destroy(self.excess().min(self.left.load(Relaxed))) {
                break;
            }
        }
    }

    /// How far the limit is above the capacity.
    pub(super) fn excess(&self) -> usize {
        self.limit.load(Relaxed).saturating_sub(self.capacity())
    }

    /// Lowers the limit by this number of bytes, but not below the capacity; false if they're in use.
    pub(super) fn withdraw(&self, bytes: usize) -> bool {
        let _changing = self.changing.lock();
        self.destroy(bytes.min(self.excess()))
    }

    /// Takes bytes away for good.
    fn destroy(&self, bytes: usize) -> bool {
        let taken = self.take(bytes);
        if taken {
            self.limit.fetch_sub(bytes, Relaxed);
        }
        taken
    }
}

/// Bytes that were taken from a budget and are not used yet. Dropping it gives them back.
#[derive(Debug)]
pub(super) struct Reservation {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Reservation {
    /// True if it has this number of bytes.
    pub(super) fn has(&self, bytes: usize) -> bool {
        bytes <= self.bytes
    }

    /// Uses some of the bytes, which the caller gives back to the budget itself. False if there are fewer.
    pub(super) fn spend(&mut self, bytes: usize) -> bool {
        let enough = self.has(bytes);
        if enough {
            self.bytes -= bytes;
        }
        enough
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.give(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_gives_back_what_was_not_spent() {
        let budget = Arc::new(Budget::new(100));
        let mut reservation = budget.reserve(60).expect("a hundred are there");
        assert!(budget.reserve(41).is_none());
        assert!(reservation.spend(50) && !reservation.spend(11));
        drop(reservation);
        assert_eq!(budget.used(), 50);
    }

    #[test]
    fn the_capacity_is_exact() {
        let budget = Budget::new(100);
        assert!(budget.take(60));
        assert!(!budget.take(41));
        assert!(budget.take(40));
        assert!(!budget.take(1));
        budget.give(1);
        assert!(budget.take(1));
        assert_eq!(budget.used(), 100);
    }

    #[test]
    fn the_limit_sinks_as_bytes_come_free() {
        let budget = Budget::new(100);
        assert!(budget.take(70));
        budget.resize(50);
        assert_eq!(
            (budget.capacity(), budget.excess()),
            (50, 20),
            "what was unused is gone"
        );
        assert!(!budget.take(1) && !budget.withdraw(1));
        budget.give(15);
        assert!(budget.withdraw(10));
        assert_eq!(budget.excess(), 10);
        assert!(budget.take(5) && !budget.take(1));
        budget.give(30);
        assert!(budget.withdraw(100), "no more than the excess is withdrawn");
        assert!(budget.excess() == 0 && budget.take(20) && !budget.take(1));
        budget.resize(60);
        assert!(budget.take(10) && !budget.take(1));
        budget.resize(40);
        budget.resize(80);
        assert!(budget.excess() == 0 && budget.take(20) && !budget.take(1));
    }

    #[test]
    fn shrinking_and_taking_at_once_never_exceeds_the_limit() {
        let budget = Budget::new(1000);
        std::thread::scope(|threads| {
            for _ in 0..2 {
                threads.spawn(|| {
                    for _ in 0..50_000 {
                        if budget.take(7) {
                            assert!(budget.used() <= 1000);
                            budget.give(7);
                        }
                    }
                });
            }
            for round in 0..5_000 {
                budget.resize(if round % 2 == 0 { 10 } else { 1000 });
                budget.withdraw(usize::MAX);
            }
        });
        budget.resize(10);
        assert_eq!((budget.used(), budget.excess()), (0, 0));
        assert!(budget.take(10) && !budget.take(1));
    }
}
