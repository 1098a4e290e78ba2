//! A locked chain of buckets: finding, adding and removing slots.
//!
//! **Invariant:** a guard is the only way to an item's changeable bytes; it lives while its chain's lock is held.

#![allow(unsafe_code)]

use std::cell::Cell;

use super::bucket::{Bucket, SLOTS, Word};
use super::item::Item;
use super::slot::{Location, Slot};
use super::table::{Scratch, Table, prefetch};
use crate::budget::Reservation;
use crate::sync::{AtomicU64, Ordering};

/// A locked chain. Dropping it unlocks.
pub(super) struct Guard<'t> {
    table: &'t Table,
    head: &'t Bucket,
    word: Cell<Word>,
}

/// A slot of a locked chain.
#[derive(Clone, Copy)]
pub(super) struct SlotRef<'t> {
    slot: &'t AtomicU64,
}

impl SlotRef<'_> {
    #[inline]
    pub(super) fn load(&self) -> Slot {
        Slot(self.slot.load(Ordering::Relaxed))
    }

    #[inline]
    pub(super) fn set(&self, slot: Slot) {
        self.slot.store(slot.0, Ordering::Relaxed);
    }
}

impl Drop for Guard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.head.unlock(self.word.get());
    }
}

impl<'t> Guard<'t> {
    /// Locks the chain that begins with this bucket.
    #[inline]
    pub(super) fn new(table: &'t Table, head: &'t Bucket) -> Self {
        Guard {
            table,
            head,
            word: Cell::new(head.lock()),
        }
    }

    /// The chain's buckets, head first.
    #[inline]
    fn chain(&self) -> impl Iterator<Item = &'t Bucket> + use<'t> {
        let table = self.table;
        let mut next = self.word.get().next();
        std::iter::once(self.head).chain(std::iter::from_fn(move || {
            let number = next;
            (number != 0).then(|| {
                let bucket = table.spill(number);
                next = bucket.next();
                bucket
            })
        }))
    }

    /// All slots of the chain.
    #[inline]
    pub(super) fn slots(&self) -> impl Iterator<Item = SlotRef<'t>> + use<'t> {
        self.chain()
            .flat_map(|bucket| bucket.slots().iter().map(|slot| SlotRef { slot }))
    }

    /// The item at a location that a slot of this chain held under this lock.
    #[inline]
    pub(super) fn item(&self, location: Location) -> Item<'_> {
        // SAFETY: slots hold locations of complete items of this store, and an item stays in place as long as its slot
        // points to it, which can't change while this guard holds the chain's lock.
        unsafe { Item::new(self.table.items.add(location.offset())) }
    }

    /// Finds a key's item.
    #[inline]
    pub(super) fn find(&self, hash: u64, key: &[u8]) -> Option<(SlotRef<'t>, Location)> {
        let found = self.find_in(self.head, hash, key);
        if found.is_some() || self.word.get().next() == 0 {
            return found;
        }
        self.chain()
            .skip(1)
            .find_map(|bucket| self.find_in(bucket, hash, key))
    }

    #[inline]
    fn find_in(&self, bucket: &'t Bucket, hash: u64, key: &[u8]) -> Option<(SlotRef<'t>, Location)> {
        let tag = Slot::tag_of(hash);
        for slot in bucket.slots() {
            let held = Slot(slot.load(Ordering::Relaxed));
            if held.tag() == tag
                && let Some(location) = held.location()
                && self.item(location).key() == key
            {
                return Some((SlotRef { slot }, location));
            }
        }
        None
    }

    /// Finds the slot that points to a location.
    pub(super) fn find_location(&self, location: Location) -> Option<SlotRef<'t>> {
        self.slots().find(|slot| slot.load().location() == Some(location))
    }

    /// A slot for a new item, and the worth that an evicted item of the same tag had; `None` if an overflow bucket is needed
    /// and there's no memory for one. The slot is as free as before until it's set.
    pub(super) fn vacant(
        &self,
        hash: u64,
        page: &mut Option<Reservation>,
    ) -> Option<(SlotRef<'t>, Option<u8>)> {
        let tag = Slot::tag_of(hash);
        let (mut empty, mut forgettable, mut remembered) = (None, None::<SlotRef<'t>>, None);
        for slot in self.slots() {
            let held = slot.load();
            if held.is_live() {
                continue;
            }
            if held == Slot::EMPTY {
                empty = empty.or(Some(slot));
            } else if held.tag() == tag {
                remembered = Some(slot);
                break;
            } else if forgettable.is_none_or(|other| other.load().frequency() > held.frequency()) {
                forgettable = Some(slot);
            }
        }
        let frequency = remembered.map(|slot| slot.load().frequency());
        remembered
            .or(empty)
            .or(forgettable)
            .or_else(|| self.extend(page))
            .map(|slot| (slot, frequency))
    }

    /// Adds an overflow bucket behind the head.
    fn extend(&self, page: &mut Option<Reservation>) -> Option<SlotRef<'t>> {
        let number = self.table.take_overflow(page)?;
        let bucket = self.table.spill(number);
        let mut word = self.word.get();
        bucket.set_next(word.next());
        word.set_next(number);
        self.word.set(word);
        Some(SlotRef {
            slot: &bucket.slots()[0],
        })
    }

    /// Removes an item's slot; if `remember`, its frequency stays until the slot is needed.
    pub(super) fn vacate(&self, slot: SlotRef<'t>, remember: bool) {
        let left = if remember {
            slot.load().ghost()
        } else {
            Slot::EMPTY
        };
        slot.set(left);
        if self.word.get().next() != 0 {
            self.shorten(slot);
        }
    }

    /// Fills a hole from the first overflow bucket, and frees that when nothing is left in it.
    #[cold]
    fn shorten(&self, hole: SlotRef<'t>) {
        let mut word = self.word.get();
        let number = word.next();
        let bucket = self.table.spill(number);
        let within = bucket.slots().iter().any(|slot| std::ptr::eq(slot, hole.slot));
        if !within
            && let Some(slot) = bucket
                .slots()
                .iter()
                .find(|slot| Slot(slot.load(Ordering::Relaxed)).is_live())
        {
            hole.slot
                .store(slot.swap(Slot::EMPTY.0, Ordering::Relaxed), Ordering::Relaxed);
        }
        if !bucket.has_items() {
            word.set_next(bucket.next());
            self.word.set(word);
            self.table.give_overflow(number);
        }
    }

    /// Something that is true about once in `n` calls.
    #[inline]
    pub(super) fn once_in(&self, n: u8) -> bool {
        self.word.get().once_in(n)
    }

    /// Moves the items that `goes` tells to an empty bucket that is not published yet. Ghosts are forgotten.
    pub(super) fn split_into(
        &self,
        child: &Bucket,
        scratch: &mut Scratch,
        goes: impl Fn(u64) -> bool,
        rehash: impl Fn(&[u8]) -> u64,
    ) {
        let Scratch { slots, spare } = scratch;
        slots.clear();
        spare.clear();
        slots.extend(self.slots().map(|slot| slot.load()).filter(|slot| slot.is_live()));
        for location in slots.iter().filter_map(|slot| slot.location()) {
            prefetch(self.table.items.as_ptr().wrapping_add(location.offset()));
        }
        let mut number = self.word.get().next();
        while number != 0 {
            spare.push(number);
            number = self.table.spill(number).next();
        }
        self.chain().for_each(Bucket::clear);
        let (mut stay, mut go) = (Fill::new(self.head), Fill::new(child));
        for &slot in slots.iter() {
            let Some(location) = slot.location() else { continue };
            let fill = if goes(rehash(self.item(location).key())) {
                &mut go
            } else {
                &mut stay
            };
            fill.push(slot, || {
                // Seven slots a bucket: two chains never need more overflow buckets than their parent had.
                let number = spare
                    .pop()
                    .expect("two halves need no more overflow buckets than the whole");
                (number, self.table.spill(number))
            });
        }
        let mut word = self.word.get();
        word.set_next(stay.first);
        self.word.set(word);
        let mut word = child.lock();
        word.set_next(go.first);
        child.unlock(word);
        spare
            .drain(..)
            .for_each(|number| self.table.give_overflow(number));
    }
}

impl Guard<'_> {
    /// Takes over the items of another chain, which is empty afterwards. Ghosts are forgotten. False, and nothing has changed,
    /// if there's no memory for the overflow bucket that it needs.
    pub(super) fn absorb(&self, other: &Guard<'_>, scratch: &mut Scratch) -> bool {
        let Scratch { slots, spare } = scratch;
        slots.clear();
        spare.clear();
        slots.extend(
            self.slots()
                .chain(other.slots())
                .map(|slot| slot.load())
                .filter(|slot| slot.is_live()),
        );
        for guard in [self, other] {
            let mut number = guard.word.get().next();
            while number != 0 {
                spare.push(number);
                number = self.table.spill(number).next();
            }
        }
        // Two chains together may need one overflow bucket more than they have: the other's head is lost.
        if slots.len() > SLOTS * (1 + spare.len()) {
            match self.table.take_overflow(&mut None) {
                Some(number) => spare.push(number),
                None => return false,
            }
        }
        for guard in [self, other] {
            guard.chain().for_each(Bucket::clear);
        }
        let mut fill = Fill::new(self.head);
        for &slot in slots.iter() {
            fill.push(slot, || {
                let number = spare
                    .pop()
                    .expect("both chains' overflow buckets and one more have room for their items");
                (number, self.table.spill(number))
            });
        }
        for (guard, next) in [(self, fill.first), (other, 0)] {
            let mut word = guard.word.get();
            word.set_next(next);
            guard.word.set(word);
        }
        spare
            .drain(..)
            .for_each(|number| self.table.give_overflow(number));
        true
    }

    /// Exchanges overflow buckets numbered from `bound` on for lower ones, as long as there are some.
    pub(super) fn lower(&self, bound: u32) {
        let mut word = self.word.get();
        let (mut before, mut number) = (None::<&Bucket>, word.next());
        while number != 0 {
            let bucket = self.table.spill(number);
            let lower = (number >= bound)
                .then(|| self.table.take_overflow_below(bound))
                .flatten();
            let stays = lower.map_or(bucket, |lower| self.table.spill(lower));
            let next = bucket.next();
            if let Some(lower) = lower {
                stays.copy(bucket);
                match before {
                    Some(before) => before.set_next(lower),
                    None => word.set_next(lower),
                }
                self.table.give_overflow(number);
            }
            (before, number) = (Some(stays), next);
        }
        self.word.set(word);
    }
}

/// A chain that is being filled.
struct Fill<'t> {
    bucket: &'t Bucket,
    filled: usize,
    first: u32,
}

impl<'t> Fill<'t> {
    fn new(head: &'t Bucket) -> Self {
        Fill {
            bucket: head,
            filled: 0,
            first: 0,
        }
    }

    fn push(&mut self, slot: Slot, more: impl FnOnce() -> (u32, &'t Bucket)) {
        if self.filled == SLOTS {
            let (number, bucket) = more();
            bucket.set_next(self.first);
            (self.bucket, self.filled, self.first) = (bucket, 0, number);
        }
        self.bucket.slots()[self.filled].store(slot.0, Ordering::Relaxed);
        self.filled += 1;
    }
}
