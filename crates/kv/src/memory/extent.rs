//! Memory for large values: page-rounded pieces of reserved address space, counted by reference.
//!
//! Address space is plentiful, so each power of two has a region of its own, cut into slots of that size; only the pages that
//! a value needs are ever touched. That keeps the number of mappings constant, whatever is stored and freed. A few freed
//! extents keep their pages, for the next value of about that size.
//!
//! **Invariant:** every page that is resident here, cached ones included, is counted in the budget.
//! **Invariant:** bytes of a [`Block`] change only while it's exclusively owned; behind an `Arc` they're read only.

#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::budget::Budget;
use super::map::{PAGE, Region, pages};

/// What a block takes beside its pages.
pub(super) const BLOCK_OVERHEAD: usize = 96;

const SHIFT_MIN: u32 = PAGE.trailing_zeros();
/// Values that are being received may take this part of the capacity.
const UPLOAD_SHARE: usize = 4;
/// Freed extents that keep their pages may take this part of the capacity.
const CACHED_SHARE: usize = 32;

/// All extents of a store.
#[derive(Debug)]
pub(super) struct Heap {
    budget: Arc<Budget>,
    lanes: Vec<Lane>,
    cached: AtomicUsize,
    used: AtomicUsize,
    uploads: AtomicUsize,
    /// What the capacity may ever become.
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

impl AsRef<[u8]> for Block {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

/// One extent.
#[derive(Debug)]
pub(crate) struct Block {
    heap: Arc<Heap>,
    at: NonNull<u8>,
    length: usize,
    resident: usize,
    shift: u32,
    slot: usize,
}

// SAFETY: a block owns its bytes; they change only through `&mut`.
unsafe impl Send for Block {}
// SAFETY: as above; shared references only read.
unsafe impl Sync for Block {}

impl Heap {
    /// For values of up to `length_max` bytes, in a store that may get `ceiling` bytes.
    pub(super) fn new(budget: Arc<Budget>, length_max: u64, ceiling: usize) -> Arc<Heap> {
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
            uploads: AtomicUsize::new(0),
            ceiling,
        })
    }

    /// What a value of this length takes of the budget.
    pub(super) fn cost(length: usize) -> usize {
        pages(length.max(1)) + BLOCK_OVERHEAD
    }

    /// Bytes of all extents, cached ones included.
    pub(super) fn used(&self) -> usize {
        self.used.load(Relaxed)
    }

    /// Bytes of cached extents.
    pub(super) fn cached(&self) -> usize {
        self.cached.load(Relaxed)
    }

    /// Takes memory for a value, or answers `None` if the budget has none left; then room must be made first.
    pub(super) fn allocate(self: &Arc<Self>, length: usize) -> Option<Block> {
        let shift = length.max(PAGE).next_power_of_two().trailing_zeros();
        let lane = self.lanes.get((shift - SHIFT_MIN) as usize)?;
        let region = match lane.region.get() {
            Some(region) => region,
            None => {
                // Slots are at least half full, so twice the capacity is enough.
                let reserve = |capacity: usize| Region::reserve(capacity.saturating_mul(2).max(1 << shift));
                let fresh = reserve(self.ceiling).or_else(|_| reserve(self.budget.capacity()));
                let fresh = fresh.ok()?;
                lane.region.get_or_init(|| fresh)
            }
        };
        let wanted = pages(length.max(1));
        let (slot, resident) = self.slot(lane, region, shift, wanted)?;
        let offset = slot << shift;
        if resident < wanted {
            region.populate(offset + resident, wanted - resident);
        } else if resident > wanted {
            // SAFETY: the slot belongs to no block at the moment but to this call.
            unsafe { region.discard(offset + wanted, resident - wanted) };
            self.give(resident - wanted);
        }
        Some(Block {
            heap: self.clone(),
            at: region.at(offset),
            length,
            resident: wanted,
            shift,
            slot,
        })
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

    /// Gives cached extents back until so many bytes came free or none are left; answers how many did.
    pub(super) fn trim(&self, bytes: usize) -> usize {
        let mut freed = 0;
        for (lane, shift) in self.lanes.iter().zip(SHIFT_MIN..) {
            let Some(region) = lane.region.get() else { continue };
            while freed < bytes {
                let mut slots = lane.slots.lock();
                let Some((slot, resident)) = slots.cached.pop() else {
                    break;
                };
                // SAFETY: a cached slot belongs to no block, and the lane's lock keeps it from becoming one's.
                unsafe { region.discard(slot << shift, resident) };
                slots.free.push(slot);
                self.cached.fetch_sub(resident, Relaxed);
                self.give(resident + BLOCK_OVERHEAD);
                freed += resident + BLOCK_OVERHEAD;
            }
        }
        freed
    }

    /// Whether a value of so many bytes may be received now; if so it's noted. One is always let through.
    pub(super) fn begin_upload(&self, bytes: usize) -> bool {
        let uploads_max = self.budget.capacity() / UPLOAD_SHARE;
        let more = |held: usize| (held == 0 || held + bytes <= uploads_max).then_some(held + bytes);
        self.uploads.fetch_update(Relaxed, Relaxed, more).is_ok()
    }

    pub(super) fn end_upload(&self, bytes: usize) {
        self.uploads.fetch_sub(bytes, Relaxed);
    }
}

impl Block {
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the block owns `length` initialized bytes (pages start as zeros), and `&mut` is needed to change them.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.length) }
    }

    #[inline]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and `&mut self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.length) }
    }

    /// Whether it's of this heap.
    #[inline]
    pub(super) fn belongs_to(&self, heap: &Arc<Heap>) -> bool {
        Arc::ptr_eq(&self.heap, heap)
    }

    /// Ends what [`Heap::begin_upload`] noted for this block's length.
    pub(crate) fn end_upload(&self) {
        self.heap.end_upload(self.length);
    }

    /// What it takes of the budget.
    #[inline]
    pub(super) fn cost(&self) -> usize {
        self.resident + BLOCK_OVERHEAD
    }

    /// Makes it hold another number of bytes, if its pages suffice.
    pub(super) fn resize(&mut self, length: usize) -> bool {
        let fits = length <= self.resident;
        if fits {
            self.length = length;
        }
        fits
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let lane = &self.heap.lanes[(self.shift - SHIFT_MIN) as usize];
        let cached_max = self.heap.budget.capacity() / CACHED_SHARE;
        let keep = |cached: usize| (cached + self.resident <= cached_max).then_some(cached + self.resident);
        if self.heap.cached.fetch_update(Relaxed, Relaxed, keep).is_ok() {
            lane.slots.lock().cached.push((self.slot, self.resident));
            return;
        }
        if let Some(region) = lane.region.get() {
            // SAFETY: the block is going and was the only one to know these bytes.
            unsafe { region.discard(self.slot << self.shift, self.resident) };
        }
        lane.slots.lock().free.push(self.slot);
        self.heap.give(self.cost());
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
        block.bytes_mut().fill(9);
        let shared = Arc::new(block);
        let other = shared.clone();
        drop(shared);
        assert_eq!(heap.used(), Heap::cost(300_000));
        assert!(heap.allocate(800_000).is_none(), "the budget is exact");
        assert!(other.bytes().iter().all(|&byte| byte == 9));
        drop(other);
        assert_eq!(heap.used(), 0, "too large for the cache");
        assert!(heap.allocate(800_000).is_some());
    }

    #[test]
    fn small_extents_are_cached_and_trimmed() {
        let heap = heap(4 << 20);
        drop(heap.allocate(50_000));
        assert_eq!(heap.used(), Heap::cost(50_000));
        let again = heap.allocate(33_000).unwrap();
        assert_eq!(heap.used(), Heap::cost(33_000), "the surplus went back");
        drop(again);
        assert_eq!(heap.trim(1), Heap::cost(33_000));
        assert_eq!(heap.used(), 0);
    }

    #[test]
    fn uploads_are_bounded_but_one_always_passes() {
        let heap = heap(1 << 20);
        assert!(heap.begin_upload(1 << 20));
        assert!(!heap.begin_upload(1));
        heap.end_upload(1 << 20);
        assert!(heap.begin_upload(1));
    }
}
