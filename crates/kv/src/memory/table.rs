//! The index: linear hashing over cache-line buckets, growing bucket by bucket.
//!
//! ```text
//!   0          parent              2^k        count
//!   ├────────────┼──────────────────┼───────────┤
//!   │ split once │ waits for its turn│ children  │    hash & (2^(k+1) − 1), or & (2^k − 1) where that bucket isn't there yet
//! ```
//! Splitting moves items of `parent` to the bucket at `count`; only these two are touched, so no thread ever waits for a
//! rehash. A thread that locks a bucket checks afterwards that the key still belongs there.
//!
//! **Invariant:** `count` changes only while the locks of the parent and of a child that others know are held, so a lock holder
//! who finds the index right may rely on it until unlocking.
//! **Invariant:** every page that buckets were ever made on is counted in the budget.

#![allow(unsafe_code)]

use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

use super::bucket::Bucket;
use super::chain::Guard;
use super::numbers::{A_PAGE, Numbers};
use super::slot::Slot;
use crate::budget::{Budget, Reservation};
use crate::region::{HUGE, HUGE_PAGES_FROM, PAGE, Region};
use crate::sync::{AtomicU64, AtomicUsize, Mutex, Ordering};

pub(super) const BUCKET: usize = size_of::<Bucket>();
pub(super) const BUCKETS_A_PAGE: u64 = (PAGE / BUCKET) as u64;
const _: () = assert!(BUCKETS_A_PAGE == A_PAGE as u64);

/// Cache lines of an item that are always fetched ahead: header, key and the beginning of the value.
pub(super) const ITEM_LINES_MIN: usize = 4;

/// The index of a store.
#[derive(Debug)]
pub(super) struct Table {
    /// Where items lie; the base that locations count from.
    pub(super) items: NonNull<u8>,
    pub(super) main: Region,
    pub(super) count: AtomicU64,
    pub(super) spill: Region,
    pub(super) budget: Arc<Budget>,
    pub(super) committed: AtomicUsize,
    /// Free overflow buckets. Number zero means "none".
    pub(super) overflow: Mutex<Numbers>,
    pub(super) splitting: Mutex<Scratch>,
    /// How often buckets were merged.
    pub(super) merges: AtomicU64,
}

#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) slots: Vec<Slot>,
    pub(super) spare: Vec<u32>,
}

/// The outcome of an attempt to split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Split {
    Done,
    /// Somebody else is at it.
    Busy,
    /// A page is needed and the budget has none.
    NoMemory,
    /// The reserved address space is used up.
    Full,
}

// SAFETY: the table only computes addresses of items; who dereferences them holds the bucket's lock.
unsafe impl Send for Table {}
// SAFETY: as above; everything else within is atomic or locked.
unsafe impl Sync for Table {}

#[inline]
pub(super) fn index_of(hash: u64, count: u64) -> u64 {
    let mask = u64::MAX >> (count - 1).leading_zeros().min(63);
    let index = hash & mask;
    if index < count { index } else { index & (mask >> 1) }
}

impl Table {
    /// A table of one page of buckets, over items at `items`, in a store that has `ceiling` bytes at most.
    pub(super) fn new(items: NonNull<u8>, budget: Arc<Budget>, ceiling: usize) -> io::Result<Table> {
        let reach = ceiling.min(u32::MAX as usize * BUCKET);
        let (main, spill) = (Region::reserve(reach)?, Region::reserve(reach)?);
        if !budget.take(PAGE) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        Ok(Table {
            items,
            main,
            count: AtomicU64::new(BUCKETS_A_PAGE),
            spill,
            budget,
            committed: AtomicUsize::new(PAGE),
            overflow: Mutex::default(),
            splitting: Mutex::default(),
            merges: AtomicU64::new(0),
        })
    }

    #[inline]
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Bytes of all buckets, overflow included.
    pub(super) fn bytes(&self) -> usize {
        self.committed.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn main(&self, index: u64) -> &Bucket {
        // SAFETY: callers pass indexes below `count` (or the one being made), which lie in the region; a bucket consists of
        // atomics, and every content is valid, zeros of fresh pages included.
        unsafe { self.main.at(index as usize * BUCKET).cast::<Bucket>().as_ref() }
    }

    #[inline]
    pub(super) fn spill(&self, number: u32) -> &Bucket {
        // SAFETY: numbers come from `Overflow`, which stays within the region; atomics as above.
        unsafe { self.spill.at(number as usize * BUCKET).cast::<Bucket>().as_ref() }
    }

    /// Starts loading a bucket.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        let index = index_of(hash, self.count.load(Ordering::Relaxed));
        prefetch(self.main.base().as_ptr().wrapping_add(index as usize * BUCKET));
    }

    /// Starts loading the item that a key probably has: `lines` cache lines of it, and no fewer than [`ITEM_LINES_MIN`].
    #[inline]
    pub(super) fn prefetch_item(&self, hash: u64, lines: usize) {
        let bucket = self.main(index_of(hash, self.count()));
        let tag = Slot::tag_of(hash);
        for slot in bucket.slots() {
            let slot = Slot(slot.load(Ordering::Relaxed));
            if slot.tag() == tag
                && let Some(location) = slot.location()
            {
                let item = self.items.as_ptr().wrapping_add(location.offset());
                // The first few stand in a row, without a branch: most items have no more.
                for line in 0..ITEM_LINES_MIN {
                    prefetch(item.wrapping_add(line * 64));
                }
                for line in ITEM_LINES_MIN..lines {
                    prefetch(item.wrapping_add(line * 64));
                }
            }
        }
    }

    /// Locks the chain that a hash belongs to.
    #[inline]
    pub(super) fn lock(&self, hash: u64) -> Guard<'_> {
        loop {
            let index = index_of(hash, self.count());
            let guard = self.lock_index(index);
            if index_of(hash, self.count()) == index {
                return guard;
            }
        }
    }

    /// Locks a chain by its number, which is below [`count`](Table::count).
    #[inline]
    pub(super) fn lock_index(&self, index: u64) -> Guard<'_> {
        let head = self.main(index);
        Guard::new(self, head)
    }

    /// Makes one more bucket. `rehash` hashes the key of an item; `page` pays if a page is needed and the budget has none.
    pub(super) fn split(&self, rehash: impl Fn(&[u8]) -> u64, page: &mut Option<Reservation>) -> Split {
        let Some(mut scratch) = self.splitting.try_lock() else {
            return Split::Busy;
        };
        let count = self.count();
        let offset = count as usize * BUCKET;
        if offset + PAGE > self.main.length() {
            return Split::Full;
        }
        if offset.is_multiple_of(PAGE) && !self.commit(page) {
            return Split::NoMemory;
        }
        let room = offset + HUGE <= self.main.length();
        if offset.is_multiple_of(HUGE) && room && self.budget.used() >= 2 * HUGE_PAGES_FROM {
            self.main.huge(offset, HUGE);
        }
        let parent = index_of(count, count);
        debug_assert!(parent < count);
        let guard = self.lock_index(parent);
        guard.split_into(
            self.main(count),
            &mut scratch,
            |hash| index_of(hash, count + 1) == count,
            rehash,
        );
        self.count.store(count + 1, Ordering::Release);
        // Only now: who finds the parent unlocked must also find the child, or would miss items that moved there.
        drop(guard);
        Split::Done
    }

    /// Pays for one more page of buckets, from what was reserved for it if the budget has none left.
    fn commit(&self, page: &mut Option<Reservation>) -> bool {
        let paid = self.budget.take(PAGE) || page.take().is_some_and(|mut page| page.spend(PAGE));
        if paid {
            self.committed.fetch_add(PAGE, Ordering::Relaxed);
        }
        paid
    }

    /// An overflow bucket, empty and without a next; `None` if neither the budget nor `page` has a page for it.
    pub(super) fn take_overflow(&self, page: &mut Option<Reservation>) -> Option<u32> {
        let mut overflow = self.overflow.lock();
        if let Some(number) = overflow.take() {
            return Some(number);
        }
        if (overflow.pages() as usize + 1) * PAGE > self.spill.length() || !self.commit(page) {
            return None;
        }
        overflow.grow();
        overflow.take()
    }

    pub(super) fn give_overflow(&self, number: u32) {
        let bucket = self.spill(number);
        bucket.clear();
        bucket.set_next(0);
        self.overflow.lock().give(number);
    }
}

/// Starts loading a cache line. Any address will do: nothing is read.
#[inline]
pub(crate) fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no effect but on caches, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch(address.cast(), std::arch::x86_64::_MM_HINT_T0);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_cover_all_buckets_and_splits_move_only_to_the_child() {
        for count in 64..1024u64 {
            for hash in (0..5000u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)) {
                let (before, after) = (index_of(hash, count), index_of(hash, count + 1));
                assert!(before < count);
                assert!(after == before || (after == count && before == index_of(count, count)));
            }
        }
    }
}
