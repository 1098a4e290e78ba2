//! Opening a store: what the pages have, and the writes of the log behind them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use log::storage::Storage;
use log::{Log, Options};
use parking_lot::Mutex;

use super::figures::Counters;
use super::journal::{Journal, Replayed, replay};
use super::locks::Stripes;
use super::merge::Merging;
use super::pages::Pages;
use super::pending::Pending;
use super::readers::Readers;
use super::{CAS_BITS, NEVER, Settings, Shared};
use crate::durability::Durability;
use crate::folder::{Folder, Kind, Meta};
use crate::owned::{OwnedEntry, OwnedValue};
use crate::{Error, Marks};

/// The size of the log's segments: small, since a segment is removed when all of its writes are merged.
const SEGMENT_BYTES: u64 = 32 << 20;

/// Opens what a folder has.
///
/// # Errors
/// As for [`Tree::open`](super::Tree::open).
pub(super) fn recover(
    storage: &Arc<dyn Storage>,
    path: &Path,
    settings: Settings,
    large: u64,
) -> Result<(Shared, log::Recovery), Error> {
    let folder = Folder::lock(storage.clone(), path, Kind::Tree)?;
    let meta = folder.read()?.map_or_else(|| Meta::first(1), Meta::next);
    // On a full device the store can be read, and is written to once there is room for this.
    let unsaved = match folder.write(meta) {
        Ok(()) => None,
        Err(error) if error.is_full() && meta.epoch > 1 => Some(meta),
        Err(error) => return Err(error.into()),
    };
    let (pages, facts, held) =
        Pages::open(storage.clone(), &path.join("pages"), settings.compression, large)?;
    let (log, report) = Log::open_in(storage.clone(), &path.join("log"), options(&settings))?;
    if log.start() > facts.offset || log.end() < facts.offset {
        let (start, end, offset) = (log.start(), log.end(), facts.offset);
        return Err(Error::Damaged {
            path: path.join("log"),
            reason: format!("it has the offsets {start} to {end}, and the pages end at {offset}"),
        });
    }
    let shared = Shared {
        pending: Pending::default(),
        pages,
        journal: Journal::new(log.clone()),
        durability: Durability::new(settings.sync),
        merging: Merging::default(),
        room: Arc::default(),
        readers: Readers::default(),
        stripes: Stripes::new(),
        settings,
        large,
        cas: AtomicU64::new(u64::from(meta.epoch) << CAS_BITS),
        flush_at: AtomicU32::new(facts.flush_at.unwrap_or(NEVER)),
        flushing: Mutex::default(),
        generation: AtomicU64::new(0),
        pages_generation: AtomicU64::new(0),
        pages_items: AtomicU64::new(held.items),
        pages_bytes: AtomicU64::new(held.bytes),
        closed: AtomicBool::new(false),
        second: AtomicU32::new(0),
        counters: Counters::default(),
        observers: Arc::default(),
        uploads: Arc::default(),
        is_readable_only: AtomicBool::new(unsaved.is_some()),
        unsaved: Mutex::new(unsaved),
        folder: Mutex::new(Some(folder)),
    };
    replay(&log, facts.offset, |write| shared.apply(write))?;
    Ok((shared, report))
}

fn options(settings: &Settings) -> Options {
    let mut options = Options::default();
    options.segment_bytes = SEGMENT_BYTES;
    options.segment_age_ms = None;
    options.preallocate = settings.preallocate;
    options
}

impl Shared {
    /// Does again what the log has.
    fn apply(&self, write: Replayed<'_>) {
        match write {
            Replayed::Item {
                key,
                value,
                facts,
                second,
            } => {
                let item = OwnedEntry {
                    key: key.into(),
                    value: OwnedValue::new(value, self.large),
                    flags: facts.flags,
                    cas: facts.cas,
                    expiry: facts.expiry,
                    last_access: second,
                    marks: Marks {
                        stale: facts.stale,
                        ..Marks::default()
                    },
                };
                self.pending.put(key, Some(Arc::new(item)), None);
            }
            Replayed::Removal(key) => self.pending.put(key, None, None),
            Replayed::FlushAt(second) => self.flush_at.store(second, Ordering::Relaxed),
            Replayed::Flush => self.pending.clear(|| {
                self.generation.fetch_add(1, Ordering::Relaxed);
                self.pages_items.store(0, Ordering::Relaxed);
                self.pages_bytes.store(0, Ordering::Relaxed);
                self.flush_at.store(NEVER, Ordering::Relaxed);
            }),
        }
    }
}
