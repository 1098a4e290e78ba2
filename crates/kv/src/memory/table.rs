//! The index: linear hashing over cache-line buckets, growing bucket by bucket.
//!
//! ```text
//!   0          parent              2^k        count
//!   ├────────────┼──────────────────┼───────────┤
//!   │ split once │ waits for its turn│ children  │    hash & (2^(k+1) − 1), or & (2^k − 1) where that bucket isn't there yet
//! ```
//! Splitting moves items of `parent` to the bucket at `count`; only these two are touched, so nobody ever waits for a
//! rehash. Whoever locks a bucket checks afterwards that the key still belongs there.
//!
//! **Invariant:** `count` grows only while the parent's lock is held, so a lock holder who finds the index right may rely on
//! it until unlocking.
//! **Invariant:** every page that buckets were ever made on is counted in the budget.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::bucket::{Bucket, SLOTS, Word};
use super::budget::Budget;
use super::item::Item;
use super::map::{HUGE, HUGE_PAGES_FROM, PAGE, Region};
use super::slot::{Location, Slot};

const BUCKET: usize = size_of::<Bucket>();
const BUCKETS_A_PAGE: u64 = (PAGE / BUCKET) as u64;

/// The index of a store.
#[derive(Debug)]
pub(super) struct Table {
    /// Where items lie; the base that locations count from.
    items: NonNull<u8>,
    main: Region,
    count: AtomicU64,
    spill: Region,
    budget: Arc<Budget>,
    committed: AtomicUsize,
    overflow: Mutex<Overflow>,
    splitting: Mutex<Scratch>,
}

/// Overflow buckets that nobody uses. Number zero is never given out: it means "none".
#[derive(Debug)]
struct Overflow {
    free: Vec<u32>,
    next: u32,
    limit: u32,
}

#[derive(Debug, Default)]
struct Scratch {
    slots: Vec<Slot>,
    spare: Vec<u32>,
}

/// What became of an attempt to split.
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
fn index_of(hash: u64, count: u64) -> u64 {
    let mask = u64::MAX >> (count - 1).leading_zeros().min(63);
    let index = hash & mask;
    if index < count { index } else { index & (mask >> 1) }
}

impl Table {
    /// A table of one page of buckets, over items at `items`.
    pub(super) fn new(items: NonNull<u8>, budget: Arc<Budget>) -> io::Result<Table> {
        let reach = budget.capacity().min(u32::MAX as usize * BUCKET);
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
            overflow: Mutex::new(Overflow {
                free: Vec::new(),
                next: 1,
                limit: 0,
            }),
            splitting: Mutex::default(),
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
    fn main(&self, index: u64) -> &Bucket {
        // SAFETY: callers pass indexes below `count` (or the one being made), which lie in the region; a bucket is made of
        // atomics for which every content, zeros of fresh pages included, is valid.
        unsafe { self.main.at(index as usize * BUCKET).cast::<Bucket>().as_ref() }
    }

    #[inline]
    fn spill(&self, number: u32) -> &Bucket {
        // SAFETY: numbers come from `Overflow`, which stays within the region; atomics as above.
        unsafe { self.spill.at(number as usize * BUCKET).cast::<Bucket>().as_ref() }
    }

    /// Starts loading a bucket.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        let index = index_of(hash, self.count.load(Ordering::Relaxed));
        prefetch(self.main.base().as_ptr().wrapping_add(index as usize * BUCKET));
    }

    /// Starts loading the item that a key probably has.
    #[inline]
    pub(super) fn prefetch_item(&self, hash: u64) {
        let bucket = self.main(index_of(hash, self.count()));
        let tag = Slot::tag_of(hash);
        for slot in bucket.slots() {
            let slot = Slot(slot.load(Ordering::Relaxed));
            if slot.tag() == tag
                && let Some(location) = slot.location()
            {
                let item = self.items.as_ptr().wrapping_add(location.offset());
                prefetch(item);
                prefetch(item.wrapping_add(64));
                prefetch(item.wrapping_add(128));
                prefetch(item.wrapping_add(192));
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
        let word = head.lock();
        Guard {
            table: self,
            head,
            word: Cell::new(word),
        }
    }

    /// Makes one more bucket. `rehash` hashes the key of an item.
    pub(super) fn split(&self, rehash: impl Fn(&[u8]) -> u64) -> Split {
        let Some(mut scratch) = self.splitting.try_lock() else {
            return Split::Busy;
        };
        let count = self.count();
        let offset = count as usize * BUCKET;
        if offset + PAGE > self.main.length() {
            return Split::Full;
        }
        if offset.is_multiple_of(PAGE) && !self.commit() {
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

    /// Pays for one more page of buckets.
    fn commit(&self) -> bool {
        let paid = self.budget.take(PAGE);
        if paid {
            self.committed.fetch_add(PAGE, Ordering::Relaxed);
        }
        paid
    }

    /// An overflow bucket, empty and without a next; `None` if the budget has no page left.
    fn take_overflow(&self) -> Option<u32> {
        let mut overflow = self.overflow.lock();
        if let Some(number) = overflow.free.pop() {
            return Some(number);
        }
        if overflow.next >= overflow.limit {
            let limit = overflow.limit.checked_add(BUCKETS_A_PAGE as u32)?;
            if limit as usize * BUCKET > self.spill.length() || !self.commit() {
                return None;
            }
            overflow.limit = limit;
        }
        overflow.next += 1;
        Some(overflow.next - 1)
    }

    fn give_overflow(&self, number: u32) {
        let bucket = self.spill(number);
        bucket.clear();
        bucket.set_next(0);
        self.overflow.lock().free.push(number);
    }
}

/// A locked chain. Dropping it unlocks.
pub(super) struct Guard<'t> {
    table: &'t Table,
    head: &'t Bucket,
    word: Cell<Word>,
}

/// A slot of a locked chain.
#[derive(Clone, Copy)]
pub(super) struct Place<'t> {
    slot: &'t AtomicU64,
}

impl Place<'_> {
    #[inline]
    pub(super) fn slot(&self) -> Slot {
        Slot(self.slot.load(Ordering::Relaxed))
    }

    #[inline]
    pub(super) fn set(&self, slot: Slot) {
        self.slot.store(slot.0, Ordering::Relaxed);
    }
}

impl Drop for Guard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.head.unlock(self.word.get());
    }
}

impl<'t> Guard<'t> {
    /// The chain's buckets, head first.
    #[inline]
    fn chain(&self) -> impl Iterator<Item = &'t Bucket> + use<'t> {
        let table = self.table;
        let mut next = self.word.get().next();
        std::iter::once(self.head).chain(std::iter::from_fn(move || {
            let number = next;
            (number != 0).then(|| {
                let bucket = table.spill(number);
                next = bucket.next();
                bucket
            })
        }))
    }

    /// All slots of the chain.
    #[inline]
    pub(super) fn places(&self) -> impl Iterator<Item = Place<'t>> + use<'t> {
        self.chain()
            .flat_map(|bucket| bucket.slots().iter().map(|slot| Place { slot }))
    }

    /// The item at a location that a slot of this chain held under this lock.
    #[inline]
    pub(super) fn item(&self, location: Location) -> Item<'_> {
        // SAFETY: slots hold locations of complete items of this store, and an item stays in place as long as its slot
        // points to it, which can't change while this guard holds the chain's lock.
        unsafe { Item::new(self.table.items.add(location.offset())) }
    }

    /// Finds a key's item.
    #[inline]
    pub(super) fn find(&self, hash: u64, key: &[u8]) -> Option<(Place<'t>, Location)> {
        let found = self.find_in(self.head, hash, key);
        if found.is_some() || self.word.get().next() == 0 {
            return found;
        }
        self.chain()
            .skip(1)
            .find_map(|bucket| self.find_in(bucket, hash, key))
    }

    #[inline]
    fn find_in(&self, bucket: &'t Bucket, hash: u64, key: &[u8]) -> Option<(Place<'t>, Location)> {
        let tag = Slot::tag_of(hash);
        for slot in bucket.slots() {
            let held = Slot(slot.load(Ordering::Relaxed));
            if held.tag() == tag
                && let Some(location) = held.location()
                && self.item(location).key() == key
            {
                return Some((Place { slot }, location));
            }
        }
        None
    }

    /// Finds the slot that points to a location.
    pub(super) fn find_location(&self, location: Location) -> Option<Place<'t>> {
        self.places()
            .find(|place| place.slot().location() == Some(location))
    }

    /// A slot for a new item, and the worth that an evicted item of the same tag had; `None` if an overflow bucket is needed
    /// and there's no memory for one. The slot is as free as before until it's set.
    pub(super) fn vacant(&self, hash: u64) -> Option<(Place<'t>, Option<u8>)> {
        let tag = Slot::tag_of(hash);
        let (mut empty, mut forgettable, mut remembered) = (None, None::<Place<'t>>, None);
        for place in self.places() {
            let slot = place.slot();
            if slot.is_live() {
                continue;
            }
            if slot == Slot::EMPTY {
                empty = empty.or(Some(place));
            } else if slot.tag() == tag {
                remembered = Some(place);
                break;
            } else if forgettable.is_none_or(|other| other.slot().worth() > slot.worth()) {
                forgettable = Some(place);
            }
        }
        let worth = remembered.map(|place| place.slot().worth());
        remembered
            .or(empty)
            .or(forgettable)
            .or_else(|| self.extend())
            .map(|place| (place, worth))
    }

    /// Adds an overflow bucket behind the head.
    fn extend(&self) -> Option<Place<'t>> {
        let number = self.table.take_overflow()?;
        let bucket = self.table.spill(number);
        let mut word = self.word.get();
        bucket.set_next(word.next());
        word.set_next(number);
        self.word.set(word);
        Some(Place {
            slot: &bucket.slots()[0],
        })
    }

    /// Removes an item's slot; if `remember`, its worth stays for as long as nobody needs the slot.
    pub(super) fn vacate(&self, place: Place<'t>, remember: bool) {
        let left = if remember {
            place.slot().ghost()
        } else {
            Slot::EMPTY
        };
        place.set(left);
        if self.word.get().next() != 0 {
            self.shorten(place);
        }
    }

    /// Fills a hole from the first overflow bucket, and frees that when nothing is left in it.
    #[cold]
    fn shorten(&self, hole: Place<'t>) {
        let mut word = self.word.get();
        let number = word.next();
        let bucket = self.table.spill(number);
        let within = bucket.slots().iter().any(|slot| std::ptr::eq(slot, hole.slot));
        if !within
            && let Some(slot) = bucket
                .slots()
                .iter()
                .find(|slot| Slot(slot.load(Ordering::Relaxed)).is_live())
        {
            hole.slot
                .store(slot.swap(Slot::EMPTY.0, Ordering::Relaxed), Ordering::Relaxed);
        }
        if !bucket.has_items() {
            word.set_next(bucket.next());
            self.word.set(word);
            self.table.give_overflow(number);
        }
    }

    /// Something that is true about once in `n` calls.
    #[inline]
    pub(super) fn once_in(&self, n: u8) -> bool {
        self.word.get().once_in(n)
    }

    /// Moves the items that `goes` tells to an empty bucket that nobody knows yet. Ghosts are forgotten.
    fn split_into(
        &self,
        child: &Bucket,
        scratch: &mut Scratch,
        goes: impl Fn(u64) -> bool,
        rehash: impl Fn(&[u8]) -> u64,
    ) {
        let Scratch { slots, spare } = scratch;
        slots.clear();
        spare.clear();
        slots.extend(
            self.places()
                .map(|place| place.slot())
                .filter(|slot| slot.is_live()),
        );
        for location in slots.iter().filter_map(|slot| slot.location()) {
            prefetch(self.table.items.as_ptr().wrapping_add(location.offset()));
        }
        let mut number = self.word.get().next();
        while number != 0 {
            spare.push(number);
            number = self.table.spill(number).next();
        }
        self.chain().for_each(Bucket::clear);
        let (mut stay, mut go) = (Fill::new(self.head), Fill::new(child));
        for &slot in slots.iter() {
            let Some(location) = slot.location() else { continue };
            let fill = if goes(rehash(self.item(location).key())) {
                &mut go
            } else {
                &mut stay
            };
            fill.push(slot, || {
                // Seven slots a bucket: two chains never need more overflow buckets than their parent had.
                let number = spare
                    .pop()
                    .expect("two halves need no more overflow buckets than the whole");
                (number, self.table.spill(number))
            });
        }
        let mut word = self.word.get();
        word.set_next(stay.first);
        self.word.set(word);
        let mut word = child.lock();
        word.set_next(go.first);
        child.unlock(word);
        spare
            .drain(..)
            .for_each(|number| self.table.give_overflow(number));
    }
}

/// A chain that is being filled.
struct Fill<'t> {
    bucket: &'t Bucket,
    filled: usize,
    first: u32,
}

impl<'t> Fill<'t> {
    fn new(head: &'t Bucket) -> Self {
        Fill {
            bucket: head,
            filled: 0,
            first: 0,
        }
    }

    fn push(&mut self, slot: Slot, more: impl FnOnce() -> (u32, &'t Bucket)) {
        if self.filled == SLOTS {
            let (number, bucket) = more();
            bucket.set_next(self.first);
            (self.bucket, self.filled, self.first) = (bucket, 0, number);
        }
        self.bucket.slots()[self.filled].store(slot.0, Ordering::Relaxed);
        self.filled += 1;
    }
}

/// Starts loading a cache line. Any address will do: nothing is read.
#[inline]
fn prefetch(address: *const u8) {
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
