//! A hierarchical timer wheel: insert, cancel and expire in constant time, no allocation but for growth.
//!
//! ```text
//!   level 0   64 slots of 1 tick          an entry stands on the lowest level at which its tick and the present one
//!   level 1   64 slots of 64 ticks        differ; when the present reaches its slot, it moves down or, on level 0,
//!   …                                     expires
//!   level 5   64 slots of 2³⁰ ticks
//! ```
//!
//! Time is a number of ticks and an argument. Deadlines are lazy: an entry that is often postponed only notes the time of
//! its last activity, and its entry, when it fires too early, is put back for the rest.
//!
//! **Invariant:** an occupied bit is set exactly when its slot's list is not empty.

const SLOT_BITS: u32 = 6;
const SLOTS: usize = 1 << SLOT_BITS;
const LEVELS: usize = 6;
/// Deadlines farther away fire at this distance, after a year of milliseconds: half a round of the top level, so that no
/// entry can stand in the slot of the present.
const DISTANCE_MAX: u64 = 1 << (SLOT_BITS * LEVELS as u32 - 1);
const NONE: u32 = u32::MAX;

/// Names an entry; stale when the entry has fired or was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    index: u32,
    generation: u32,
}

struct Entry<T> {
    when: u64,
    next: u32,
    previous: u32,
    generation: u32,
    level: u8,
    slot: u8,
    value: Option<T>,
}

pub(crate) struct Wheel<T> {
    now: u64,
    heads: [[u32; SLOTS]; LEVELS],
    occupied: [u64; LEVELS],
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
    live: usize,
}

impl Key {
    /// Names no entry.
    pub(crate) const NONE: Key = Key {
        index: NONE,
        generation: 0,
    };
}

impl Default for Key {
    fn default() -> Key {
        Key::NONE
    }
}

impl<T> Wheel<T> {
    pub(crate) fn new() -> Wheel<T> {
        Wheel {
            now: 0,
            heads: [[NONE; SLOTS]; LEVELS],
            occupied: [0; LEVELS],
            entries: Vec::new(),
            free: Vec::new(),
            live: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Adds an entry that fires when the time is at least `when`, at the next [`expire`](Wheel::expire).
    pub(crate) fn insert(&mut self, when: u64, value: T) -> Key {
        // An entry that is due already fires at the next tick: a slot of the present one would come round only much later.
        let when = when.clamp(self.now + 1, self.now + DISTANCE_MAX);
        let index = self.free.pop().unwrap_or_else(|| {
            let (next, previous) = (NONE, NONE);
            self.entries.push(Entry {
                when,
                next,
                previous,
                generation: 0,
                level: 0,
                slot: 0,
                value: None,
            });
            (self.entries.len() - 1) as u32
        });
        let entry = &mut self.entries[index as usize];
        entry.when = when;
        entry.value = Some(value);
        let key = Key {
            index,
            generation: entry.generation,
        };
        self.link(index);
        self.live += 1;
        key
    }

    /// Takes an entry out before it fires.
    pub(crate) fn cancel(&mut self, key: Key) -> Option<T> {
        if !self.contains(key) {
            return None;
        }
        self.unlink(key.index);
        self.release(key.index)
    }

    pub(crate) fn contains(&self, key: Key) -> bool {
        self.entries
            .get(key.index as usize)
            .is_some_and(|entry| entry.generation == key.generation && entry.value.is_some())
    }

    /// When an entry fires that has not fired yet.
    pub(crate) fn when(&self, key: Key) -> Option<u64> {
        self.contains(key).then(|| self.entries[key.index as usize].when)
    }

    /// Moves to `now` and appends what is due to `due`, in the order of deadlines.
    pub(crate) fn expire(&mut self, now: u64, due: &mut Vec<T>) {
        while let Some((level, slot, start)) = self.first() {
            if start > now {
                break;
            }
            self.now = self.now.max(start);
            self.empty(level, slot, due);
        }
        self.now = self.now.max(now);
    }

    /// The tick before which nothing fires; entries on higher levels may fire later than it says.
    pub(crate) fn next(&self) -> Option<u64> {
        self.first().map(|(_, _, start)| start)
    }

    /// The first occupied slot after the present, and the tick at which it begins.
    fn first(&self) -> Option<(usize, usize, u64)> {
        let level = self.occupied.iter().position(|&bits| bits != 0)?;
        let shift = SLOT_BITS * level as u32;
        let current = (self.now >> shift) as u32 % SLOTS as u32;
        let ahead = self.occupied[level].rotate_right(current).trailing_zeros();
        let slot = (current + ahead) as usize % SLOTS;
        // Higher digits of the entry's tick are those of the present, or its level would be higher; only on the top
        // level, where there are no higher digits, may the slot lie a round ahead.
        let round = (self.now >> shift >> SLOT_BITS) << SLOT_BITS << shift;
        let start = round + ((slot as u64) << shift);
        let wraps = (slot as u32) < current;
        Some((
            level,
            slot,
            if wraps {
                start + ((SLOTS as u64) << shift)
            } else {
                start
            },
        ))
    }

    /// Fires the entries of a slot, or moves them down to where they belong now.
    fn empty(&mut self, level: usize, slot: usize, due: &mut Vec<T>) {
        let mut index = std::mem::replace(&mut self.heads[level][slot], NONE);
        self.occupied[level] &= !(1 << slot);
        while index != NONE {
            let entry = &self.entries[index as usize];
            let next = entry.next;
            if entry.when <= self.now {
                due.extend(self.release(index));
            } else {
                self.link(index);
            }
            index = next;
        }
    }

    fn link(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        let differing = (entry.when ^ self.now) | (SLOTS as u64 - 1);
        let level = (differing.ilog2() / SLOT_BITS).min(LEVELS as u32 - 1);
        let slot = (entry.when >> (SLOT_BITS * level)) as usize % SLOTS;
        (entry.level, entry.slot) = (level as u8, slot as u8);
        let level = level as usize;
        entry.previous = NONE;
        entry.next = self.heads[level][slot];
        let next = entry.next;
        if next != NONE {
            self.entries[next as usize].previous = index;
        }
        self.heads[level][slot] = index;
        self.occupied[level] |= 1 << slot;
    }

    fn unlink(&mut self, index: u32) {
        let Entry {
            next,
            previous,
            level,
            slot,
            ..
        } = self.entries[index as usize];
        let (level, slot) = (usize::from(level), usize::from(slot));
        if next != NONE {
            self.entries[next as usize].previous = previous;
        }
        if previous != NONE {
            self.entries[previous as usize].next = next;
        } else {
            self.heads[level][slot] = next;
            if next == NONE {
                self.occupied[level] &= !(1 << slot);
            }
        }
    }

    fn release(&mut self, index: u32) -> Option<T> {
        let entry = &mut self.entries[index as usize];
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(index);
        self.live -= 1;
        entry.value.take()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::collections::BTreeMap;

    fn expired(wheel: &mut Wheel<u64>, now: u64) -> Vec<u64> {
        let mut due = Vec::new();
        wheel.expire(now, &mut due);
        due
    }

    #[test]
    fn fires_neither_early_nor_late_at_every_level() {
        for distance in [
            1,
            2,
            63,
            64,
            65,
            4095,
            4096,
            262_144,
            16_777_216,
            1 << 30,
            1 << 35,
        ] {
            for start in [0, 1, 63, 64, 1_000_003, (1 << 36) - 1, (1 << 40) + 77] {
                let mut wheel = Wheel::new();
                assert!(expired(&mut wheel, start).is_empty());
                wheel.insert(start + distance, distance);
                assert!(wheel.next().unwrap() <= start + distance);
                assert!(
                    expired(&mut wheel, start + distance - 1).is_empty(),
                    "{start} + {distance}: early"
                );
                assert_eq!(
                    expired(&mut wheel, start + distance),
                    [distance],
                    "{start} + {distance}: late"
                );
                assert!(wheel.is_empty() && wheel.next().is_none());
            }
        }
    }

    #[test]
    fn what_is_due_already_fires_at_the_next_tick() {
        let mut wheel = Wheel::new();
        expired(&mut wheel, 100);
        wheel.insert(7, 7);
        assert_eq!(expired(&mut wheel, 101), [7]);
    }

    #[test]
    fn a_cancelled_entry_never_fires_and_its_key_is_stale() {
        let mut wheel = Wheel::new();
        let key = wheel.insert(10, 1);
        let other = wheel.insert(10, 2);
        assert_eq!(wheel.cancel(key), Some(1));
        assert_eq!(wheel.cancel(key), None);
        let reused = wheel.insert(20, 3);
        assert!(!wheel.contains(key) && wheel.contains(other) && wheel.contains(reused));
        assert_eq!(expired(&mut wheel, 30), [2, 3]);
    }

    /// Against a sorted map, with a generator of numbers that needs no crate.
    #[test]
    fn agrees_with_a_sorted_map() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = move |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let (mut wheel, mut model, mut keys, mut now) = (Wheel::new(), BTreeMap::new(), Vec::new(), 0);
        for id in 0..50_000_u64 {
            match random(4) {
                0 | 1 => {
                    let scale = 1 << random(24);
                    let when = now + 1 + random(scale);
                    keys.push((id, when, wheel.insert(when, id)));
                    model.insert((when, id), ());
                }
                2 if !keys.is_empty() => {
                    let (id, when, key) = keys.swap_remove(random(keys.len() as u64) as usize);
                    assert_eq!(wheel.cancel(key).is_some(), model.remove(&(when, id)).is_some());
                }
                _ => {
                    let scale = 1 << random(20);
                    now += random(scale);
                    let later = model.split_off(&(now + 1, 0));
                    let mut due: Vec<_> = std::mem::replace(&mut model, later)
                        .into_keys()
                        .map(|(_, id)| id)
                        .collect();
                    let mut fired = expired(&mut wheel, now);
                    due.sort_unstable();
                    fired.sort_unstable();
                    assert_eq!(fired, due);
                }
            }
        }
        assert!(!wheel.is_empty());
    }
}
