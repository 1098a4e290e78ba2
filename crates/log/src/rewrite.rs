//! Rewriting complete segments without some of their records, and putting the result in their place.
//!
//! ```text
//!   run of segments ──▶ records ──keep?──▶ one new segment, in a temporary file
//!                                               │ install: checkpoint says so, rename, remove the others
//!                                               ▼
//!                                          takes the place of the run; readers of the old files go on
//! ```
//!
//! Records of adjacent batches are merged into batches of about [`MERGED_BYTES`], since the header of a batch is larger than
//! many records. Batches of idempotent or transactional producers, compressed ones, and such with the time of appending, stay
//! apart; control batches stay as they are.
//!
//! **Invariant:** the new segment's batches tile the same offsets as the run.
//! **Invariant:** the active segment is never rewritten.

use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::batch::{
    Attributes, BATCH_BYTES_MAX, Batch, BatchError, BatchHeader, Builder, Codec, Compression, PATCHED_BYTES,
    Record,
};
use crate::checkpoint::{Complete, Replace};
use crate::error::{Doing, Error};
use crate::files::remove_segment_files;
use crate::index::Index;
use crate::log::Log;
use crate::read::Location;
use crate::scan::scan_segment_from;
use crate::segment::{Facts, Segment, SegmentId, file_name, index_paths};
use crate::storage::{self, File, Open};

/// A merged batch is written when it has this size.
const MERGED_BYTES: usize = 64 << 10;
/// A compressed batch with more bytes of records than this stays as it is.
pub(crate) const PLAIN_BYTES_MAX: usize = 64 << 20;
/// A batch takes at most this many offsets.
const SPAN_MAX: u64 = i32::MAX as u64;

/// A record that may be kept or dropped.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'r> {
    /// The record.
    pub record: &'r Record<'r>,
    /// Where its value is, or would be if it had one.
    pub value: Location,
    /// The time from which a tombstone may be dropped, if an earlier compaction has set it; in milliseconds since 1970.
    pub delete_horizon: Option<i64>,
}

/// The decision about a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It stays.
    Keep,
    /// It goes. Its offset stays without a record.
    Drop,
}

/// A record that was kept, with the location of its value after the new segment is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The record's offset.
    pub offset: u64,
    /// Where the value was.
    pub from: Location,
    /// Where it will be.
    pub to: Location,
}

/// The decisions of a rewrite, for each record in order.
pub trait Judge {
    /// Decides whether to keep a record.
    fn judge(&mut self, candidate: &Candidate<'_>) -> Verdict;

    /// True to have the records of compressed batches judged, too, and those that stay compressed again. Their locations mean
    /// nothing, and [`moved`](Judge::moved) is not called for them. A batch that cannot be decompressed stays as it is.
    fn judges_compressed(&self) -> bool {
        false
    }

    /// A record was kept. The new location is valid once the rewrite is [installed](Rewrite::install).
    fn moved(&mut self, moved: Moved) {
        let _ = moved;
    }
}

/// Some adjacent complete segments that are being rewritten into one. Dropping it abandons the work.
#[derive(Debug)]
pub struct Rewrite {
    log: Log,
    run: Vec<Arc<Segment>>,
    /// The segment of the run that is being read, and how far.
    reading: usize,
    position: u64,
    offset: u64,
    output: Output,
    /// The tombstones that stay may be dropped from this time on, unless an earlier one has been set.
    horizon: i64,
    installed: bool,
}

/// The segments that a rewrite has replaced. They can be read, and found by their numbers, as long as this lives.
#[derive(Debug)]
pub struct Replaced {
    /// The old segments.
    pub old: Vec<Arc<Segment>>,
    /// The new one.
    pub new: Arc<Segment>,
}

impl Log {
    /// Starts to rewrite adjacent complete segments into one, whose number will be new. Tombstones that are kept get
    /// `delete_horizon`, in milliseconds since 1970, as the time from which they may be dropped.
    ///
    /// The work is done by [`Rewrite::step`] and [`Rewrite::install`], on a thread that may wait for the device.
    ///
    /// # Errors
    /// The segments are not adjacent complete segments of this log, or the temporary file cannot be created,
    /// or another rewrite is at work.
    pub fn rewrite(&self, run: &[Arc<Segment>], delete_horizon: i64) -> Result<Rewrite, Error> {
        self.shared.failure.check()?;
        let Some(first) = run.first().filter(|_| self.position_of(run).is_some()) else {
            let id = run.first().map_or(0, |segment| segment.id().0);
            return Err(Error::NoSegment { id });
        };
        let path = storage::temporary(first.path());
        if self.shared.rewriting.swap(true, Ordering::AcqRel) {
            return Err(Error::Rewriting);
        }
        let opened = self
            .shared
            .storage
            .open(&path, Open::Replace)
            .doing("create", &path);
        let file = opened.inspect_err(|_| self.shared.rewriting.store(false, Ordering::Release))?;
        let id = self.shared.segments.write().take_id();
        let base = first.base();
        let output = Output {
            id,
            file,
            position: 0,
            next: base,
            builder: Builder::new(),
            index: Index::new(base),
            leader_epoch: self.shared.options.leader_epoch,
            plain: Vec::new(),
        };
        Ok(Rewrite {
            log: self.clone(),
            run: run.to_vec(),
            reading: 0,
            position: 0,
            offset: base,
            output,
            horizon: delete_horizon,
            installed: false,
        })
    }

    /// Where a run is among the segments, if it is there and without the active one.
    fn position_of(&self, run: &[Arc<Segment>]) -> Option<usize> {
        let first = run.first()?;
        let segments = self.shared.segments.read();
        let at = segments
            .live
            .iter()
            .position(|segment| Arc::ptr_eq(segment, first))?;
        let same = segments
            .live
            .get(at..at + run.len())?
            .iter()
            .zip(run)
            .all(|(one, two)| Arc::ptr_eq(one, two));
        (same && at + run.len() < segments.live.len()).then_some(at)
    }
}

impl Rewrite {
    /// Reads about `bytes` bytes and writes the records to keep. Returns true at the end of the run.
    ///
    /// # Errors
    /// A batch is damaged, or the system refuses. The rewrite can only be dropped then.
    pub fn step(&mut self, bytes: u64, judge: &mut dyn Judge) -> Result<bool, Error> {
        let mut left = bytes;
        while let Some(segment) = self.run.get(self.reading).cloned() {
            let done = self.position;
            let start = self.log.start();
            let (output, horizon) = (&mut self.output, self.horizon);
            let (position, offset) =
                scan_segment_from(&segment, self.position, self.offset, left, |location, batch| {
                    output
                        .take(location, batch, start, horizon, judge)
                        .map_err(|error| output.explain(&segment, location, error))
                })?;
            (self.position, self.offset) = (position, offset);
            left = left.saturating_sub(position - done);
            if position == segment.bytes() {
                self.reading += 1;
                self.position = 0;
                self.offset = segment.end();
            }
            if left == 0 {
                break;
            }
        }
        Ok(self.reading == self.run.len())
    }

    /// Bytes of the run that were read, and bytes of the new segment that were written so far.
    pub fn progress(&self) -> (u64, u64) {
        let done = &self.run[..self.reading];
        let read: u64 = done.iter().map(|segment| segment.bytes()).sum();
        (read + self.position, self.output.position)
    }

    /// Makes what was written so far durable, which spreads the wait of [`install`](Rewrite::install) for the device.
    ///
    /// # Errors
    /// The device failed. The rewrite can only be dropped then.
    pub fn sync(&self) -> Result<(), Error> {
        self.output.file.sync().doing("sync", self.run[0].path())
    }

    /// Puts the new segment into the place of the run; all of it must have been read. `None` if the new segment would not be
    /// smaller, or if the run has been removed or truncated meanwhile: then nothing changes, and the locations that
    /// [`Judge::moved`] was told are void.
    ///
    /// # Errors
    /// The system refuses. If it is unknown what the device has, the log refuses writes afterwards.
    ///
    /// # Panics
    /// If the run has not been read to its end.
    pub fn install(mut self) -> Result<Option<Replaced>, Error> {
        assert_eq!(self.reading, self.run.len(), "all of the run must have been read");
        let end = self.run.last().map_or(0, |last| last.end());
        self.output.finish(end)?;
        let smaller = self.output.position < self.bytes_of_run();
        if !smaller {
            return Ok(None);
        }
        self.output.file.sync().doing("sync", self.run[0].path())?;
        let log = self.log.clone();
        let shared = &log.shared;
        let mut upkeep = shared.upkeep.lock();
        shared.failure.check()?;
        // The checkpoint may then promise that the run is complete and durable.
        shared.checkpoint(&mut upkeep, false)?;
        if log.position_of(&self.run).is_none() {
            return Ok(None);
        }
        let from = self.run[0].base();
        let replace = Replace {
            from,
            to: end,
            bytes: self.output.position,
        };
        let mut checkpoint = upkeep.checkpoint.clone().unwrap_or_default();
        checkpoint.replace = Some(replace);
        shared.write_checkpoint(&mut upkeep, checkpoint.clone())?;
        let path = self.run[0].path().to_owned();
        // The old files must be open before their names are gone.
        for segment in &self.run {
            segment.file()?;
        }
        for index in index_paths(&path) {
            // It may never have been written.
            let _ = shared.storage.remove(&index);
        }
        let temporary = storage::temporary(&path);
        let renamed = shared.storage.rename(&temporary, &path);
        renamed.map_err(|error| shared.failure.set("rename", &temporary, &error))?;
        self.installed = true;
        let synced = shared.storage.sync_folder(&shared.folder);
        synced.map_err(|error| shared.failure.set("sync the folder", &shared.folder, &error))?;
        checkpoint.install(replace);
        let new = self.swap(
            checkpoint.segments.iter().find(|one| one.base == from).copied(),
            end,
        );
        for segment in &self.run[1..] {
            remove_segment_files(&*shared.storage, segment.path())?;
        }
        // Derived data: it is rebuilt if this fails.
        let _ = new.write_index();
        shared.write_checkpoint(&mut upkeep, checkpoint)?;
        Ok(Some(Replaced {
            old: std::mem::take(&mut self.run),
            new,
        }))
    }

    fn bytes_of_run(&self) -> u64 {
        self.run.iter().map(|segment| segment.bytes()).sum()
    }

    /// Makes the new segment visible in place of the run.
    fn swap(&mut self, complete: Option<Complete>, end: u64) -> Arc<Segment> {
        let shared = &self.log.shared;
        let output = &mut self.output;
        let base = self.run[0].base();
        let facts = Facts {
            base,
            end,
            bytes: output.position,
            synced: output.position,
            generation: complete.map_or(0, |one| one.generation),
            max_timestamp: output.index.max_timestamp(),
        };
        let index = std::mem::replace(&mut output.index, Index::new(base));
        let file = Some(output.file.clone());
        let new = Segment::new(
            &shared.storage,
            &shared.folder,
            output.id,
            facts,
            file,
            Some(index),
        );
        let new = Arc::new(new);
        // `upkeep` is held and the run was found under it, so it is still there.
        let at = self.log.position_of(&self.run);
        let mut segments = shared.segments.write();
        segments.register(&new);
        if let Some(at) = at {
            segments.live.splice(at..at + self.run.len(), [new.clone()]);
        }
        new
    }
}

impl Drop for Rewrite {
    fn drop(&mut self) {
        if let (false, Some(first)) = (self.installed, self.run.first()) {
            // Opening the log removes it otherwise.
            let _ = self.log.shared.storage.remove(&storage::temporary(first.path()));
        }
        self.log.shared.rewriting.store(false, Ordering::Release);
    }
}

/// The new segment.
#[derive(Debug)]
struct Output {
    id: SegmentId,
    file: Arc<dyn File>,
    /// Where the next batch begins, and the offset that it begins with.
    position: u64,
    next: u64,
    /// The merged batch that is being filled; it begins at `next`.
    builder: Builder,
    index: Index,
    leader_epoch: i32,
    /// Memory for the records of a compressed batch.
    plain: Vec<u8>,
}

/// Why a batch could not be carried over.
enum Trouble {
    Batch(BatchError),
    Io(std::io::Error),
}

impl From<BatchError> for Trouble {
    fn from(error: BatchError) -> Trouble {
        Trouble::Batch(error)
    }
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Trouble {
        Trouble::Io(error)
    }
}

/// Attributes of mergeable batches.
const MERGEABLE: u16 = Attributes::DELETE_HORIZON;

impl Output {
    /// Carries a batch over.
    fn take(
        &mut self,
        location: Location,
        batch: &Batch<'_>,
        start: u64,
        horizon: i64,
        judge: &mut dyn Judge,
    ) -> Result<(), Trouble> {
        let header = batch.header();
        let attributes = header.attributes;
        if attributes.is_control() {
            return self.copy(batch);
        }
        if attributes.compression() != Compression::None {
            return self.take_compressed(location, batch, start, horizon, judge);
        }
        if attributes.0 & !MERGEABLE != 0 || header.producer_id >= 0 {
            return self.filter(location, batch, start, judge);
        }
        let own_horizon = attributes.has_delete_horizon().then_some(header.base_timestamp);
        for record in batch.records()? {
            let record = record?;
            let Some(from) = judged(location, header, &record, start, judge) else {
                continue;
            };
            let tombstone = record.value.is_none().then(|| own_horizon.unwrap_or(horizon));
            self.make_room(&record, tombstone)?;
            let range = self.builder.push_read(&record)?;
            judge.moved(Moved {
                offset: record.offset,
                from,
                to: self.location(range),
            });
        }
        Ok(())
    }

    /// Where a range of the batch that is being filled will be.
    fn location(&self, range: std::ops::Range<usize>) -> Location {
        Location {
            segment: self.id,
            position: self.position + range.start as u64,
            bytes: range.len() as u64,
        }
    }

    /// Starts a new merged batch if the record cannot be in the present one.
    fn make_room(&mut self, record: &Record<'_>, tombstone: Option<i64>) -> Result<(), Trouble> {
        let header = self.builder.header();
        let other_horizon = tombstone.is_some_and(|horizon| {
            !header.attributes.has_delete_horizon() || header.base_timestamp != horizon
        });
        let far = record.offset - self.next >= SPAN_MAX - 1;
        if !self.builder.is_empty() && (self.builder.len() >= MERGED_BYTES || other_horizon || far) {
            self.flush(record.offset)?;
        }
        if self.builder.is_empty() {
            self.fill(record.offset)?;
            self.builder.begin_at(self.next, self.leader_epoch);
            if let Some(horizon) = tombstone {
                self.builder.set_delete_horizon(horizon);
            }
        }
        Ok(())
    }

    /// Writes empty batches until a record's offset is near enough for a batch that begins at `next`.
    fn fill(&mut self, offset: u64) -> Result<(), Trouble> {
        while offset - self.next >= SPAN_MAX - 1 {
            self.builder.begin_at(self.next, self.leader_epoch);
            let end = self.next + SPAN_MAX;
            self.write_built(end)?;
        }
        Ok(())
    }

    /// Writes the batch that is being filled, and lets it take all offsets before `end`.
    fn flush(&mut self, end: u64) -> Result<(), Trouble> {
        while self.next < end {
            if self.builder.is_empty() {
                self.fill(end)?;
                self.builder.begin_at(self.next, self.leader_epoch);
            }
            self.write_built(end)?;
        }
        Ok(())
    }

    fn write_built(&mut self, end: u64) -> Result<(), Trouble> {
        self.builder.span(end);
        let batch = self.builder.finish();
        let header = *batch.header();
        storage::write_full(&*self.file, &mut [IoSlice::new(batch.bytes())], self.position)?;
        self.builder.clear();
        self.wrote(&header);
        Ok(())
    }

    fn wrote(&mut self, header: &BatchHeader) {
        self.index.push(header.base_offset, header);
        self.position += header.bytes;
        self.next = header.end_offset();
    }

    /// Copies a batch as it is.
    fn copy(&mut self, batch: &Batch<'_>) -> Result<(), Trouble> {
        let header = *batch.header();
        self.flush(header.base_offset)?;
        let head = batch.patched(header.base_offset, header.leader_epoch);
        let parts = &mut [IoSlice::new(&head), IoSlice::new(&batch.bytes()[PATCHED_BYTES..])];
        storage::write_full(&*self.file, parts, self.position)?;
        self.wrote(&header);
        Ok(())
    }

    /// Writes what stays of a batch that keeps its header.
    fn filter(
        &mut self,
        location: Location,
        batch: &Batch<'_>,
        start: u64,
        judge: &mut dyn Judge,
    ) -> Result<(), Trouble> {
        let header = *batch.header();
        self.flush(header.base_offset)?;
        self.builder.begin_like(&header);
        for record in batch.records()? {
            let record = record?;
            if let Some(from) = judged(location, &header, &record, start, judge) {
                let range = self.builder.push_read(&record)?;
                judge.moved(Moved {
                    offset: record.offset,
                    from,
                    to: self.location(range),
                });
            }
        }
        self.write_built(header.end_offset())
    }

    /// Carries a compressed batch over.
    fn take_compressed(
        &mut self,
        location: Location,
        batch: &Batch<'_>,
        start: u64,
        horizon: i64,
        judge: &mut dyn Judge,
    ) -> Result<(), Trouble> {
        let mut memory = std::mem::take(&mut self.plain);
        let judged = judge.judges_compressed();
        let plain = judged.then(|| batch.decompressed(PLAIN_BYTES_MAX, &mut memory));
        let result = match plain.flatten() {
            Some((plain, codec)) if is_sound(&plain) => {
                self.filter_compressed(location, batch, (plain, codec), start, horizon, judge)
            }
            _ => self.copy(batch),
        };
        self.plain = memory;
        result
    }

    /// Writes what stays of a compressed batch, which was decompressed into `plain`.
    fn filter_compressed(
        &mut self,
        location: Location,
        batch: &Batch<'_>,
        (plain, codec): (Batch<'_>, Codec),
        start: u64,
        horizon: i64,
        judge: &mut dyn Judge,
    ) -> Result<(), Trouble> {
        let header = *plain.header();
        let mut verdicts = Vec::new();
        let mut has_tombstones = false;
        for record in plain.records()? {
            let record = record?;
            let stays = judged(location, &header, &record, start, judge).is_some();
            has_tombstones |= stays && record.value.is_none();
            verdicts.push(stays);
        }
        // With the time of appending, the base timestamp is not free for a horizon.
        let is_free = header.attributes.0 & (Attributes::DELETE_HORIZON | Attributes::LOG_APPEND_TIME) == 0;
        let sets_horizon = has_tombstones && is_free;
        if !sets_horizon && verdicts.iter().all(|stays| *stays) {
            return self.copy(batch);
        }
        if header.producer_id < 0 && !verdicts.contains(&true) {
            return Ok(());
        }
        self.flush(header.base_offset)?;
        self.builder.begin_like(&header);
        if sets_horizon {
            self.builder.set_delete_horizon(horizon);
        }
        for (record, stays) in plain.records()?.zip(verdicts) {
            if stays {
                self.builder.push_read(&record?)?;
            }
        }
        self.write_compressed(
            batch.header().attributes.compression(),
            codec,
            header.end_offset(),
        )
    }

    /// Writes the batch that is being filled, compressed if it has records and the codec takes them.
    fn write_compressed(&mut self, compression: Compression, codec: Codec, end: u64) -> Result<(), Trouble> {
        self.builder.span(end);
        let mut memory = Vec::new();
        let built = match self.builder.is_empty() {
            true => None,
            false => self
                .builder
                .finish_compressed(compression, codec, &mut memory)
                .ok(),
        };
        let Some(built) = built.filter(|built| built.header().bytes <= BATCH_BYTES_MAX) else {
            return self.write_built(end);
        };
        let header = *built.header();
        storage::write_full(&*self.file, &mut [IoSlice::new(built.bytes())], self.position)?;
        self.builder.clear();
        self.wrote(&header);
        Ok(())
    }

    /// Writes the last batch, so that the segment ends where the run does.
    fn finish(&mut self, end: u64) -> Result<(), Error> {
        let name = file_name(self.index.base());
        self.flush(end).map_err(|trouble| match trouble {
            Trouble::Io(error) => Error::io("write", name.as_ref(), error),
            Trouble::Batch(error) => Error::Corrupt {
                path: name.into(),
                position: self.position,
                reason: error.into(),
            },
        })
    }

    fn explain(&self, segment: &Segment, location: Location, trouble: Trouble) -> Error {
        match trouble {
            Trouble::Batch(error) => segment.corrupt(location.position, error.into()),
            Trouble::Io(error) => Error::io("write", &storage::temporary(segment.path()), error),
        }
    }
}

/// Returns true if every record can be read.
fn is_sound(batch: &Batch<'_>) -> bool {
    batch
        .records()
        .is_ok_and(|mut records| records.all(|record| record.is_ok()))
}

/// The location of a record's value if the record stays. Records before the log's start go.
fn judged(
    batch: Location,
    header: &BatchHeader,
    record: &Record<'_>,
    start: u64,
    judge: &mut dyn Judge,
) -> Option<Location> {
    let value = Location {
        segment: batch.segment,
        position: batch.position + record.value_position,
        bytes: record.value.map_or(0, <[u8]>::len) as u64,
    };
    let delete_horizon = header
        .attributes
        .has_delete_horizon()
        .then_some(header.base_timestamp);
    let candidate = Candidate {
        record,
        value,
        delete_horizon,
    };
    let stays = record.offset >= start && judge.judge(&candidate) == Verdict::Keep;
    stays.then_some(value)
}
