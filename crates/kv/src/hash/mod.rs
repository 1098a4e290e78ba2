//! The hash engine: a table in memory over logs on a device.
//!
//! ```text
//!            key ──hash──▶ Index: shards of slots ──▶ Maps: segments in memory ──▶ value
//!             │                        ▲ place
//!             └─murmur2─▶ Journal 0 … n: one log each ──append──▶ segment files
//!                                      ▲ sync
//!                         Durability: the thread that waits for the device
//! ```
//!
//! Values are read where the log has them, in the page cache. What the kernel has evicted is read from the device on threads of the
//! engine. The lock order is: index → journal. `docs/formats/store.md` describes the files.
//!
//! **Invariant:** the index has what the logs have: every change is a record first.
//! **Invariant:** no lock of the index is held while the device is waited for.

mod cold;
#[cfg(test)]
mod cold_tests;
mod compaction;
mod damage;
#[cfg(test)]
mod faults;
mod figures;
mod flushed;
mod garbage;
mod guarded;
mod index;
mod journal;
mod lookup;
mod maps;
mod partition;
mod recovery;
mod residency;
mod snapshot;
#[cfg(test)]
mod tests;
mod upkeep;
mod windows;
mod write;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use log::storage::{Disk, Storage};
use log::{Log, Options};
use parking_lot::Mutex;
use rapidhash::v3::{RapidSecrets, rapidhash_v3_inline};

use crate::durability::{Durability, Logs, Sync};
use crate::folder::{self, Folder, Kind, Meta};
use crate::mailbox::{Delivered, Mailbox};
use crate::observer::Observers;
use crate::owned::OwnedEntry;
use crate::record::{self, Flush};
use crate::stripes::Numbers;
use crate::uploads::Uploads;
use crate::{
    Access, Answer, Commit, Committed, Cursor, Decision, Engine, Entry, Error, Extent, Fetch, KEY_LENGTH_MAX,
    Key, Need, Notice, Now, Observation, Observer, Statistics, StoreError, Stored, Warm,
};
pub(crate) use cold::Located;
use cold::Readers;
use damage::{Damage, Lost};
use figures::Counters;
use flushed::Flushed;
use index::{FETCHED, Found, Guard, Index, SHARDS};
use journal::Journal;
use lookup::{Buffer, Item, Part};
use maps::Maps;
pub(crate) use partition::{PARTITIONS_MAX, murmur2};
use recovery::{Partition, Recovery, in_parallel};
use snapshot::Snapshots;
use upkeep::Admission;

/// Values of this length and more are handed out as references to the page cache.
const LARGE: u64 = 16 << 10;
/// Bytes that memcached counts for an item beside its key and its value.
const ITEM_OVERHEAD: u64 = 50;
/// The bits of a CAS below its epoch.
const CAS_BITS: u32 = 44;
/// The default share of compaction.
pub(crate) const COMPACTION_PERCENT: u32 = 25;
/// The time between two snapshots of the index, unless configured.
pub(crate) const INDEX_SNAPSHOT: Duration = Duration::from_secs(60);
/// No flush is pending.
const NEVER: u32 = u32::MAX;

/// How a store behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// When writes are durable.
    pub(crate) sync: Sync,
    /// The number of logs of a new store; an existing one keeps its number.
    pub(crate) partitions: Option<u32>,
    /// The largest item, counted as memcached counts it.
    pub(crate) item_size_max: u64,
    /// The size of the logs' segments.
    pub(crate) segment_bytes: u64,
    /// Allocate space ahead of the logs' ends.
    pub(crate) preallocate: bool,
    /// Compact in the background.
    pub(crate) compact: bool,
    /// The share of one core and of the device that compaction may take, in percent.
    pub(crate) compaction_percent: u32,
    /// The time between two snapshots of the index; zero if only closing the store writes one.
    pub(crate) index_snapshot: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            sync: Sync::default(),
            partitions: None,
            item_size_max: 1 << 20,
            segment_bytes: 64 << 20,
            preallocate: true,
            compact: true,
            compaction_percent: COMPACTION_PERCENT,
            index_snapshot: INDEX_SNAPSHOT,
        }
    }
}

impl Settings {
    /// The partitions of a new store. With `commit`, one `fdatasync` should serve as many writes as possible.
    fn partitions(&self) -> u32 {
        self.partitions.unwrap_or(match self.sync {
            Sync::Commit => 1,
            Sync::None | Sync::Interval => 8,
        })
    }

    fn log_options(&self) -> Options {
        let mut options = Options::default();
        options.segment_bytes = self.segment_bytes;
        options.segment_age_ms = None;
        options.preallocate = self.preallocate;
        options.mapped = true;
        options
    }
}

/// A store whose items lie in logs.
#[derive(Debug)]
pub struct Hash {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// The state that the engine's threads share.
struct Shared {
    index: Index,
    maps: Maps,
    journals: Journals,
    durability: Durability,
    settings: Settings,
    secrets: RapidSecrets,
    /// The seeds of fingerprints.
    fingerprints: RapidSecrets,
    cas: Numbers,
    /// When everything shall be flushed; [`NEVER`] if not.
    flush_at: AtomicU32,
    /// Held while a flush is made or announced: the offsets of the last one.
    flushing: Mutex<Vec<u64>>,
    snapshots: Snapshots,
    admission: Admission,
    damage: Damage,
    closed: AtomicBool,
    counters: Counters,
    flushed: Flushed,
    readers: Readers,
    observers: Arc<Observers>,
    uploads: Arc<Uploads>,
    /// `None` after closing.
    folder: Mutex<Option<Folder>>,
}

/// The logs of all partitions.
#[derive(Debug)]
struct Journals(Box<[Journal]>);

impl Journals {
    #[inline]
    fn of(&self, key: &[u8]) -> &Journal {
        &self.0[partition::partition_of(key, self.0.len() as u32) as usize]
    }
}

impl Logs for Journals {
    fn logs(&self) -> impl Iterator<Item = Log> {
        self.0.iter().filter_map(Journal::log)
    }
}

impl Hash {
    /// Opens the store of a folder, or creates it. This waits for the device.
    ///
    /// # Errors
    /// The folder is in use, damaged, of another program or of a newer version, or the system refuses.
    pub(crate) fn open(path: &Path, settings: Settings) -> Result<(Hash, Vec<Notice>), Error> {
        Hash::open_in(Arc::new(Disk), path, settings)
    }

    /// The same on another storage, whose files can be mapped.
    ///
    /// # Errors
    /// As for [`open`](Hash::open).
    pub(crate) fn open_in(
        storage: Arc<dyn Storage>,
        path: &Path,
        settings: Settings,
    ) -> Result<(Hash, Vec<Notice>), Error> {
        let (hash, notices) = Hash::open_idle(storage, path, settings)?;
        let sync = |shared: &Shared| shared.durability.run(&shared.journals);
        let compact = |shared: &Shared| {
            if shared.settings.compact {
                compaction::run(shared);
            }
        };
        hash.start("hash-sync", sync)
            .and_then(|()| hash.start("hash-compact", compact))
            .and_then(|()| hash.start("hash-residency", residency::run))
            .and_then(|()| hash.start("hash-upkeep", upkeep::run))
            .map_err(|error| folder::failed("start a thread for", path, error))?;
        Ok((hash, notices))
    }

    /// The same without threads: nothing is synced or compacted.
    ///
    /// # Errors
    /// As for [`open`](Hash::open).
    fn open_idle(
        storage: Arc<dyn Storage>,
        path: &Path,
        settings: Settings,
    ) -> Result<(Hash, Vec<Notice>), Error> {
        let folder = Folder::lock(storage.clone(), path, Kind::Hash)?;
        let (meta, unwritten) = match folder.read()? {
            None => {
                let meta = Meta::first(settings.partitions());
                folder.write(meta)?;
                (meta, None)
            }
            Some(last) => {
                let meta = last.next();
                match folder.write(meta) {
                    Ok(()) => (meta, None),
                    // A full device can be read.
                    Err(error @ log::Error::Full { .. }) => (meta, Some(error)),
                    Err(error) => return Err(error.into()),
                }
            }
        };
        let logs = Mutex::new(BTreeMap::new());
        in_parallel(meta.partitions as usize, |number| {
            let opened = Log::open_in(
                storage.clone(),
                &folder.partition(number as u32),
                settings.log_options(),
            )?;
            logs.lock().insert(number, opened);
            Ok::<(), log::Error>(())
        })?;
        let (logs, reports): (Vec<_>, Vec<_>) = logs.into_inner().into_values().unzip();
        let (shared, unused, damage) = Shared::recover(&storage, folder, meta, logs, settings)?;
        let shared = Arc::new(shared);
        if let Some(error) = unwritten {
            shared.admission.wait_for_room(meta);
            shared.durability.health.failed(crate::Work::Opening, &error);
        }
        let mut notices: Vec<Notice> = reports.iter().filter_map(Notice::of_recovery).collect();
        notices.extend(unused.map(|reason| Notice::IndexRebuilt { reason }));
        notices.extend(damage);
        let hash = Hash {
            shared,
            threads: Mutex::default(),
        };
        Ok((hash, notices))
    }

    /// Starts a thread that ends when the store is closed.
    fn start(&self, name: &str, work: fn(&Shared)) -> std::io::Result<()> {
        let shared = self.shared.clone();
        let builder = std::thread::Builder::new().name(name.to_owned());
        self.threads.lock().push(builder.spawn(move || work(&shared))?);
        Ok(())
    }

    #[inline]
    fn lock(&self, key: &Key<'_>) -> Guard<'_> {
        self.shared.index.lock(key.hash, &self.shared.maps)
    }

    /// The hash that tells keys apart without their records.
    #[inline]
    fn fingerprint(&self, key: &Key<'_>) -> u64 {
        hash(&self.shared.fingerprints, key.bytes)
    }

    fn next_cas(&self) -> u64 {
        self.shared.cas.take()
    }

    #[inline]
    fn check_open(&self) -> Result<(), StoreError> {
        if self.shared.closed.load(Ordering::Acquire) {
            return Err(StoreError::Unavailable);
        }
        Ok(())
    }

    #[inline]
    fn check_writes(&self) -> Result<(), StoreError> {
        self.check_open()?;
        self.shared.admission.check()?;
        self.shared.durability.check()
    }

    /// Carries out a flush whose second has come.
    #[inline]
    fn pass_time(&self, now: Now) -> Result<(), StoreError> {
        if now.0 >= self.shared.flush_at.load(Ordering::Relaxed) {
            return self.flush_due(now);
        }
        Ok(())
    }

    #[cold]
    fn flush_due(&self, now: Now) -> Result<(), StoreError> {
        let mut flushed = self.shared.flushing.lock();
        let at = self.shared.flush_at.load(Ordering::Relaxed);
        if at != NEVER && now.0 >= at {
            self.flush_now(now, &mut flushed)?;
        }
        Ok(())
    }

    /// Removes everything. All keys are locked while the flush is appended, so each write is before it or after it.
    fn flush_now(&self, now: Now, flushed: &mut Vec<u64>) -> Result<Commit, StoreError> {
        let shared = &*self.shared;
        let mut all = shared.index.lock_all();
        let offsets: Vec<u64> = shared.journals.logs().map(|log| log.end()).collect();
        shared.journals.0[0].append_flush(&shared.maps, now, &Flush::Before(offsets.clone()))?;
        *flushed = offsets;
        let (slots, items) = all.clear();
        shared.maps.count_nothing();
        shared.damage.clear();
        shared.flush_at.store(NEVER, Ordering::Relaxed);
        drop(all);
        shared.flushed.remember(slots.hashes(), now);
        drop(slots);
        shared.counters.flushed.fetch_add(items, Ordering::Relaxed);
        Ok(shared.durability.appended())
    }

    /// Runs `f` with an item.
    #[inline]
    fn with_entry<R>(found: Found, item: &Item<'_>, f: impl FnOnce(&Entry<'_>) -> R) -> R {
        f(&Entry {
            key: item.key,
            stored: item.value.stored(),
            flags: item.facts.flags,
            cas: item.facts.cas,
            expiry: item.facts.expiry,
            last_access: found.slot.last_access,
            marks: found.slot.entry_marks(item.facts.stale),
        })
    }

    /// Finds an item. The buffer then has the head of its record.
    #[inline]
    fn find(
        &self,
        guard: &Guard<'_>,
        key: &Key<'_>,
        access: Access<'_>,
        buffer: &mut Buffer,
    ) -> Result<Answer<Option<Found>>, StoreError> {
        guard.find(key.bytes, || self.fingerprint(key), access.warm, buffer)
    }

    #[inline]
    fn look<R>(
        &self,
        key: &Key<'_>,
        access: Access<'_>,
        counts: bool,
        f: impl FnOnce(Option<&Entry<'_>>) -> R,
    ) -> Result<Answer<R>, StoreError> {
        self.check_open()?;
        self.pass_time(access.now)?;
        let answer = self.look_now(key, access, counts, f);
        if let (Ok(Answer::Cold), Some(warm)) = (&answer, access.warm) {
            warm.want(key.bytes, access.need);
        }
        answer
    }

    #[inline]
    fn look_now<R>(
        &self,
        key: &Key<'_>,
        access: Access<'_>,
        counts: bool,
        f: impl FnOnce(Option<&Entry<'_>>) -> R,
    ) -> Result<Answer<R>, StoreError> {
        let mut buffer = Buffer::take();
        let mut guard = self.lock(key);
        let found = match self.find(&guard, key, access, &mut buffer)? {
            Answer::Ready(Some(found)) => {
                self.shared.damage.check(&guard, key.bytes, Some(found))?;
                found
            }
            Answer::Ready(None) => {
                self.shared.damage.check(&guard, key.bytes, None)?;
                if self.shared.flushed.take(index::kept_of(key.hash)) {
                    self.shared.counters.read_flushed();
                }
                return Ok(Answer::Ready(f(None)));
            }
            Answer::Cold => return Ok(Answer::Cold),
        };
        let Answer::Ready(item) = guard.load(found, access.need.into(), &mut buffer)? else {
            return Ok(Answer::Cold);
        };
        if item.facts.expiry.passed(access.now) {
            self.remove_expired(&mut guard, found, true);
            return Ok(Answer::Ready(f(None)));
        }
        let answer = Hash::with_entry(found, &item, |entry| f(Some(entry)));
        if counts {
            let mut slot = found.slot;
            slot.set_marks(slot.marks() | FETCHED);
            slot.last_access = access.now.0;
            guard.set(found, slot);
        }
        Ok(Answer::Ready(answer))
    }

    /// Returns true if a call for this key would be cold.
    fn is_cold(&self, key: &Key<'_>, need: Need) -> bool {
        let mut buffer = Buffer::take();
        let guard = self.lock(key);
        match guard.find(key.bytes, || self.fingerprint(key), None, &mut buffer) {
            Ok(Answer::Ready(Some(found))) => {
                matches!(guard.load(found, need.into(), &mut buffer), Ok(Answer::Cold))
            }
            Ok(Answer::Cold) => true,
            Ok(Answer::Ready(None)) | Err(_) => false,
        }
    }

    /// The items of a shard, if all of them are in the page cache.
    fn items_of(&self, number: usize, part: Part) -> Result<Answer<Vec<OwnedEntry>>, StoreError> {
        let mut buffer = Buffer::take();
        let guard = self.shared.index.lock_shard(number, &self.shared.maps);
        let mut items = Vec::new();
        for found in guard.items() {
            let key = guard.head(found, &mut buffer);
            // A key that is not the index's was changed: the fetch will tell.
            let is_key =
                key.is_some_and(|key| found.slot.has_fingerprint(hash(&self.shared.fingerprints, key)));
            if !is_key {
                return Ok(Answer::Cold);
            }
            let Answer::Ready(item) = guard.load(found, part, &mut buffer)? else {
                return Ok(Answer::Cold);
            };
            items.push(item.owned(found.slot));
        }
        Ok(Answer::Ready(items))
    }

    fn stop_threads(&self) {
        self.shared.durability.stop();
        self.shared.readers.stop();
        for thread in self.threads.lock().drain(..) {
            // A panic of a thread was reported when it happened.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Fills the index from its snapshot and the logs. Returns the reason, too, why a snapshot was not used, and what is damaged.
    fn recover(
        storage: &Arc<dyn Storage>,
        folder: Folder,
        meta: Meta,
        logs: Vec<Log>,
        settings: Settings,
    ) -> Result<(Shared, Option<String>, Vec<Notice>), Error> {
        let (snapshots, saved) = Snapshots::open(storage, folder.path(), meta.id);
        let secrets = RapidSecrets::seed(snapshots.seed);
        let fingerprints = secrets.reseed();
        let maps = Maps::new();
        let map = |(log, number)| Partition::map(number, log, &maps, settings.segment_bytes);
        let mut partitions: Vec<Partition> = logs.into_iter().zip(0..).map(map).collect::<Result<_, _>>()?;
        let (index, flushes, unused) = snapshots.restore(saved, &mut partitions);
        let recovery = Recovery {
            index: &index,
            maps: &maps,
            hashes: &|key| (hash(&secrets, key), hash(&fingerprints, key)),
        };
        let (flushes, lost) = recovery.replay(&mut partitions, flushes)?;
        let journals = partitions.into_iter().zip(0..);
        let journals = journals.map(|(mut partition, number)| {
            Journal::new(
                number,
                partition.log,
                settings.segment_bytes,
                partition.segments.pop(),
            )
        });
        let shared = Shared {
            journals: Journals(journals.collect()),
            durability: Durability::new(settings.sync),
            index,
            maps,
            settings,
            secrets,
            fingerprints,
            cas: Numbers::above(u64::from(meta.epoch) << CAS_BITS),
            flush_at: AtomicU32::new(flushes.at.unwrap_or(NEVER)),
            flushing: Mutex::new(flushes.done),
            snapshots,
            admission: Admission::default(),
            damage: Damage::new(lost.iter().map(|lost| lost.newer).collect()),
            closed: AtomicBool::new(false),
            counters: Counters::default(),
            flushed: Flushed::default(),
            readers: Readers::default(),
            observers: Arc::default(),
            uploads: Arc::default(),
            folder: Mutex::new(Some(folder)),
        };
        shared.correct_flush();
        let notices = lost.iter().filter_map(Lost::notice).collect();
        Ok((shared, unused, notices))
    }

    /// After a power cut, a log may end before the offset that the last flush names, and what is written next would be flushed by
    /// the next start. A correction of the flush is durable before anything is written. If it cannot be, writes are refused.
    fn correct_flush(&self) {
        let mut flushed = self.flushing.lock();
        let ends: Vec<u64> = self.journals.logs().map(|log| log.end()).collect();
        let lost = |(flushed, end): (&u64, &u64)| flushed > end;
        if !flushed.iter().zip(&ends).any(lost) {
            return;
        }
        for (flushed, end) in flushed.iter_mut().zip(ends) {
            *flushed = end.min(*flushed);
        }
        let flush = Flush::Before(flushed.clone());
        let corrected = self.journals.0[0].append_flush(&self.maps, Now(0), &flush);
        let first = self.journals.0[0].log();
        let synced = corrected.and_then(|()| match first.map(|log| log.sync()) {
            Some(Err(error)) => Err(StoreError::from(&error)),
            _ => Ok(()),
        });
        if let Err(error) = synced {
            self.durability.fail(error);
        }
    }
}

impl Drop for Hash {
    fn drop(&mut self) {
        self.stop_threads();
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Hash")
            .field("settings", &self.settings)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

#[inline]
fn hash(secrets: &RapidSecrets, key: &[u8]) -> u64 {
    rapidhash_v3_inline::<true, false, true>(key, secrets)
}

/// The number of the shard that a scan goes on with.
fn shard_of_cursor(from: &Cursor) -> usize {
    match from {
        Cursor::Number(number) => usize::try_from(*number).unwrap_or(SHARDS),
        Cursor::Start | Cursor::After(_) => 0,
    }
}

impl Engine for Hash {
    #[inline]
    fn key<'a>(&self, bytes: &'a [u8]) -> Key<'a> {
        Key {
            bytes,
            hash: hash(&self.shared.secrets, bytes),
        }
    }

    #[inline]
    fn prefetch(&self, key: &Key<'_>) {
        self.shared.index.prefetch(key.hash);
    }

    #[inline]
    fn prefetch_item(&self, key: &Key<'_>) {
        self.shared.index.prefetch_item(key.hash, &self.shared.maps);
    }

    #[inline]
    fn read<'w, R>(
        &self,
        key: &Key<'_>,
        access: impl Into<Access<'w>>,
        f: impl FnOnce(Option<&Entry<'_>>) -> R,
    ) -> Result<Answer<R>, StoreError> {
        self.look(key, access.into(), true, f)
    }

    #[inline]
    fn peek<'w, R>(
        &self,
        key: &Key<'_>,
        access: impl Into<Access<'w>>,
        f: impl FnOnce(Option<&Entry<'_>>) -> R,
    ) -> Result<Answer<R>, StoreError> {
        self.look(key, access.into(), false, f)
    }

    fn update<'v, 'w, R>(
        &self,
        key: &Key<'_>,
        access: impl Into<Access<'w>>,
        f: impl FnMut(Option<&Entry<'_>>) -> (Decision<'v>, R),
    ) -> Result<Answer<Stored<R>>, StoreError> {
        self.write(key, access.into(), f)
    }

    fn want(&self, key: &Key<'_>, need: Need, warm: &Warm) {
        if need != Need::Nothing && self.is_cold(key, need) {
            warm.want(key.bytes, need);
        }
    }

    fn fetch(&self, warm: Warm) -> Fetch {
        Fetch::new(warm, |wants| {
            let mailbox = Arc::new(Mailbox::default());
            if self.shared.readers.ask(wants, &mailbox)
                && let Err(error) = self.start("hash-read", cold::run)
            {
                self.shared.readers.lack_thread(&error);
            }
            Delivered(mailbox)
        })
    }

    fn begin_commit(&self) {
        if self.shared.settings.sync == Sync::Commit {
            self.shared.durability.request();
        }
    }

    fn sync(&self) -> Result<Commit, StoreError> {
        self.check_writes()?;
        Ok(match self.shared.settings.sync {
            Sync::Commit => self.shared.durability.last(),
            Sync::None | Sync::Interval => Commit::NONE,
        })
    }

    fn committed(&self, upto: Commit) -> Committed {
        self.shared.durability.commits.wait(upto)
    }

    fn is_cache(&self) -> bool {
        false
    }

    fn close(&self) -> Result<(), StoreError> {
        let shared = &*self.shared;
        if shared.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.stop_threads();
        // A write that was under way has its journal's lock, which taking the logs waits for.
        let logs: Vec<Log> = shared.journals.0.iter().filter_map(Journal::take_log).collect();
        let mut result = shared.durability.check();
        if result.is_ok() {
            // Without a snapshot, the next start takes longer.
            let _ = shared.snapshots.write(shared, u64::MAX, &logs, Log::checkpoint);
        }
        for log in &logs {
            result = result.and(log.close().map_err(|error| StoreError::from(&error)));
        }
        match result {
            Ok(()) => shared.durability.commits.reach(shared.durability.last().0),
            Err(error) => shared.durability.fail(error),
        }
        shared.durability.fail(StoreError::Unavailable);
        drop(logs);
        shared.folder.lock().take();
        result
    }

    fn large_value(&self) -> u64 {
        LARGE
    }

    fn fits(&self, key_length: usize, value_length: u64) -> Result<(), StoreError> {
        if key_length > KEY_LENGTH_MAX {
            return Err(StoreError::KeyTooLong { length: key_length });
        }
        let size = value_length.saturating_add(key_length as u64 + ITEM_OVERHEAD);
        let batch_max = log::batch::BATCH_BYTES_MAX - record::OVERHEAD_MAX;
        let max = self.shared.settings.item_size_max.min(batch_max);
        if size > max {
            return Err(StoreError::TooLarge { size, max });
        }
        Ok(())
    }

    fn reserve(&self, length: u64, _: Now) -> Result<Extent, StoreError> {
        self.fits(0, length)?;
        self.check_writes()?;
        self.shared.uploads.receive(length)
    }

    fn flush(&self, at: Option<u32>, now: Now) -> Result<Commit, StoreError> {
        self.check_writes()?;
        self.pass_time(now)?;
        let shared = &*self.shared;
        let mut flushed = shared.flushing.lock();
        match at.filter(|second| *second > now.0) {
            Some(second) => {
                shared.journals.0[0].append_flush(&shared.maps, now, &Flush::At(second))?;
                shared.flush_at.store(second, Ordering::Relaxed);
                Ok(shared.durability.appended())
            }
            None => self.flush_now(now, &mut flushed),
        }
    }

    fn scan<'w>(
        &self,
        from: &Cursor,
        steps: usize,
        access: impl Into<Access<'w>>,
        mut f: impl FnMut(&Entry<'_>),
    ) -> Result<Answer<Option<Cursor>>, StoreError> {
        let access = access.into();
        self.check_open()?;
        self.pass_time(access.now)?;
        let mut visit = |item: &OwnedEntry| {
            if !item.expiry.passed(access.now) {
                f(&item.entry(access.need == Need::Value));
            }
        };
        if self.shared.damage.is_any() {
            return Err(StoreError::Damaged);
        }
        if let Some(page) = access.warm.and_then(|warm| warm.take_page(from)) {
            let page = page?;
            page.items.iter().for_each(|item| visit(item));
            return Ok(Answer::Ready(page.next));
        }
        let begin = shard_of_cursor(from);
        let mut left = steps.max(1);
        for number in begin..SHARDS {
            let goes_on = Ok(Answer::Ready(Some(Cursor::Number(number as u64))));
            if left == 0 {
                return goes_on;
            }
            match self.items_of(number, access.need.into())? {
                Answer::Ready(items) => {
                    items.iter().for_each(&mut visit);
                    left = left.saturating_sub(items.len() + 1);
                }
                // The next call begins with this shard.
                Answer::Cold if number > begin => return goes_on,
                Answer::Cold => {
                    if let Some(warm) = access.warm {
                        warm.want_page(from, steps, access.need);
                    }
                    return Ok(Answer::Cold);
                }
            }
        }
        Ok(Answer::Ready(None))
    }

    fn tick(&self, now: Now, _: usize) -> bool {
        // An error here is met again by the next call that needs the flush.
        let _ = self.pass_time(now);
        self.shared.flushed.forget(now);
        false
    }

    fn resize(&self, capacity: u64) -> Result<(), StoreError> {
        Err(StoreError::CapacityOutOfBounds {
            capacity,
            min: 0,
            max: 0,
        })
    }

    fn observe(&self, observer: Arc<dyn Observer>) -> Observation {
        self.shared.observers.add(observer)
    }

    fn statistics(&self) -> Statistics {
        self.shared.figures()
    }

    fn notices(&self) -> Vec<Notice> {
        self.shared.look_for_refusals();
        self.shared.durability.health.notices()
    }
}
