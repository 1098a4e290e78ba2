//! A cache line of the index: a word with the lock, and seven slots.
//!
//! ```text
//!   63                      32 31      16 15        1   0
//!   ┌─────────────────────────┬──────────┬───────────┬──────┐
//!   │ next overflow bucket 32 │ unused   │ counter   │ lock │ ◀ word of the head bucket; overflow buckets use `next` alone
//!   └─────────────────────────┴──────────┴───────────┴──────┘
//! ```
//! The counter goes up with every unlocking; it's a cheap source of near-random numbers.
//!
//! **Invariant:** slots and `next` of a chain change only while the lock of its head is held. Anyone may look without it,
//! knowing that what they see may be old.

use super::slot::Slot;
use crate::sync::{AtomicU64, Ordering, spin_loop, yield_now};

/// Slots of a bucket.
pub(super) const SLOTS: usize = 7;

const LOCK: u64 = 1;
const COUNTER: u64 = 0xfffe;
const NEXT_SHIFT: u32 = 32;
const NEXT: u64 = !0 << NEXT_SHIFT;
const SPINS_BEFORE_YIELD: u32 = 64;

/// One cache line. All zeros is an unlocked, empty bucket.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub(super) struct Bucket {
    word: AtomicU64,
    slots: [AtomicU64; SLOTS],
}

/// The word of a head bucket while it's locked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word(u64);

impl Word {
    /// The overflow bucket behind; zero is none.
    #[inline]
    pub(super) fn next(self) -> u32 {
        (self.0 >> NEXT_SHIFT) as u32
    }

    #[inline]
    pub(super) fn set_next(&mut self, next: u32) {
        self.0 = self.0 & !NEXT | u64::from(next) << NEXT_SHIFT;
    }

    /// True about once in `n` calls.
    #[inline]
    pub(super) fn once_in(self, n: u8) -> bool {
        let mixed = ((self.0 & COUNTER) as u32).wrapping_mul(0x9e37_79b1) >> 16;
        mixed.wrapping_mul(u32::from(n)) >> 16 == 0
    }
}

impl Bucket {
    /// Takes the lock, for good until [`unlock`](Bucket::unlock).
    #[inline]
    pub(super) fn lock(&self) -> Word {
        let word = self.word.load(Ordering::Relaxed);
        let taken = word & LOCK == 0
            && self
                .word
                .compare_exchange(word, word | LOCK, Ordering::Acquire, Ordering::Relaxed)
                .is_ok();
        if taken { Word(word) } else { self.lock_contended() }
    }

    #[cold]
    fn lock_contended(&self) -> Word {
        let mut spins = 0;
        loop {
            let word = self.word.load(Ordering::Relaxed);
            let free = word & LOCK == 0;
            if free
                && self
                    .word
                    .compare_exchange_weak(word, word | LOCK, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            {
                return Word(word);
            }
            spins += 1;
            if spins < SPINS_BEFORE_YIELD {
                spin_loop();
            } else {
                yield_now();
            }
        }
    }

    /// Gives the lock back, with the word as it shall be.
    #[inline]
    pub(super) fn unlock(&self, word: Word) {
        let counted = word.0 & !COUNTER & !LOCK | word.0.wrapping_add(2) & COUNTER;
        self.word.store(counted, Ordering::Release);
    }

    /// The overflow bucket behind an overflow bucket.
    #[inline]
    pub(super) fn next(&self) -> u32 {
        (self.word.load(Ordering::Relaxed) >> NEXT_SHIFT) as u32
    }

    /// Only for overflow buckets.
    pub(super) fn set_next(&self, next: u32) {
        self.word.store(u64::from(next) << NEXT_SHIFT, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn slots(&self) -> &[AtomicU64; SLOTS] {
        &self.slots
    }

    /// Empties all slots.
    pub(super) fn clear(&self) {
        for slot in &self.slots {
            slot.store(Slot::EMPTY.0, Ordering::Relaxed);
        }
    }

    /// Takes over what another overflow bucket has.
    pub(super) fn copy(&self, other: &Bucket) {
        self.set_next(other.next());
        for (slot, old) in self.slots.iter().zip(&other.slots) {
            slot.store(old.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// True if any slot holds an item.
    pub(super) fn has_items(&self) -> bool {
        self.slots
            .iter()
            .any(|slot| Slot(slot.load(Ordering::Relaxed)).is_live())
    }
}
