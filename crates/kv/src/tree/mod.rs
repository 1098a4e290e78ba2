//! The tree engine: items in the order of their keys, in compressed pages.
//!
//! ```text
//!   write ─▶ Journal (a log) ─▶ Pending (maps in memory) ─── merge ──▶ Pages (a library's B-tree file)
//!              └─ sync                │                                    │
//!   read  ─▶ cache (a memory engine) ─┴─ or ───────────────────── or, on the readers' threads
//! ```
//!
//! A write is in the log before its reply leaves, as with a hash store, with the same modes of durability. It is then kept in
//! memory until a merge puts many writes into the pages at once, sorted, and the log begins behind them. Reads are answered from
//! the memory engine that serves as cache, or from pending writes; only items that are in neither are read from pages, by the
//! readers' threads. The lock order is: stripe → journal → pending.
//!
//! `docs/formats/tree.md` describes the files.
//!
//! **Invariant:** of cache, pending writes and pages, the first that knows a key knows its newest item.
//! **Invariant:** no call on an event loop reads a page.
//! **Invariant:** the keys of a stripe change only under its lock, and each change raises its version.

mod backend;
mod compression;
#[cfg(test)]
mod faults;
mod figures;
mod journal;
mod locks;
mod merge;
#[cfg(test)]
mod model;
mod page;
mod pages;
mod pending;
mod readers;
mod recovery;
#[cfg(test)]
mod tests;
mod write;

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;

use log::storage::{Disk, Storage};
use parking_lot::Mutex;

use crate::commits::Commits;
use crate::durability::{Durability, Sync};
use crate::folder::{self, Folder, Meta};
use crate::memory::{ITEM_SIZE_DEFAULT, Memory};
use crate::observer::Observers;
use crate::owned::OwnedEntry;
use crate::record::{self, Flush};
use crate::uploads::Uploads;
use crate::warm::{self, Fetched};
use crate::{
    Access, Answer, Commit, Committed, Cursor, Decision, Engine, Entry, Error, Extent, Fetch, KEY_LENGTH_MAX,
    Key, Need, Notice, Now, Observation, Observer, Statistics, StoreError, Stored, Warm,
};
pub use compression::Compression;
use figures::Counters;
use journal::{Journal, Write};
use locks::Stripes;
use merge::Merging;
use pages::Pages;
use pending::{Found, Pending};
use readers::Readers;

/// The error that a damaged page causes.
const DAMAGED: StoreError = StoreError::Io(ErrorKind::InvalidData);
/// Bytes that memcached counts for an item beside its key and its value.
const ITEM_OVERHEAD: u64 = 50;
/// The most bytes of a packed item beside its key and its value.
const ITEM_OVERHEAD_MAX: u64 = 32;
/// The bits of a CAS below its epoch.
const CAS_BITS: u32 = 44;
/// No flush is pending.
const NEVER: u32 = u32::MAX;
/// Bytes of memory for the cache.
pub(crate) const CACHE_DEFAULT: u64 = 64 << 20;
/// Bytes of items that one step of a scan reads at most, and one item more.
const SCAN_BYTES: u64 = 1 << 20;

/// How a store behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// When writes are durable.
    pub(crate) sync: Sync,
    /// How pages are compressed that are written from now on.
    pub(crate) compression: Compression,
    /// The largest item, counted as memcached counts it.
    pub(crate) item_size_max: u64,
    /// Bytes of memory for items that were read or written lately.
    pub(crate) cache: u64,
    /// Bytes of pending writes from which on they are merged.
    pub(crate) merge_bytes: u64,
    /// Allocate space ahead of the log's end.
    pub(crate) preallocate: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            sync: Sync::default(),
            compression: Compression::default(),
            item_size_max: ITEM_SIZE_DEFAULT,
            cache: CACHE_DEFAULT,
            merge_bytes: 32 << 20,
            preallocate: true,
        }
    }
}

/// An ordered store whose items lie in compressed pages.
#[derive(Debug)]
pub struct Tree {
    /// Recently read or written items. Pending writes and pages have those that it evicts.
    cache: Memory,
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// The state that the engine's threads share.
struct Shared {
    pending: Pending,
    pages: Pages,
    journal: Journal,
    durability: Durability,
    merging: Merging,
    /// Ends of merges, which writes wait for that found no room.
    room: Arc<Commits>,
    readers: Readers,
    stripes: Stripes,
    settings: Settings,
    /// Values from this length on are shared with the cache's readers.
    large: u64,
    /// The last CAS that was given out.
    cas: AtomicU64,
    /// When everything shall be flushed; [`NEVER`] if not.
    flush_at: AtomicU32,
    /// Held while a flush is made or announced.
    flushing: Mutex<()>,
    /// The number of flushes, and the number of those that the pages know.
    generation: AtomicU64,
    pages_generation: AtomicU64,
    /// Items that the pages have, and their bytes before compression.
    pages_items: AtomicU64,
    pages_bytes: AtomicU64,
    closed: AtomicBool,
    /// True if the device had no room when the store was opened.
    is_readable_only: AtomicBool,
    /// The content of the folder's own file that waits for room.
    unsaved: Mutex<Option<Meta>>,
    /// The second of the last call, for merges.
    second: AtomicU32,
    counters: Counters,
    observers: Arc<Observers>,
    uploads: Arc<Uploads>,
    /// `None` after closing.
    folder: Mutex<Option<Folder>>,
}

impl Tree {
    /// Opens the store of a folder, or creates it. This waits for the device.
    ///
    /// # Errors
    /// The folder is in use, damaged, of another program or engine, or of a newer version, or the system refuses.
    pub(crate) fn open(path: &Path, settings: Settings) -> Result<(Tree, log::Recovery), Error> {
        Tree::open_in(&(Arc::new(Disk) as Arc<dyn Storage>), path, settings)
    }

    /// The same on another storage.
    ///
    /// # Errors
    /// As for [`open`](Tree::open).
    pub(crate) fn open_in(
        storage: &Arc<dyn Storage>,
        path: &Path,
        settings: Settings,
    ) -> Result<(Tree, log::Recovery), Error> {
        let cache = cache(&settings)?;
        let large = cache.large_value();
        let (shared, report) = recovery::recover(storage, path, settings, large)?;
        let tree = Tree {
            cache,
            shared: Arc::new(shared),
            threads: Mutex::default(),
        };
        let started = tree
            .start("tree-sync", |shared| shared.durability.run(&shared.journal))
            .and_then(|()| tree.start("tree-merge", merge::run))
            .and_then(|()| {
                let read = |shared: &Shared| shared.readers.run(shared);
                (0..readers::THREADS).try_for_each(|_| tree.start("tree-read", read))
            });
        started.map_err(|error| folder::failed("start a thread for", path, error))?;
        Ok((tree, report))
    }

    /// Starts a thread that ends when the store is closed.
    fn start(&self, name: &str, work: fn(&Shared)) -> std::io::Result<()> {
        let shared = self.shared.clone();
        let builder = std::thread::Builder::new().name(name.to_owned());
        self.threads.lock().push(builder.spawn(move || work(&shared))?);
        Ok(())
    }

    fn next_cas(&self) -> u64 {
        self.shared.cas.fetch_add(1, Ordering::Relaxed) + 1
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
        if self.shared.is_readable_only.load(Ordering::Acquire) {
            return Err(StoreError::Full);
        }
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
        let _one_at_a_time = self.shared.flushing.lock();
        let at = self.shared.flush_at.load(Ordering::Relaxed);
        if at != NEVER && now.0 >= at {
            self.flush_now(now)?;
        }
        Ok(())
    }

    /// Removes everything. All stripes are locked meanwhile, so each write is before it or after it. The next merge empties the
    /// pages; until then they are not read.
    fn flush_now(&self, now: Now) -> Result<Commit, StoreError> {
        let shared = &*self.shared;
        let all = shared.stripes.lock_all();
        let items = shared.items();
        let flush = Flush::Before(Vec::new());
        shared.journal.append(Write::Flush(&flush), now, || {
            shared.pending.clear(|| {
                shared.generation.fetch_add(1, Ordering::AcqRel);
                shared.pages_items.store(0, Ordering::Relaxed);
                shared.pages_bytes.store(0, Ordering::Relaxed);
                shared.flush_at.store(NEVER, Ordering::Relaxed);
            });
        })?;
        let _ = self.cache.flush(None, now)?;
        drop(all);
        shared.counters.flushed.fetch_add(items, Ordering::Relaxed);
        shared.merging.request();
        Ok(shared.durability.appended())
    }

    /// Runs `f` with the item, if it can be found without reading a page.
    #[cold]
    fn look<R>(
        &self,
        key: &Key<'_>,
        access: Access<'_>,
        f: impl FnOnce(Option<&Entry<'_>>) -> R,
    ) -> Result<Answer<R>, StoreError> {
        let stripe = self.shared.stripes.lock(key.hash);
        let item = match self.shared.pending.find(key.bytes) {
            Found::Item(item) => Some(item),
            Found::Removed => None,
            Found::Unknown if !self.shared.pages_have_items() => None,
            Found::Unknown => match self.fetched(key, access, stripe.version())? {
                Some(item) => item,
                None => return Ok(Answer::Cold),
            },
        };
        let item = item.filter(|item| self.is_live(key, item, access.now, true));
        if let Some(item) = &item {
            self.cache_item(key, item, access.now);
        }
        drop(stripe);
        let entry = item.as_deref().map(|item| item.entry(true));
        Ok(Answer::Ready(f(entry.as_ref())))
    }

    /// The item that was fetched for a caller, if it was and nothing has changed since. Otherwise it is noted to be fetched.
    fn fetched(
        &self,
        key: &Key<'_>,
        access: Access<'_>,
        version: u64,
    ) -> Result<Option<Option<Arc<OwnedEntry>>>, StoreError> {
        let Some(warm) = access.warm else {
            return Ok(None);
        };
        match warm.take(key.bytes, access.need) {
            Some(Fetched::Dated { item, version: as_of }) if as_of == version => return Ok(Some(item)),
            Some(Fetched::Failed(error)) => return Err(error),
            _ => warm.want(key.bytes, access.need),
        }
        Ok(None)
    }

    /// Returns false if an item has expired, which is then removed. The log has its expiry, and need not have its removal. The
    /// caller has its stripe.
    fn is_live(&self, key: &Key<'_>, item: &OwnedEntry, now: Now, read: bool) -> bool {
        let live = !item.expiry.passed(now);
        if !live {
            self.shared.pending.put(key.bytes, None, Some(true));
            self.shared.counters.expired(read);
        }
        live
    }

    /// Keeps an item in the cache. The caller has its stripe.
    fn cache_item(&self, key: &Key<'_>, item: &OwnedEntry, now: Now) {
        let value = [item.value.bytes()];
        self.apply_to_cache(key, now, |_| Decision::Put(write::whole(item, &value)));
    }

    /// Changes what the cache has of a key. If it has no room, it forgets the key.
    fn apply_to_cache<'v>(&self, key: &Key<'_>, now: Now, mut decide: impl FnMut(bool) -> Decision<'v>) {
        let done = self.cache.update(key, now, |entry| (decide(entry.is_some()), ()));
        if done.is_err() {
            self.forget_in_cache(key, now);
        }
    }

    #[cold]
    fn forget_in_cache(&self, key: &Key<'_>, now: Now) {
        let removed = self.cache.update(key, now, |_| (Decision::Remove, ()));
        if let Err(error) = removed {
            // The memory engine needs no memory to remove an item. If it did, old values could be read from now on.
            self.shared.durability.fail(error);
            self.shared.closed.store(true, Ordering::Release);
        }
    }

    fn stop_threads(&self) {
        self.shared.durability.stop();
        self.shared.merging.stop();
        self.shared.readers.close();
        for thread in self.threads.lock().drain(..) {
            // A panic of a thread was reported when it happened.
            let _ = thread.join();
        }
    }
}

/// The memory engine that serves as cache.
fn cache(settings: &Settings) -> Result<Memory, Error> {
    let capacity = settings.cache.max(crate::memory::CAPACITY_MIN);
    let item_size_max = settings.item_size_max.min(capacity / 8);
    let bytes = usize::try_from(capacity).unwrap_or(usize::MAX);
    Memory::new(bytes, item_size_max, true)
}

impl Shared {
    /// False if all items are in memory, so that a key that is not there does not exist.
    fn pages_have_items(&self) -> bool {
        self.pages_items.load(Ordering::Acquire) > 0 && self.pages_are_current()
    }

    /// False from a flush until the pages were emptied.
    fn pages_are_current(&self) -> bool {
        self.pages_generation.load(Ordering::Acquire) == self.generation.load(Ordering::Acquire)
    }

    fn now(&self) -> Now {
        Now(self.second.load(Ordering::Relaxed))
    }
}

impl readers::Source for Shared {
    /// Reads an item from the pages. The version tells the caller whether its stripe has changed meanwhile.
    fn read(&self, key: &[u8], hash: u64) -> Fetched {
        let version = self.stripes.lock(hash).version();
        let item = match self.pending.find(key) {
            Found::Item(item) => Ok(Some(item)),
            Found::Removed => Ok(None),
            Found::Unknown if !self.pages_have_items() => Ok(None),
            Found::Unknown => self.pages.get(key),
        };
        self.counters.cold_reads.fetch_add(1, Ordering::Relaxed);
        match item {
            Ok(item) => Fetched::Dated { item, version },
            Err(error) => Fetched::Failed(error),
        }
    }

    fn page(&self, from: &Cursor, steps: usize) -> Result<warm::Page, StoreError> {
        let after = match from {
            Cursor::After(key) => Some(&**key),
            Cursor::Start | Cursor::Number(_) => None,
        };
        let steps = steps.max(1);
        // Pending writes first: what a merge moves meanwhile is then in one of the two at least.
        let (changes, changes_end) = self.pending.range(after, steps, SCAN_BYTES);
        let (old, old_end) = match self.pages_have_items() {
            true => self.pages.range(after, steps, SCAN_BYTES)?,
            false => (Vec::new(), true),
        };
        Ok(merge::page(changes, changes_end, old, old_end))
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.stop_threads();
        self.shared.pages.close();
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Tree")
            .field("settings", &self.settings)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl Engine for Tree {
    #[inline]
    fn key<'a>(&self, bytes: &'a [u8]) -> Key<'a> {
        self.cache.key(bytes)
    }

    #[inline]
    fn prefetch(&self, key: &Key<'_>) {
        self.cache.prefetch(key);
    }

    #[inline]
    fn prefetch_item(&self, key: &Key<'_>) {
        self.cache.prefetch_item(key);
    }

    #[inline]
    fn read<'w, R>(
        &self,
        key: &Key<'_>,
        access: impl Into<Access<'w>>,
        f: impl FnOnce(Option<&Entry<'_>>) -> R,
    ) -> Result<Answer<R>, StoreError> {
        let access = access.into();
        self.check_open()?;
        self.pass_time(access.now)?;
        let mut f = Some(f);
        let cached = self.cache.read(key, access.now, |entry| {
            let entry = entry?;
            f.take().map(|f| f(Some(entry)))
        })?;
        match (cached, f) {
            (Answer::Ready(Some(answer)), _) => Ok(Answer::Ready(answer)),
            (_, Some(f)) => self.look(key, access, f),
            // The closure runs once, and its answer was matched.
            (_, None) => Err(StoreError::Unavailable),
        }
    }

    #[inline]
    fn peek<'w, R>(
        &self,
        key: &Key<'_>,
        access: impl Into<Access<'w>>,
        f: impl FnOnce(Option<&Entry<'_>>) -> R,
    ) -> Result<Answer<R>, StoreError> {
        let access = access.into();
        self.check_open()?;
        self.pass_time(access.now)?;
        let mut f = Some(f);
        let cached = self.cache.peek(key, access.now, |entry| {
            let entry = entry?;
            f.take().map(|f| f(Some(entry)))
        })?;
        match (cached, f) {
            (Answer::Ready(Some(answer)), _) => Ok(Answer::Ready(answer)),
            (_, Some(f)) => self.look(key, access, f),
            (_, None) => Err(StoreError::Unavailable),
        }
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
        if need == Need::Nothing || !self.shared.pages_have_items() {
            return;
        }
        let cached = self.cache.peek(key, self.shared.now(), |entry| entry.is_some());
        let in_memory = matches!(cached, Ok(Answer::Ready(true)))
            || !matches!(self.shared.pending.find(key.bytes), Found::Unknown);
        if !in_memory {
            warm.want(key.bytes, need);
        }
    }

    fn fetch(&self, warm: Warm) -> Fetch {
        let shared = self.shared.clone();
        Fetch::new(warm, |wants| {
            let hash = |key: &[u8]| self.cache.key(key).hash;
            let reading = shared.readers.begin(wants, hash);
            let room = shared.merging.room(&shared);
            async move {
                // If there will be no room, the write that needs it finds out.
                let _ = room.await;
                reading.await
            }
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
        let mut result = shared.durability.check();
        if result.is_ok() && shared.has_pending() {
            // If the merge fails, the next start replays the log.
            let _ = merge::merge(shared, true);
        }
        // A write that was under way has the journal's lock, which taking the log waits for.
        if let Some(log) = shared.journal.take_log() {
            result = result.and(log.close().map_err(|error| StoreError::from(&error)));
        }
        match result {
            Ok(()) => shared.durability.commits.reach(shared.durability.last().0),
            Err(error) => shared.durability.fail(error),
        }
        shared.durability.fail(StoreError::Unavailable);
        shared.room.fail(StoreError::Unavailable);
        shared.pages.close();
        shared.folder.lock().take();
        result
    }

    fn large_value(&self) -> u64 {
        self.shared.large
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
        let _one_at_a_time = shared.flushing.lock();
        match at.filter(|second| *second > now.0) {
            Some(second) => {
                let flush = Flush::At(second);
                shared.journal.append(Write::Flush(&flush), now, || {
                    shared.flush_at.store(second, Ordering::Relaxed);
                })?;
                Ok(shared.durability.appended())
            }
            None => self.flush_now(now),
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
        let Some(warm) = access.warm else {
            return Ok(Answer::Cold);
        };
        let Some(page) = warm.take_page(from) else {
            warm.want_page(from, steps, access.need);
            return Ok(Answer::Cold);
        };
        let page = page?;
        for item in page.items.iter().filter(|item| !item.expiry.passed(access.now)) {
            // Cached entries have the time of their last access.
            let key = self.cache.key(&item.key);
            let _ = self.cache.peek(&key, access.now, |cached| match cached {
                Some(entry) if entry.cas() == item.cas => f(entry),
                _ => f(&item.entry(access.need == Need::Value)),
            })?;
        }
        Ok(Answer::Ready(page.next))
    }

    fn tick(&self, now: Now, budget: usize) -> bool {
        self.shared.second.store(now.0, Ordering::Relaxed);
        // An error here is met again by the next call that needs the flush.
        let _ = self.pass_time(now);
        self.cache.tick(now, budget)
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
        self.figures()
    }

    fn notices(&self) -> Vec<Notice> {
        self.shared.durability.health.notices()
    }
}
