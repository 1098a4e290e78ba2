//! Where an item goes: over its old self if it has the same form, else where there's room.
//!
//! **Invariant:** the slot of an item points to complete bytes at all times; it's turned over after the last byte is written.

use super::arena::{Allocation, Footprint};
use super::chain::{Guard, SlotRef};
use super::class::Queue;
use super::draft::{Attributes, Call, Draft, Origin, Prepared, Source, length_of};
use super::item::{EXPIRY, FLAGS, LARGE, LARGE_TAIL, OPTIONS, Shape};
use super::pool::AppendPoint;
use super::slot::Slot;
use super::{Found, Memory, count};
use crate::heap::{Growth, Holder, Prefix};
use crate::moved;
use crate::{Now, StoreError};

/// Versions this far behind are too old for the base of a new arena.
const VERSIONS_OLD: u64 = 1 << 30;

/// A shortage that is provided for, without any lock, before the write is tried again.
pub(super) enum Shortage {
    /// An open arena.
    Arena(AppendPoint),
    /// A page for an overflow bucket; the item may then need an arena of this cost.
    Page { beside: usize },
    /// Pages for a block to grow by.
    Growth(usize),
    /// A block for a value of this length; with an old value that should be copied there, and the offset.
    Block(usize, Option<(Holder, usize)>),
    /// Nothing helps.
    Never(StoreError),
}

/// The outcome of a write.
pub(super) struct Done {
    pub(super) cas: u64,
    /// The index has one item more.
    pub(super) inserted: bool,
    /// A block that's no longer part of the item, to be dropped after unlocking.
    pub(super) garbage: Option<Prefix>,
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

impl Memory {
    /// Gives an item whose version is too old for the base of a new arena a newer one; its CAS stays as it was.
    pub(super) fn renew(&self, wanted: &mut Attributes) {
        let latest = self.latest_version();
        if let Some(version) = wanted.version
            && latest.saturating_sub(version) > VERSIONS_OLD
        {
            wanted.cas = wanted.cas.or(Some(version));
            wanted.version = Some(latest);
        }
    }

    /// Writes an item, in place if it has the same form, else where there's room.
    #[inline]
    pub(super) fn place<'t>(
        &'t self,
        guard: &Guard<'t>,
        found: Option<Found<'t>>,
        call: &mut Call<'_>,
        mut wanted: Attributes,
        source: Source<'_>,
    ) -> Result<Done, Shortage> {
        let length = source.length();
        self.limits
            .check(call.key.bytes.len(), length as u64)
            .map_err(Shortage::Never)?;
        self.renew(&mut wanted);
        let version = wanted.version.unwrap_or_else(|| self.next_version());
        let small = matches!(source, Source::Parts(_) | Source::Joined { .. });
        if small && length <= self.limits.small_max {
            let shape = Shape {
                bits: wanted.options() | wanted.marks,
                key: call.key.bytes.len() as u8,
                tail: length as u16,
            };
            let draft = Draft {
                wanted,
                version,
                shape,
                source,
                large: None,
            };
            return self.write_draft(guard, found, call, draft);
        }
        self.place_large(guard, found, call, (wanted, version), source, length)
    }

    /// Writes an item whose value is in a block.
    #[inline(never)]
    fn place_large<'t>(
        &'t self,
        guard: &Guard<'t>,
        found: Option<Found<'t>>,
        call: &mut Call<'_>,
        (wanted, version): (Attributes, u64),
        source: Source<'_>,
        length: usize,
    ) -> Result<Done, Shortage> {
        let large = self.large(guard, found, call, source, length)?;
        let shape = Shape {
            bits: wanted.options() | wanted.marks | LARGE,
            key: call.key.bytes.len() as u8,
            tail: LARGE_TAIL,
        };
        let draft = Draft {
            wanted,
            version,
            shape,
            source,
            large: Some(large),
        };
        let done = self.write_draft(guard, found, call, draft);
        call.settle();
        done
    }

    #[inline]
    fn write_draft<'t>(
        &'t self,
        guard: &Guard<'t>,
        found: Option<Found<'t>>,
        call: &mut Call<'_>,
        draft: Draft<'_>,
    ) -> Result<Done, Shortage> {
        match found.and_then(|found| Some((found, self.same_form(guard, found, call.now, &draft)?))) {
            Some((found, shape)) => Ok(self.overwrite(guard, found, shape, draft)),
            None => self.relocate(guard, found, call, draft),
        }
    }

    /// The value of a large item, in a block.
    #[inline(never)]
    fn large(
        &self,
        guard: &Guard<'_>,
        found: Option<Found<'_>>,
        call: &mut Call<'_>,
        source: Source<'_>,
        length: usize,
    ) -> Result<Prefix, Shortage> {
        match source {
            Source::Adopt(pinned) => return Ok(pinned.share()),
            Source::Inherit(prefix) => return Ok(prefix.clone()),
            Source::Joined {
                block: Some(old),
                new,
                after: [],
                ..
            } => {
                let found = found.expect("only an item that was found has an old value");
                if let Some(longer) = self.lengthen(guard, found, call, old, new)? {
                    call.supplies().origin = Origin::Lengthened(old.len());
                    return Ok(longer);
                }
            }
            _ => {}
        }
        let supplies = call.supplies();
        let copy = source.copies().filter(|_| supplies.copies_outside());
        let Some(prepared) = supplies
            .prepared
            .take_if(|prepared| prepared.serves(length, copy))
        else {
            let copy = copy.map(|(old, offset)| (Holder::hold(old), offset));
            return Err(Shortage::Block(length, copy));
        };
        let (pinned, copy) = fill(prepared, source, length, copy.is_some());
        Ok(call.made(pinned, copy))
    }

    /// Writes bytes behind a value, in its own block. `None` if the block has no room for them.
    fn lengthen(
        &self,
        guard: &Guard<'_>,
        found: Found<'_>,
        call: &mut Call<'_>,
        old: &Prefix,
        new: &[&[u8]],
    ) -> Result<Option<Prefix>, Shortage> {
        let more = length_of(new);
        match old.room(more) {
            Growth::Pages(0) => {}
            Growth::Pages(bytes) => {
                let reserved = call.supplies().growth.take().filter(|paid| paid.has(bytes));
                let Some(mut paid) = reserved.or_else(|| self.budget.reserve(bytes)) else {
                    return Err(Shortage::Growth(bytes));
                };
                old.grow(bytes, &mut paid);
                // The old item has the larger block from now on, even if this write fails.
                debug_assert!(guard.item(found.location).shape().has(LARGE));
                let arenas = &self.pool.arenas;
                arenas
                    .header(arenas.number(found.location))
                    .exchange_block(0, bytes);
            }
            Growth::Full | Growth::Occupied => return Ok(None),
        }
        moved::add(more);
        Ok(old.append(new))
    }

    /// The shape for writing an item over the old one, if that is possible.
    #[inline]
    fn same_form(&self, guard: &Guard<'_>, found: Found<'_>, now: Now, draft: &Draft<'_>) -> Option<Shape> {
        let old = guard.item(found.location).shape();
        let options = old.bits & OPTIONS;
        let shape = Shape {
            bits: draft.shape.bits | options & (FLAGS | EXPIRY),
            ..draft.shape
        };
        let arenas = &self.pool.arenas;
        let in_place = match draft.source {
            // Its pieces are the bytes that would be overwritten.
            Source::Joined { .. } => draft.large.is_some(),
            Source::Inherit(_) => false,
            Source::Parts(_) | Source::Adopt(_) => true,
        };
        let same = in_place
            && shape.bits & (OPTIONS | LARGE) == old.bits & (OPTIONS | LARGE)
            && shape.stride() == old.stride()
            && draft.version.wrapping_sub(arenas.base(found.location)) <= u64::from(u32::MAX)
            && self.classes.of(draft.wanted.expiry, now)
                == arenas.header(arenas.number(found.location)).queue().class();
        same.then_some(shape)
    }

    #[inline]
    fn overwrite(&self, guard: &Guard<'_>, found: Found<'_>, shape: Shape, draft: Draft<'_>) -> Done {
        let (item, cas) = (guard.item(found.location), draft.cas());
        let arena = self.pool.arenas.header(self.pool.arenas.number(found.location));
        let facts = draft
            .wanted
            .facts(draft.version, self.pool.arenas.base(found.location));
        let garbage = draft.large.as_ref().map(|large| {
            let old = item.take_block();
            arena.exchange_block(old.cost(), large.cost());
            old
        });
        arena.extend_expiry(facts.expiry);
        arena.extend_version(draft.version);
        draft.write(|tail| item.overwrite(shape, &facts, tail));
        Done {
            cas,
            inserted: false,
            garbage,
        }
    }

    /// A slot and space for an item.
    #[inline]
    fn space<'t>(
        &'t self,
        guard: &Guard<'t>,
        found: Option<Found<'t>>,
        call: &mut Call<'_>,
        draft: &Draft<'_>,
    ) -> Result<(SlotRef<'t>, Slot, Allocation<'t>), Shortage> {
        let is_large = draft.large.is_some();
        let Some((slot, held, protected)) = self.slot_for(guard, found, call) else {
            let beside = self.pool.cost(is_large);
            return Err(Shortage::Page { beside });
        };
        let footprint = Footprint {
            stride: draft.shape.stride(),
            expiry: draft.wanted.end(),
            version: draft.version,
            block: draft.large.as_ref().map_or(0, |large| large.cost()),
        };
        let class = self.classes.of(draft.wanted.expiry, call.now);
        let point = self.pool.point(Queue::new(class, is_large, protected));
        let space = self.pool.allocate(point, &footprint);
        space
            .map(|space| (slot, held, space))
            .ok_or(Shortage::Arena(point))
    }

    /// Writes an item where there is room.
    #[inline]
    fn relocate<'t>(
        &'t self,
        guard: &Guard<'t>,
        found: Option<Found<'t>>,
        call: &mut Call<'_>,
        draft: Draft<'_>,
    ) -> Result<Done, Shortage> {
        let (slot, held, fresh) = match self.space(guard, found, call, &draft) {
            Ok(space) => space,
            Err(shortage) => {
                // A block that was given back would pay for the page that the next attempt's block takes again, for ever.
                if let Some(large) = draft.large {
                    call.keep(large);
                }
                return Err(shortage);
            }
        };
        let (cas, inherits) = (draft.cas(), matches!(draft.source, Source::Inherit(_)));
        let facts = draft.wanted.facts(draft.version, fresh.base);
        let shape = draft.shape;
        draft.write(|tail| fresh.item.write(shape, &facts, call.key.bytes, tail));
        slot.set(held.with_location(fresh.location));
        let mut garbage = None;
        match found {
            Some(found) => garbage = self.mark_old_dead(guard, found),
            None => count(&self.counters.mine().items),
        }
        debug_assert!(!inherits || garbage.is_some());
        Ok(Done {
            cas,
            inserted: found.is_none(),
            garbage,
        })
    }

    /// The slot for an item: its own, or a vacant one; with what the slot shall hold, and whether the item was asked for
    /// before. `None` if a page is needed for an overflow bucket.
    fn slot_for<'t>(
        &self,
        guard: &Guard<'t>,
        found: Option<Found<'t>>,
        call: &mut Call<'_>,
    ) -> Option<(SlotRef<'t>, Slot, bool)> {
        if let Some(found) = found {
            let arenas = &self.pool.arenas;
            let queue = arenas.header(arenas.number(found.location)).queue();
            return Some((found.slot, found.slot.load(), queue.protected()));
        }
        let (slot, remembered) = guard.vacant(call.key.hash, &mut call.page)?;
        let frequency = remembered.unwrap_or(0);
        Some((slot, Slot::vacant(call.key.hash, frequency), remembered.is_some()))
    }

    /// Marks an item dead whose slot points elsewhere by now.
    fn mark_old_dead(&self, guard: &Guard<'_>, old: Found<'_>) -> Option<Prefix> {
        let item = guard.item(old.location);
        let block = item.shape().has(LARGE).then(|| item.take_block());
        self.mark_dead(
            old.location,
            &item,
            block.as_ref().map_or(0, |block| block.cost()),
        );
        block
    }
}

/// Writes a value of `length` bytes into the block that was prepared for it.
fn fill(
    prepared: Prepared,
    source: Source<'_>,
    length: usize,
    copied: bool,
) -> (Holder, Option<(Holder, usize)>) {
    let Prepared { mut block, copy } = prepared;
    let (before, parts, after) = source.pieces();
    let mut rest = block.bytes_mut(length);
    let mut bytes_moved = 0;
    let old = if copied {
        source.copies().map(|(old, _)| old.bytes().as_ptr())
    } else {
        None
    };
    for piece in std::iter::once(&before)
        .chain(parts)
        .chain(std::iter::once(&after))
    {
        let (space, behind) = rest.split_at_mut(piece.len());
        // The old value's bytes were copied before, without the lock.
        if old != Some(piece.as_ptr()) {
            space.copy_from_slice(piece);
            bytes_moved += piece.len();
        }
        rest = behind;
    }
    moved::add(bytes_moved);
    (Holder::new(block, length), copy)
}
