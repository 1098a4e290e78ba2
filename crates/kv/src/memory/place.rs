//! Where an item goes: over its old self if it has the same form, else where there's room.
//!
//! **Invariant:** the slot of an item points to complete bytes at all times; it's turned over after the last byte is written.

use std::sync::Arc;

use super::chain::{Guard, Place};
use super::class::Queue;
use super::extent::Block;
use super::item::{CAS, EXPIRY, FLAGS, Facts, LARGE, OPTIONS, Shape, Tail};
use super::pool::Door;
use super::segment::Burden;
use super::slot::Slot;
use super::{Found, Memory, count};
use crate::{Expiry, Key, Now, Pinned, StoreError};

/// Versions this far behind are too old for the base of a new segment.
const VERSIONS_OLD: u64 = 1 << 30;
/// What has to be provided, without any lock, before a write can be tried again.
pub(super) enum Lack {
    Segment(Door),
    Overflow,
    Block(usize),
    Never(StoreError),
}

/// What a write has done.
pub(super) struct Done {
    pub(super) cas: u64,
    /// The index has one item more.
    pub(super) inserted: bool,
    /// A block that's no longer part of the item, to be dropped after unlocking.
    pub(super) garbage: Option<Pinned>,
}

impl Done {
    pub(super) fn nothing(cas: u64) -> Self {
        Done {
            cas,
            inserted: false,
            garbage: None,
        }
    }
}

/// An item as it shall be, but for key and value.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) flags: u32,
    pub(super) expiry: Expiry,
    /// Named by a client.
    pub(super) cas: Option<u64>,
    /// FETCHED, STALE and WON.
    pub(super) marks: u8,
    pub(super) last_access: u32,
    /// `None` is the next one.
    pub(super) version: Option<u64>,
}

/// Where the value comes from.
#[derive(Clone, Copy)]
pub(super) enum Source<'v> {
    /// New bytes only.
    Parts(&'v [&'v [u8]]),
    /// Old bytes, new bytes, old bytes.
    Joined(&'v [u8], &'v [&'v [u8]], &'v [u8]),
    /// The block of an upload.
    Adopt(&'v Pinned),
    /// The block that the old item has.
    Inherit(&'v Pinned),
}

impl<'v> Source<'v> {
    fn pieces(self) -> (&'v [u8], &'v [&'v [u8]], &'v [u8]) {
        match self {
            Source::Parts(parts) => (&[], parts, &[]),
            Source::Joined(before, parts, after) => (before, parts, after),
            Source::Adopt(pinned) | Source::Inherit(pinned) => (pinned.as_ref(), &[], &[]),
        }
    }

    fn length(self) -> usize {
        let (before, parts, after) = self.pieces();
        before.len() + parts.iter().map(|part| part.len()).sum::<usize>() + after.len()
    }
}

/// The state of one call that survives its attempts.
pub(super) struct Call<'k> {
    pub(super) key: &'k Key<'k>,
    pub(super) now: Now,
    /// A block that an earlier attempt lacked.
    pub(super) prepared: Option<Block>,
}

impl Wanted {
    /// Option bits that it needs.
    pub(super) fn options(&self) -> u8 {
        let flags = if self.flags == 0 { 0 } else { FLAGS };
        let expiry = if self.expiry == Expiry::Never { 0 } else { EXPIRY };
        let cas = if self.cas.is_none() { 0 } else { CAS };
        flags | expiry | cas
    }

    /// Zero is never.
    fn end(&self) -> u32 {
        match self.expiry {
            Expiry::Never => 0,
            // Zero stands for "never", and the first second of 1970 is over either way.
            Expiry::At(second) => second.max(1),
        }
    }

    /// What's written beside key and value, for a segment with this base.
    pub(super) fn facts(&self, version: u64, base: u64) -> Facts {
        debug_assert!(version.wrapping_sub(base) <= u64::from(u32::MAX));
        Facts {
            delta: version.wrapping_sub(base) as u32,
            last_access: self.last_access,
            flags: self.flags,
            expiry: self.end(),
            cas: self.cas.unwrap_or(0),
        }
    }
}

impl Memory {
    /// Gives an item whose version is too old for the base of a new segment a newer one; its CAS stays as it was.
    pub(super) fn renew(&self, wanted: &mut Wanted) {
        let latest = self.latest_version();
        if let Some(version) = wanted.version
            && latest.saturating_sub(version) > VERSIONS_OLD
        {
            wanted.cas = wanted.cas.or(Some(version));
            wanted.version = Some(latest);
        }
    }

    /// Writes an item, in place if it has the same form, else where there's room.
    pub(super) fn place(
        &self,
        guard: &Guard<'_>,
        found: Option<Found<'_>>,
        call: &mut Call<'_>,
        mut wanted: Wanted,
        source: Source<'_>,
    ) -> Result<Done, Lack> {
        let (key, length) = (call.key.bytes, source.length());
        self.limits.check(key.len(), length as u64).map_err(Lack::Never)?;
        self.renew(&mut wanted);
        let version = wanted.version.unwrap_or_else(|| self.next_version());
        let block = self.block_for(call, source, length)?;
        let shape = Shape {
            bits: wanted.options() | wanted.marks | if block.is_some() { LARGE } else { 0 },
            key: key.len() as u8,
            tail: if block.is_some() { 8 } else { length as u16 },
        };
        let whole = Whole {
            wanted,
            version,
            shape,
            source,
            block,
        };
        match found.and_then(|found| Some((found, self.same_form(guard, found, call.now, &whole)?))) {
            Some((found, shape)) => Ok(self.overwrite(guard, found, shape, whole)),
            None => self.relocate(guard, found, call, whole),
        }
    }

    /// The block of a large value; `None` for a small one.
    fn block_for(
        &self,
        call: &mut Call<'_>,
        source: Source<'_>,
        length: usize,
    ) -> Result<Option<Pinned>, Lack> {
        if let Source::Adopt(pinned) | Source::Inherit(pinned) = source {
            return Ok(Some(pinned.clone()));
        }
        if length <= self.limits.small_max {
            return Ok(None);
        }
        let mut prepared = call.prepared.take();
        let Some(mut block) = prepared.take_if(|block| block.resize(length)) else {
            return Err(Lack::Block(length));
        };
        let (before, parts, after) = source.pieces();
        let mut rest = block.bytes_mut();
        for piece in std::iter::once(&before)
            .chain(parts)
            .chain(std::iter::once(&after))
        {
            let (place, behind) = rest.split_at_mut(piece.len());
            place.copy_from_slice(piece);
            rest = behind;
        }
        Ok(Some(Pinned::from_block(Arc::new(block))))
    }

    /// The shape with which an item can be written over the old one, if it can.
    #[inline]
    fn same_form(&self, guard: &Guard<'_>, found: Found<'_>, now: Now, whole: &Whole<'_>) -> Option<Shape> {
        let old = guard.item(found.location).shape();
        let options = old.bits & OPTIONS;
        let shape = Shape {
            bits: whole.shape.bits | options & (FLAGS | EXPIRY),
            ..whole.shape
        };
        let segments = &self.pool.segments;
        let same = !matches!(whole.source, Source::Joined(..) | Source::Inherit(_))
            && shape.bits & (OPTIONS | LARGE) == old.bits & (OPTIONS | LARGE)
            && shape.stride() == old.stride()
            && whole.version.wrapping_sub(segments.base(found.location)) <= u64::from(u32::MAX)
            && self.classes.of(whole.wanted.expiry, now)
                == segments.header(segments.number(found.location)).queue().class();
        same.then_some(shape)
    }

    #[inline]
    fn overwrite(&self, guard: &Guard<'_>, found: Found<'_>, shape: Shape, whole: Whole<'_>) -> Done {
        let (item, cas) = (guard.item(found.location), whole.cas());
        let segment = self
            .pool
            .segments
            .header(self.pool.segments.number(found.location));
        let facts = whole
            .wanted
            .facts(whole.version, self.pool.segments.base(found.location));
        let garbage = whole.block.as_ref().map(|block| {
            let old = item.take_block();
            segment.exchange_block(old.block().cost(), block.block().cost());
            old
        });
        segment.extend_expiry(facts.expiry);
        segment.extend_version(whole.version);
        item.overwrite(shape, &facts, whole.tail());
        Done {
            cas,
            inserted: false,
            garbage,
        }
    }

    fn relocate(
        &self,
        guard: &Guard<'_>,
        found: Option<Found<'_>>,
        call: &mut Call<'_>,
        whole: Whole<'_>,
    ) -> Result<Done, Lack> {
        let (place, slot, proven) = match self.slot_for(guard, found, call) {
            Ok(vacant) => vacant,
            Err(lack) => {
                // The block stays paid for. Given back, it would pay for the page that the next attempt's block takes again.
                call.keep(whole);
                return Err(lack);
            }
        };
        let burden = Burden {
            stride: whole.shape.stride(),
            expiry: whole.wanted.end(),
            version: whole.version,
            block: whole.block.as_ref().map_or(0, |block| block.block().cost()),
        };
        let class = self.classes.of(whole.wanted.expiry, call.now);
        let door = self.pool.door(Queue::new(class, whole.block.is_some(), proven));
        let Some(fresh) = self.pool.allocate(door, &burden) else {
            call.keep(whole);
            return Err(Lack::Segment(door));
        };
        let (cas, inherits) = (whole.cas(), matches!(whole.source, Source::Inherit(_)));
        let facts = whole.wanted.facts(whole.version, fresh.base);
        fresh
            .item
            .write(whole.shape, &facts, call.key.bytes, whole.tail());
        place.set(slot.with_location(fresh.location));
        let mut garbage = None;
        match found {
            Some(found) => garbage = self.bury_old(guard, found),
            None => count(&self.counters.mine().items),
        }
        debug_assert!(!inherits || garbage.is_some());
        Ok(Done {
            cas,
            inserted: found.is_none(),
            garbage,
        })
    }

    /// The slot for an item: its own, or a vacant one; with what the slot shall hold, and whether the item has proven itself.
    fn slot_for<'t>(
        &self,
        guard: &Guard<'t>,
        found: Option<Found<'t>>,
        call: &Call<'_>,
    ) -> Result<(Place<'t>, Slot, bool), Lack> {
        if let Some(found) = found {
            let segments = &self.pool.segments;
            let queue = segments.header(segments.number(found.location)).queue();
            return Ok((found.place, found.place.slot(), queue.proven()));
        }
        let (place, remembered) = guard.vacant(call.key.hash).ok_or(Lack::Overflow)?;
        let worth = remembered.unwrap_or(0);
        Ok((place, Slot::vacant(call.key.hash, worth), remembered.is_some()))
    }

    /// Buries an item whose slot points elsewhere by now.
    fn bury_old(&self, guard: &Guard<'_>, old: Found<'_>) -> Option<Pinned> {
        let item = guard.item(old.location);
        let block = item.shape().has(LARGE).then(|| item.take_block());
        self.bury(
            old.location,
            &item,
            block.as_ref().map_or(0, |block| block.block().cost()),
        );
        block
    }
}
/// An item as it shall be, ready to be written.
struct Whole<'v> {
    wanted: Wanted,
    version: u64,
    shape: Shape,
    source: Source<'v>,
    block: Option<Pinned>,
}

impl<'v> Whole<'v> {
    fn cas(&self) -> u64 {
        self.wanted.cas.unwrap_or(self.version)
    }

    fn tail(self) -> Tail<'v> {
        match self.block {
            Some(block) => Tail::Block(block),
            None => {
                let (before, parts, after) = self.source.pieces();
                Tail::Pieces(before, parts, after)
            }
        }
    }
}

impl Call<'_> {
    /// Keeps a block that was made for this call, for the next attempt.
    fn keep(&mut self, whole: Whole<'_>) {
        if let (Source::Parts(_) | Source::Joined(..), Some(pinned)) = (whole.source, whole.block) {
            self.prepared = Arc::into_inner(pinned.into_block());
        }
    }
}
