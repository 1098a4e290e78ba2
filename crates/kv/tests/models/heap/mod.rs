//! Blocks of large values: who holds them, and who writes behind them.

#[path = "../../../src/heap/block.rs"]
mod block;
#[path = "../../../src/heap/holder.rs"]
mod holder;

use std::ptr::NonNull;
use std::sync::Arc;

use loom::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};
use loom::{model, thread};

use crate::budget::Reservation;
use crate::model_with_few_preemptions;
use crate::region::PAGE;
use block::Block;
use holder::{Holder, Prefix};

const BLOCK_OVERHEAD: usize = 96;
const SHIFT: u32 = 13;

/// Counts the bytes of its blocks. It owns the memory of the only one.
#[derive(Debug)]
pub(crate) struct Heap {
    used: AtomicUsize,
    pinned: AtomicIsize,
    memory: NonNull<[u8; 1 << SHIFT]>,
}

// SAFETY: the memory is used by the block alone.
unsafe impl Send for Heap {}
// SAFETY: as above.
unsafe impl Sync for Heap {}

impl Heap {
    fn new() -> Arc<Heap> {
        Arc::new(Heap {
            used: AtomicUsize::new(PAGE),
            pinned: AtomicIsize::new(0),
            memory: NonNull::from(Box::leak(Box::new([0; 1 << SHIFT]))),
        })
    }

    fn take_back(&self, _shift: u32, _slot: usize, resident: usize) {
        self.used.fetch_sub(resident, Ordering::Relaxed);
    }

    fn figures(&self) -> (usize, isize) {
        (
            self.used.load(Ordering::Relaxed),
            self.pinned.load(Ordering::Relaxed),
        )
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: it came from a box, and blocks keep the heap alive.
        drop(unsafe { Box::from_raw(self.memory.as_ptr()) });
    }
}

/// A value of four bytes that an item owns, and the heap of its block.
fn owned() -> (Arc<Heap>, Prefix) {
    let heap = Heap::new();
    let mut block = Block::new(heap.clone(), heap.memory.cast(), SHIFT, 0, PAGE);
    block.bytes_mut(4).copy_from_slice(b"four");
    let pinned = Holder::new(block, 4);
    let prefix = pinned.share();
    drop(pinned);
    assert_eq!(heap.figures(), (PAGE, 0));
    (heap, prefix)
}

#[test]
fn no_byte_stays_pinned_after_the_last_holder_and_no_page_after_the_last_owner() {
    model_with_few_preemptions(|| {
        let (heap, prefix) = owned();
        let readers = [0, 1].map(|_| {
            let prefix = prefix.clone();
            thread::spawn(move || {
                let pinned = Holder::hold(&prefix);
                drop(prefix);
                assert_eq!(pinned.clone().as_ref(), b"four");
            })
        });
        drop(prefix);
        for reader in readers {
            reader.join().unwrap();
        }
        assert_eq!(heap.figures(), (0, 0));
    });
}

#[test]
fn a_block_that_grows_while_it_is_held_is_not_pinned_afterwards() {
    model(|| {
        let (heap, prefix) = owned();
        let theirs = prefix.clone();
        let reader = thread::spawn(move || drop(Holder::hold(&theirs)));
        prefix.grow(PAGE, &mut Reservation);
        reader.join().unwrap();
        assert_eq!(heap.figures(), (2 * PAGE, 0));
    });
}

#[test]
fn of_two_appends_to_one_value_one_succeeds_and_the_value_stays() {
    model(|| {
        let (_heap, prefix) = owned();
        let theirs = prefix.clone();
        let other = thread::spawn(move || theirs.append(&[b"teen"]).map(|longer| longer.bytes().to_vec()));
        let mine = prefix.append(&[b"fold"]).map(|longer| longer.bytes().to_vec());
        let values = [mine, other.join().unwrap()];
        assert_eq!(values.iter().flatten().count(), 1);
        assert!(values.contains(&Some(b"fourfold".to_vec())) || values.contains(&Some(b"fourteen".to_vec())));
        assert_eq!(prefix.bytes(), b"four");
    });
}

#[test]
fn an_append_that_is_taken_back_makes_room_for_another() {
    model(|| {
        let (_heap, prefix) = owned();
        let theirs = prefix.clone();
        let other = thread::spawn(move || {
            if let Some(longer) = theirs.append(&[b"teen"]) {
                longer.retract(4);
            }
        });
        let mine = prefix.append(&[b"fold"]);
        other.join().unwrap();
        let longer = mine.or_else(|| prefix.append(&[b"fold"])).unwrap();
        assert_eq!(longer.bytes(), b"fourfold");
    });
}
