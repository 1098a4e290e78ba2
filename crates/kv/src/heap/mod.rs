//! Memory for large values: page-rounded pieces of reserved address space, counted by reference.
//!
//! ```text
//!   Heap ── a lane per power of two ──▶ slots of that size ──▶ Block: one slot with its paid pages
//!                                                               ├─ Prefix: its first bytes, as an item owns them
//!                                                               └─ Holder: the same, as readers and writers hold them
//! ```
//! Address space is plentiful, so each power of two has a region of its own, cut into slots of that size; only the pages that
//! a value needs are touched. That keeps the number of mappings constant, whatever is stored and freed. A few freed blocks
//! keep their pages, for the next value of about that size.
//!
//! **Invariant:** every page that is resident here, cached ones included, is counted in the budget.
//! **Invariant:** `pinned` is the size of all blocks with holders beside items: no eviction frees them.

mod block;
mod extent;
mod holder;

use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::budget::Budget;
use crate::region::{PAGE, Region, pages};
pub(crate) use block::{Block, Growth};
pub use extent::Extent;
pub(crate) use holder::{Holder, Prefix};

/// The cost of a block beside its pages.
pub(crate) const BLOCK_OVERHEAD: usize = 96;

const SHIFT_MIN: u32 = PAGE.trailing_zeros();
/// Values that are being received may take this part of the capacity.
const UPLOAD_SHARE: usize = 4;
/// Freed blocks that keep their pages may take this part of the capacity: they are given back before anything is evicted. A value
/// of a tenth of the store that is written again and again then needs no pages from the system.
const CACHED_SHARE: usize = 8;

/// The reason that there is no memory for a block, a page or an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The budget, or the lane, has none left: freeing blocks helps.
    Budget,
    /// All numbers of arenas for large items are in use: freeing such arenas helps.
    Arenas,
    /// The system gives no address space: freeing blocks does not help.
    AddressSpace,
}

/// All blocks of a store.
#[derive(Debug)]
pub(crate) struct Heap {
    budget: Arc<Budget>,
    lanes: Vec<Lane>,
    cached: AtomicUsize,
    used: AtomicUsize,
    /// May be off for an instant while two threads pin and unpin, hence the sign.
    pinned: AtomicIsize,
    uploads: AtomicUsize,
    /// The upper limit of the capacity, ever.
    ceiling: usize,
}

/// All slots of one power of two.
#[derive(Debug)]
struct Lane {
    region: OnceLock<Region>,
    slots: Mutex<Slots>,
}

#[derive(Debug, Default)]
struct Slots {
    next: usize,
    free: Vec<usize>,
    /// Slots with the bytes of pages that they still hold.
    cached: Vec<(usize, usize)>,
}

impl Heap {
    /// For values of up to `length_max` bytes, in a store that may get `ceiling` bytes.
    pub(crate) fn new(budget: Arc<Budget>, length_max: u64, ceiling: usize) -> Arc<Heap> {
        let shift_max = (length_max.max(PAGE as u64)).next_power_of_two().trailing_zeros();
        let lane = |_| Lane {
            region: OnceLock::new(),
            slots: Mutex::default(),
        };
        Arc::new(Heap {
            budget,
            lanes: (SHIFT_MIN..=shift_max).map(lane).collect(),
            cached: AtomicUsize::new(0),
            used: AtomicUsize::new(0),
            pinned: AtomicIsize::new(0),
            uploads: AtomicUsize::new(0),
            ceiling,
        })
    }

    /// The cost of a value of this length.
    pub(crate) fn cost(length: usize) -> usize {
        pages(length.max(1)) + BLOCK_OVERHEAD
    }

    /// Bytes of all blocks, cached ones included.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Relaxed)
    }

    /// Bytes of cached blocks.
    pub(crate) fn cached(&self) -> usize {
        self.cached.load(Relaxed)
    }

    /// Bytes of blocks that no eviction frees, because readers or writers hold them.
    pub(crate) fn pinned(&self) -> usize {
        self.pinned.load(Relaxed).max(0) as usize
    }

    /// Takes memory for a value.
    pub(crate) fn allocate(self: &Arc<Self>, length: usize) -> Result<Block, Denied> {
        let shift = length.max(PAGE).next_power_of_two().trailing_zeros();
        let lane = self
            .lanes
            .get((shift - SHIFT_MIN) as usize)
            .ok_or(Denied::AddressSpace)?;
        let region = self.region(lane, shift)?;
        let wanted = pages(length.max(1));
        let (slot, resident) = self.slot(lane, region, shift, wanted).ok_or(Denied::Budget)?;
        let offset = slot << shift;
        if resident < wanted {
            region.populate(offset + resident, wanted - resident);
        } else if resident > wanted {
            self.discard(region, offset + wanted, resident - wanted);
            self.give(resident - wanted);
        }
        Ok(Block::new(self.clone(), region.at(offset), shift, slot, wanted))
    }

    fn region<'l>(&self, lane: &'l Lane, shift: u32) -> Result<&'l Region, Denied> {
        if let Some(region) = lane.region.get() {
            return Ok(region);
        }
        // Slots are at least half full, so twice the capacity is enough.
        let reserve = |capacity: usize| Region::reserve(capacity.saturating_mul(2).max(1 << shift));
        let fresh = reserve(self.ceiling).or_else(|_| reserve(self.budget.capacity()));
        let fresh = fresh.map_err(|_| Denied::AddressSpace)?;
        Ok(lane.region.get_or_init(|| fresh))
    }

    /// Finds a slot whose pages up to `wanted` are paid for, and says how many it holds already.
    fn slot(&self, lane: &Lane, region: &Region, shift: u32, wanted: usize) -> Option<(usize, usize)> {
        let mut slots = lane.slots.lock();
        if let Some((slot, resident)) = slots.cached.pop() {
            if resident >= wanted || self.take(wanted - resident) {
                self.cached.fetch_sub(resident, Relaxed);
                return Some((slot, resident));
            }
            slots.cached.push((slot, resident));
            return None;
        }
        if slots.free.is_empty() && (slots.next + 1) << shift > region.length() {
            return None;
        }
        if !self.take(wanted + BLOCK_OVERHEAD) {
            return None;
        }
        let slot = slots.free.pop().unwrap_or_else(|| {
            slots.next += 1;
            slots.next - 1
        });
        Some((slot, 0))
    }

    fn take(&self, bytes: usize) -> bool {
        let taken = self.budget.take(bytes);
        if taken {
            self.used.fetch_add(bytes, Relaxed);
        }
        taken
    }

    fn give(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Relaxed);
        self.budget.give(bytes);
    }

    /// Gives cached blocks back until `bytes` came free or none are left. Returns the freed bytes.
    pub(crate) fn trim(&self, bytes: usize) -> usize {
        let mut freed = 0;
        for (lane, shift) in self.lanes.iter().zip(SHIFT_MIN..) {
            let Some(region) = lane.region.get() else { continue };
            while freed < bytes {
                let mut slots = lane.slots.lock();
                let Some((slot, resident)) = slots.cached.pop() else {
                    break;
                };
                // The lane's lock keeps the slot from becoming a block's.
                self.discard(region, slot << shift, resident);
                slots.free.push(slot);
                self.cached.fetch_sub(resident, Relaxed);
                self.give(resident + BLOCK_OVERHEAD);
                freed += resident + BLOCK_OVERHEAD;
            }
        }
        freed
    }

    /// Takes back the slot of a dropped block: its pages are kept for the next one if they are few.
    fn take_back(&self, shift: u32, slot: usize, resident: usize) {
        let lane = &self.lanes[(shift - SHIFT_MIN) as usize];
        let cached_max = self.budget.capacity() / CACHED_SHARE;
        let keep = |cached: usize| (cached + resident <= cached_max).then_some(cached + resident);
        if self.cached.fetch_update(Relaxed, Relaxed, keep).is_ok() {
            lane.slots.lock().cached.push((slot, resident));
            return;
        }
        if let Some(region) = lane.region.get() {
            self.discard(region, slot << shift, resident);
        }
        lane.slots.lock().free.push(slot);
        self.give(resident + BLOCK_OVERHEAD);
    }

    /// Gives pages back to the system that belong to no block.
    #[allow(unsafe_code)]
    fn discard(&self, region: &Region, offset: usize, length: usize) {
        // SAFETY: callers pass pages of slots which belong to no block, or to one that is being made or dropped.
        unsafe { region.discard(offset, length) };
    }

    /// Notes an upload of this size; false if too many bytes are being received. The first one always passes.
    pub(crate) fn begin_upload(&self, bytes: usize) -> bool {
        let uploads_max = self.budget.capacity() / UPLOAD_SHARE;
        let more = |held: usize| (held == 0 || held + bytes <= uploads_max).then_some(held + bytes);
        self.uploads.fetch_update(Relaxed, Relaxed, more).is_ok()
    }

    /// Ends what [`begin_upload`](Heap::begin_upload) noted.
    pub(crate) fn end_upload(&self, bytes: usize) {
        self.uploads.fetch_sub(bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn heap(capacity: usize) -> Arc<Heap> {
        Heap::new(Arc::new(Budget::new(capacity)), 1 << 20, capacity)
    }

    #[test]
    fn budget_is_given_back_when_the_last_owner_goes() {
        let heap = heap(1 << 20);
        let mut block = heap.allocate(300_000).unwrap();
        block.bytes_mut(300_000).fill(9);
        let shared = Holder::new(block, 300_000);
        let other = shared.clone();
        drop(shared);
        assert_eq!(heap.used(), Heap::cost(300_000));
        assert_eq!(heap.pinned(), Heap::cost(300_000));
        assert_eq!(
            heap.allocate(800_000).err(),
            Some(Denied::Budget),
            "the budget is exact"
        );
        assert!(other.as_ref().iter().all(|&byte| byte == 9));
        drop(other);
        assert_eq!((heap.used(), heap.pinned()), (0, 0), "too large for the cache");
        assert!(heap.allocate(800_000).is_ok());
    }

    #[test]
    fn small_blocks_are_cached_and_trimmed() {
        let heap = heap(4 << 20);
        drop(heap.allocate(50_000));
        assert_eq!(heap.used(), Heap::cost(50_000));
        let again = heap.allocate(33_000).unwrap();
        assert_eq!(heap.used(), Heap::cost(33_000), "the surplus went back");
        drop(again);
        assert_eq!(heap.trim(1), Heap::cost(33_000));
        assert_eq!(heap.used(), 0);
    }

    /// A large value that is rewritten alternates between two blocks, and the system zeroes no page for it.
    #[test]
    fn a_block_of_a_tenth_of_the_capacity_is_cached() {
        let heap = heap(10 << 20);
        let old = heap.allocate(1 << 20).unwrap();
        let new = heap.allocate(1 << 20).unwrap();
        drop(old);
        assert_eq!(heap.cached(), Heap::cost(1 << 20) - BLOCK_OVERHEAD);
        drop(heap.allocate((1 << 20) - 10).unwrap());
        drop(new);
        assert_eq!(
            heap.cached(),
            Heap::cost(1 << 20) - BLOCK_OVERHEAD,
            "no more than one fits"
        );
        assert_eq!(heap.trim(1), Heap::cost(1 << 20));
    }

    #[test]
    fn uploads_are_bounded_but_one_always_passes() {
        let heap = heap(1 << 20);
        assert!(heap.begin_upload(1 << 20));
        assert!(!heap.begin_upload(1));
        heap.end_upload(1 << 20);
        assert!(heap.begin_upload(1));
    }

    /// Values that items alone own are not pinned, also after readers have come and gone.
    #[test]
    fn pinned_bytes_follow_holders_and_growth() {
        let heap = heap(1 << 20);
        let pinned = Holder::new(heap.allocate(5000).unwrap(), 5000);
        let owned = pinned.share();
        drop(pinned);
        assert_eq!(heap.pinned(), 0);
        let reader = Holder::hold(&owned);
        assert_eq!(heap.pinned(), Heap::cost(5000));
        assert_eq!(owned.room(3000), Growth::Pages(0));
        assert_eq!(owned.append(&[&[1; 3000]]).map(|longer| longer.len()), Some(8000));
        assert_eq!(owned.room(1), Growth::Occupied, "the end is elsewhere by now");
        drop(reader);
        assert_eq!(heap.pinned(), 0);
        assert_eq!(heap.used(), Heap::cost(8000));
    }

    /// Appending beyond the last page pays for pages, also while the block is pinned.
    #[test]
    fn growth_is_paid_for() {
        let heap = heap(1 << 20);
        let pinned = Holder::new(heap.allocate(9000).unwrap(), 9000);
        let owned = pinned.share();
        let Growth::Pages(bytes) = owned.room(4000) else {
            panic!("a slot of 16 KiB has room")
        };
        assert_eq!(bytes, PAGE);
        let mut reservation = heap.budget.reserve(bytes).unwrap();
        owned.grow(bytes, &mut reservation);
        drop(reservation);
        assert_eq!(
            (heap.used(), heap.pinned()),
            (Heap::cost(13_000), Heap::cost(13_000))
        );
        let longer = owned.append(&[&[7; 4000]]).unwrap();
        assert_eq!(&longer.bytes()[9000..], [7; 4000]);
        assert_eq!(owned.bytes().len(), 9000, "the shorter prefix is as it was");
        assert_eq!(longer.room(4000), Growth::Full);
        longer.retract(9000);
        assert_eq!(owned.room(4000), Growth::Pages(0));
        drop((owned, longer));
        assert_eq!(heap.used(), Heap::cost(13_000), "a holder is left");
        drop(pinned);
        assert_eq!(
            (heap.used() - heap.cached() - BLOCK_OVERHEAD, heap.pinned()),
            (0, 0)
        );
    }
}
