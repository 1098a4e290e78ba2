//! A store in a simulated storage, and the model of it.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use log::storage::{Loss, Simulated};

use super::model::{Event, Item, Items, Model};
use crate::decision::Cas;
use crate::durability::Logs;
use crate::hash::recovery::SEQUENTIAL;
use crate::hash::tests::{access, bytes_of, fetching, update};
use crate::hash::{Hash, Settings, compaction};
use crate::{Change, Cursor, Decision, Edit, Engine, Expiry, Need, New, Now, Payload, StoreError};

pub(super) const NOW: Now = Now(1_700_000_000);
const KEYS: u64 = 16;
/// Runs of segments that were compacted in all worlds.
pub(super) static COMPACTIONS: AtomicU64 = AtomicU64::new(0);

/// A run of a store.
#[derive(Debug)]
pub(super) struct World {
    pub(super) storage: Simulated,
    pub(super) settings: Settings,
    pub(super) model: Model,
    pub(super) hash: Option<Hash>,
    /// True if a failure means that the process has stopped in the middle.
    pub(super) stops: bool,
    state: u64,
}

/// The process has stopped.
#[derive(Debug)]
pub(super) struct Stopped;

impl World {
    pub(super) fn new(storage: Simulated, settings: Settings, seed: u64) -> World {
        World {
            storage,
            settings,
            model: Model::new(settings.partitions()),
            hash: None,
            stops: false,
            state: seed,
        }
    }

    /// The world after its end by a kill or a power cut.
    pub(super) fn after(&self, loss: Loss) -> World {
        World {
            storage: self.storage.power_cut(loss),
            model: self.model.clone(),
            hash: None,
            stops: false,
            ..*self
        }
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % bound
    }

    pub(super) fn open(&mut self) -> Result<(), crate::Error> {
        SEQUENTIAL.set(true);
        let storage = Arc::new(self.storage.clone());
        self.hash = Some(Hash::open_idle(storage, Path::new("/store"), self.settings)?.0);
        Ok(())
    }

    fn hash(&self) -> &Hash {
        self.hash.as_ref().expect("the store is open")
    }

    /// Makes random steps until the process stops or has made them.
    pub(super) fn run(&mut self, steps: usize) -> Result<(), Stopped> {
        for _ in 0..steps {
            self.step()?;
            if !self.stops && self.below(8) == 0 {
                assert_eq!(self.items(), self.model.items());
            }
        }
        Ok(())
    }

    /// Makes all that the store has count as resident, since fetching by other threads takes long on a busy machine.
    fn warm(&self) {
        for (_, map) in self.hash().shared.maps.all() {
            map.learn(0..map.segment.bytes());
        }
    }

    fn step(&mut self) -> Result<(), Stopped> {
        self.warm();
        let key = format!("key-{}", self.below(KEYS)).into_bytes();
        match self.below(40) {
            0..16 => self.put(&key),
            16..20 => self.edit(&key),
            20..23 => self.change(&key),
            23..26 => self.remove(&key),
            26..32 => self.sync(),
            32..34 => self.compact(),
            34 => self.flush(),
            35 => self.checkpoint(),
            36 if self.below(3) == 0 => self.reopen(true),
            37 if self.below(3) == 0 => self.reopen(false),
            _ => self.put(&key),
        }
    }

    /// Notes the result of a write. One that was refused has no effect; one during which the process stopped may have.
    fn note(&mut self, result: Result<Event, StoreError>, tried: Event) -> Result<(), Stopped> {
        match result {
            Ok(event) => self.model.acknowledge(event),
            Err(_) if self.stops => {
                self.model.attempt(tried);
                return Err(Stopped);
            }
            Err(_) => {}
        }
        Ok(())
    }

    fn value(&mut self) -> Vec<u8> {
        let length = match self.below(40) {
            0 => 3000 + self.below(3000),
            1..16 => self.below(1500),
            _ => self.below(700),
        };
        let byte = self.below(256) as u8;
        (0..length).map(|at| byte.wrapping_add(at as u8)).collect()
    }

    fn put(&mut self, key: &[u8]) -> Result<(), Stopped> {
        let item = Item {
            value: self.value(),
            flags: self.below(3) as u32,
            expiry: if self.below(4) == 0 {
                Expiry::At(NOW.0 + 9)
            } else {
                Expiry::Never
            },
            cas: None,
            stale: self.below(6) == 0,
        };
        let parts = [&item.value[..]];
        let new = New {
            flags: item.flags,
            expiry: item.expiry,
            stale: item.stale,
            ..New::new(&parts)
        };
        let result = update(self.hash(), key, Decision::Put(new), NOW);
        self.note_item(key, result, item)
    }

    fn note_item(
        &mut self,
        key: &[u8],
        result: Result<(bool, u64), StoreError>,
        item: Item,
    ) -> Result<(), Stopped> {
        let event = |cas| Event::Put(key.to_vec(), Item { cas, ..item.clone() });
        self.note(result.map(|(_, cas)| event(Some(cas))), event(None))
    }

    fn edit(&mut self, key: &[u8]) -> Result<(), Stopped> {
        let (new, kind) = (self.value(), self.below(3));
        let Some(mut item) = self.model.items().remove(key) else {
            return self.put(key);
        };
        let parts = [&new[..]];
        let edit = Edit {
            value: Payload::Parts(&parts),
            cas: None,
        };
        let decision = match kind {
            0 => Decision::Append(edit),
            1 => Decision::Prepend(edit),
            _ => Decision::Rewrite(edit),
        };
        let result = update(self.hash(), key, decision, NOW);
        item.value = match kind {
            0 => [&item.value[..], &new].concat(),
            1 => [&new[..], &item.value].concat(),
            _ => new,
        };
        self.note_item(key, result, item)
    }

    fn change(&mut self, key: &[u8]) -> Result<(), Stopped> {
        let same = self.below(2) == 0;
        let change = Change {
            expiry: Some(Expiry::At(NOW.0 + 1 + self.below(100) as u32)),
            stale: (self.below(2) == 0).then(|| self.below(2) == 0),
            accessed: true,
            cas: if same { Cas::Same } else { Cas::Next },
            won: None,
        };
        let Some(mut item) = self.model.items().remove(key) else {
            return self.put(key);
        };
        let result = update(self.hash(), key, Decision::Change(change), NOW);
        item.expiry = change.expiry.unwrap_or(item.expiry);
        item.stale = change.stale.unwrap_or(item.stale);
        if let (true, Ok((_, cas))) = (same, &result) {
            assert_eq!(item.cas, Some(*cas));
        }
        self.note_item(key, result, item)
    }

    fn remove(&mut self, key: &[u8]) -> Result<(), Stopped> {
        let there = self.model.items().contains_key(key);
        let result = update(self.hash(), key, Decision::Remove, NOW);
        let event = Event::Remove(key.to_vec());
        match result {
            Ok((found, _)) => {
                assert_eq!(found, there);
                if found {
                    self.model.acknowledge(event);
                }
                Ok(())
            }
            Err(error) => self.note(Err(error), event),
        }
    }

    fn flush(&mut self) -> Result<(), Stopped> {
        let event = self.model.flush();
        let result = self.hash().flush(None, NOW);
        self.note(result.map(|_| event.clone()), event)
    }

    /// Makes everything durable, as the store's thread does.
    fn sync(&mut self) -> Result<(), Stopped> {
        let hash = self.hash();
        let durability = &hash.shared.durability;
        let round = |()| {
            durability
                .round(&hash.shared.journals)
                .map_err(|error| StoreError::from(&error))
        };
        let result = durability.check().and_then(round);
        match result {
            Ok(()) => self.model.sync(),
            Err(_) if self.stops => return Err(Stopped),
            Err(_) => {
                self.model.device_failed = true;
                let refused = update(self.hash(), b"key-0", Decision::Put(New::new(&[b"v"])), NOW);
                assert!(refused.is_err(), "writes are refused after a failed sync");
            }
        }
        Ok(())
    }

    /// The result of upkeep, which changes no item.
    fn upkeep<T>(&mut self, result: Result<T, log::Error>) -> Result<(), Stopped> {
        match result {
            Err(_) if self.stops => Err(Stopped),
            Err(log::Error::Failed { .. }) => {
                self.model.device_failed = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn checkpoint(&mut self) -> Result<(), Stopped> {
        let result = self
            .hash()
            .shared
            .journals
            .logs()
            .try_for_each(|log| log.checkpoint());
        self.upkeep(result)
    }

    fn compact(&mut self) -> Result<(), Stopped> {
        let mut compactor = compaction::Compactor::new(&self.hash().shared);
        let mut logs = self.hash().shared.journals.logs().zip(0..);
        let result = logs.try_for_each(|(log, partition)| {
            while compactor.compact(partition, &log, true)? == ControlFlow::Continue(true) {
                COMPACTIONS.fetch_add(1, Relaxed);
            }
            Ok(())
        });
        drop(logs);
        self.upkeep(result)
    }

    /// Ends the process, in order or by a kill, and starts it again.
    fn reopen(&mut self, close: bool) -> Result<(), Stopped> {
        if close {
            match self.hash().close() {
                Ok(()) => self.model.sync(),
                Err(_) => self.model.device_failed = true,
            }
        }
        self.hash = None;
        if let Err(error) = self.open() {
            if self.stops {
                return Err(Stopped);
            }
            // One operation fails, and the next attempt has it behind it.
            eprintln!("not opened: {error}");
            self.model.device_failed = true;
            self.open().expect("the second attempt succeeds");
        }
        let seen = self.items();
        self.compare(&seen, false);
        Ok(())
    }

    /// Opens the store after its end and compares it with the model.
    pub(super) fn recover(&mut self, power_cut: bool) {
        self.open().expect("it opens");
        let seen = self.items();
        self.compare(&seen, power_cut);
    }

    fn compare(&mut self, seen: &Items, power_cut: bool) {
        if let Err(difference) = self.model.reopen(seen, power_cut) {
            panic!("something is lost or wrong: {difference}");
        }
    }

    /// Everything that the store has.
    pub(super) fn items(&self) -> Items {
        self.warm();
        let mut items = Items::new();
        let mut cursor = Some(Cursor::Start);
        while let Some(from) = cursor {
            let scanned = fetching(self.hash(), |warm| {
                let access = access(NOW, Need::Value, warm);
                self.hash().scan(&from, 5000, access, |entry| {
                    let item = Item {
                        value: bytes_of(entry.value()),
                        flags: entry.flags(),
                        expiry: entry.expiry(),
                        cas: Some(entry.cas()),
                        stale: entry.stale(),
                    };
                    let twice = items.insert(entry.key().to_vec(), item);
                    assert!(twice.is_none(), "a key is there twice");
                })
            });
            cursor = scanned.expect("the store is read");
        }
        items
    }
}
