//! Read-modify-write: from a decision to a wish for an item.
//!
//! **Invariant:** nothing of the old item changes before the new one has all the memory it needs, so a write that fails
//! leaves the store as it was.

use super::chain::Guard;
use super::draft::{Attributes, Call, Source};
use super::item::{CAS, EXPIRY, FETCHED, Item, LARGE, OPTIONS, STALE, Shape, WON};
use super::place::{Done, Shortage};
use super::{Found, Memory, count};
use crate::decision::Cas;
use crate::heap::Holder;
use crate::region::PAGE;
use crate::{Change, Decision, Edit, Entry, Expiry, Key, Need, New, Now, Payload, Pinned, StoreError};

/// Attempts of one write. Alone, it needs four at most: each that fails is given a block, a page, pages to grow by or an
/// arena, and only of the arena can other threads take its share. Among threads that take every arena away before this one
/// comes back, it ends all the same.
const ATTEMPTS_MAX: u32 = 256;

impl Memory {
    #[inline]
    pub(super) fn write<'v, R>(
        &self,
        key: &Key<'_>,
        now: Now,
        need: Need,
        mut f: impl FnMut(Option<&Entry<'_>>) -> (Decision<'v>, R),
    ) -> Result<(R, u64), StoreError> {
        let mut call = Call::new(key, now);
        for _ in 0..ATTEMPTS_MAX {
            self.pass_time(now);
            let guard = self.table.lock(key.hash);
            let (found, _) = self.find(&guard, key, now);
            let (decision, answer) = match found {
                Some(found) if need != Need::Nothing => {
                    f(Some(&self.entry(found.location, guard.item(found.location))))
                }
                _ => f(None),
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
                Err(shortage) => {
                    drop(guard);
                    self.provide(shortage, &mut call)?;
                }
            }
        }
        count(&self.counters.mine().out_of_memory);
        Err(StoreError::OutOfMemory)
    }

    #[cold]
    fn provide(&self, shortage: Shortage, call: &mut Call<'_>) -> Result<(), StoreError> {
        let provided = match shortage {
            Shortage::Arena(point) => self.open_arena(point, call.now),
            Shortage::Page { beside } => self
                .reserve_room(PAGE, beside, call.now)
                .map(|page| call.page = Some(page)),
            Shortage::Growth(bytes) => self
                .reserve_room(bytes, PAGE, call.now)
                .map(|pages| call.supplies().growth = Some(pages)),
            Shortage::Block(length, copy) => {
                let kept = call.supplies().prepared.take().map(|prepared| prepared.block);
                match kept.filter(|block| block.fits(length)) {
                    Some(block) => Ok(block),
                    None => self.make_block(length, call.now),
                }
                .map(|block| call.prepare(block, length, copy))
            }
            Shortage::Never(error) => Err(error),
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
    ) -> Result<Done, Shortage> {
        match (decision, found) {
            (Decision::Put(new), _) => self.put(guard, found, call, &new),
            (_, None) => Ok(Done::nothing(0)),
            (Decision::Keep, Some(found)) => Ok(Done::nothing(self.cas(guard, found))),
            (Decision::Remove, Some(found)) => Ok(Done {
                garbage: self.remove(guard, found, false),
                ..Done::nothing(0)
            }),
            (Decision::Change(change), Some(found)) => self.change(guard, found, call, &change),
            (Decision::Rewrite(edit), Some(found)) => self.edit(guard, found, call, &edit, None),
            (Decision::Append(edit), Some(found)) => self.edit(guard, found, call, &edit, Some(true)),
            (Decision::Prepend(edit), Some(found)) => self.edit(guard, found, call, &edit, Some(false)),
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
    ) -> Result<Done, Shortage> {
        let marks = if new.stale { STALE } else { 0 } | if new.won { WON } else { 0 };
        let wanted = Attributes {
            flags: new.flags,
            expiry: new.expiry,
            cas: new.cas,
            marks,
            last_access: call.now.0,
            version: None,
        };
        let done = match new.value {
            Payload::Parts(parts) => self.place(guard, found, call, wanted, Source::Parts(parts)),
            Payload::Pinned(pinned) => match self.own_block(pinned) {
                Some(block) => self.place(guard, found, call, wanted, Source::Adopt(block)),
                None => self.place(guard, found, call, wanted, Source::Parts(&[pinned.as_ref()])),
            },
        }?;
        if let Some(found) = found {
            self.note_write(guard, found);
        }
        count(&self.counters.mine().total_items);
        Ok(done)
    }

    /// The block of a large value that was received into memory of this store.
    fn own_block<'p>(&self, pinned: &'p Pinned) -> Option<&'p Holder> {
        let block = pinned.holder()?;
        (block.len() > self.limits.small_max && block.block().belongs_to(&self.heap)).then_some(block)
    }

    /// Being written anew makes an item worth more, as being read does.
    #[inline]
    fn note_write(&self, guard: &Guard<'_>, found: Found<'_>) {
        let slot = found.slot.load();
        if slot.frequency() < super::FREQUENCY_EXACT || guard.once_in(slot.frequency()) {
            found
                .slot
                .set(slot.with_frequency(slot.frequency().saturating_add(1)));
        }
    }

    /// Everything beside key and value, as it is now.
    pub(super) fn current(&self, found: Found<'_>, item: &Item<'_>) -> Attributes {
        Attributes {
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

    /// Writes new bytes behind the value, before it, or instead of it.
    fn edit(
        &self,
        guard: &Guard<'_>,
        found: Found<'_>,
        call: &mut Call<'_>,
        edit: &Edit<'_>,
        behind: Option<bool>,
    ) -> Result<Done, Shortage> {
        let item = guard.item(found.location);
        let wanted = Attributes {
            cas: edit.cas,
            version: None,
            ..self.current(found, &item)
        };
        let block = item.shape().has(LARGE).then(|| item.block());
        let pinned;
        let new = match edit.value {
            Payload::Parts(parts) => parts,
            Payload::Pinned(value) => {
                pinned = [value.as_ref()];
                &pinned
            }
        };
        let source = match behind {
            None => Source::Parts(new),
            Some(behind) => {
                let old = block.as_ref().map_or_else(|| item.tail(), |block| block.bytes());
                let (before, after): (&[u8], &[u8]) = if behind { (old, &[]) } else { (&[], old) };
                Source::Joined {
                    before,
                    new,
                    after,
                    block: block.as_deref(),
                }
            }
        };
        self.place(guard, Some(found), call, wanted, source)
    }

    fn change(
        &self,
        guard: &Guard<'_>,
        found: Found<'_>,
        call: &mut Call<'_>,
        change: &Change,
    ) -> Result<Done, Shortage> {
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
            && let Some((slot, location)) = guard.find(call.key.hash, call.key.bytes)
        {
            self.access(guard, Found { slot, location }, call.now);
        }
        Ok(done)
    }

    /// Changes an item without moving it, if it has the fields; answers its CAS.
    fn adjust(&self, found: Found<'_>, now: Now, item: &Item<'_>, wanted: &Attributes) -> Option<u64> {
        let shape = item.shape();
        let (options, needed) = (shape.bits & OPTIONS, wanted.options());
        let arena = self.pool.arenas.header(self.pool.arenas.number(found.location));
        let (base, version) = (
            self.pool.arenas.base(found.location),
            wanted.version.unwrap_or_else(|| self.next_version()),
        );
        let possible = needed & !options == 0
            && options & CAS == needed & CAS
            && self.classes.of(wanted.expiry, now) == arena.queue().class()
            && version.wrapping_sub(base) <= u64::from(u32::MAX);
        if !possible {
            return None;
        }
        let facts = wanted.facts(version, base);
        if shape.has(EXPIRY) {
            item.set_expiry(facts.expiry);
            arena.extend_expiry(facts.expiry);
        }
        if shape.has(CAS) {
            item.set_explicit_cas(facts.cas);
        }
        item.set_delta(facts.delta);
        arena.extend_version(version);
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
        wanted: Attributes,
    ) -> Result<Done, Shortage> {
        if item.shape().has(LARGE) {
            self.place(guard, Some(found), call, wanted, Source::Inherit(&item.block()))
        } else {
            let old = Source::Joined {
                before: item.tail(),
                new: &[],
                after: &[],
                block: None,
            };
            self.place(guard, Some(found), call, wanted, old)
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
