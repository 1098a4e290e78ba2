//! A snapshot of the index on the device, so that a start reads only the records behind it.
//!
//! ```text
//!   index ──copy──▶ slots of all shards ──┐                    ┌──▶ slots
//!                                         ├──▶ file `index` ───┤
//!   logs ──point of each, later a sync ───┘                    └──▶ points from which the logs are replayed
//! ```
//!
//! Writers go on while the slots are copied, one shard after the other. So slots may have records behind their log's point, which
//! are replayed anyway. The logs are synced after the copying, so that no slot has a record that a power cut takes.
//!
//! A slot names its segment by the base offset and the generation. Segments that compaction has replaced since then are unknown:
//! slots with records from the first of them on are dropped, and the log is replayed from there.
//!
//! **Invariant:** a snapshot that is damaged, of another store or of another state of the logs is not used.
//! **Invariant:** a writer waits for the copying of one shard at most.

mod format;
mod restore;
#[cfg(test)]
mod tests;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use log::storage::{Storage, temporary};
use log::{Error, Log};
use parking_lot::Mutex;

use super::Shared;
use super::index::Index;
use super::recovery::{Flushes, Partition};
use crate::Work;
use crate::durability::Logs;
pub(super) use format::Point;
use restore::{Restored, Saved};

/// The name of the file.
const NAME: &str = "index";

/// The number of items per record that a start replays without a new snapshot. A store with fewer new records than that does not
/// write its index every minute.
const ITEMS_PER_RECORD: u64 = 64;

/// The snapshots of a store.
#[derive(Debug)]
pub(super) struct Snapshots {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    /// The store's random number.
    store: u64,
    /// The seed of the index's hashes.
    pub(super) seed: u64,
    /// Held while slots are moved to other segments, and while they are copied.
    pub(super) moving: Mutex<()>,
    last: Mutex<Option<Last>>,
}

/// The content of the file on the device.
#[derive(Debug, Default)]
struct Last {
    /// The sum of the offsets of all points.
    records: u64,
    /// The runs of compaction before it.
    runs: u64,
}

impl Snapshots {
    /// Reads the snapshot of a store, but for the slots.
    pub(super) fn open(
        storage: &Arc<dyn Storage>,
        folder: &Path,
        store: u64,
    ) -> (Snapshots, Result<Option<Saved>, String>) {
        let path = folder.join(NAME);
        // A process that was killed may have left it.
        let _ = storage.remove(&temporary(&path));
        let saved = Saved::read(&**storage, &path, store);
        let seed = match &saved {
            Ok(Some(saved)) => saved.seed(),
            _ => crate::folder::random(),
        };
        let snapshots = Snapshots {
            storage: storage.clone(),
            path,
            store,
            seed,
            moving: Mutex::default(),
            last: Mutex::default(),
        };
        (snapshots, saved)
    }

    /// Fills an index from what was read, and lets the partitions begin behind it. Returns the reason, too, why that was not
    /// possible: then the index is empty, and the logs are replayed from their start.
    pub(super) fn restore(
        &self,
        saved: Result<Option<Saved>, String>,
        partitions: &mut [Partition],
    ) -> (Index, Flushes, Option<String>) {
        let index = Index::new();
        let restored = match saved {
            Ok(Some(saved)) => saved.fill(&index, partitions),
            Ok(None) => return (index, Flushes::default(), None),
            Err(reason) => Err(reason),
        };
        match restored {
            Ok(Restored { flushes, records }) => {
                *self.last.lock() = records.map(|records| Last { records, runs: 0 });
                (index, flushes, None)
            }
            Err(reason) => {
                partitions.iter_mut().for_each(Partition::forget);
                let reason = format!("{}: {reason}", self.path.display());
                (Index::new(), Flushes::default(), Some(reason))
            }
        }
    }

    /// Returns true if the file is known to be usable as a whole.
    #[cfg(test)]
    fn is_current(&self) -> bool {
        self.last.lock().is_some()
    }

    /// Writes a snapshot of a store whose logs are given, if there are new records or runs of compaction.
    ///
    /// # Errors
    /// The device failed or is full.
    pub(super) fn write(
        &self,
        shared: &Shared,
        items_per_record: u64,
        logs: &[Log],
        sync: impl Fn(&Log) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if shared.damage.is_any() {
            // The next opening has to find the damage again.
            return logs.iter().try_for_each(sync);
        }
        let runs = shared.counters.compaction.runs.load(Relaxed);
        let records: u64 = logs.iter().map(Log::end).sum();
        if let Some(last) = &*self.last.lock()
            && runs == last.runs
            && records.saturating_sub(last.records) <= shared.index.size().1 / items_per_record
        {
            return logs.iter().try_for_each(sync);
        }
        let draft = write::Draft::copy(self, shared)?;
        let ends: Vec<u64> = logs.iter().map(Log::end).collect();
        logs.iter().try_for_each(sync)?;
        let records = draft.install(&ends)?;
        *self.last.lock() = Some(Last { records, runs });
        Ok(())
    }
}

/// Writes a snapshot of an open store, if a start would replay many records without it.
pub(super) fn write(shared: &Shared) {
    let health = &shared.durability.health;
    let logs: Vec<Log> = shared.journals.logs().collect();
    match shared
        .snapshots
        .write(shared, ITEMS_PER_RECORD, &logs, Log::checkpoint)
    {
        Ok(()) => health.succeeded(Work::Snapshot),
        Err(error) => health.failed(Work::Snapshot, &error),
    }
}
