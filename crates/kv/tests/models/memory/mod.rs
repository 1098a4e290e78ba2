//! The index: locks of buckets, and tables that split and merge them.

#[path = "../../../src/memory/bucket.rs"]
mod bucket;
#[path = "../../../src/memory/chain.rs"]
mod chain;
mod item;
#[path = "../../../src/memory/merge.rs"]
mod merge;
pub(crate) mod numbers;
#[path = "../../../src/memory/slot.rs"]
mod slot;
#[path = "../../../src/memory/table.rs"]
mod table;

use std::ptr::NonNull;
use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{Ordering, fence};
use loom::thread;

use crate::budget::Budget;
use crate::model_with_few_preemptions;
use bucket::Bucket;
use chain::Guard;
use item::Counter;
use merge::Merge;
use slot::{Location, Slot};
use table::{Split, Table};

/// The size of a bucket, with loom's atomics in it.
pub(crate) const BUCKET: usize = size_of::<Bucket>();

/// Buckets instead of mapped memory.
#[derive(Debug)]
pub(crate) struct Buckets(Box<[Bucket]>);

impl Buckets {
    pub(crate) fn new(count: usize) -> Buckets {
        Buckets((0..count).map(|_| Bucket::default()).collect())
    }

    pub(crate) fn at(&self, offset: usize) -> NonNull<u8> {
        NonNull::from(&self.0[offset / BUCKET]).cast()
    }

    /// Zeros some. The kernel unmaps a page, and maps it again for the thread that next touches it, under one lock, so that thread
    /// sees what was written before.
    pub(crate) fn discard(&self, offset: usize, length: usize) {
        fence(Ordering::Release);
        for bucket in &self.0[offset / BUCKET..(offset + length) / BUCKET] {
            bucket.clear();
            bucket.set_next(0);
        }
    }
}

/// Keys are numbers, which are their own hashes. No key has item zero, since location zero means no item.
const KEYS: u8 = 8;

/// A table of two buckets over a few items. The table comes first, so that it is dropped first.
struct Store {
    table: Table,
    items: Box<[Counter]>,
}

// SAFETY: items are touched under the lock of their bucket, or else loom says so.
unsafe impl Send for Store {}
// SAFETY: as above.
unsafe impl Sync for Store {}

impl Store {
    fn with(keys: &[u8]) -> Arc<Store> {
        let items: Box<[Counter]> = (0..=KEYS)
            .map(|number| Counter::of(number.wrapping_sub(1)))
            .collect();
        let base = NonNull::from(&items[0]).cast();
        let table = Table::new(base, Arc::new(Budget), 1 << 20).unwrap();
        let store = Store { table, items };
        keys.iter().for_each(|&key| store.insert(key));
        Arc::new(store)
    }

    fn lock(&self, key: u8) -> Guard<'_> {
        self.table.lock(u64::from(key))
    }

    fn insert(&self, key: u8) {
        let guard = self.lock(key);
        let (slot, _) = guard.vacant(u64::from(key), &mut None).unwrap();
        let location = Location::from_offset((usize::from(key) + 1) * size_of::<Counter>());
        slot.set(Slot::vacant(u64::from(key), 0).with_location(location));
    }

    fn remove(&self, key: u8) {
        let guard = self.lock(key);
        let (slot, _) = guard.find(u64::from(key), &[key]).unwrap();
        guard.vacate(slot, false);
    }

    /// Adds one to the item of a key, if there is one, and returns the sum.
    fn count(&self, key: u8) -> Option<u64> {
        let guard = self.lock(key);
        let (_, location) = guard.find(u64::from(key), &[key])?;
        Some(guard.item(location).count())
    }

    fn split(&self) -> Split {
        self.table.split(|key| u64::from(key[0]), &mut None)
    }
}

#[test]
fn a_bucket_is_locked_by_one_thread_which_sees_what_the_last_one_wrote() {
    struct Shared(Bucket, UnsafeCell<u64>);
    // SAFETY: the cell is touched under the lock, or else loom says so.
    unsafe impl Send for Shared {}
    // SAFETY: as above.
    unsafe impl Sync for Shared {}
    fn add(shared: &Shared) -> u64 {
        let word = shared.0.lock();
        // SAFETY: loom checks that no other thread has the cell.
        let sum = shared.1.with_mut(|sum| unsafe {
            *sum += 1;
            *sum
        });
        shared.0.unlock(word);
        sum
    }
    model_with_few_preemptions(|| {
        let shared = Arc::new(Shared(Bucket::default(), UnsafeCell::new(0)));
        let theirs = Arc::clone(&shared);
        let other = thread::spawn(move || add(&theirs));
        add(&shared);
        other.join().unwrap();
        assert_eq!(add(&shared), 3);
    });
}

#[test]
fn a_key_is_found_while_its_bucket_is_split() {
    for key in [0, 2] {
        model_with_few_preemptions(move || {
            let store = Store::with(&[0, 2]);
            let theirs = Arc::clone(&store);
            let splitter = thread::spawn(move || theirs.split());
            assert_eq!(store.count(key), Some(1));
            assert_eq!(splitter.join().unwrap(), Split::Done);
            assert_eq!((store.count(key), store.count(2 - key)), (Some(2), Some(1)));
        });
    }
}

#[test]
fn what_is_written_during_a_split_stays() {
    for key in [4, 6] {
        model_with_few_preemptions(move || {
            let store = Store::with(&[0, 2]);
            let theirs = Arc::clone(&store);
            let splitter = thread::spawn(move || theirs.split());
            store.insert(key);
            store.remove(2);
            assert_eq!(splitter.join().unwrap(), Split::Done);
            assert_eq!([0, 2, key].map(|key| store.count(key)), [Some(1), None, Some(1)]);
        });
    }
}

#[test]
fn a_key_is_found_while_its_bucket_is_merged_and_its_page_discarded() {
    for key in [0, 2] {
        model_with_few_preemptions(move || {
            let store = Store::with(&[0, 2]);
            assert_eq!(store.split(), Split::Done);
            let theirs = Arc::clone(&store);
            let merger = thread::spawn(move || theirs.table.merge());
            assert_eq!(store.count(key), Some(1));
            store.insert(6);
            assert_eq!(merger.join().unwrap(), Merge::Done);
            assert_eq!(store.table.count(), 2);
            assert_eq!([key, 6].map(|key| store.count(key)), [Some(2), Some(1)]);
        });
    }
}

/// A thread may lock a bucket that was merged and made again since the thread chose it.
#[test]
fn a_key_is_found_while_its_bucket_is_merged_and_split_again() {
    model_with_few_preemptions(|| {
        let store = Store::with(&[0, 2]);
        assert_eq!(store.split(), Split::Done);
        let theirs = Arc::clone(&store);
        let resizer = thread::spawn(move || (theirs.table.merge(), theirs.split()));
        assert_eq!(store.count(2), Some(1));
        assert_eq!(resizer.join().unwrap(), (Merge::Done, Split::Done));
        assert_eq!([0, 2].map(|key| store.count(key)), [Some(1), Some(2)]);
    });
}
