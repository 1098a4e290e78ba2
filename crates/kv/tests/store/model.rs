//! Random operations on a store and on a map must look the same.

use std::collections::BTreeMap;

use crate::common::{Random, apply, open, put, ready};
use kv::{Cas, Change, Cursor, Decision, Edit, Engine, Expiry, New, Now, Payload, Store};

/// A value whose failed comparison doesn't fill the screen.
#[derive(Clone, PartialEq)]
struct Bytes(Vec<u8>);

impl std::fmt::Debug for Bytes {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            out,
            "{} bytes, {:?}…",
            self.0.len(),
            &self.0[..self.0.len().min(8)]
        )
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Item {
    value: Bytes,
    flags: u32,
    expiry: Expiry,
    cas: u64,
    last_access: u32,
    fetched: bool,
    stale: bool,
    won: bool,
}

struct Model {
    items: BTreeMap<Vec<u8>, Item>,
    flush_at: Option<u32>,
}

struct World {
    store: Store,
    model: Model,
    random: Random,
    now: Now,
    /// True if items may vanish.
    evicting: bool,
}

impl World {
    fn new(uri: &str, seed: u64, evicting: bool) -> Self {
        World {
            store: open(uri),
            model: Model {
                items: BTreeMap::new(),
                flush_at: None,
            },
            random: Random::new(seed),
            now: Now(1_000_000),
            evicting,
        }
    }

    fn run(&mut self, steps: usize) {
        for step in 0..steps {
            self.age();
            let key = self.some_key();
            match self.random.below(100) {
                0..30 => self.put(&key),
                30..50 => self.look(&key, true),
                50..55 => self.look(&key, false),
                55..62 => self.extend(&key),
                62..68 => self.rewrite(&key),
                68..78 => self.change(&key),
                78..86 => self.remove(&key),
                86..90 => self.upload(&key),
                90..97 => self.now.0 += self.random.below(2) as u32,
                97 if self.random.below(12) == 0 => self.flush(),
                97 if self.random.below(12) == 0 => self.resize(),
                97 => {}
                98 => assert!(!self.store.tick(self.now, 1 << 20)),
                _ => self.scan(),
            }
            if step % 1000 == 0 {
                self.figures();
            }
        }
        for key in self.model.items.keys().cloned().collect::<Vec<_>>() {
            self.look(&key, true);
        }
        self.scan();
        self.figures();
    }

    /// Drops expired items from the model.
    fn age(&mut self) {
        if self.model.flush_at.is_some_and(|at| at <= self.now.0) {
            self.model.flush_at = None;
            self.model.items.clear();
        }
        self.model.items.retain(|_, item| !item.expiry.passed(self.now));
    }

    fn some_key(&mut self) -> Vec<u8> {
        let number = self.random.below(if self.evicting { 2000 } else { 400 });
        let length = 1 + (number * 7 % 255) as usize;
        let mut key = format!("{number:04}-").into_bytes();
        key.resize(length.max(5), b'k');
        key
    }

    fn some_value(&mut self) -> Vec<u8> {
        let length = match self.random.below(20) {
            0 => 0,
            1 => self.random.below(100_000),
            2 => self.random.below(8000),
            3..8 => 40,
            _ => self.random.below(300),
        };
        self.random.bytes(length as usize)
    }

    fn some_expiry(&mut self) -> Expiry {
        match self.random.below(6) {
            0 => Expiry::At(self.now.0 + 1 + self.random.below(3) as u32),
            1 => Expiry::At(self.now.0 + self.random.below(100_000) as u32),
            2 => Expiry::At(self.now.0.saturating_sub(self.random.below(3) as u32)),
            _ => Expiry::Never,
        }
    }

    fn some_cas(&mut self) -> Option<u64> {
        (self.random.below(8) == 0).then(|| self.random.next())
    }

    /// Compares what the store has with what it should have; takes note if it was evicted. Call before a change.
    fn agree(&mut self, key: &[u8]) {
        let seen = ready(
            self.store
                .peek(&self.store.key(key), self.now, |entry| entry.map(seen)),
        );
        if self.evicting && seen.is_none() {
            self.model.items.remove(key);
        }
        assert_eq!(
            seen.as_ref(),
            self.model.items.get(key),
            "key {}",
            String::from_utf8_lossy(key)
        );
    }

    fn put(&mut self, key: &[u8]) {
        self.agree(key);
        let (value, expiry, cas) = (self.some_value(), self.some_expiry(), self.some_cas());
        let flags = if self.random.below(2) == 0 {
            0
        } else {
            self.random.next() as u32
        };
        let (stale, won) = (self.random.below(9) == 0, self.random.below(9) == 0);
        let middle = self.random.below(value.len() as u64 + 1) as usize;
        let parts = [&value[..middle], &value[middle..]];
        let new = New {
            value: Payload::Parts(&parts),
            flags,
            expiry,
            cas,
            stale,
            won,
        };
        let after = put(&self.store, key, new, self.now).expect("there's room");
        assert!(cas.is_none_or(|cas| cas == after));
        let value = Bytes(value);
        let item = Item {
            value,
            flags,
            expiry,
            cas: after,
            last_access: self.now.0,
            fetched: false,
            stale,
            won,
        };
        self.model.items.insert(key.to_vec(), item);
        self.age();
        self.agree(key);
    }

    fn upload(&mut self, key: &[u8]) {
        self.agree(key);
        let value = self.some_value();
        let mut extent = self
            .store
            .reserve(value.len() as u64, self.now)
            .expect("there's room");
        extent.as_mut_slice().copy_from_slice(&value);
        let pinned = extent.freeze();
        let new = New {
            value: Payload::Pinned(&pinned),
            ..New::new(&[])
        };
        let cas = put(&self.store, key, new, self.now).expect("there's room");
        let item = Item {
            value: Bytes(value),
            flags: 0,
            expiry: Expiry::Never,
            cas,
            last_access: self.now.0,
            fetched: false,
            stale: false,
            won: false,
        };
        self.model.items.insert(key.to_vec(), item);
        self.agree(key);
    }

    fn look(&mut self, key: &[u8], access: bool) {
        self.agree(key);
        let hashed = self.store.key(key);
        self.store.prefetch(&hashed);
        self.store.prefetch_item(&hashed);
        let seen = match access {
            true => ready(self.store.read(&hashed, self.now, |entry| entry.map(seen))),
            false => ready(self.store.peek(&hashed, self.now, |entry| entry.map(seen))),
        };
        assert_eq!(seen.as_ref(), self.model.items.get(key));
        if access && let Some(item) = self.model.items.get_mut(key) {
            item.fetched = true;
            item.last_access = self.now.0;
        }
    }

    /// Does something to an item, which may vanish while room is made for it.
    fn apply(&mut self, key: &[u8], decision: Decision<'_>) -> u64 {
        let (there, after) = apply(&self.store, key, decision, self.now).expect("there's room");
        if self.evicting && !there {
            self.model.items.remove(key);
        }
        assert_eq!(there, self.model.items.contains_key(key));
        after
    }

    fn extend(&mut self, key: &[u8]) {
        self.agree(key);
        let (more, cas, front) = (self.some_value(), self.some_cas(), self.random.below(2) == 0);
        if self
            .model
            .items
            .get(key)
            .is_some_and(|item| item.value.0.len() + more.len() > 500_000)
        {
            return;
        }
        let edit = Edit {
            value: Payload::Parts(&[&more]),
            cas,
        };
        let decision = if front {
            Decision::Prepend(edit)
        } else {
            Decision::Append(edit)
        };
        let after = self.apply(key, decision);
        if let Some(item) = self.model.items.get_mut(key) {
            let at = if front { 0 } else { item.value.0.len() };
            item.value.0.splice(at..at, more);
            assert!(cas.is_none_or(|cas| cas == after) && after != item.cas);
            item.cas = after;
        }
        self.agree(key);
    }

    fn rewrite(&mut self, key: &[u8]) {
        self.agree(key);
        let (value, cas) = (self.some_value(), self.some_cas());
        let edit = Edit {
            value: Payload::Parts(&[&value]),
            cas,
        };
        let after = self.apply(key, Decision::Rewrite(edit));
        if let Some(item) = self.model.items.get_mut(key) {
            (item.value, item.cas) = (Bytes(value), after);
        }
        self.agree(key);
    }

    fn change(&mut self, key: &[u8]) {
        self.agree(key);
        let mut maybe = || [None, Some(false), Some(true)][self.random.below(3) as usize];
        let (stale, won) = (maybe(), maybe());
        let expiry = if self.random.below(2) == 0 {
            Some(self.some_expiry())
        } else {
            None
        };
        let accessed = self.random.below(2) == 0;
        let cas = match self.random.below(4) {
            0 => Cas::Next,
            1 => Cas::Exactly(self.random.next()),
            _ => Cas::Same,
        };
        let change = Change {
            expiry,
            accessed,
            stale,
            won,
            cas,
        };
        let after = self.apply(key, Decision::Change(change));
        if let Some(item) = self.model.items.get_mut(key) {
            item.expiry = expiry.unwrap_or(item.expiry);
            item.stale = stale.unwrap_or(item.stale);
            item.won = won.unwrap_or(item.won);
            item.fetched |= accessed;
            item.last_access = if accessed { self.now.0 } else { item.last_access };
            match cas {
                Cas::Same => assert_eq!(after, item.cas),
                Cas::Next => assert_ne!(after, item.cas),
                Cas::Exactly(cas) => assert_eq!(after, cas),
            }
            item.cas = after;
        }
        self.age();
        self.agree(key);
    }

    fn remove(&mut self, key: &[u8]) {
        self.agree(key);
        let (there, _) = apply(&self.store, key, Decision::Remove, self.now).expect("removing needs no room");
        assert_eq!(there, self.model.items.remove(key).is_some());
        self.agree(key);
    }

    fn flush(&mut self) {
        if self.random.below(2) == 0 {
            self.store.flush(None, self.now).expect("a cache can be flushed");
            self.model.flush_at = None;
            self.model.items.clear();
        } else {
            let at = self.now.0 + 1 + self.random.below(4) as u32;
            self.store
                .flush(Some(at), self.now)
                .expect("a cache can be flushed");
            self.model.flush_at = Some(at);
        }
    }

    /// More room always, less only where items may vanish.
    fn resize(&mut self) {
        let capacity = self.store.statistics().capacity;
        let wanted = match self.evicting && self.random.below(2) == 0 {
            true => capacity - capacity / 4,
            false => capacity + capacity / 8,
        };
        // Too small for the largest item is refused, and changes nothing.
        let outcome = self.store.resize(wanted);
        assert!(outcome.is_ok() || wanted < capacity, "{outcome:?}");
        assert!(!self.store.tick(self.now, 1 << 20));
    }

    fn scan(&mut self) {
        let (mut seen_items, mut cursor) = (BTreeMap::new(), Some(Cursor::default()));
        while let Some(from) = cursor {
            cursor = ready(self.store.scan(&from, 7, self.now, |entry| {
                assert_eq!(seen_items.insert(entry.key().to_vec(), seen(entry)), None);
            }));
        }
        if self.evicting {
            self.model.items.retain(|key, _| seen_items.contains_key(key));
        }
        assert!(
            seen_items == self.model.items,
            "a scan saw something else than there is"
        );
    }

    fn figures(&mut self) {
        let figures = self.store.statistics();
        assert!(figures.used <= figures.capacity);
        assert!(figures.items >= self.model.items.len() as u64 || self.evicting);
        if !self.evicting {
            assert_eq!(figures.evictions, 0);
        }
    }
}

fn seen(entry: &kv::Entry<'_>) -> Item {
    assert_eq!(entry.len(), entry.bytes().len() as u64);
    Item {
        value: Bytes(entry.bytes().to_vec()),
        flags: entry.flags(),
        expiry: entry.expiry(),
        cas: entry.cas(),
        last_access: entry.last_access(),
        fetched: entry.fetched(),
        stale: entry.stale(),
        won: entry.won(),
    }
}

#[test]
fn a_roomy_store_is_a_map() {
    for seed in 0..4 {
        World::new("memory:?capacity=256MiB&evict=false", seed, false).run(30_000);
    }
}

#[test]
fn a_tight_store_that_must_not_evict_compacts() {
    for seed in 10..13 {
        World::new("memory:?capacity=24MiB&evict=false", seed, false).run(30_000);
    }
}

#[test]
fn an_evicting_store_is_a_map_that_forgets() {
    for (seed, capacity) in [(20, "2MiB"), (21, "1MiB"), (22, "1536KiB")] {
        let mut world = World::new(&format!("memory:?capacity={capacity}"), seed, true);
        world.run(30_000);
        let figures = world.store.statistics();
        assert!(figures.evictions > 0, "{figures:?}");
    }
}
