//! Read-modify-write: from a decision to bytes.
//!
//! **Invariant:** nothing of the old item changes before the new one has all the memory it needs, so a write that fails
//! leaves the store as it was.

use std::sync::Arc;

use super::class::Queue;
use super::extent::Block;
use super::item::{CAS, EXPIRY, FETCHED, FLAGS, Facts, Item, LARGE, OPTIONS, STALE, Shape, Tail, WON};
use super::pool::Door;
use super::segment::Burden;
use super::slot::Slot;
use super::table::{Guard, Place};
use super::{Found, Memory, count};
use crate::decision::Cas;
use crate::{Change, Decision, Edit, Entry, Expiry, Key, New, Now, Payload, Pinned, StoreError};

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
struct Done {
    cas: u64,
    /// The index has one item more.
    inserted: bool,
    /// A block that's no longer part of the item, to be dropped after unlocking.
    garbage: Option<Pinned>,
}

impl Done {
    fn nothing(cas: u64) -> Self {
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
enum Source<'v> {
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
struct Call<'k> {
    key: &'k Key<'k>,
    now: Now,
    /// A block that an earlier attempt lacked.
    prepared: Option<Block>,
}

impl Wanted {
    /// Option bits that it needs.
    fn options(&self) -> u8 {
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
    #[inline]
    pub(super) fn write<'v, R>(
        &self,
        key: &Key<'_>,
        now: Now,
        mut f: impl FnMut(Option<&Entry<'_>>) -> (Decision<'v>, R),
    ) -> Result<(R, u64), StoreError> {
        let mut call = Call {
            key,
            now,
            prepared: None,
        };
        loop {
            self.observe(now);
            let guard = self.table.lock(key.hash);
            let (found, _) = self.find(&guard, key, now);
            let (decision, answer) = match found {
                Some(found) => f(Some(&self.entry(found.location, guard.item(found.location)))),
                None => f(None),
            };
            match self.decide(&guard, found, &mut call, decision) {
                Ok(done) => {
                    drop(guard);
                    drop(done.garbage);
                    if done.inserted {
                        self.grow(now);
                    }
                    return Ok((answer, done.cas));
                }
                Err(lack) => {
                    drop(guard);
                    self.provide(lack, &mut call)?;
                }
            }
        }
    }

    #[cold]
    fn provide(&self, lack: Lack, call: &mut Call<'_>) -> Result<(), StoreError> {
        let provided = match lack {
            Lack::Segment(door) => self.open_segment(door, call.now),
            Lack::Overflow => self.make_page(call.now),
            Lack::Block(length) => self
                .make_block(length, call.now)
                .map(|block| call.prepared = Some(block)),
            Lack::Never(error) => Err(error),
        };
        if provided == Err(StoreError::OutOfMemory) {
            count(&self.counters.mine().out_of_memory);
        }
        provided
    }

    #[inline]
    fn decide(
        &self,
        guard: &Guard<'_>,
        found: Option<Found<'_>>,
        call: &mut Call<'_>,
        decision: Decision<'_>,
    ) -> Result<Done, Lack> {
        match (decision, found) {
            (Decision::Put(new), _) => self.put(guard, found, call, &new),
            (_, None) => Ok(Done::nothing(0)),
            (Decision::Keep, Some(found)) => Ok(Done::nothing(self.cas(guard, found))),
            (Decision::Remove, Some(found)) => Ok(Done {
                garbage: self.remove(guard, found, false),
                ..Done::nothing(0)
            }),
            (Decision::Change(change), Some(found)) => self.change(guard, found, call, &change),
            (Decision::Rewrite(edit), Some(found)) => {
                self.edit(guard, found, call, &edit, |_, new| Source::Parts(new))
            }
            (Decision::Append(edit), Some(found)) => self.edit(guard, found, call, &edit, |old, new| {
                Source::Joined(old, new, &[])
            }),
            (Decision::Prepend(edit), Some(found)) => self.edit(guard, found, call, &edit, |old, new| {
                Source::Joined(&[], new, old)
            }),
        }
    }

    fn cas(&self, guard: &Guard<'_>, found: Found<'_>) -> u64 {
        let item = guard.item(found.location);
        item.explicit_cas()
            .unwrap_or_else(|| self.version_of(found.location, &item))
    }

    #[inline]
    fn put(
        &self,
        guard: &Guard<'_>,
        found: Option<Found<'_>>,
        call: &mut Call<'_>,
        new: &New<'_>,
    ) -> Result<Done, Lack> {
        let marks = if new.stale { STALE } else { 0 } | if new.won { WON } else { 0 };
        let wanted = Wanted {
            flags: new.flags,
            expiry: new.expiry,
            cas: new.cas,
            marks,
            last_access: call.now.0,
            version: None,
        };
        let done = match new.value {
            Payload::Parts(parts) => self.place(guard, found, call, wanted, Source::Parts(parts)),
            Payload::Pinned(pinned) if pinned.len() > self.limits.small_max && self.owns(pinned) => {
                self.place(guard, found, call, wanted, Source::Adopt(pinned))
            }
            Payload::Pinned(pinned) => {
                self.place(guard, found, call, wanted, Source::Parts(&[pinned.as_ref()]))
            }
        }?;
        if let Some(found) = found {
            self.note_write(guard, found);
        }
        count(&self.counters.mine().total_items);
        Ok(done)
    }

    fn owns(&self, pinned: &Pinned) -> bool {
        pinned.block().belongs_to(&self.heap)
    }

    /// Being written anew makes an item worth more, as being read does.
    #[inline]
    fn note_write(&self, guard: &Guard<'_>, found: Found<'_>) {
        let slot = found.place.slot();
        if slot.worth() < super::WORTH_EXACT || guard.once_in(slot.worth()) {
            found.place.set(slot.with_worth(slot.worth().saturating_add(1)));
        }
    }

    /// Everything beside key and value, as it is now.
    pub(super) fn current(&self, found: Found<'_>, item: &Item<'_>) -> Wanted {
        Wanted {
            flags: item.flags(),
            expiry: match item.expiry() {
                0 => Expiry::Never,
                second => Expiry::At(second),
            },
            cas: item.explicit_cas(),
            marks: item.shape().bits & (FETCHED | STALE | WON),
            last_access: item.last_access(),
            version: Some(self.version_of(found.location, item)),
        }
    }

    fn edit<'p>(
        &self,
        guard: &Guard<'_>,
        found: Found<'_>,
        call: &mut Call<'_>,
        edit: &Edit<'p>,
        join: impl for<'x> Fn(&'x [u8], &'x [&'x [u8]]) -> Source<'x>,
    ) -> Result<Done, Lack> {
        let item = guard.item(found.location);
        let wanted = Wanted {
            cas: edit.cas,
            version: None,
            ..self.current(found, &item)
        };
        let block = item.shape().has(LARGE).then(|| item.block());
        let old = block
            .as_ref()
            .map_or_else(|| item.tail(), |block| (**block).as_ref());
        match edit.value {
            Payload::Parts(parts) => self.place(guard, Some(found), call, wanted, join(old, parts)),
            Payload::Pinned(pinned) => {
                self.place(guard, Some(found), call, wanted, join(old, &[pinned.as_ref()]))
            }
        }
    }

    fn change(
        &self,
        guard: &Guard<'_>,
        found: Found<'_>,
        call: &mut Call<'_>,
        change: &Change,
    ) -> Result<Done, Lack> {
        let item = guard.item(found.location);
        let mut wanted = self.current(found, &item);
        wanted.expiry = change.expiry.unwrap_or(wanted.expiry);
        set_mark(&mut wanted.marks, STALE, change.stale);
        set_mark(&mut wanted.marks, WON, change.won);
        match change.cas {
            Cas::Same => {}
            Cas::Next => (wanted.cas, wanted.version) = (None, None),
            Cas::Exactly(cas) => (wanted.cas, wanted.version) = (Some(cas), None),
        }
        let mut done = match self.adjust(found, call.now, &item, &wanted) {
            Some(cas) => Done::nothing(cas),
            None => self.move_value(guard, found, call, &item, wanted)?,
        };
        done.inserted = false;
        if change.accessed
            && let Some((place, location)) = guard.find(call.key.hash, call.key.bytes)
        {
            self.access(guard, Found { place, location }, call.now);
        }
        Ok(done)
    }

    /// Changes an item without moving it, if it has the fields; answers its CAS.
    fn adjust(&self, found: Found<'_>, now: Now, item: &Item<'_>, wanted: &Wanted) -> Option<u64> {
        let shape = item.shape();
        let (options, needed) = (shape.bits & OPTIONS, wanted.options());
        let segment = self
            .pool
            .segments
            .header(self.pool.segments.number(found.location));
        let (base, version) = (
            self.pool.segments.base(found.location),
            wanted.version.unwrap_or_else(|| self.next_version()),
        );
        let possible = needed & !options == 0
            && options & CAS == needed & CAS
            && self.classes.of(wanted.expiry, now) == segment.queue().class()
            && version.wrapping_sub(base) <= u64::from(u32::MAX);
        if !possible {
            return None;
        }
        let facts = wanted.facts(version, base);
        if shape.has(EXPIRY) {
            item.set_expiry(facts.expiry);
            segment.extend_expiry(facts.expiry);
        }
        if shape.has(CAS) {
            item.set_explicit_cas(facts.cas);
        }
        item.set_delta(facts.delta);
        segment.extend_version(version);
        item.set_shape(Shape {
            bits: shape.bits & !(STALE | WON) | wanted.marks,
            ..shape
        });
        Some(wanted.cas.unwrap_or(version))
    }

    /// Writes an item anew with the value it has.
    fn move_value(
        &self,
        guard: &Guard<'_>,
        found: Found<'_>,
        call: &mut Call<'_>,
        item: &Item<'_>,
        wanted: Wanted,
    ) -> Result<Done, Lack> {
        if item.shape().has(LARGE) {
            self.place(guard, Some(found), call, wanted, Source::Inherit(&item.block()))
        } else {
            self.place(
                guard,
                Some(found),
                call,
                wanted,
                Source::Joined(item.tail(), &[], &[]),
            )
        }
    }

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
    fn place(
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
        let (place, slot, proven) = self.slot_for(guard, found, call)?;
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

fn set_mark(marks: &mut u8, mark: u8, wanted: Option<bool>) {
    match wanted {
        Some(true) => *marks |= mark,
        Some(false) => *marks &= !mark,
        None => {}
    }
}
