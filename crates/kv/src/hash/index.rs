//! The index: where in the log the newest record of each key is.
//!
//! ```text
//!   shard = hash & 1023                      slot of 24 bytes
//!   ┌───────┬───────┬─ … ─┬──────────┐      63     48 47                 16 15        8 7      0
//!   │ lock  │ lock  │     │ lock     │     ┌─────────┬─────────────────────┬───────────┬────────┐
//!   │ slots │ slots │     │ slots    │     │ map  16 │ position of key  32 │ key length│ marks  │
//!   └───────┴───────┴─ … ─┴──────────┘     ├─────────┴─────┬───────────────┴───────────┴────────┤
//!     open addressing, linear probing      │ tag        32 │ second of last access           32 │
//!                                          ├───────────────┴────────────────────────────────────┤
//!                                          │ fingerprint                                     64 │
//!                                          └────────────────────────────────────────────────────┘
//! ```
//!
//! The memory engine's buckets are not used here. Their slots of 8 bytes have 12 bits of the hash, so splitting a bucket reads the
//! keys of all its items, which here may be on the device. A slot of 24 bytes has enough of the hash to find its new
//! position without them, and to make the comparison of a wrong key rare.
//!
//! # Fingerprints
//! A read compares its key with the one in the record, which it reads anyway. A blind write, and filling the index at start, must
//! not read old records, which may be on the device. They take a slot for that of their key if all of its hashes are equal: the
//! shard (10 bits) and the tag (32) of one hash, and the fingerprint (64), which is another hash with another seed. Two of 10^9
//! keys share these 106 bits with a probability of 10^-14. The seeds are secret, so no client can choose such keys.
//!
//! **Invariant:** a slot points to the key of a record that is wholly in its log.
//! **Invariant:** slots are followed only under their shard's lock.

use std::sync::atomic::Ordering::Relaxed;

use parking_lot::{Mutex, MutexGuard};

use super::maps::{Map, Maps};
use crate::Marks;
use crate::memory::prefetch;

/// Shards of an index: as many threads can use it at once, and growing one is done in less than a millisecond.
pub(super) const SHARDS: usize = 1024;
const SLOTS_MIN: usize = 8;
/// Cache lines of a record that are fetched ahead: key, value and headers of a small item.
const RECORD_LINES: usize = 8;

/// Where a record's key begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Location {
    /// The number of the map of its segment; never zero.
    pub(super) map: u16,
    pub(super) position: u32,
}

/// Marks of an item, which a restart clears.
pub(super) const FETCHED: u8 = 1;
pub(super) const WON: u8 = 2;

/// One item of the index. A slot of zeros is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Slot {
    place: u64,
    tag: u32,
    pub(super) last_access: u32,
    fingerprint: u64,
}

impl Slot {
    pub(super) fn new(
        hash: u64,
        fingerprint: u64,
        location: Location,
        key_length: usize,
        last_access: u32,
    ) -> Slot {
        Slot {
            place: u64::from(location.map) << 48
                | u64::from(location.position) << 16
                | (key_length as u64) << 8,
            tag: tag_of(hash),
            last_access,
            fingerprint,
        }
    }

    /// The words that a snapshot keeps: place, tag, second of last access and fingerprint.
    #[inline]
    pub(super) fn fields(self) -> (u64, u32, u32, u64) {
        (self.place, self.tag, self.last_access, self.fingerprint)
    }

    /// A slot of such words.
    #[inline]
    pub(super) fn of_fields(place: u64, tag: u32, last_access: u32, fingerprint: u64) -> Slot {
        Slot {
            place,
            tag,
            last_access,
            fingerprint,
        }
    }

    #[inline]
    pub(super) fn fingerprint(self) -> u64 {
        self.fingerprint
    }

    #[inline]
    fn is_empty(self) -> bool {
        self.place == 0
    }

    #[inline]
    pub(super) fn location(self) -> Location {
        Location {
            map: (self.place >> 48) as u16,
            position: (self.place >> 16) as u32,
        }
    }

    /// True if the slot is that of a key with these hashes, of which the tag has been compared.
    #[inline]
    pub(super) fn has_fingerprint(self, fingerprint: u64) -> bool {
        self.fingerprint == fingerprint
    }

    #[inline]
    pub(super) fn key_length(self) -> usize {
        (self.place >> 8) as u8 as usize
    }

    #[inline]
    pub(super) fn marks(self) -> u8 {
        self.place as u8
    }

    /// The marks as an entry has them.
    #[inline]
    pub(super) fn entry_marks(self, stale: bool) -> Marks {
        let marks = self.marks();
        Marks {
            fetched: marks & FETCHED != 0,
            stale,
            won: marks & WON != 0,
        }
    }

    #[inline]
    pub(super) fn set_marks(&mut self, marks: u8) {
        self.place = self.place & !0xff | u64::from(marks);
    }

    pub(super) fn set_location(&mut self, location: Location) {
        let kept = self.place & 0xffff;
        self.place = u64::from(location.map) << 48 | u64::from(location.position) << 16 | kept;
    }
}

/// The part of a hash that an index keeps: the slot's and the number of its shard.
#[inline]
pub(super) fn kept_of(hash: u64) -> u64 {
    u64::from(tag_of(hash)) << 32 | shard_of(hash) as u64
}

#[inline]
fn tag_of(hash: u64) -> u32 {
    (hash >> 32) as u32
}

#[inline]
fn shard_of(hash: u64) -> usize {
    hash as usize % SHARDS
}

/// The index of a store.
pub(super) struct Index {
    shards: Box<[Padded]>,
}

#[repr(align(64))]
#[derive(Default)]
struct Padded(Mutex<Shard>);

#[derive(Debug, Default)]
pub(super) struct Shard {
    /// A power of two, or nothing.
    slots: Vec<Slot>,
    items: usize,
}

/// A locked shard, and a hash that belongs to it.
pub(super) struct Guard<'i> {
    shard: MutexGuard<'i, Shard>,
    maps: &'i Maps,
    hash: u64,
}

/// A slot of a locked shard that holds the item looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    at: usize,
    pub(super) slot: Slot,
}

impl Index {
    pub(super) fn new() -> Index {
        Index {
            shards: (0..SHARDS).map(|_| Padded::default()).collect(),
        }
    }

    /// Locks the shard of a hash.
    #[inline]
    pub(super) fn lock<'i>(&'i self, hash: u64, maps: &'i Maps) -> Guard<'i> {
        Guard {
            shard: self.shards[shard_of(hash)].0.lock(),
            maps,
            hash,
        }
    }

    /// Starts loading the shard of a hash.
    #[inline]
    pub(super) fn prefetch(&self, hash: u64) {
        prefetch(std::ptr::from_ref(&self.shards[shard_of(hash)]).cast());
    }

    /// Starts loading the slot that a hash probably has, unless its shard is locked.
    #[inline]
    pub(super) fn prefetch_slot(&self, hash: u64) {
        if let Some(shard) = self.shards[shard_of(hash)].0.try_lock()
            && let Some(mask) = shard.slots.len().checked_sub(1)
        {
            prefetch(std::ptr::from_ref(&shard.slots[tag_of(hash) as usize & mask]).cast());
        }
    }

    /// Starts loading the record that a hash probably has, unless its shard is locked.
    #[inline]
    pub(super) fn prefetch_item(&self, hash: u64, maps: &Maps) {
        let Some(shard) = self.shards[shard_of(hash)].0.try_lock() else {
            return;
        };
        let Some(mask) = shard.slots.len().checked_sub(1) else {
            return;
        };
        let tag = tag_of(hash);
        let mut at = tag as usize & mask;
        while !shard.slots[at].is_empty() {
            let slot = shard.slots[at];
            if slot.tag == tag {
                let location = slot.location();
                if let Some(map) = maps.map(&shard, location.map) {
                    let record = map.address(u64::from(location.position));
                    (0..RECORD_LINES).for_each(|line| prefetch(record.wrapping_add(line * 64)));
                }
                return;
            }
            at = (at + 1) & mask;
        }
    }

    /// Locks everything.
    pub(super) fn lock_all(&self) -> All<'_> {
        All {
            shards: self.shards.iter().map(|shard| shard.0.lock()).collect(),
        }
    }

    /// Waits until every lock that is held now has been released.
    pub(super) fn pass(&self) {
        self.shards.iter().for_each(|shard| drop(shard.0.lock()));
    }

    /// Locks a shard by its number.
    pub(super) fn lock_shard<'i>(&'i self, number: usize, maps: &'i Maps) -> Guard<'i> {
        Guard {
            shard: self.shards[number].0.lock(),
            maps,
            hash: number as u64,
        }
    }

    /// Replaces the content of a shard, while the index is being filled.
    pub(super) fn fill(&self, number: usize, slots: &[Slot]) {
        let mut shard = self.shards[number].0.lock();
        *shard = Shard::with_room(slots.len());
        slots.iter().for_each(|slot| shard.put(*slot));
        shard.items = slots.len();
    }

    /// Copies the slots of a shard, in the order in which [`fill`](Index::fill) is fast.
    pub(super) fn copy(&self, number: usize, out: &mut Vec<Slot>) {
        let shard = self.shards[number].0.lock();
        out.extend_from_slice(&shard.slots);
        drop(shard);
        out.retain(|slot| !slot.is_empty());
    }

    /// Bytes of all slots, and the number of items.
    pub(super) fn size(&self) -> (u64, u64) {
        let mut size = (0, 0);
        for shard in &self.shards {
            let shard = shard.0.lock();
            size.0 += (shard.slots.capacity() * size_of::<Slot>()) as u64;
            size.1 += shard.items as u64;
        }
        size
    }
}

/// All shards, locked.
pub(super) struct All<'i> {
    shards: Vec<MutexGuard<'i, Shard>>,
}

impl All<'_> {
    /// Removes every item, and returns their slots to be freed after unlocking, with the number of items.
    pub(super) fn clear(&mut self) -> (Cleared, u64) {
        let mut items = 0;
        let slots = self.shards.iter_mut().map(|shard| {
            items += shard.items as u64;
            shard.items = 0;
            std::mem::take(&mut shard.slots)
        });
        (Cleared(slots.collect()), items)
    }
}

/// The slots of all shards, which are no longer in the index.
pub(super) struct Cleared(Vec<Vec<Slot>>);

impl Cleared {
    /// What the index kept of the items' hashes.
    pub(super) fn hashes(&self) -> impl Iterator<Item = u64> + '_ {
        let shards = self.0.iter().zip(0_u64..);
        shards.flat_map(|(slots, shard)| {
            let used = slots.iter().filter(|slot| !slot.is_empty());
            used.map(move |slot| u64::from(slot.tag) << 32 | shard)
        })
    }
}

impl Guard<'_> {
    /// The slots that may be that of a key of this length, in the order in which they are probed.
    #[inline]
    pub(super) fn candidates(&self, key_length: usize) -> Candidates<'_> {
        let slots = &self.shard.slots[..];
        let tag = tag_of(self.hash);
        Candidates {
            slots,
            at: tag as usize & slots.len().wrapping_sub(1),
            tag,
            key_length,
        }
    }

    /// Finds the slot of a key by its hashes, without its record.
    #[inline]
    pub(super) fn find_blindly(&self, fingerprint: u64) -> Option<Found> {
        let mask = self.shard.slots.len().checked_sub(1)?;
        let tag = tag_of(self.hash);
        let mut at = tag as usize & mask;
        loop {
            let slot = *self.shard.slots.get(at)?;
            if slot.is_empty() {
                return None;
            }
            if slot.tag == tag && slot.fingerprint == fingerprint {
                return Some(Found { at, slot });
            }
            at = (at + 1) & mask;
        }
    }

    /// Finds the slot that points to a location.
    pub(super) fn find_location(&self, location: Location) -> Option<Found> {
        let mask = self.shard.slots.len().checked_sub(1)?;
        let mut at = tag_of(self.hash) as usize & mask;
        loop {
            let slot = *self.shard.slots.get(at)?;
            if slot.is_empty() {
                return None;
            }
            if slot.location() == location {
                return Some(Found { at, slot });
            }
            at = (at + 1) & mask;
        }
    }

    /// Lets a key have this slot, in the place of the one it had.
    #[inline]
    pub(super) fn place(&mut self, old: Option<Found>, slot: Slot) {
        match old {
            Some(old) => {
                self.lost(old);
                self.shard.slots[old.at] = slot;
            }
            None => self.insert(slot),
        }
        self.gained(slot.location());
    }

    /// Changes the slot of an item, which stays the same item.
    #[inline]
    pub(super) fn set(&mut self, found: Found, slot: Slot) {
        debug_assert_eq!(found.slot.tag, slot.tag);
        self.shard.slots[found.at] = slot;
    }

    /// Lets a slot point to where its record is now.
    pub(super) fn relocate(&mut self, found: Found, location: Location) {
        self.lost(found);
        self.shard.slots[found.at].set_location(location);
        self.gained(location);
    }

    /// The map that an item's record lies in.
    #[inline]
    pub(super) fn map(&self, location: Location) -> Option<&Map> {
        self.maps.map(&self.shard, location.map)
    }

    /// Counts the record of an item as dead.
    fn lost(&self, found: Found) {
        if let Some(map) = self.map(found.slot.location()) {
            map.live.fetch_sub(1, Relaxed);
        }
    }

    /// Counts a record as that of an item.
    fn gained(&self, location: Location) {
        if let Some(map) = self.map(location) {
            map.live.fetch_add(1, Relaxed);
        }
    }

    /// Adds an item that is not there.
    fn insert(&mut self, slot: Slot) {
        // At most three quarters are in use, so probing ends soon and always.
        if (self.shard.items + 1) * 4 > self.shard.slots.len() * 3 {
            self.shard.grow();
        }
        self.shard.put(slot);
        self.shard.items += 1;
    }

    /// Removes an item.
    pub(super) fn remove(&mut self, found: Found) {
        self.lost(found);
        self.shard.remove(found.at);
    }

    /// The items of the shard. The guard's hash means nothing here.
    pub(super) fn items(&self) -> impl Iterator<Item = Found> + '_ {
        let slots = self.shard.slots.iter().enumerate();
        slots
            .filter(|(_, slot)| !slot.is_empty())
            .map(|(at, slot)| Found { at, slot: *slot })
    }
}

/// The slots that may be a key's.
pub(super) struct Candidates<'g> {
    slots: &'g [Slot],
    at: usize,
    tag: u32,
    key_length: usize,
}

impl Iterator for Candidates<'_> {
    type Item = Found;

    #[inline]
    fn next(&mut self) -> Option<Found> {
        loop {
            let (at, slot) = (self.at, *self.slots.get(self.at)?);
            if slot.is_empty() {
                return None;
            }
            self.at = (at + 1) & (self.slots.len() - 1);
            if slot.tag == self.tag && slot.key_length() == self.key_length {
                return Some(Found { at, slot });
            }
        }
    }
}

impl Shard {
    /// An empty shard that takes some items without growing.
    fn with_room(items: usize) -> Shard {
        let mut length = SLOTS_MIN;
        while items * 4 > length * 3 {
            length *= 2;
        }
        Shard {
            slots: vec![Slot::default(); if items == 0 { 0 } else { length }],
            items: 0,
        }
    }

    fn grow(&mut self) {
        let length = (self.slots.len() * 2).max(SLOTS_MIN);
        let old = std::mem::replace(&mut self.slots, vec![Slot::default(); length]);
        for slot in old.into_iter().filter(|slot| !slot.is_empty()) {
            self.put(slot);
        }
    }

    fn put(&mut self, slot: Slot) {
        let mask = self.slots.len() - 1;
        let mut at = slot.tag as usize & mask;
        while !self.slots[at].is_empty() {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }

    /// Empties a slot and moves those behind it that would no longer be found.
    fn remove(&mut self, mut hole: usize) {
        let mask = self.slots.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let slot = self.slots[at];
            if slot.is_empty() {
                break;
            }
            // The distance that the slot has from its home must reach back to the hole.
            let home = slot.tag as usize & mask;
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                self.slots[hole] = slot;
                hole = at;
            }
        }
        self.slots[hole] = Slot::default();
        self.items -= 1;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeMap;

    use super::*;

    /// Many items with few homes: every hole has to be closed.
    #[test]
    fn a_shard_finds_what_was_put_and_not_removed() {
        let mut shard = Shard::default();
        let mut model = BTreeMap::new();
        let mut state = 7_u64;
        for step in 0..3_000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = (state >> 33) as u32 % 300;
            let location = Location {
                map: 1,
                position: number,
            };
            // Only 16 tags, spread over the top bits, too.
            let hash = u64::from(number % 16) << 32 | u64::from(number % 2) << 63;
            let at = shard
                .slots
                .iter()
                .position(|slot| !slot.is_empty() && slot.location() == location);
            if let Some(at) = at {
                assert_eq!(model.remove(&number), Some(shard.slots[at].last_access));
                shard.remove(at);
            } else {
                if (shard.items + 1) * 4 > shard.slots.len() * 3 {
                    shard.grow();
                }
                shard.put(Slot::new(hash, 0, location, 3, step));
                shard.items += 1;
                model.insert(number, step);
            }
            let mask = shard.slots.len() - 1;
            for (number, step) in &model {
                let tag = tag_of(u64::from(number % 16) << 32 | u64::from(number % 2) << 63);
                let mut at = tag as usize & mask;
                while shard.slots[at].location().position != *number || shard.slots[at].is_empty() {
                    assert!(!shard.slots[at].is_empty(), "{number} is not found");
                    at = (at + 1) & mask;
                }
                assert_eq!(shard.slots[at].last_access, *step);
            }
            assert_eq!(shard.items, model.len());
        }
    }

    #[test]
    fn fields_of_a_slot_do_not_touch_each_other() {
        let location = Location {
            map: u16::MAX,
            position: u32::MAX,
        };
        let mut slot = Slot::new(u64::MAX, u64::MAX, location, 255, 9);
        assert_eq!(
            (slot.location(), slot.key_length(), slot.marks()),
            (location, 255, 0)
        );
        slot.set_marks(255);
        assert_eq!(
            (slot.location(), slot.key_length(), slot.marks()),
            (location, 255, 255)
        );
    }
}
