//! Appending: whole batches, written where the active segment ends.
//!
//! Small appends are copied into a mapping of space that was allocated ahead, if the options say so ([`tail`](crate::tail));
//! others are written by one vectored write.
//!
//! **Invariant:** an append is written wholly or not at all. The bytes of a failed append are cut off; if that
//! fails, the log refuses writes.

use std::io::IoSlice;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::batch::{Batch, PATCHED_BYTES};
use crate::error::{Doing, Error};
use crate::index::Index;
use crate::log::{Log, Shared};
use crate::options::SEGMENT_BYTES_MAX;
use crate::segment::{Facts, Segment, SegmentId, file_name};
use crate::storage::{self, File, Open, Pages};
use crate::tail::Tail;

/// Bytes that are allocated ahead at a time. A log allocates no more than it has, so that many small logs do not use up a small file
/// system.
const ALLOCATION_BYTES: RangeInclusive<u64> = 1 << 20..=16 << 20;
/// Appends of at most this many bytes are copied into the mapping. Larger ones cost less as system calls, which make several
/// pages at once.
const MAPPED_BYTES_MAX: u64 = 4 << 10;

/// The result of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The offset of the first record.
    pub base_offset: u64,
    /// The offset after the last record. The records are durable when [`Log::synced`] has reached it.
    pub end_offset: u64,
    /// The segment of all batches.
    pub segment: SegmentId,
    /// The position of the first batch in it; the others follow without a gap.
    pub position: u64,
    /// Bytes of all batches.
    pub bytes: u64,
}

/// The state of the writer.
#[derive(Debug)]
pub(crate) struct Writer {
    active: Arc<Segment>,
    file: Arc<dyn File>,
    /// The end of the allocated space; `u64::MAX` if the file system cannot allocate.
    allocated: u64,
    tail: Tail,
    /// The time of the active segment's first append.
    began: Option<i64>,
    heads: Vec<[u8; PATCHED_BYTES]>,
    /// Complete segments that are not durable, and have parts of their allocation left.
    pub(crate) completed: Vec<Arc<Segment>>,
    /// The pages of their mappings, which the next sync unmaps.
    pub(crate) unmapped: Vec<Arc<Pages>>,
    /// True if the folder has names that are not durable.
    pub(crate) folder_changed: bool,
}

impl Writer {
    pub(crate) fn new(active: Arc<Segment>, file: Arc<dyn File>) -> Writer {
        let bytes = active.bytes();
        let newest = active.max_timestamp();
        Writer {
            active,
            file,
            allocated: bytes,
            tail: Tail::new(bytes),
            // After a restart, the newest record's time stands for that of the first append.
            began: (bytes > 0 && newest >= 0).then_some(newest),
            heads: Vec::new(),
            completed: Vec::new(),
            unmapped: Vec::new(),
            folder_changed: false,
        }
    }

    pub(crate) fn active(&self) -> &Arc<Segment> {
        &self.active
    }

    /// The pages of the mapping.
    pub(crate) fn pages(&self) -> Option<Arc<Pages>> {
        self.tail.pages()
    }

    /// Gives up the mapping: the file may be cut.
    pub(crate) fn unmap(&mut self) {
        let bytes = self.active.bytes();
        (self.allocated, self.tail) = (bytes, Tail::new(bytes));
    }

    /// Leaves to the next sync what a process that was killed may have left in the page cache: segments, and names in the
    /// folder.
    pub(crate) fn distrust(&mut self, segments: &[Arc<Segment>], clean: bool) {
        let unsynced = |segment: &&Arc<Segment>| {
            !Arc::ptr_eq(segment, &self.active) && segment.synced() < segment.bytes()
        };
        self.completed = segments.iter().filter(unsynced).cloned().collect();
        self.folder_changed = !clean;
    }

    /// Continues with another active segment.
    pub(crate) fn replace_active(&mut self, active: Arc<Segment>, file: Arc<dyn File>) {
        let completed = std::mem::take(&mut self.completed);
        let mut unmapped = std::mem::take(&mut self.unmapped);
        unmapped.extend(self.tail.pages());
        *self = Writer {
            completed,
            unmapped,
            folder_changed: self.folder_changed,
            ..Writer::new(active, file)
        };
    }
}

impl Log {
    /// Appends batches and assigns their offsets. `now` is the time in milliseconds since 1970, which decides about
    /// [`Options::segment_age_ms`](crate::Options::segment_age_ms).
    ///
    /// The batches are written into the page cache by one vectored write, with new base offsets and leader epochs and
    /// otherwise unchanged. When this returns they can be read, and survive a crash of the process; [`Log::sync`] makes them
    /// survive a power cut. The caller may be an event loop.
    ///
    /// # Errors
    /// The file system is full or failed, and nothing was appended; or the log refuses writes.
    pub fn append(&self, batches: &[Batch<'_>], now: i64) -> Result<Appended, Error> {
        self.shared.append(batches, now)
    }

    /// Completes the active segment and starts a new one, if the active one has any records.
    ///
    /// # Errors
    /// The new segment cannot be created, or the log refuses writes.
    pub fn roll(&self) -> Result<(), Error> {
        self.shared.failure.check()?;
        let mut writer = self.shared.writer.lock();
        if writer.active.bytes() > 0 {
            self.shared.roll(&mut writer)?;
        }
        Ok(())
    }

    /// Frees the space that was allocated behind the last append, as far as the next one. Useful for a log that has been quiet
    /// for some time.
    ///
    /// # Errors
    /// The log refuses writes, or the system refuses; nothing is lost then.
    pub fn trim(&self) -> Result<(), Error> {
        self.shared.failure.check()?;
        let mut writer = self.shared.writer.lock();
        let bytes = writer.active.bytes();
        if writer.allocated == bytes || writer.allocated == u64::MAX {
            return Ok(());
        }
        writer.unmap();
        writer.file.set_length(bytes).doing("cut", writer.active.path())
    }
}

impl Shared {
    fn append(&self, batches: &[Batch<'_>], now: i64) -> Result<Appended, Error> {
        self.failure.check()?;
        let bytes: u64 = batches.iter().map(|batch| batch.header().bytes).sum();
        let offsets: u64 = batches.iter().map(|batch| batch.header().offsets()).sum();
        // A batch may be as large as its format allows, but several together must fit a segment.
        if bytes > SEGMENT_BYTES_MAX && batches.len() > 1 {
            return Err(Error::TooLarge {
                bytes,
                max: SEGMENT_BYTES_MAX,
            });
        }
        let mut writer = self.writer.lock();
        if self.must_roll(&writer, bytes, offsets, now) {
            self.roll(&mut writer)?;
        }
        let position = writer.active.bytes();
        let base_offset = writer.active.end();
        let appended = Appended {
            base_offset,
            end_offset: base_offset + offsets,
            segment: writer.active.id(),
            position,
            bytes,
        };
        if batches.is_empty() {
            return Ok(appended);
        }
        self.allocate(&mut writer, position + bytes);
        let is_copied = match batches {
            [batch] if self.options.mapped && bytes <= MAPPED_BYTES_MAX => {
                self.copy(&mut writer, batch, &appended)
            }
            _ => false,
        };
        if !is_copied {
            self.write(&mut writer, batches, &appended)?;
        }
        let mut next = base_offset;
        writer.active.publish(batches.iter().map(|batch| {
            let offset = next;
            next += batch.header().offsets();
            (offset, *batch.header())
        }));
        writer.began.get_or_insert(now);
        self.end.store(appended.end_offset, Ordering::Release);
        Ok(appended)
    }

    fn must_roll(&self, writer: &Writer, bytes: u64, offsets: u64, now: i64) -> bool {
        let active = &writer.active;
        if active.bytes() == 0 {
            return false;
        }
        let too_large = active.bytes() + bytes > self.options.segment_bytes;
        let too_many = active.end() + offsets - active.base() > u64::from(u32::MAX);
        let age = writer
            .began
            .and_then(|began| u64::try_from(now.saturating_sub(began)).ok());
        let too_old = self
            .options
            .segment_age_ms
            .is_some_and(|max| age.is_some_and(|age| age >= max));
        too_large || too_many || too_old
    }

    /// Copies a batch to the end of the active segment; false if it has to be written there.
    fn copy(&self, writer: &mut Writer, batch: &Batch<'_>, appended: &Appended) -> bool {
        let Writer {
            active,
            file,
            allocated,
            tail,
            ..
        } = writer;
        // `u64::MAX` means that nothing could be allocated.
        let allocated = Some(*allocated).filter(|allocated| *allocated < u64::MAX);
        let end = appended.position + appended.bytes;
        let Some(window) = allocated.and_then(|allocated| {
            let unsynced = appended.position - active.synced().min(appended.position);
            tail.window(
                &**file,
                self.options.segment_bytes,
                appended.position..end,
                allocated,
                unsynced,
            )
        }) else {
            return false;
        };
        let head = batch.patched(appended.base_offset, self.options.leader_epoch);
        window.write(appended.position, &head);
        window.write(
            appended.position + PATCHED_BYTES as u64,
            &batch.bytes()[PATCHED_BYTES..],
        );
        true
    }

    /// Writes the batches at the end of the active segment, with their new beginnings in front of their other bytes.
    fn write(&self, writer: &mut Writer, batches: &[Batch<'_>], appended: &Appended) -> Result<(), Error> {
        let Writer {
            active, file, heads, ..
        } = writer;
        let mut offset = appended.base_offset;
        heads.clear();
        heads.extend(batches.iter().map(|batch| {
            let head = batch.patched(offset, self.options.leader_epoch);
            offset += batch.header().offsets();
            head
        }));
        let mut parts: Vec<IoSlice<'_>> = Vec::with_capacity(2 * batches.len());
        for (head, batch) in heads.iter().zip(batches) {
            parts.push(IoSlice::new(head));
            parts.push(IoSlice::new(&batch.bytes()[PATCHED_BYTES..]));
        }
        let Err(error) = storage::write_full(&**file, &mut parts, appended.position) else {
            writer.tail.wrote(appended.position + appended.bytes);
            return Ok(());
        };
        // A part of the batches may be in the file.
        if let Err(cut) = file.set_length(appended.position) {
            return Err(self.failure.set("cut", active.path(), &cut));
        }
        active.note_cut();
        writer.allocated = appended.position;
        writer.tail.cut(appended.position);
        Err(Error::io("append to", writer.active.path(), error))
    }

    /// Allocates space ahead. It is an optimization: where it fails, the write itself tells whether there is room.
    fn allocate(&self, writer: &mut Writer, end: u64) {
        if !self.options.preallocate || end <= writer.allocated {
            return;
        }
        let from = writer.allocated;
        let is_first = writer.active.base() == self.start.load(Ordering::Acquire);
        let (least, most) = ALLOCATION_BYTES.into_inner();
        let step = if is_first { from.clamp(least, most) } else { most };
        let rest = self.options.segment_bytes.saturating_sub(from).min(step);
        let length = rest.max(end - from);
        writer.allocated = match writer.file.allocate(from, length) {
            Ok(()) => from + length,
            Err(_) => u64::MAX,
        };
    }

    /// Starts a new active segment. The old one is completed by the next sync.
    pub(crate) fn roll(&self, writer: &mut Writer) -> Result<(), Error> {
        let base = writer.active.end();
        let path = self.folder.join(file_name(base));
        let file = self.storage.open(&path, Open::Create).doing("create", &path)?;
        let facts = Facts {
            base,
            end: base,
            bytes: 0,
            synced: 0,
            generation: 0,
            max_timestamp: i64::MIN,
        };
        let mut segments = self.segments.write();
        let id = segments.take_id();
        let index = Some(Index::new(base));
        let segment = Arc::new(Segment::new(
            &self.storage,
            &self.folder,
            id,
            facts,
            Some(file.clone()),
            index,
        ));
        segments.push(segment.clone());
        drop(segments);
        let completed = writer.active.clone();
        self.activity.completed(completed.bytes());
        writer.replace_active(segment, file);
        writer.completed.push(completed);
        writer.folder_changed = true;
        Ok(())
    }
}
