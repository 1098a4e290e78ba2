//! One slot of the heap, whose bytes are written once and only ever continued.
//!
//! ```text
//!   0                    end              resident            slot's end
//!   ├─────────────────────┼──────────────────┼──────────────────┤
//!   │ written, read only  │ paid for, unused │ address space    │
//! ```
//! **Invariant:** bytes before `end` never change while the block is shared. The call that moves `end` forward owns the bytes that it
//! passed until it publishes a longer [`Prefix`](super::Prefix).

#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::Arc;

use super::{BLOCK_OVERHEAD, Heap};
use crate::budget::Reservation;
use crate::region::{PAGE, pages};
use crate::sync::{AtomicU64, AtomicUsize, Ordering};

/// The low half of [`Block::holders`]: how many there are. The high half is the pages that count as pinned for them.
const HOLDERS: u64 = u32::MAX as u64;
const PINNED_SHIFT: u32 = 32;

/// A slot of the heap with the pages that are paid for.
#[derive(Debug)]
pub(crate) struct Block {
    heap: Arc<Heap>,
    at: NonNull<u8>,
    shift: u32,
    slot: usize,
    end: AtomicUsize,
    resident: AtomicUsize,
    holders: AtomicU64,
}

/// The cost of appending to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Growth {
    /// So many bytes of further pages; zero if they fit the pages that there are.
    Pages(usize),
    /// A larger slot.
    Full,
    /// A block of its own: another value continues here already.
    Occupied,
}

// SAFETY: a block owns its slot. Bytes before `end` change only through `&mut`; those behind belong to the call that moves `end`.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    /// A block that its maker holds. The heap has paid for the pages.
    pub(super) fn new(heap: Arc<Heap>, at: NonNull<u8>, shift: u32, slot: usize, resident: usize) -> Block {
        let block = Block {
            heap,
            at,
            shift,
            slot,
            end: AtomicUsize::new(0),
            resident: AtomicUsize::new(resident),
            holders: AtomicU64::new(0),
        };
        block.hold();
        block
    }

    /// Ends the value at `length`, which must fit the pages.
    pub(super) fn set_end(&mut self, length: usize) {
        assert!(length <= self.resident.load(Ordering::Relaxed));
        self.end.store(length, Ordering::Relaxed);
    }

    /// The bytes to fill: the first `length`, which must fit the pages.
    pub(crate) fn bytes_mut(&mut self, length: usize) -> &mut [u8] {
        assert!(length <= self.resident.load(Ordering::Relaxed));
        // SAFETY: these pages are the block's own, initialized (pages start as zeros), and `&mut self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), length) }
    }

    /// The first bytes. Only for lengths that `end` once had.
    #[inline]
    pub(super) fn bytes(&self, length: usize) -> &[u8] {
        debug_assert!(length <= self.end.load(Ordering::Relaxed));
        // SAFETY: callers pass lengths of prefixes, which are published after their last byte was written; the bytes before
        // `end` change only through `&mut self`.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), length) }
    }

    /// True if this many bytes fit the pages.
    pub(crate) fn fits(&self, length: usize) -> bool {
        length <= self.resident.load(Ordering::Relaxed)
    }

    /// True if it is of this heap.
    #[inline]
    pub(crate) fn belongs_to(&self, heap: &Arc<Heap>) -> bool {
        Arc::ptr_eq(&self.heap, heap)
    }

    pub(crate) fn heap(&self) -> &Heap {
        &self.heap
    }

    /// Its cost.
    #[inline]
    pub(crate) fn cost(&self) -> usize {
        self.resident.load(Ordering::Relaxed) + BLOCK_OVERHEAD
    }

    /// What `more` bytes behind the value of this length would take.
    pub(super) fn room(&self, length: usize, more: usize) -> Growth {
        if self.end.load(Ordering::Relaxed) != length {
            return Growth::Occupied;
        }
        if length + more > 1 << self.shift {
            return Growth::Full;
        }
        let needed = pages(length + more);
        Growth::Pages(needed.saturating_sub(self.resident.load(Ordering::Relaxed)))
    }

    /// Adds pages, which the reservation pays for.
    pub(super) fn grow(&self, bytes: usize, reservation: &mut Reservation) {
        debug_assert!(bytes.is_multiple_of(PAGE));
        assert!(reservation.spend(bytes), "whoever grows a block has paid for it");
        self.heap.used.fetch_add(bytes, Ordering::Relaxed);
        self.resident.fetch_add(bytes, Ordering::Relaxed);
        let pages = ((bytes / PAGE) as u64) << PINNED_SHIFT;
        let more = |holders: u64| (holders & HOLDERS != 0).then_some(holders + pages);
        let pinned = self
            .holders
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        if pinned.is_ok() {
            self.heap.pinned.fetch_add(bytes as isize, Ordering::Relaxed);
        }
    }

    /// Writes bytes behind the value of this length, if no other value continues there and the pages suffice. Returns the new length.
    pub(super) fn append(&self, length: usize, parts: &[&[u8]]) -> Option<usize> {
        let longer = length + parts.iter().map(|part| part.len()).sum::<usize>();
        if longer > self.resident.load(Ordering::Relaxed) {
            return None;
        }
        self.end
            .compare_exchange(length, longer, Ordering::Acquire, Ordering::Relaxed)
            .ok()?;
        let mut offset = length;
        for part in parts {
            // SAFETY: the exchange above made the bytes from `length` to `longer` this call's own: no prefix reaches there,
            // and no other append starts there. They lie within the pages, as was checked.
            unsafe {
                let behind = self.at.add(offset).as_ptr();
                std::ptr::copy_nonoverlapping(part.as_ptr(), behind, part.len());
            }
            offset += part.len();
        }
        Some(longer)
    }

    /// Takes back an append that was not published. The pages stay.
    pub(super) fn retract(&self, longer: usize, length: usize) {
        // Fails only if another value continues behind the longer one, which was never published.
        let retracted = self
            .end
            .compare_exchange(longer, length, Ordering::Release, Ordering::Relaxed);
        debug_assert!(retracted.is_ok());
    }

    /// Counts one more holder. The first makes the block pinned.
    pub(super) fn hold(&self) {
        let pages = (self.cost() / PAGE) as u64;
        let one_more = |holders: u64| {
            Some(match holders & HOLDERS {
                0 => 1 | pages << PINNED_SHIFT,
                _ => holders + 1,
            })
        };
        let before = self
            .holders
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        if before.is_ok_and(|holders| holders & HOLDERS == 0) {
            self.heap
                .pinned
                .fetch_add(pinned_bytes(pages << PINNED_SHIFT), Ordering::Relaxed);
        }
    }

    /// Counts one holder less. The last one's going makes the block free to be evicted.
    pub(super) fn release(&self) {
        let one_less = |holders: u64| {
            Some(match holders & HOLDERS {
                0 | 1 => 0,
                _ => holders - 1,
            })
        };
        let before = self
            .holders
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        if let Ok(holders) = before
            && holders & HOLDERS == 1
        {
            self.heap
                .pinned
                .fetch_sub(pinned_bytes(holders), Ordering::Relaxed);
        }
    }
}

/// The size of a pinned block, by its word of holders.
fn pinned_bytes(holders: u64) -> isize {
    (holders >> PINNED_SHIFT) as isize * PAGE as isize + BLOCK_OVERHEAD as isize
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.holders.load(Ordering::Relaxed) & HOLDERS != 0 {
            // Its maker drops it without having shared it.
            self.release();
        }
        let resident = self.resident.load(Ordering::Relaxed);
        self.heap.take_back(self.shift, self.slot, resident);
    }
}
