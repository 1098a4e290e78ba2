//! Operations on a tiny store, held against a map.
//!
//! The first byte chooses the store, then every operation takes a few bytes. Where nothing may be evicted, store and map must
//! agree in everything but refusals; where items may be evicted, one may be missing, but never wrong.

use std::collections::BTreeMap;

use kv::{
    Answer, Cas, Change, Cursor, Decision, Edit, Engine, Expiry, New, Now, Payload, Pinned, Store,
    StoreError, Value,
};

/// The answer of a store in memory.
fn ready<R>(answer: Result<Answer<R>, StoreError>) -> R {
    let answer = answer.expect("the memory engine can read everything");
    answer.ready().expect("the memory engine answers at once")
}

/// Operations in one run; more find nothing that a fresh run does not find sooner.
const OPERATIONS_MAX: usize = 400;

/// Lengths of values, around the limits where an item changes its form.
const LENGTHS: [usize; 12] = [0, 1, 7, 100, 900, 3071, 3073, 4095, 4097, 9000, 16_000, 30_000];

#[derive(Clone, Debug, PartialEq)]
struct Item {
    value: Vec<u8>,
    flags: u32,
    expiry: Expiry,
}

struct World<'i> {
    input: std::slice::Iter<'i, u8>,
    store: Store,
    evicts: bool,
    items: BTreeMap<u8, Item>,
    /// Values that a reader holds, with what they were when it began.
    held: Vec<(Pinned, Vec<u8>)>,
    now: Now,
    /// Fills new values, so that no two are alike.
    seed: u8,
}

/// Runs operations on a store of some KiB and on a map.
pub(crate) fn run(input: &[u8]) {
    let mut input = input.iter();
    let first = input.next().copied().unwrap_or(0);
    let (evicts, capacity) = (first & 1 == 0, 64 + 32 * u64::from(first >> 6));
    let uri = format!("memory:?capacity={capacity}KiB&item_size_max=32KiB&evict={evicts}");
    let mut world = World {
        input,
        store: Store::open(&uri).expect("the name is right").0,
        evicts,
        items: BTreeMap::new(),
        held: Vec::new(),
        now: Now(1_000_000),
        seed: 0,
    };
    for _ in 0..OPERATIONS_MAX {
        if world.step().is_none() {
            break;
        }
        let figures = world.store.statistics();
        assert!(figures.used <= figures.capacity, "{figures:?}");
    }
    for key in 0..=u8::MAX {
        world.agree(key);
    }
    world.scan();
    for (pinned, value) in &world.held {
        assert!(pinned.as_ref() == &value[..], "a held value changed");
    }
}

impl World<'_> {
    fn byte(&mut self) -> Option<u8> {
        self.input.next().copied()
    }

    fn step(&mut self) -> Option<()> {
        let (operation, key) = (self.byte()?, self.byte()?);
        self.age();
        match operation % 16 {
            0..4 => self.put(key)?,
            4 | 5 => self.extend(key, true)?,
            6 => self.extend(key, false)?,
            7 => self.rewrite(key)?,
            8 => self.remove(key),
            9 => self.touch(key)?,
            10 => self.hold(key),
            11 => drop(self.held.pop()),
            12 => self.now.0 += u32::from(key % 8),
            13 => self.upload(key)?,
            14 if key % 16 == 0 => self.flush(),
            14 => {
                self.store.tick(self.now, usize::from(key));
            }
            _ => self.resize(key),
        }
        self.agree(key);
        Some(())
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let choice = self.byte()?;
        let length = LENGTHS[usize::from(choice) % LENGTHS.len()];
        self.seed = self.seed.wrapping_add(1);
        Some(
            (0..length)
                .map(|at| self.seed.wrapping_mul(31).wrapping_add(at as u8))
                .collect(),
        )
    }

    fn expiry(&mut self) -> Option<Expiry> {
        Some(match self.byte()? {
            choice @ 0..64 => Expiry::At(self.now.0 + u32::from(choice)),
            _ => Expiry::Never,
        })
    }

    /// Drops from the map what has expired.
    fn age(&mut self) {
        self.items.retain(|_, item| !item.expiry.passed(self.now));
    }

    /// Compares one item; notes its eviction.
    fn agree(&mut self, key: u8) {
        self.age();
        let seen = self.store.peek(&self.store.key(&[key]), self.now, |entry| {
            entry.map(|entry| Item {
                value: entry.bytes().to_vec(),
                flags: entry.flags(),
                expiry: entry.expiry(),
            })
        });
        let seen = ready(seen);
        if self.evicts && seen.is_none() {
            self.items.remove(&key);
        }
        assert!(seen.as_ref() == self.items.get(&key), "key {key}: {seen:?}");
    }

    /// Carries out a decision; `None` if the store refused it. Tells whether there was an item.
    fn update(&mut self, key: u8, decision: Decision<'_>) -> Option<bool> {
        // Before a change the map must know what is there.
        self.agree(key);
        let before = self.items.clone();
        let done = self.store.update(&self.store.key(&[key]), self.now, |entry| {
            (decision, entry.is_some())
        });
        match done {
            Ok(done) => {
                let there = ready(Ok(done)).answer;
                // The item itself may have gone while room was made.
                if self.evicts && !there {
                    self.items.remove(&key);
                }
                assert_eq!(there, self.items.contains_key(&key));
                Some(there)
            }
            Err(StoreError::OutOfMemory | StoreError::TooLarge { .. }) => {
                self.items = before;
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn put(&mut self, key: u8) -> Option<()> {
        let (value, expiry) = (self.value()?, self.expiry()?);
        let flags = u32::from(key % 3);
        let parts = [&value[..]];
        let new = New {
            flags,
            expiry,
            ..New::new(&parts)
        };
        if self.update(key, Decision::Put(new)).is_some() {
            self.items.insert(key, Item { value, flags, expiry });
        }
        Some(())
    }

    fn extend(&mut self, key: u8, behind: bool) -> Option<()> {
        let more = self.value()?;
        let parts = [&more[..]];
        let edit = Edit {
            value: Payload::Parts(&parts),
            cas: None,
        };
        let decision = if behind {
            Decision::Append(edit)
        } else {
            Decision::Prepend(edit)
        };
        if self.update(key, decision) == Some(true) {
            let item = self.items.get_mut(&key).expect("it was there");
            let at = if behind { item.value.len() } else { 0 };
            item.value.splice(at..at, more);
        }
        Some(())
    }

    fn rewrite(&mut self, key: u8) -> Option<()> {
        let value = self.value()?;
        let parts = [&value[..]];
        let edit = Edit {
            value: Payload::Parts(&parts),
            cas: Some(u64::from(key)),
        };
        if self.update(key, Decision::Rewrite(edit)) == Some(true) {
            self.items.get_mut(&key).expect("it was there").value = value;
        }
        Some(())
    }

    fn remove(&mut self, key: u8) {
        let removed = self.update(key, Decision::Remove);
        assert!(removed.is_some(), "removing needs no room");
        self.items.remove(&key);
    }

    fn touch(&mut self, key: u8) -> Option<()> {
        let expiry = self.expiry()?;
        let change = Change {
            expiry: Some(expiry),
            accessed: true,
            cas: if key.is_multiple_of(2) {
                Cas::Next
            } else {
                Cas::Exactly(7)
            },
            ..Change::default()
        };
        if self.update(key, Decision::Change(change)) == Some(true) {
            self.items.get_mut(&key).expect("it was there").expiry = expiry;
        }
        Some(())
    }

    /// Reads an item and keeps its value, as a slow reply does.
    fn hold(&mut self, key: u8) {
        let held = self
            .store
            .read(&self.store.key(&[key]), self.now, |entry| match entry?.value() {
                Value::Shared(pinned) => Some(pinned),
                _ => None,
            });
        if let Some(pinned) = ready(held) {
            let value = pinned.as_ref().to_vec();
            self.held.push((pinned, value));
        }
    }

    /// Stores a value that was received apart, or one that a reader holds.
    fn upload(&mut self, key: u8) -> Option<()> {
        let value = self.value()?;
        let received = match self.store.reserve(value.len() as u64, self.now) {
            Ok(mut extent) => {
                extent.as_mut_slice().copy_from_slice(&value);
                (extent.freeze(), value)
            }
            Err(_) => self.held.pop()?,
        };
        let new = New {
            value: Payload::Pinned(&received.0),
            ..New::new(&[])
        };
        if self.update(key, Decision::Put(new)).is_some() {
            let item = Item {
                value: received.1.clone(),
                flags: 0,
                expiry: Expiry::Never,
            };
            self.items.insert(key, item);
        }
        self.held.push(received);
        Some(())
    }

    fn flush(&mut self) {
        self.store.flush(None, self.now).expect("a cache can be flushed");
        self.items.clear();
    }

    /// More room where nothing may go, any where items may.
    fn resize(&mut self, key: u8) {
        let capacity = self.store.statistics().capacity;
        let wanted = match self.evicts && key.is_multiple_of(2) {
            true => capacity - capacity / 8,
            false => (capacity + 8192).min(1 << 20),
        };
        if self.store.resize(wanted).is_ok() {
            // Held values cannot be freed, so the capacity may not be reached until their readers have gone.
            let held = self.held.len();
            for _ in 0..1000 {
                if !self.store.tick(self.now, 64) {
                    break;
                }
            }
            let figures = self.store.statistics();
            if held > 0 && figures.used > figures.capacity {
                self.held.clear();
                for _ in 0..1000 {
                    if !self.store.tick(self.now, 64) {
                        break;
                    }
                }
            }
        }
    }

    fn scan(&mut self) {
        let mut seen = BTreeMap::new();
        let mut cursor = Some(Cursor::default());
        while let Some(from) = cursor {
            cursor = ready(self.store.scan(&from, 7, self.now, |entry| {
                seen.insert(entry.key()[0], entry.bytes().to_vec());
            }));
        }
        let expected: BTreeMap<u8, Vec<u8>> = self
            .items
            .iter()
            .map(|(key, item)| (*key, item.value.clone()))
            .collect();
        assert!(seen == expected, "a scan saw something else than there is");
    }
}
