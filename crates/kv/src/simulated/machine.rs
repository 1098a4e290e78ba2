//! The other machine: its items, and how it treats requests.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write as _};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;

use crate::owned::{OwnedEntry, OwnedValue};
use crate::warm::{Fetched, Page, Write};
use crate::{Cursor, FileRange, Pinned, StoreError};

/// Values of so many times the length of a large one, and longer ones, are kept in a file.
const FILE_FACTOR: u64 = 4;

/// Something that goes wrong from now on, until the fault is lifted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Reads fail.
    Read(StoreError),
    /// Writes are refused, before anything is sent.
    Write(StoreError),
    /// Writes are not committed.
    Commit(StoreError),
}

/// A machine with a store. It keeps its items when those who are connected to it go.
#[derive(Debug)]
pub struct Machine {
    pub(super) latency: Duration,
    /// Values of this length and longer are handed out without a copy.
    pub(super) large: u64,
    items: Mutex<BTreeMap<Box<[u8]>, Arc<OwnedEntry>>>,
    file: Mutex<Option<File>>,
    fault: Mutex<Option<Fault>>,
    connections: AtomicU64,
    requests: AtomicUsize,
    commits: AtomicUsize,
    waiting: AtomicUsize,
}

impl Machine {
    /// A machine whose requests and answers take `latency` together. Values from `large` on are pinned in
    /// memory, and those of four times that length lie in a file.
    #[must_use]
    pub fn new(latency: Duration, large: u64) -> Arc<Machine> {
        Arc::new(Machine {
            latency,
            large,
            items: Mutex::default(),
            file: Mutex::default(),
            fault: Mutex::default(),
            connections: AtomicU64::new(0),
            requests: AtomicUsize::new(0),
            commits: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
        })
    }

    /// Has requests fail from now on, or no longer.
    pub fn set_fault(&self, fault: Option<Fault>) {
        *self.fault.lock() = fault;
    }

    /// The number of requests that have arrived.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.requests.load(Relaxed)
    }

    /// The number of commits, each of which stands for an `fsync`.
    #[must_use]
    pub fn commits(&self) -> usize {
        self.commits.load(Relaxed)
    }

    /// The number of requests that were sent and not answered.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.waiting.load(Relaxed)
    }

    /// The number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.lock().len()
    }

    /// True if there is no item.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of a new connection, from 1 on.
    pub(super) fn connect(&self) -> u64 {
        self.connections.fetch_add(1, Relaxed) + 1
    }

    pub(super) fn fault(&self) -> Option<Fault> {
        *self.fault.lock()
    }

    pub(super) fn sent(&self) {
        self.waiting.fetch_add(1, Relaxed);
    }

    pub(super) fn committed(&self) {
        self.commits.fetch_add(1, Relaxed);
    }

    pub(super) fn answered(&self) {
        self.waiting.fetch_sub(1, Relaxed);
        self.requests.fetch_add(1, Relaxed);
    }

    /// Reads an item.
    pub(super) fn read(&self, key: &[u8]) -> Fetched {
        match self.fault() {
            Some(Fault::Read(error)) => Fetched::Failed(error),
            _ => Fetched::Item(self.items.lock().get(key).cloned()),
        }
    }

    /// Writes an item if it is still the one that was seen.
    pub(super) fn write_if(&self, write: &Write, commit: u64) -> Fetched {
        let mut items = self.items.lock();
        let current = items.get(&write.key);
        if current.map(|item| item.cas) != write.seen.as_ref().map(|item| item.cas) {
            return Fetched::Item(current.cloned());
        }
        replace(&mut items, &write.key, write.new.clone());
        Fetched::Applied {
            seen: write.seen.clone(),
            cas: write.new.as_ref().map_or(0, |item| item.cas),
            commit,
        }
    }

    /// Writes an item, whatever there is.
    pub(super) fn write(&self, key: &[u8], new: Option<Arc<OwnedEntry>>) {
        replace(&mut self.items.lock(), key, new);
    }

    /// Removes every item.
    pub(super) fn flush(&self) {
        self.items.lock().clear();
    }

    /// Some items behind a cursor.
    pub(super) fn page(&self, from: &Cursor, steps: usize) -> Result<Page, StoreError> {
        if let Some(Fault::Read(error)) = self.fault() {
            return Err(error);
        }
        let items = self.items.lock();
        let begin = match from {
            Cursor::After(key) => Bound::Excluded(&**key),
            Cursor::Start | Cursor::Number(_) => Bound::Unbounded,
        };
        let range = items.range::<[u8], _>((begin, Bound::Unbounded));
        let items: Vec<_> = range.take(steps.max(1)).map(|(_, item)| item.clone()).collect();
        let next = (items.len() == steps.max(1)).then(|| items.last()).flatten();
        let next = next.map(|item| Cursor::After(item.key.clone()));
        Ok(Page { items, next })
    }

    /// A value where this machine keeps it.
    pub(super) fn keep(&self, value: &[u8]) -> Result<OwnedValue, StoreError> {
        let length = value.len() as u64;
        if length < self.large {
            return Ok(OwnedValue::Bytes(value.into()));
        }
        if length < FILE_FACTOR * self.large {
            return Ok(OwnedValue::Shared(Pinned::from(value.to_vec())));
        }
        self.append(value)
            .map(OwnedValue::File)
            .map_err(|error| StoreError::Io(error.kind()))
    }

    fn append(&self, value: &[u8]) -> std::io::Result<FileRange> {
        let mut slot = self.file.lock();
        let file = match &mut *slot {
            Some(file) => file,
            none => none.insert(unnamed_file()?),
        };
        let offset = file.seek(SeekFrom::End(0))?;
        file.write_all(value)?;
        Ok(FileRange {
            file: Arc::new(file.try_clone()?),
            offset,
            length: value.len() as u64,
        })
    }
}

fn replace(items: &mut BTreeMap<Box<[u8]>, Arc<OwnedEntry>>, key: &[u8], new: Option<Arc<OwnedEntry>>) {
    match new {
        Some(item) => drop(items.insert(key.into(), item)),
        None => drop(items.remove(key)),
    }
}

/// A file that goes with its last descriptor.
fn unnamed_file() -> std::io::Result<File> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let name = format!(
        "kv-simulated-{}-{}",
        std::process::id(),
        NUMBER.fetch_add(1, Relaxed)
    );
    let path = std::env::temp_dir().join(name);
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}
