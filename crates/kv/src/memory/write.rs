//! Read-modify-write: from a decision to a wish for an item.
//!
//! **Invariant:** nothing of the old item changes before the new one has all the memory it needs, so a write that fails
//! leaves the store as it was.

use super::chain::Guard;
use super::item::{CAS, EXPIRY, FETCHED, Item, LARGE, OPTIONS, STALE, Shape, WON};
use super::place::{Call, Done, Lack, Source, Wanted};
use super::{Found, Memory, count};
use crate::decision::Cas;
use crate::{Change, Decision, Edit, Entry, Expiry, Key, New, Now, Payload, Pinned, StoreError};

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
            self.pass_time(now);
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
}

fn set_mark(marks: &mut u8, mark: u8, wanted: Option<bool>) {
    match wanted {
        Some(true) => *marks |= mark,
        Some(false) => *marks &= !mark,
        None => {}
    }
}
