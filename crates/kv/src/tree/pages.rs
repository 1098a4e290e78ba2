//! The pages of a tree, in the library's file.
//!
//! ```text
//!   table "pages"      lower bound of a page ──▶ page
//!   table "expiries"   second, lower bound   ──▶ nothing: pages with an item that expires, by the first such second
//!   table "facts"      "offset", "items", "flush" ──▶ number
//! ```
//!
//! A merge puts a sorted set of changes into the pages, in one transaction that is durable when it ends. It names the
//! log's offset before which the pages have all writes.
//!
//! **Invariant:** all methods wait for the device.
//! **Invariant:** after a failure of the library its file is opened again, since the library refuses everything until then.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use log::storage::Storage;
use parking_lot::Mutex;
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};

use super::DAMAGED;
use super::backend::Backend;
use super::compression::Compression;
use super::page::{self, Bounds, Page};
use crate::owned::OwnedEntry;
use crate::{Error, Now, StoreError};

const PAGES: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("pages");
const EXPIRIES: TableDefinition<'_, &[u8], ()> = TableDefinition::new("expiries");
const FACTS: TableDefinition<'_, &str, u64> = TableDefinition::new("facts");

/// Names of facts.
const OFFSET: &str = "offset";
const ITEMS: &str = "items";
const BYTES: &str = "bytes";
const FLUSH: &str = "flush";

/// A page should take at most this much when it is compressed, so that it fits one of the library's pages of 4 KiB.
const STORED_BYTES: usize = 3700;
/// The most bytes of items in a page of several items, however well they can be compressed.
const ITEMS_BYTES_MAX: usize = 64 << 10;
/// A page that has fewer bytes of items than this part of a full one is joined with the next.
const SMALL: usize = 4;
/// Memory that the library uses for its cache.
const LIBRARY_CACHE_BYTES: usize = 16 << 20;

/// The new items of keys; `None` removes an item.
pub(super) type Changes = BTreeMap<Box<[u8]>, Option<Arc<OwnedEntry>>>;

/// The pages of one store.
#[derive(Debug)]
pub(super) struct Pages {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    compression: Compression,
    /// The length from which on values are shared.
    large: u64,
    database: Mutex<Option<Arc<Database>>>,
    /// The bytes of items that make a full page: more if they can be compressed well.
    full: AtomicUsize,
}

/// The parameters of a merge, beside the changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// All items that were merged before are dropped first.
    pub(super) wipe: bool,
    pub(super) facts: Facts,
    pub(super) now: Now,
    /// The most pages that are rewritten only because their items have expired.
    pub(super) purges_max: usize,
}

/// The file's facts beside its items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// The pages have everything before this offset of the log.
    pub(super) offset: u64,
    /// When everything shall be flushed.
    pub(super) flush_at: Option<u32>,
}

/// The items of all pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) items: u64,
    /// Their bytes before compression.
    pub(super) bytes: u64,
}

/// The result of a merge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Merged {
    /// The items of the pages afterwards.
    pub(super) held: Held,
    /// Items that were dropped because they had expired.
    pub(super) expired: u64,
    /// Pages that were written, and their bytes.
    pub(super) pages: u64,
    pub(super) bytes: u64,
}

impl Pages {
    /// Opens the file, or creates it, and returns what it knows.
    ///
    /// # Errors
    /// The file is damaged, of another program, or the system refuses.
    pub(super) fn open(
        storage: Arc<dyn Storage>,
        path: &Path,
        compression: Compression,
        large: u64,
    ) -> Result<(Pages, Facts, Held), Error> {
        let pages = Pages {
            storage,
            path: path.to_owned(),
            compression,
            large,
            database: Mutex::new(None),
            full: AtomicUsize::new(STORED_BYTES),
        };
        let opened = guarded(|| {
            let database = pages.open_library()?;
            let facts = read_facts(&database)?;
            *pages.database.lock() = Some(Arc::new(database));
            Ok(facts)
        });
        let (facts, held) = opened.map_err(|failure| failure.of_opening(path))?;
        Ok((pages, facts, held))
    }

    fn open_library(&self) -> Result<Database, Failure> {
        let backend = Backend::open(&*self.storage, &self.path).map_err(redb::Error::from)?;
        let database = redb::Builder::new()
            .set_cache_size(LIBRARY_CACHE_BYTES)
            .create_with_backend(backend)
            .map_err(redb::Error::from)?;
        Ok(database)
    }

    /// Ends the use of the file.
    pub(super) fn close(&self) {
        let database = self.database.lock().take();
        // A panic of the library is damage, which does not matter any more.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(database)));
    }

    /// The item of a key.
    ///
    /// # Errors
    /// The device failed, or the page is damaged.
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Arc<OwnedEntry>>, StoreError> {
        self.run(|database| {
            let table = match database.begin_read()?.open_table(PAGES) {
                Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
                table => table?,
            };
            let Some(page) = page_of(&table, key)? else {
                return Ok(None);
            };
            let found = page.find(key)?;
            Ok(found.map(|item| Arc::new(item.to_owned(self.large))))
        })
    }

    /// Returns items after a key, in order, up to a number and about a size. The flag is true at the end.
    ///
    /// # Errors
    /// As for [`get`](Pages::get).
    pub(super) fn range(
        &self,
        after: Option<&[u8]>,
        items_max: usize,
        bytes_max: u64,
    ) -> Result<(Vec<Arc<OwnedEntry>>, bool), StoreError> {
        self.run(|database| {
            let table = match database.begin_read()?.open_table(PAGES) {
                Err(redb::TableError::TableDoesNotExist(_)) => return Ok((Vec::new(), true)),
                table => table?,
            };
            let first = match after {
                Some(key) => page_of(&table, key)?,
                None => page_of(&table, &[])?,
            };
            let mut next = first;
            let (mut items, mut bytes) = (Vec::new(), 0);
            while let Some(page) = next {
                for item in page.items() {
                    let item = item?;
                    if after.is_some_and(|after| item.key <= after) {
                        continue;
                    }
                    if items.len() >= items_max || bytes >= bytes_max {
                        return Ok((items, false));
                    }
                    bytes += item.bytes.len() as u64;
                    items.push(Arc::new(item.to_owned(self.large)));
                }
                next = match &page.bounds.upper {
                    Some(upper) => Some(exact_page(&table, upper)?),
                    None => None,
                };
            }
            Ok((items, true))
        })
    }

    /// The file's facts beside its items.
    ///
    /// # Errors
    /// The device failed, or the file is damaged.
    pub(super) fn facts(&self) -> Result<Facts, StoreError> {
        self.run(|database| Ok(read_facts(database)?.0))
    }

    /// True if an item has expired.
    ///
    /// # Errors
    /// As for [`facts`](Pages::facts).
    pub(super) fn has_expired(&self, now: Now) -> Result<bool, StoreError> {
        self.run(|database| {
            let table = match database.begin_read()?.open_table(EXPIRIES) {
                Err(redb::TableError::TableDoesNotExist(_)) => return Ok(false),
                table => table?,
            };
            Ok(due(&table, now, 1)?.next().is_some())
        })
    }

    /// Merges changes into the pages. When it returns, they are durable.
    ///
    /// # Errors
    /// The device failed or is full, or a page is damaged. The pages are as they were.
    pub(super) fn merge(&self, changes: &Changes, plan: Plan) -> Result<Merged, StoreError> {
        self.run(|database| {
            let mut transaction = database.begin_write()?;
            // The library then needs not read its whole file when it opens it after a crash.
            transaction.set_quick_repair(true);
            let merged = self.merge_within(&transaction, changes, plan)?;
            transaction.commit()?;
            Ok(merged)
        })
    }

    fn merge_within(
        &self,
        transaction: &WriteTransaction,
        changes: &Changes,
        plan: Plan,
    ) -> Result<Merged, Failure> {
        if plan.wipe {
            transaction.delete_table(PAGES)?;
            transaction.delete_table(EXPIRIES)?;
        }
        let mut facts = transaction.open_table(FACTS)?;
        let before = match plan.wipe {
            true => Held::default(),
            false => Held {
                items: facts.get(ITEMS)?.map_or(0, |items| items.value()),
                bytes: facts.get(BYTES)?.map_or(0, |bytes| bytes.value()),
            },
        };
        let mut merge = Merge {
            pages: transaction.open_table(PAGES)?,
            expiries: transaction.open_table(EXPIRIES)?,
            store: self,
            now: plan.now,
            merged: Merged {
                held: before,
                ..Merged::default()
            },
        };
        let mut left = changes.iter().peekable();
        while let Some((key, _)) = left.peek() {
            let key = (*key).clone();
            merge.run(&key, &mut left)?;
        }
        for lower in merge.due(plan.purges_max)? {
            // Joining pages may have removed it since.
            if merge.pages.get(&*lower)?.is_some() {
                merge.run(&lower, &mut Changes::new().iter().peekable())?;
            }
        }
        facts.insert(ITEMS, merge.merged.held.items)?;
        facts.insert(BYTES, merge.merged.held.bytes)?;
        facts.insert(OFFSET, plan.facts.offset)?;
        match plan.facts.flush_at {
            Some(second) => drop(facts.insert(FLUSH, u64::from(second))?),
            None => drop(facts.remove(FLUSH)?),
        }
        Ok(merge.merged)
    }

    /// Runs an operation of the library. If the library refuses it because of an earlier failure, its file is opened again.
    fn run<R>(&self, f: impl Fn(&Database) -> Result<R, Failure>) -> Result<R, StoreError> {
        let attempt = || {
            let database = self.database.lock().clone();
            let database = database.ok_or(Failure::Store(StoreError::Unavailable))?;
            guarded(|| f(&database)).inspect_err(|failure| {
                if failure.ends_library() {
                    self.reopen(&database);
                }
            })
        };
        let result = match attempt() {
            Err(failure) if failure.is_earlier() => attempt(),
            result => result,
        };
        result.map_err(|failure| failure.of_store())
    }

    /// Replaces a database that refuses everything, unless another thread has done so.
    fn reopen(&self, failed: &Arc<Database>) {
        let mut current = self.database.lock();
        if !current
            .as_ref()
            .is_some_and(|current| Arc::ptr_eq(current, failed))
        {
            return;
        }
        // If that fails, too, the failed one stays, and the next operation tries again.
        if let Ok(database) = guarded(|| self.open_library()) {
            *current = Some(Arc::new(database));
        }
    }
}

fn read_facts(database: &Database) -> Result<(Facts, Held), Failure> {
    let transaction = database.begin_read()?;
    let table = match transaction.open_table(FACTS) {
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok((Facts::default(), Held::default())),
        table => table?,
    };
    let number = |name| table.get(name).map(|number| number.map(|number| number.value()));
    let facts = Facts {
        offset: number(OFFSET)?.unwrap_or(0),
        flush_at: number(FLUSH)?.and_then(|second| u32::try_from(second).ok()),
    };
    let held = Held {
        items: number(ITEMS)?.unwrap_or(0),
        bytes: number(BYTES)?.unwrap_or(0),
    };
    Ok((facts, held))
}

/// Returns the page that covers a key; `None` if the tree has no pages.
fn page_of(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    key: &[u8],
) -> Result<Option<Page>, Failure> {
    let Some(found) = table.range::<&[u8]>(..=key)?.next_back() else {
        // The first page is responsible for all keys before the second.
        return if table.is_empty()? {
            Ok(None)
        } else {
            Err(DAMAGED.into())
        };
    };
    let (lower, bytes) = found?;
    let page = Page::decode(bytes.value())?;
    if *page.bounds.lower != *lower.value() {
        return Err(DAMAGED.into());
    }
    page.check_bounds(key)?;
    Ok(Some(page))
}

/// The page with this lower bound.
fn exact_page(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    lower: &[u8],
) -> Result<Page, Failure> {
    let bytes = table.get(lower)?.ok_or(DAMAGED)?;
    let page = Page::decode(bytes.value())?;
    if *page.bounds.lower != *lower {
        return Err(DAMAGED.into());
    }
    Ok(page)
}

/// A merge under way.
struct Merge<'t> {
    pages: redb::Table<'t, &'static [u8], &'static [u8]>,
    expiries: redb::Table<'t, &'static [u8], ()>,
    store: &'t Pages,
    now: Now,
    merged: Merged,
}

/// Items that become a page.
struct Draft {
    lower: Box<[u8]>,
    items: Vec<u8>,
    first_expiry: Option<u32>,
}

type Left<'c> =
    std::iter::Peekable<std::collections::btree_map::Iter<'c, Box<[u8]>, Option<Arc<OwnedEntry>>>>;

impl Held {
    fn remove(&mut self, packed: &[u8]) {
        self.items = self.items.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(packed.len() as u64);
    }
}

impl Merge<'_> {
    /// Rewrites the page that is responsible for a key, with the changes of its keys, and the pages after it as long as what is
    /// left is small.
    fn run(&mut self, key: &[u8], changes: &mut Left<'_>) -> Result<(), Failure> {
        let mut page = page_of(&self.pages, key)?.unwrap_or_else(Page::empty);
        let mut draft = Draft {
            lower: page.bounds.lower.clone(),
            items: Vec::new(),
            first_expiry: None,
        };
        loop {
            self.take_away(&page.bounds.lower)?;
            self.merge_page(&page, changes, &mut draft)?;
            let small = draft.items.len() < self.store.full.load(Relaxed) / SMALL;
            match &page.bounds.upper {
                Some(upper) if small => page = exact_page(&self.pages, upper)?,
                upper => return self.write(draft, upper.clone()),
            }
        }
    }

    /// Removes a page, whose items are about to be in others.
    fn take_away(&mut self, lower: &[u8]) -> Result<(), Failure> {
        let expiry = match self.pages.remove(lower)? {
            Some(old) => page::first_expiry(old.value()),
            None => None,
        };
        if let Some(second) = expiry {
            self.expiries.remove(&*expiry_key(second, lower))?;
        }
        Ok(())
    }

    fn merge_page(&mut self, page: &Page, changes: &mut Left<'_>, draft: &mut Draft) -> Result<(), Failure> {
        let within = |key: &[u8]| page.bounds.upper.as_ref().is_none_or(|upper| *key < **upper);
        let mut packed = Vec::new();
        let mut old = page.items().peekable();
        loop {
            let next = match old.peek() {
                None => None,
                Some(Ok(item)) => Some(item.key),
                Some(Err(error)) => return Err((*error).into()),
            };
            let change = changes.peek().map(|(key, _)| &***key).filter(|key| within(key));
            let takes_change = match (next, change) {
                (None, None) => return Ok(()),
                (None, Some(_)) => true,
                (Some(_), None) => false,
                (Some(next), Some(change)) => change <= next,
            };
            if !takes_change {
                // It was peeked at.
                if let Some(Ok(item)) = old.next() {
                    if item.expiry.passed(self.now) {
                        self.merged.held.remove(item.bytes);
                        self.merged.expired += 1;
                    } else {
                        self.push(draft, item.key, item.expiry, item.bytes)?;
                    }
                }
                continue;
            }
            if next == change
                && let Some(Ok(replaced)) = old.next()
            {
                self.merged.held.remove(replaced.bytes);
            }
            let Some((key, item)) = changes.next() else {
                return Ok(());
            };
            let item = item.as_ref().filter(|item| {
                let expired = item.expiry.passed(self.now);
                self.merged.expired += u64::from(expired);
                !expired
            });
            if let Some(item) = item {
                packed.clear();
                page::pack(item, &mut packed);
                self.merged.held.items += 1;
                self.merged.held.bytes += packed.len() as u64;
                self.push(draft, key, item.expiry, &packed)?;
            }
        }
    }

    /// Adds an item to the draft, which is written first if it is full.
    fn push(
        &mut self,
        draft: &mut Draft,
        key: &[u8],
        expiry: crate::Expiry,
        packed: &[u8],
    ) -> Result<(), Failure> {
        let full = self.store.full.load(Relaxed);
        if !draft.items.is_empty() && draft.items.len() + packed.len() > full {
            let next = Draft {
                lower: key.into(),
                items: Vec::with_capacity(full),
                first_expiry: None,
            };
            let whole = std::mem::replace(draft, next);
            self.write(whole, Some(key.into()))?;
        }
        draft.items.extend_from_slice(packed);
        draft.first_expiry = page::earlier(draft.first_expiry, expiry);
        Ok(())
    }

    fn write(&mut self, draft: Draft, upper: Option<Box<[u8]>>) -> Result<(), Failure> {
        if draft.items.is_empty() && upper.is_none() && draft.lower.is_empty() {
            // The only page, without items: a tree that is empty has no pages.
            return Ok(());
        }
        let bounds = Bounds {
            lower: draft.lower,
            upper,
        };
        let compression = self.store.compression;
        let page = page::encode(&bounds, &draft.items, draft.first_expiry, compression);
        if draft.items.len() >= STORED_BYTES {
            self.store.note_ratio(draft.items.len(), page.len());
        }
        self.merged.pages += 1;
        self.merged.bytes += page.len() as u64;
        self.pages.insert(&*bounds.lower, &*page)?;
        if let Some(second) = draft.first_expiry {
            self.expiries.insert(&*expiry_key(second, &bounds.lower), ())?;
        }
        Ok(())
    }

    /// The lower bounds of pages with items that have expired.
    fn due(&self, pages_max: usize) -> Result<Vec<Box<[u8]>>, Failure> {
        due(&self.expiries, self.now, pages_max)?.collect()
    }
}

impl Pages {
    /// Learns from a page how many bytes of items fit one.
    fn note_ratio(&self, items: usize, stored: usize) {
        let full = self.full.load(Relaxed);
        // A tenth is left for pages that are compressed less well than the last ones.
        let fits = items * (STORED_BYTES / 10 * 9) / stored.max(1);
        let next = (full * 7 + fits.clamp(STORED_BYTES, ITEMS_BYTES_MAX)) / 8;
        self.full.store(next, Relaxed);
    }
}

/// Returns the lower bounds of pages with expired items, up to a number.
fn due(
    expiries: &impl ReadableTable<&'static [u8], ()>,
    now: Now,
    pages_max: usize,
) -> Result<impl Iterator<Item = Result<Box<[u8]>, Failure>>, Failure> {
    let end = now.0.saturating_add(1).to_be_bytes();
    let range = expiries.range::<&[u8]>(..&end[..])?.take(pages_max);
    Ok(range.map(|entry| {
        let (key, _) = entry?;
        Ok(key.value().get(4..).ok_or(DAMAGED)?.into())
    }))
}

fn expiry_key(second: u32, lower: &[u8]) -> Vec<u8> {
    [&second.to_be_bytes()[..], lower].concat()
}

/// Why an operation of the library failed.
#[derive(Debug)]
enum Failure {
    Store(StoreError),
    Library(Box<redb::Error>),
}

impl From<redb::Error> for Failure {
    fn from(error: redb::Error) -> Failure {
        Failure::Library(Box::new(error))
    }
}

impl From<redb::TransactionError> for Failure {
    fn from(error: redb::TransactionError) -> Failure {
        redb::Error::from(error).into()
    }
}

impl From<redb::TableError> for Failure {
    fn from(error: redb::TableError) -> Failure {
        redb::Error::from(error).into()
    }
}

impl From<redb::StorageError> for Failure {
    fn from(error: redb::StorageError) -> Failure {
        redb::Error::from(error).into()
    }
}

impl From<redb::CommitError> for Failure {
    fn from(error: redb::CommitError) -> Failure {
        redb::Error::from(error).into()
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::Store(error)
    }
}

impl Failure {
    /// True if the library refuses everything from now on.
    fn ends_library(&self) -> bool {
        match self {
            Failure::Store(_) => false,
            Failure::Library(error) => matches!(**error, redb::Error::Io(_) | redb::Error::PreviousIo),
        }
    }

    /// True if the library refused because of a failure before.
    fn is_earlier(&self) -> bool {
        matches!(self, Failure::Library(error) if matches!(**error, redb::Error::PreviousIo))
    }

    fn of_store(&self) -> StoreError {
        use std::io::ErrorKind;
        match self {
            Failure::Store(error) => *error,
            Failure::Library(error) => match &**error {
                redb::Error::Io(error) => match error.kind() {
                    ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::Full,
                    ErrorKind::UnexpectedEof => DAMAGED,
                    kind => StoreError::Io(kind),
                },
                redb::Error::PreviousIo => StoreError::Io(ErrorKind::Other),
                _ => DAMAGED,
            },
        }
    }

    fn of_opening(&self, path: &Path) -> Error {
        let damaged = |reason: String| Error::Damaged {
            path: path.to_owned(),
            reason,
        };
        match self {
            Failure::Store(error) => damaged(error.to_string()),
            Failure::Library(error) => match &**error {
                redb::Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                    damaged("it is not a file of pages, or its beginning is damaged".to_owned())
                }
                redb::Error::Io(error) => {
                    let source = std::io::Error::new(error.kind(), error.to_string());
                    crate::folder::failed("open", path, source).into()
                }
                redb::Error::UpgradeRequired(version) => damaged(format!(
                    "it has the library's format {version}, which this version does not read"
                )),
                other => damaged(other.to_string()),
            },
        }
    }
}

/// Runs something that uses the library, which may panic if its file is damaged.
fn guarded<R>(f: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or(Err(Failure::Store(DAMAGED)))
}
