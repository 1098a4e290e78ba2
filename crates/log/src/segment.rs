//! One segment: a file of batches that tile a range of offsets, and its indexes.
//!
//! **Invariant:** the first batch begins at the segment's base offset, and each other one where the batch before it ends.
//! **Invariant:** bytes below [`Segment::bytes`] never change while anyone can reach the segment. Truncation and compaction
//! make new files.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::batch::{BatchError, BatchHeader, HEADER_BYTES};
use crate::cold::{Cold, Interrupted};
use crate::error::{Doing, Error, Fault};
use crate::index::{INTERVAL, Index};
use crate::scanner::{Scanner, Stop};
use crate::storage::{self, File, Open, Storage};

/// Digits of a base offset in a file's name.
const DIGITS: usize = 20;
/// Bytes that are read at once when headers are walked.
const WALK_BYTES: usize = INTERVAL as usize + HEADER_BYTES;

/// The number of a segment's file within an open log. A segment that compaction rewrote has a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentId(pub u32);

impl fmt::Display for SegmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One segment of a log. It stays readable as long as it is held, whatever becomes of the log.
#[derive(Debug)]
pub struct Segment {
    id: SegmentId,
    base: u64,
    generation: u32,
    storage: Arc<dyn Storage>,
    path: PathBuf,
    file: Mutex<Option<Arc<dyn File>>>,
    /// Bytes of whole batches, and the offset after them. Both grow only while the segment is active.
    bytes: AtomicU64,
    end: AtomicU64,
    max_timestamp: AtomicI64,
    /// Bytes that are durable.
    synced: AtomicU64,
    /// True if bytes were cut off behind the batches that the device may still have.
    cut: AtomicBool,
    /// Absent until it is needed.
    index: Mutex<Option<Index>>,
    /// True if the index files describe the whole segment.
    indexed: AtomicBool,
    /// True if the index files are intact but describe another state of the segment.
    index_stale: AtomicBool,
}

/// Facts for opening a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) base: u64,
    pub(crate) end: u64,
    pub(crate) bytes: u64,
    pub(crate) synced: u64,
    pub(crate) generation: u32,
    pub(crate) max_timestamp: i64,
}

/// A batch within a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Located {
    pub(crate) position: u64,
    pub(crate) header: BatchHeader,
}

impl Segment {
    pub(crate) fn new(
        storage: &Arc<dyn Storage>,
        folder: &Path,
        id: SegmentId,
        facts: Facts,
        file: Option<Arc<dyn File>>,
        index: Option<Index>,
    ) -> Segment {
        Segment {
            id,
            base: facts.base,
            generation: facts.generation,
            storage: storage.clone(),
            path: folder.join(file_name(facts.base)),
            file: Mutex::new(file),
            bytes: AtomicU64::new(facts.bytes),
            end: AtomicU64::new(facts.end),
            max_timestamp: AtomicI64::new(facts.max_timestamp),
            synced: AtomicU64::new(facts.synced),
            cut: AtomicBool::new(false),
            index: Mutex::new(index),
            indexed: AtomicBool::new(false),
            index_stale: AtomicBool::new(false),
        }
    }

    /// The number of this file.
    pub fn id(&self) -> SegmentId {
        self.id
    }

    /// The first offset.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The offset after the last one.
    pub fn end(&self) -> u64 {
        self.end.load(Ordering::Acquire)
    }

    /// Bytes of whole batches.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }

    /// How often compaction has rewritten these offsets. With the base offset, it names the content of a complete segment
    /// across restarts.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// The greatest timestamp of the records; `i64::MIN` if there are none.
    pub fn max_timestamp(&self) -> i64 {
        self.max_timestamp.load(Ordering::Acquire)
    }

    /// The file's path, which a replaced or removed segment no longer has.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file.
    ///
    /// # Errors
    /// It was not open yet, and cannot be opened.
    pub fn file(&self) -> Result<Arc<dyn File>, Error> {
        let mut slot = self.file.lock();
        if let Some(file) = &*slot {
            return Ok(file.clone());
        }
        let file = self
            .storage
            .open(&self.path, Open::Read)
            .doing("open", &self.path)?;
        Ok(slot.insert(file).clone())
    }

    pub(crate) fn synced(&self) -> u64 {
        self.synced.load(Ordering::Acquire)
    }

    pub(crate) fn set_synced(&self, bytes: u64) {
        self.synced.fetch_max(bytes, Ordering::AcqRel);
    }

    /// Returns true if the device may lack bytes, or have ones that were cut off.
    pub(crate) fn needs_sync(&self) -> bool {
        self.synced() < self.bytes() || self.cut.load(Ordering::Acquire)
    }

    /// The bytes of a failed append were cut off.
    pub(crate) fn note_cut(&self) {
        self.cut.store(true, Ordering::Release);
    }

    /// A sync of the file begins.
    pub(crate) fn begin_sync(&self) {
        self.cut.store(false, Ordering::Release);
    }

    /// Makes appended batches visible. Only the log's writer calls this.
    pub(crate) fn publish(&self, batches: impl Iterator<Item = (u64, BatchHeader)>) {
        let mut slot = self.index.lock();
        let (mut bytes, mut end) = (self.bytes(), self.end());
        let mut max_timestamp = self.max_timestamp();
        for (offset, header) in batches {
            if let Some(index) = &mut *slot {
                index.push(offset, &header);
            }
            bytes += header.bytes;
            end = offset + header.offsets();
            max_timestamp = max_timestamp.max(header.max_timestamp);
        }
        self.max_timestamp.store(max_timestamp, Ordering::Release);
        self.indexed.store(false, Ordering::Release);
        self.bytes.store(bytes, Ordering::Release);
        self.end.store(end, Ordering::Release);
    }

    /// Finds the batch that has an offset of this segment.
    pub(crate) fn find(self: &Arc<Self>, offset: u64) -> Result<Located, Interrupted> {
        let entry = self.with_index(|index| index.before_offset(offset))?;
        self.walk_from(entry, |located| located.header.end_offset() > offset)
    }

    /// Finds the batch that has a byte of this segment.
    pub(crate) fn find_position(self: &Arc<Self>, wanted: u64) -> Result<Located, Interrupted> {
        let entry = self.with_index(|index| index.before_position(wanted))?;
        self.walk_from(entry, |located| located.position + located.header.bytes > wanted)
    }

    /// The last position at or before `limit` at which the index knows that a batch begins.
    pub(crate) fn boundary(self: &Arc<Self>, limit: u64) -> Result<u64, Interrupted> {
        self.with_index(|index| index.before_position(limit).1)
    }

    /// An offset such that all records of this segment before it are older than the timestamp.
    pub(crate) fn before_time(self: &Arc<Self>, timestamp: i64) -> Result<u64, Interrupted> {
        self.with_index(|index| index.before_time(timestamp))
    }

    fn with_index<R>(self: &Arc<Self>, use_it: impl FnOnce(&Index) -> R) -> Result<R, Interrupted> {
        match &*self.index.lock() {
            Some(index) => Ok(use_it(index)),
            None => Err(Interrupted::Cold(Cold::index(self))),
        }
    }

    /// Walks from an entry of the index. If the entry is wrong, the index is rebuilt.
    fn walk_from(
        self: &Arc<Self>,
        (expected, position): (u64, u64),
        wanted: impl FnMut(&Located) -> bool,
    ) -> Result<Located, Interrupted> {
        match self.walk(position, expected, wanted) {
            Err(Interrupted::Error(Error::Corrupt { position: at, .. }))
                if at == position && at > 0 && !self.index_stale.swap(true, Ordering::AcqRel) =>
            {
                *self.index.lock() = None;
                self.indexed.store(false, Ordering::Release);
                Err(Cold::index(self).into())
            }
            result => result,
        }
    }

    /// Walks batch headers from a batch on until one is wanted. There is one, or the segment is damaged.
    fn walk(
        self: &Arc<Self>,
        mut position: u64,
        mut expected: u64,
        mut wanted: impl FnMut(&Located) -> bool,
    ) -> Result<Located, Interrupted> {
        let (file, bytes) = (self.file()?, self.bytes());
        let mut buffer = [0; WALK_BYTES];
        let (mut from, mut filled) = (position, 0);
        loop {
            let mut at = (position - from) as usize;
            if at + HEADER_BYTES > filled {
                let most = bytes.saturating_sub(position).min(WALK_BYTES as u64) as usize;
                filled = match file.read_resident_at(&mut buffer[..most], position) {
                    // A read may stop at a page that is not there.
                    Ok(count) if count >= HEADER_BYTES.min(most) => count,
                    Ok(count) if count < most => return Err(Cold::range(self, position, most as u64).into()),
                    Ok(count) => count,
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                        return Err(Cold::range(self, position, most as u64).into());
                    }
                    Err(error) => return Err(Error::io("read", &self.path, error).into()),
                };
                (from, at) = (position, 0);
            }
            let header = BatchHeader::parse(&buffer[at..filled]).map_err(Fault::Batch);
            let located = match header {
                Ok(header) if header.base_offset != expected => Err(Fault::Offset {
                    found: header.base_offset,
                    expected,
                }),
                Ok(header) if header.bytes > bytes - position => Err(BatchError::Incomplete {
                    need: header.bytes,
                    have: bytes - position,
                }
                .into()),
                Ok(header) => Ok(Located { position, header }),
                Err(fault) => Err(fault),
            };
            let located = located.map_err(|fault| self.corrupt(position, fault))?;
            if wanted(&located) {
                return Ok(located);
            }
            position += located.header.bytes;
            expected = located.header.end_offset();
        }
    }

    pub(crate) fn corrupt(&self, position: u64, reason: Fault) -> Error {
        Error::Corrupt {
            path: self.path.clone(),
            position,
            reason,
        }
    }

    pub(crate) fn stopped(&self, position: u64, stop: Stop) -> Error {
        match stop {
            Stop::Io(error) => Error::io("read", &self.path, error),
            Stop::Fault(fault) => self.corrupt(position, fault),
        }
    }

    /// Reads the index, or rebuilds it from the segment. This waits for the device.
    pub(crate) fn load_index(&self) -> Result<(), Error> {
        if self.index.lock().is_some() {
            return Ok(());
        }
        let index = match self.read_index() {
            Some(index) => {
                self.indexed.store(true, Ordering::Release);
                index
            }
            None => self.build_index()?,
        };
        self.index.lock().get_or_insert(index);
        Ok(())
    }

    fn read_index(&self) -> Option<Index> {
        if self.index_stale.load(Ordering::Acquire) {
            return None;
        }
        let index = read_index(&*self.storage, &self.path, self.base, self.bytes())?;
        (index.covered() == self.bytes()).then_some(index)
    }

    /// Builds the index from the segment's batches, and checks all of them.
    fn build_index(&self) -> Result<Index, Error> {
        self.index_of_prefix(self.bytes())
    }

    /// Builds the index of the batches before a position.
    pub(crate) fn index_of_prefix(&self, bytes: u64) -> Result<Index, Error> {
        let file = self.file()?;
        let mut index = Index::new(self.base);
        let mut scanner = Scanner::new(&*file, 0, self.base, bytes);
        loop {
            let position = scanner.position();
            match scanner.next() {
                Ok(Some(batch)) => index.push(batch.header().base_offset, batch.header()),
                Ok(None) => return Ok(index),
                Err(stop) => return Err(self.stopped(position, stop)),
            }
        }
    }

    /// Writes the index files. They are derived data, so nothing is synced.
    pub(crate) fn write_index(&self) -> Result<(), Error> {
        if self.indexed.load(Ordering::Acquire) {
            return Ok(());
        }
        let Some(files) = self.index.lock().as_ref().map(Index::encode) else {
            return Ok(());
        };
        for (path, bytes) in index_paths(&self.path).iter().zip(files) {
            write_unsynced(&*self.storage, path, &bytes).doing("write", path)?;
        }
        self.indexed.store(true, Ordering::Release);
        Ok(())
    }
}

fn write_unsynced(storage: &dyn Storage, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let temporary = storage::temporary(path);
    let file = storage.open(&temporary, Open::Replace)?;
    storage::write_full(&*file, &mut [std::io::IoSlice::new(bytes)], 0)?;
    storage.rename(&temporary, path)
}

/// The index of a segment, as its files have it, if they are intact and describe no more than the segment.
pub(crate) fn read_index(storage: &dyn Storage, segment: &Path, base: u64, bytes: u64) -> Option<Index> {
    let bytes_max = Index::bytes_max(bytes);
    let [offsets, times] = index_paths(segment).map(|path| storage::read_whole(storage, &path, bytes_max));
    let index = Index::decode(base, &offsets.ok()?, &times.ok()?)?;
    (index.covered() <= bytes).then_some(index)
}

/// The paths of a segment's index files.
pub(crate) fn index_paths(segment: &Path) -> [PathBuf; 2] {
    [
        segment.with_extension("index"),
        segment.with_extension("timeindex"),
    ]
}

/// The name of a segment's file.
pub(crate) fn file_name(base: u64) -> String {
    format!("{base:0DIGITS$}.log")
}

/// The base offset that a file's name has, if it is a name of a segment.
pub(crate) fn base_of(name: &str) -> Option<u64> {
    digits(name.strip_suffix(".log")?)
}

/// The base offset that a name has, if it is a name of an index.
pub(crate) fn base_of_index(name: &str) -> Option<u64> {
    digits(name.strip_suffix(".index").or(name.strip_suffix(".timeindex"))?)
}

fn digits(stem: &str) -> Option<u64> {
    let digits = stem.len() == DIGITS && stem.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| stem.parse().ok()).flatten()
}
