//! How many bytes a store may still take.
//!
//! **Invariant:** `used` never exceeds `capacity`.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// One account for index, segments and large values.
#[derive(Debug)]
pub(super) struct Budget {
    capacity: usize,
    used: AtomicUsize,
}

impl Budget {
    pub(super) fn new(capacity: usize) -> Self {
        Budget {
            capacity,
            used: AtomicUsize::new(0),
        }
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(super) fn used(&self) -> usize {
        self.used.load(Relaxed)
    }

    /// Takes so many bytes, or nothing.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let more = |used: usize| used.checked_add(bytes).filter(|&sum| sum <= self.capacity);
        self.used.fetch_update(Relaxed, Relaxed, more).is_ok()
    }

    /// Gives back what was taken.
    pub(super) fn give(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes, Relaxed);
        debug_assert!(before >= bytes, "gave back more than was taken");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
