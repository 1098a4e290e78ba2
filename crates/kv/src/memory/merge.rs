//! Making the index smaller: the reverse of splitting, and moving overflow buckets together.
//!
//! ```text
//!   0          parent             count − 1
//!   ├────────────┼──────────────────┤           the last bucket's items go back to where they came from; when a page of
//!   │            ◀──────────────────┘           buckets is empty, it's given back
//! ```
//! Overflow buckets keep their numbers for as long as they're used, so the last pages of them are emptied chain by chain.
//!
//! **Invariant:** only [`Table::merge`] locks two chains at once, and the parent's lock comes first.

#![allow(unsafe_code)]

use super::numbers::A_PAGE;
use super::table::{BUCKET, BUCKETS_A_PAGE, Table, index_of};
use crate::region::PAGE;
use crate::sync::Ordering;

/// So many overflow buckets beside those in use, in parts of these, stay when the index is made smaller.
const OVERFLOW_SPARE: u32 = 8;

/// Pages of overflow buckets given back before others may have overflow buckets again.
const PAGES_AT_ONCE: u32 = 256;

/// The outcome of an attempt to merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Merge {
    Done,
    /// Somebody splits.
    Busy,
    /// An overflow bucket is needed and the budget has no page for it.
    NoMemory,
    /// It's as small as can be.
    Least,
}

impl Table {
    /// How often buckets were merged, ever. A walk over buckets that finds it changed may have missed items.
    pub(super) fn merges(&self) -> u64 {
        self.merges.load(Ordering::Acquire)
    }

    /// Makes one bucket less.
    pub(super) fn merge(&self) -> Merge {
        let Some(mut scratch) = self.splitting.try_lock() else {
            return Merge::Busy;
        };
        // Only splitting and merging change it, and both hold that lock.
        let last = self.count() - 1;
        if last < BUCKETS_A_PAGE {
            return Merge::Least;
        }
        let parent = self.lock_index(index_of(last, last));
        let child = self.lock_index(last);
        if !parent.absorb(&child, &mut scratch) {
            return Merge::NoMemory;
        }
        // First this: who sees the new count must also see that buckets were merged.
        self.merges.fetch_add(1, Ordering::Release);
        self.count.store(last, Ordering::Release);
        drop(child);
        drop(parent);
        if last.is_multiple_of(BUCKETS_A_PAGE) {
            self.discard_page(last);
        }
        Merge::Done
    }

    /// Gives the page of buckets back that begins with this one. They're beyond the count, and splitting is locked.
    fn discard_page(&self, first: u64) {
        // A thread that came for one of these buckets before they were merged may still lock it, to find that it isn't the
        // right one. None is between locking and unlocking while all locks are held here; afterwards all are unlocked.
        for index in first..first + BUCKETS_A_PAGE {
            let _word = self.main(index).lock();
        }
        // SAFETY: the page holds atomics only, zeros are valid values of these, and the buckets are empty.
        unsafe { self.main.discard(first as usize * BUCKET, PAGE) };
        self.uncommit();
    }

    fn uncommit(&self) {
        self.committed.fetch_sub(PAGE, Ordering::Relaxed);
        self.budget.give(PAGE);
    }

    /// An overflow bucket below this number, if there's a free one.
    pub(super) fn take_overflow_below(&self, bound: u32) -> Option<u32> {
        self.overflow.lock().take_below(bound)
    }

    /// Moves overflow buckets of some chains to lower numbers if that empties pages, and gives those back. Goes on from
    /// `cursor` and leaves there where to go on next time. Only for the one who makes the index smaller.
    pub(super) fn gather_overflow(&self, cursor: &mut u64, chains: u64) {
        let (used, pages) = {
            let overflow = self.overflow.lock();
            (overflow.used(), overflow.pages())
        };
        let bound = used.saturating_add(used / OVERFLOW_SPARE).div_ceil(A_PAGE);
        if bound >= pages {
            return;
        }
        let end = self.count().min(*cursor + chains);
        for index in *cursor..end {
            self.lock_index(index).lower(bound * A_PAGE);
        }
        *cursor = if end < self.count() { end } else { 0 };
        let mut overflow = self.overflow.lock();
        for _ in 0..PAGES_AT_ONCE {
            let Some(page) = overflow.shrink() else { break };
            // SAFETY: all buckets of the page are free: no chain leads to them, and only chains lead to overflow buckets.
            unsafe { self.spill.discard(page as usize * PAGE, PAGE) };
            self.uncommit();
        }
    }
}
