//! The engine against a map: random calls, with merges, evictions from the cache and restarts between them.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use super::tests::{NOW, small, waiting};
use super::*;
use crate::decision::Cas;
use crate::{Change, Edit, Expiry, New, Payload, Pinned, Value};

/// An item of the model.
#[derive(Clone, Debug, PartialEq)]
struct Item {
    value: Vec<u8>,
    flags: u32,
    expiry: Expiry,
    cas: u64,
    stale: bool,
}

struct World {
    storage: Arc<dyn Storage>,
    settings: Settings,
    /// `None` while it is opened again.
    tree: Option<Tree>,
    items: BTreeMap<Vec<u8>, Item>,
    flush_at: Option<u32>,
    now: Now,
    state: u64,
}

impl World {
    fn tree(&self) -> &Tree {
        self.tree.as_ref().unwrap()
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % bound
    }

    fn key(&mut self) -> Vec<u8> {
        format!("key-{}", self.below(300)).into_bytes()
    }

    fn value(&mut self) -> Vec<u8> {
        let length = match self.below(20) {
            0 => self.below(40_000),
            _ => self.below(300),
        };
        let byte = self.below(256) as u8;
        (0..length).map(|at| byte.wrapping_add((at % 7) as u8)).collect()
    }

    fn expiry(&mut self) -> Expiry {
        match self.below(4) {
            0 => Expiry::At(self.now.0 + self.below(20) as u32),
            _ => Expiry::Never,
        }
    }

    fn age(&mut self) {
        let now = self.now;
        if self.flush_at.is_some_and(|at| at <= now.0) {
            self.flush_at = None;
            self.items.clear();
        }
        self.items.retain(|_, item| !item.expiry.passed(now));
    }

    fn step(&mut self) {
        let key = self.key();
        match self.below(48) {
            0..14 => self.put(&key),
            14..18 => {
                let removed = self.update(&key, Need::Facts, Decision::Remove).0;
                assert_eq!(removed, self.items.remove(&key).is_some());
            }
            18..23 => self.edit(&key),
            23..27 => self.change(&key),
            27..29 => {
                self.now.0 += self.below(4) as u32;
                self.tree().tick(self.now, 100);
            }
            29 if self.below(10) == 0 => self.flush(),
            30 if self.below(3) == 0 => self.reopen(),
            31 => merge::merge(&self.tree().shared, true).unwrap(),
            32 => merge::merge(&self.tree().shared, false).unwrap(),
            33 if self.below(4) == 0 => drop(self.tree().cache.flush(None, self.now).unwrap()),
            34 if self.below(4) == 0 => self.scan(),
            _ => self.check(&key),
        }
        self.age();
    }

    fn update(&self, key: &[u8], need: Need, decision: Decision<'_>) -> (bool, u64) {
        let tree = self.tree();
        let stored = waiting(tree, |warm| {
            let access = Access {
                now: self.now,
                need,
                warm: Some(warm),
            };
            tree.update(&tree.key(key), access, |entry| {
                assert!(entry.is_none() || need != Need::Nothing);
                (decision, entry.is_some())
            })
        });
        let stored = stored.unwrap();
        (stored.answer, stored.cas)
    }

    fn put(&mut self, key: &[u8]) {
        let (value, expiry, flags) = (self.value(), self.expiry(), self.below(3) as u32);
        let stale = self.below(5) == 0;
        let need = [Need::Nothing, Need::Value][self.below(2) as usize];
        let middle = value.len() / 3;
        let (parts, pinned) = ([&value[..middle], &value[middle..]], Pinned::from(value.clone()));
        let payload = match self.below(2) {
            0 => Payload::Parts(&parts),
            _ => Payload::Pinned(&pinned),
        };
        let new = New {
            value: payload,
            flags,
            expiry,
            stale,
            ..New::new(&[])
        };
        let cas = self.update(key, need, Decision::Put(new)).1;
        let item = Item {
            value,
            flags,
            expiry,
            cas,
            stale,
        };
        self.items.insert(key.to_vec(), item);
    }

    fn edit(&mut self, key: &[u8]) {
        let new = self.value();
        let parts = [&new[..]];
        let edit = Edit {
            value: Payload::Parts(&parts),
            cas: None,
        };
        let kind = self.below(3);
        let decision = [
            Decision::Append(edit),
            Decision::Prepend(edit),
            Decision::Rewrite(edit),
        ][kind as usize];
        let (there, cas) = self.update(key, Need::Facts, decision);
        let item = self.items.get_mut(key);
        assert_eq!(there, item.is_some());
        let Some(item) = item else { return };
        item.cas = cas;
        item.value = match kind {
            0 => [&item.value[..], &new].concat(),
            1 => [&new[..], &item.value].concat(),
            _ => new,
        };
    }

    fn change(&mut self, key: &[u8]) {
        let change = Change {
            expiry: (self.below(2) == 0).then(|| self.expiry()),
            stale: (self.below(2) == 0).then(|| self.below(2) == 0),
            accessed: self.below(2) == 0,
            cas: [Cas::Same, Cas::Next, Cas::Exactly(5)][self.below(3) as usize],
            won: (self.below(4) == 0).then(|| self.below(2) == 0),
        };
        let (there, cas) = self.update(key, Need::Facts, Decision::Change(change));
        let item = self.items.get_mut(key);
        assert_eq!(there, item.is_some());
        let Some(item) = item else { return };
        if change.cas == Cas::Same {
            assert_eq!(item.cas, cas);
        }
        item.cas = cas;
        item.expiry = change.expiry.unwrap_or(item.expiry);
        item.stale = change.stale.unwrap_or(item.stale);
    }

    fn flush(&mut self) {
        let at = (self.below(2) == 0).then(|| self.now.0 + self.below(30) as u32);
        let _ = self.tree().flush(at, self.now).unwrap();
        match at.filter(|at| *at > self.now.0) {
            Some(at) => self.flush_at = Some(at),
            None => {
                self.items.clear();
                self.flush_at = None;
            }
        }
    }

    /// Ends the store in one of three ways, and opens it again with another compression.
    fn reopen(&mut self) {
        match self.below(3) {
            0 => self.tree().close().unwrap(),
            1 => {
                let shared = &self.tree().shared;
                shared.durability.round(&shared.journal).unwrap();
            }
            _ => {}
        }
        self.tree = None;
        let kinds = ["none", "lz4", "zstd", "deflate"];
        self.settings.compression = Compression::named(kinds[self.below(4) as usize]).unwrap();
        self.tree = Some(open(&self.storage, self.settings));
        self.tree().tick(self.now, 100);
        for key in self.items.keys().cloned().collect::<Vec<_>>() {
            self.check(&key);
        }
        self.scan();
    }

    fn check(&mut self, key: &[u8]) {
        let tree = self.tree();
        let seen = waiting(tree, |warm| {
            let access = Access {
                now: self.now,
                need: Need::Value,
                warm: Some(warm),
            };
            tree.read(&tree.key(key), access, |entry| {
                entry.map(|entry| Item {
                    value: match entry.value() {
                        Value::Bytes(bytes) => bytes.to_vec(),
                        Value::Shared(pinned) => pinned.as_ref().to_vec(),
                        Value::File(_) => unreachable!("the engine has no values in files"),
                    },
                    flags: entry.flags(),
                    expiry: entry.expiry(),
                    cas: entry.cas(),
                    stale: entry.stale(),
                })
            })
        });
        assert_eq!(seen.unwrap().as_ref(), self.items.get(key));
    }

    fn scan(&mut self) {
        let steps = 1 + self.below(60) as usize;
        let tree = self.tree();
        let mut keys = Vec::new();
        let mut cursor = Some(Cursor::Start);
        while let Some(from) = cursor {
            let next = waiting(tree, |warm| {
                let access = Access {
                    now: self.now,
                    need: Need::Facts,
                    warm: Some(warm),
                };
                tree.scan(&from, steps, access, |entry| keys.push(entry.key().to_vec()))
            });
            cursor = next.unwrap();
        }
        assert!(keys.iter().eq(self.items.keys()), "they come in order, once each");
    }
}

/// Opens the store of a storage in memory, whose syncs take no time.
pub(super) fn open(storage: &Arc<dyn Storage>, settings: Settings) -> Tree {
    Tree::open_in(storage, Path::new("/store"), settings).unwrap().0
}

#[test]
fn a_tree_is_a_map_through_merges_and_restarts() {
    for seed in 1..6 {
        let storage: Arc<dyn Storage> = Arc::new(log::storage::Simulated::new());
        let settings = Settings {
            // Some runs merge only when the test says so, others all the time.
            merge_bytes: [1 << 30, 20_000][seed as usize % 2],
            ..small()
        };
        let mut world = World {
            tree: Some(open(&storage, settings)),
            storage,
            settings,
            items: BTreeMap::new(),
            flush_at: None,
            now: NOW,
            state: seed,
        };
        for _ in 0..3000 {
            world.step();
        }
        world.reopen();
        merge::merge(&world.tree().shared, true).unwrap();
        assert_eq!(world.tree().statistics().items, world.items.len() as u64);
    }
}
