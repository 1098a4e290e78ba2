//! Segments: the memory that items lie in, written front to back and taken back as a whole.
//!
//! ```text
//!   unused ──open──▶ open ──seal──▶ sealed (in its queue's list) ──sweep──▶ free or unused
//! ```
//! **Invariant:** only the holder of the open segment's lock moves its write offset; `pending` counts the writers that have
//! taken space and haven't finished. A sealed segment whose `pending` is zero is complete and can be walked.
//! **Invariant:** segment zero is never used, so that no item lies at offset zero.

#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::class::Queue;
use super::item::{DEAD, Item, Shape};
use super::map::{HUGE, Region};
use super::slot::Location;

/// What is known of a segment beside its bytes.
#[repr(align(64))]
#[derive(Debug)]
pub(super) struct Segment {
    /// Live items, and their bytes: `items << 32 | bytes`.
    live: AtomicU64,
    /// Bytes of the blocks that live items own.
    blocks: AtomicU64,
    /// The latest version written here.
    version_max: AtomicU64,
    /// When the segment was sealed, as a number that only grows.
    pub(super) stamp: AtomicU64,
    written: AtomicU32,
    limit: AtomicU32,
    pending: AtomicU32,
    /// The second in which the last item here ends; `u32::MAX` is never.
    expire_max: AtomicU32,
    pub(super) next: AtomicU32,
    pub(super) previous: AtomicU32,
    queue: AtomicU32,
    /// Whether it's in a list.
    pub(super) listed: AtomicU32,
}

/// All segments of a store.
#[derive(Debug)]
pub(super) struct Segments {
    region: Region,
    /// A [`Segment`] for each. Reserved like the segments themselves: numbers that are never used cost nothing.
    headers: Region,
    /// Versions of items count from here. Apart from the headers: every lookup needs it.
    bases: Region,
    shift: u32,
}

/// Space for one item that nobody else knows.
pub(super) struct Fresh<'a> {
    segment: &'a Segment,
    pub(super) item: Item<'a>,
    pub(super) location: Location,
    pub(super) base: u64,
}

impl Drop for Fresh<'_> {
    fn drop(&mut self) {
        self.segment.pending.fetch_sub(1, Ordering::Release);
    }
}

/// What an item brings along that its segment must know.
#[derive(Clone, Copy, Debug)]
pub(super) struct Burden {
    pub(super) stride: usize,
    /// Zero is never.
    pub(super) expiry: u32,
    pub(super) version: u64,
    /// Bytes of the item's block.
    pub(super) block: usize,
}

impl Segments {
    /// Address space for segments numbered up to `count`, each `1 << shift` bytes.
    pub(super) fn new(count: usize, shift: u32) -> std::io::Result<Segments> {
        Ok(Segments {
            region: Region::reserve((count + 1) << shift)?,
            headers: Region::reserve((count + 1) * size_of::<Segment>())?,
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
    pub(super) fn header(&self, number: u32) -> &Segment {
        let at = self.headers.at(number as usize * size_of::<Segment>());
        // SAFETY: numbers come from the pool or from locations of items, which are below the count that the region was
        // reserved for; a header is made of atomics, for which the zeros of fresh pages are valid.
        unsafe { at.cast::<Segment>().as_ref() }
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

    /// Makes a segment ready for items of a queue.
    pub(super) fn open(&self, number: u32, queue: Queue, limit: usize, base: u64) {
        let segment = self.header(number);
        segment.live.store(0, Ordering::Relaxed);
        segment.blocks.store(0, Ordering::Relaxed);
        segment.version_max.store(0, Ordering::Relaxed);
        segment.written.store(0, Ordering::Relaxed);
        segment.limit.store(limit as u32, Ordering::Relaxed);
        segment.expire_max.store(0, Ordering::Relaxed);
        segment.queue.store(u32::from(queue.0), Ordering::Relaxed);
        self.base_of(number).store(base, Ordering::Relaxed);
    }

    /// Takes space in an open segment, whose lock the caller holds; `None` if the item doesn't fit.
    pub(super) fn allocate(&self, number: u32, burden: &Burden, blocks_max: usize) -> Option<Fresh<'_>> {
        let segment = self.header(number);
        let base = self.base_of(number).load(Ordering::Relaxed);
        let written = segment.written.load(Ordering::Relaxed);
        let end = written + burden.stride as u32;
        let full = end > segment.limit.load(Ordering::Relaxed)
            || burden.version.wrapping_sub(base) > u64::from(u32::MAX)
            || (burden.block > 0 && segment.blocks.load(Ordering::Relaxed) >= blocks_max as u64);
        if full {
            return None;
        }
        segment.written.store(end, Ordering::Relaxed);
        segment.pending.fetch_add(1, Ordering::Relaxed);
        segment.add(burden);
        let offset = ((number as usize) << self.shift) + written as usize;
        // SAFETY: this call alone took these bytes, within the region; no slot points to them before the caller has written
        // the item, and the segment isn't walked while `pending` counts it.
        let item = unsafe { Item::new(self.region.at(offset)) };
        Some(Fresh {
            segment,
            item,
            location: Location::from_offset(offset),
            base,
        })
    }

    /// Waits until all writers of a sealed segment have finished.
    pub(super) fn settle(&self, number: u32) {
        while self.header(number).pending.load(Ordering::Acquire) != 0 {
            std::thread::yield_now();
        }
    }

    /// The items of a settled segment that aren't marked dead, with their keys. Whether they're alive is for the slots to say.
    pub(super) fn walk(&self, number: u32) -> impl Iterator<Item = (Location, &[u8])> {
        let start = (number as usize) << self.shift;
        let end = start + self.header(number).written.load(Ordering::Relaxed) as usize;
        let mut offset = start;
        std::iter::from_fn(move || {
            while offset < end {
                // SAFETY: the segment is settled, so complete items lie back to back up to `end`; they stay until the sweep
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

    /// Asks for huge pages from this segment on, if it's the first of one. Segments are first used in order.
    pub(super) fn prefer_huge(&self, number: u32) {
        let offset = (number as usize) << self.shift;
        if offset.is_multiple_of(HUGE) && offset + HUGE <= self.region.length() {
            self.region.huge(offset, HUGE);
        }
    }

    /// Gives a segment's pages back to the system.
    pub(super) fn discard(&self, number: u32) {
        // SAFETY: only segments that were swept get here: no slot points into them, and readers hold their bucket's lock
        // while they have references.
        unsafe { self.region.discard((number as usize) << self.shift, self.size()) };
    }
}

impl Segment {
    fn add(&self, burden: &Burden) {
        self.live
            .fetch_add(1 << 32 | burden.stride as u64, Ordering::Relaxed);
        if burden.block > 0 {
            self.blocks.fetch_add(burden.block as u64, Ordering::Relaxed);
        }
        self.version_max.fetch_max(burden.version, Ordering::Relaxed);
        self.extend_expiry(burden.expiry);
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

    /// Notes that an item is no more.
    pub(super) fn remove(&self, shape: Shape, block: usize) {
        self.live
            .fetch_sub(1 << 32 | shape.stride() as u64, Ordering::Relaxed);
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

    /// Bytes of the blocks of live items.
    pub(super) fn block_bytes(&self) -> u64 {
        self.blocks.load(Ordering::Relaxed)
    }

    /// Whether it's in a list: sealed, and nobody sweeps it.
    pub(super) fn is_listed(&self) -> bool {
        self.listed.load(Ordering::Relaxed) != 0
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
        Queue(self.queue.load(Ordering::Relaxed) as u8)
    }
}
