//! Arenas: the memory that items lie in, written front to back and taken back as a draft.
//!
//! ```text
//!   unused ──open──▶ open ──seal──▶ sealed (in its queue's list) ──sweep──▶ free or unused
//! ```
//! **Invariant:** only the holder of the open arena's lock moves its write offset; `pending` counts the writers that have
//! taken space and haven't finished. A sealed arena whose `pending` is zero is complete and can be walked.
//! **Invariant:** arena zero is never used, so that no item lies at offset zero.

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

use super::class::Queue;
use super::item::{DEAD, Item, LARGE, Shape};
use super::slot::Location;
use crate::region::{HUGE, Region};
use crate::time::Now;

/// The header of an arena.
#[repr(align(64))]
#[derive(Debug)]
pub(super) struct Arena {
    /// Live items, and their bytes: `items << 32 | bytes`.
    live: AtomicU64,
    /// Bytes of the blocks that live items own.
    blocks: AtomicU64,
    /// The latest version written here.
    version_max: AtomicU64,
    /// When the arena was sealed, as a number that only grows.
    pub(super) stamp: AtomicU64,
    written: AtomicU32,
    limit: AtomicU32,
    pending: AtomicU32,
    /// The second in which the last item here ends; `u32::MAX` is never.
    expire_max: AtomicU32,
    pub(super) next: AtomicU32,
    pub(super) previous: AtomicU32,
    /// No item here was stored before this second.
    oldest: AtomicU32,
    queue: AtomicU8,
    /// True if it's in a list.
    pub(super) listed: AtomicBool,
    /// True if it's among those noted as worth compacting.
    pub(super) noted: AtomicBool,
}

/// All arenas of a store.
#[derive(Debug)]
pub(super) struct Arenas {
    region: Region,
    /// A [`Arena`] for each. Reserved like the arenas themselves: numbers that are never used cost nothing.
    headers: Region,
    /// Versions of items count from here. Apart from the headers: every lookup needs it.
    bases: Region,
    shift: u32,
}

/// Unpublished space for one item.
pub(super) struct Allocation<'a> {
    arena: &'a Arena,
    pub(super) item: Item<'a>,
    pub(super) location: Location,
    pub(super) base: u64,
}

impl Allocation<'_> {
    /// Notes that the item comes from an arena with items as old as this.
    pub(super) fn came_from(&self, oldest: u32) {
        self.arena.oldest.fetch_min(oldest, Ordering::Relaxed);
    }
}

impl Drop for Allocation<'_> {
    fn drop(&mut self) {
        self.arena.pending.fetch_sub(1, Ordering::Release);
    }
}

/// The figures of an item that its arena adds up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Footprint {
    pub(super) stride: usize,
    /// Zero is never.
    pub(super) expiry: u32,
    pub(super) version: u64,
    /// Bytes of the item's block.
    pub(super) block: usize,
}

impl Arenas {
    /// Address space for arenas numbered up to `count`, each `1 << shift` bytes.
    pub(super) fn new(count: usize, shift: u32) -> std::io::Result<Arenas> {
        Ok(Arenas {
            region: Region::reserve((count + 1) << shift)?,
            headers: Region::reserve((count + 1) * size_of::<Arena>())?,
            bases: Region::reserve((count + 1) * size_of::<AtomicU64>())?,
            shift,
        })
    }

    pub(super) fn region(&self) -> &Region {
        &self.region
    }

    #[inline]
    pub(super) fn size(&self) -> usize {
        1 << self.shift
    }

    #[inline]
    pub(super) fn number(&self, location: Location) -> u32 {
        (location.offset() >> self.shift) as u32
    }

    #[inline]
    pub(super) fn header(&self, number: u32) -> &Arena {
        let at = self.headers.at(number as usize * size_of::<Arena>());
        // SAFETY: numbers come from the pool or from locations of items, which are below the count that the region was
        // reserved for; a header consists of atomics, and the zeros of fresh pages are valid values of these.
        unsafe { at.cast::<Arena>().as_ref() }
    }

    /// The queue of the arena that an item lies in.
    #[inline]
    pub(super) fn queue(&self, location: Location) -> Queue {
        self.header(self.number(location)).queue()
    }

    #[inline]
    fn base_of(&self, number: u32) -> &AtomicU64 {
        let at = self.bases.at(number as usize * size_of::<AtomicU64>());
        // SAFETY: as for headers.
        unsafe { at.cast::<AtomicU64>().as_ref() }
    }

    #[inline]
    pub(super) fn base(&self, location: Location) -> u64 {
        self.base_of(self.number(location)).load(Ordering::Relaxed)
    }

    /// Makes an arena ready for items of a queue.
    pub(super) fn open(&self, number: u32, queue: Queue, limit: usize, base: u64, now: Now) {
        let arena = self.header(number);
        arena.live.store(0, Ordering::Relaxed);
        arena.blocks.store(0, Ordering::Relaxed);
        arena.version_max.store(0, Ordering::Relaxed);
        arena.written.store(0, Ordering::Relaxed);
        arena.limit.store(limit as u32, Ordering::Relaxed);
        arena.expire_max.store(0, Ordering::Relaxed);
        arena.queue.store(queue.0, Ordering::Relaxed);
        arena.oldest.store(now.0, Ordering::Relaxed);
        arena.noted.store(false, Ordering::Relaxed);
        self.base_of(number).store(base, Ordering::Relaxed);
    }

    /// Takes space in an open arena, whose lock the caller holds; `None` if the item doesn't fit.
    pub(super) fn allocate(
        &self,
        number: u32,
        footprint: &Footprint,
        blocks_max: usize,
    ) -> Option<Allocation<'_>> {
        let arena = self.header(number);
        let base = self.base_of(number).load(Ordering::Relaxed);
        let written = arena.written.load(Ordering::Relaxed);
        let end = written + footprint.stride as u32;
        let full = end > arena.limit.load(Ordering::Relaxed)
            || footprint.version.wrapping_sub(base) > u64::from(u32::MAX)
            || (footprint.block > 0 && arena.blocks.load(Ordering::Relaxed) >= blocks_max as u64);
        if full {
            return None;
        }
        arena.written.store(end, Ordering::Relaxed);
        arena.pending.fetch_add(1, Ordering::Relaxed);
        arena.add(footprint);
        let offset = ((number as usize) << self.shift) + written as usize;
        // SAFETY: this call alone took these bytes, within the region; no slot points to them before the caller has written
        // the item, and the arena isn't walked while `pending` counts it.
        let item = unsafe { Item::new(self.region.at(offset)) };
        Some(Allocation {
            arena,
            item,
            location: Location::from_offset(offset),
            base,
        })
    }

    /// Waits until all writers of a sealed arena have finished.
    pub(super) fn settle(&self, number: u32) {
        while self.header(number).pending.load(Ordering::Acquire) != 0 {
            std::thread::yield_now();
        }
    }

    /// The items of a settled arena that aren't marked dead, with their keys. Whether they're alive is for the slots to say.
    pub(super) fn walk(&self, number: u32) -> impl Iterator<Item = (Location, &[u8])> {
        let start = (number as usize) << self.shift;
        let end = start + self.header(number).written.load(Ordering::Relaxed) as usize;
        let mut offset = start;
        std::iter::from_fn(move || {
            while offset < end {
                // SAFETY: the arena is settled, so complete items lie back to back up to `end`; they stay until the sweep
                // that walks here has ended. Only the shape and the key are looked at.
                let item = unsafe { Item::new(self.region.at(offset)) };
                let (location, shape) = (Location::from_offset(offset), item.shape());
                offset += shape.stride();
                if !shape.has(DEAD) {
                    return Some((location, item.key()));
                }
            }
            None
        })
    }

    /// Drops the blocks that items of an arena own, whose store goes away.
    pub(super) fn drop_blocks(&mut self, number: u32) {
        for (location, _) in self.walk(number) {
            // SAFETY: `walk` answers complete items; `&mut self` excludes all other access, and the store is being dropped.
            let item = unsafe { Item::new(self.region.at(location.offset())) };
            if item.shape().has(LARGE) {
                drop(item.take_block());
            }
        }
    }

    /// Asks for huge pages from this arena on, if it's the first of one. Arenas are first used in order.
    pub(super) fn prefer_huge(&self, number: u32) {
        let offset = (number as usize) << self.shift;
        if offset.is_multiple_of(HUGE) && offset + HUGE <= self.region.length() {
            self.region.huge(offset, HUGE);
        }
    }

    /// Gives an arena's pages back to the system.
    pub(super) fn discard(&self, number: u32) {
        // SAFETY: only arenas that were swept get here: no slot points into them, and readers hold their bucket's lock
        // while they have references.
        unsafe { self.region.discard((number as usize) << self.shift, self.size()) };
    }
}

impl Arena {
    fn add(&self, footprint: &Footprint) {
        self.live
            .fetch_add(1 << 32 | footprint.stride as u64, Ordering::Relaxed);
        if footprint.block > 0 {
            self.blocks.fetch_add(footprint.block as u64, Ordering::Relaxed);
        }
        self.version_max.fetch_max(footprint.version, Ordering::Relaxed);
        self.extend_expiry(footprint.expiry);
    }

    /// Notes that an item here ends at that second. Zero is never.
    #[inline]
    pub(super) fn extend_expiry(&self, expiry: u32) {
        let end = if expiry == 0 { u32::MAX } else { expiry };
        if self.expire_max.load(Ordering::Relaxed) < end {
            self.expire_max.fetch_max(end, Ordering::Relaxed);
        }
    }

    /// Notes that an item here got a new version.
    #[inline]
    pub(super) fn extend_version(&self, version: u64) {
        if self.version_max.load(Ordering::Relaxed) < version {
            self.version_max.fetch_max(version, Ordering::Relaxed);
        }
    }

    /// Notes that an item's block was exchanged.
    pub(super) fn exchange_block(&self, old: usize, new: usize) {
        self.blocks
            .fetch_add((new as u64).wrapping_sub(old as u64), Ordering::Relaxed);
    }

    /// Notes the removal of an item.
    pub(super) fn remove(&self, shape: Shape, block: usize) {
        self.live
            .fetch_sub(1 << 32 | shape.stride() as u64, Ordering::SeqCst);
        if block > 0 {
            self.blocks.fetch_sub(block as u64, Ordering::Relaxed);
        }
    }

    pub(super) fn items(&self) -> u64 {
        self.live.load(Ordering::Relaxed) >> 32
    }

    /// Bytes of live items, blocks not counted.
    pub(super) fn live_bytes(&self) -> u64 {
        self.live.load(Ordering::Relaxed) & u64::from(u32::MAX)
    }

    /// Bytes of removed items.
    pub(super) fn dead_bytes(&self) -> usize {
        let live = self.live.load(Ordering::SeqCst) & u64::from(u32::MAX);
        u64::from(self.written()).saturating_sub(live) as usize
    }

    /// No item here was stored before this second.
    pub(super) fn oldest(&self) -> u32 {
        self.oldest.load(Ordering::Relaxed)
    }

    /// Bytes of the blocks of live items.
    pub(super) fn block_bytes(&self) -> u64 {
        self.blocks.load(Ordering::Relaxed)
    }

    /// True if it's in a list: sealed, and not being swept.
    pub(super) fn is_listed(&self) -> bool {
        self.listed.load(Ordering::SeqCst)
    }

    pub(super) fn written(&self) -> u32 {
        self.written.load(Ordering::Relaxed)
    }

    pub(super) fn expire_max(&self) -> u32 {
        self.expire_max.load(Ordering::Relaxed)
    }

    pub(super) fn version_max(&self) -> u64 {
        self.version_max.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn queue(&self) -> Queue {
        Queue(self.queue.load(Ordering::Relaxed))
    }
}
