//! Looking at the files of a log without opening it: every batch, and every fault.
//!
//! **Invariant:** nothing here changes a file.

use std::io;
use std::path::{Path, PathBuf};

use crate::batch::{Batch, BatchError, BatchHeader, HEADER_BYTES};
use crate::checkpoint::{self, Checkpoint, Found};
use crate::error::{Doing, Error, Fault};
use crate::files::LOCK_NAME;
use crate::index::Index;
use crate::log::lock;
use crate::scanner::{Scanner, Stop, is_unused};
use crate::segment::{base_of, index_paths, read_index};
use crate::storage::{File, Open, Storage, read_full};

/// Bytes that are searched at a time for the next whole batch behind damage.
const SEARCH_BYTES: usize = 1 << 20;

/// The most offsets that a segment has.
pub(crate) const OFFSETS_MAX: u64 = u32::MAX as u64;

/// A part of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// A whole batch, with a correct checksum and readable records.
    Batch {
        /// Where it begins.
        position: u64,
        /// Its fields.
        header: BatchHeader,
    },
    /// Bytes that are not a whole batch, up to the next one or to the end.
    Damage {
        /// Where they begin.
        position: u64,
        /// The number of bytes; 0 if only offsets are missing.
        bytes: u64,
        /// The fault.
        fault: Fault,
    },
}

/// A fault that [`verify`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub path: PathBuf,
    /// The position in it.
    pub position: u64,
    /// The fault.
    pub what: String,
}

/// What [`verify`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verification {
    /// Whole batches.
    pub batches: u64,
    /// Their records.
    pub records: u64,
    /// All faults.
    pub faults: Vec<Finding>,
    /// True if the log is in use. A half-written newest batch does not count as a fault then.
    pub in_use: bool,
}

/// Calls `visit` for each piece of a segment's file. The name tells the offset that the segment begins with; under any other
/// name, the first batch does.
///
/// # Errors
/// The file cannot be read.
pub fn pieces(storage: &dyn Storage, path: &Path, mut visit: impl FnMut(Piece)) -> Result<(), Error> {
    let file = storage.open(path, Open::Read).doing("open", path)?;
    let end = file.length().doing("measure", path)?;
    let mut walk = Walk::new(&*file, base(path), end);
    while let Some(piece) = walk.next().doing("read", path)? {
        visit(piece);
    }
    Ok(())
}

fn base(path: &Path) -> Option<u64> {
    base_of(path.file_name()?.to_str()?)
}

/// Verifies one segment's file.
///
/// # Errors
/// The file cannot be read.
pub fn verify_segment(storage: &dyn Storage, path: &Path) -> Result<Verification, Error> {
    let mut found = Verification::default();
    found.segment(storage, path)?;
    Ok(found)
}

/// Verifies a log: segments, indexes and checkpoint. The log may be in use.
///
/// # Errors
/// A file cannot be read, or a newer version wrote the log.
pub fn verify(storage: &dyn Storage, folder: &Path) -> Result<Verification, Error> {
    let mut found = Verification::default();
    let names = storage.list(folder).doing("list", folder)?;
    // Held so that the log is not opened meanwhile.
    let held = if names.iter().any(|name| name == LOCK_NAME) {
        let held = lock(storage, folder);
        found.in_use = matches!(held, Err(Error::Locked { .. }));
        held.ok()
    } else {
        None
    };
    let checkpoint = found.checkpoint(storage, folder)?;
    let bases = bases(&names);
    let start = checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.start);
    let mut expected = first_base(checkpoint.as_ref(), start);
    for (number, &base) in bases.iter().enumerate() {
        let path = folder.join(crate::segment::file_name(base));
        let before = bases.get(number + 1).is_some_and(|&next| next <= start);
        if expected.is_some_and(|expected| base > expected) && !before {
            let what = format!(
                "the offsets from {} up to {base} are missing before this segment",
                expected.unwrap_or(base)
            );
            found.fault(&path, 0, what);
        }
        let last = number + 1 == bases.len();
        let (end, bytes) = found.log_segment(storage, &path, last)?;
        found.compare(checkpoint.as_ref(), &path, base, bytes, last);
        expected = Some(end);
    }
    if let (Some(checkpoint), false) = (&checkpoint, found.in_use) {
        let point = checkpoint.recover;
        if expected.is_none_or(|end| end < point.offset) && point.offset > start {
            let what = format!(
                "the log ends at offset {} and had {}",
                expected.unwrap_or(0),
                point.offset
            );
            found.fault(&folder.join(checkpoint::NAME), 0, what);
        }
    }
    drop(held);
    Ok(found)
}

/// The base offsets of the segments among names, in order.
pub(crate) fn bases(names: &[String]) -> Vec<u64> {
    let mut bases: Vec<u64> = names.iter().filter_map(|name| base_of(name)).collect();
    bases.sort_unstable();
    bases
}

/// The base offset of the first segment, if the checkpoint tells.
fn first_base(checkpoint: Option<&Checkpoint>, start: u64) -> Option<u64> {
    let checkpoint = checkpoint?;
    let first = checkpoint
        .segments
        .first()
        .map_or(checkpoint.recover.base, |first| first.base);
    Some(first.max(start))
}

impl Verification {
    fn fault(&mut self, path: &Path, position: u64, what: impl ToString) {
        self.faults.push(Finding {
            path: path.to_owned(),
            position,
            what: what.to_string(),
        });
    }

    fn checkpoint(&mut self, storage: &dyn Storage, folder: &Path) -> Result<Option<Checkpoint>, Error> {
        let path = folder.join(checkpoint::NAME);
        match Checkpoint::read(storage, folder)? {
            Found::Intact(checkpoint) => return Ok(Some(checkpoint)),
            Found::Absent => self.fault(&path, 0, "the checkpoint is missing"),
            Found::Damaged(reason) => self.fault(&path, 0, format!("the checkpoint is damaged: {reason}")),
        }
        Ok(None)
    }

    /// Verifies a segment, and returns the offset and the position after its last whole batch.
    fn segment(&mut self, storage: &dyn Storage, path: &Path) -> Result<(u64, u64), Error> {
        let mut after = (base(path).unwrap_or(0), 0);
        let mut faults = Vec::new();
        pieces(storage, path, |piece| match piece {
            Piece::Batch { position, header } => {
                self.batches += 1;
                self.records += u64::from(header.count);
                after = (header.end_offset(), position + header.bytes);
            }
            Piece::Damage { position, fault, .. } => faults.push((position, fault)),
        })?;
        for (position, fault) in faults {
            self.fault(path, position, fault);
        }
        Ok(after)
    }

    /// The same for a segment of a log, with its indexes.
    fn log_segment(&mut self, storage: &dyn Storage, path: &Path, last: bool) -> Result<(u64, u64), Error> {
        let before = self.faults.len();
        let (end, bytes) = self.segment(storage, path)?;
        let torn = self.faults.len() == before + 1 && self.faults[before].position == bytes;
        if last && self.in_use && torn {
            self.faults.truncate(before);
        }
        if self.faults.len() == before {
            self.indexes(storage, path, bytes)?;
        }
        Ok((end, bytes))
    }

    /// Compares the indexes with those that the segment yields. Missing ones do not count as faults.
    fn indexes(&mut self, storage: &dyn Storage, segment: &Path, bytes: u64) -> Result<(), Error> {
        let base = base(segment).unwrap_or(0);
        let paths = index_paths(segment);
        let folder = segment.parent().unwrap_or(Path::new("."));
        let names = storage.list(folder).doing("list", folder)?;
        let there = |path: &Path| names.iter().any(|name| path.ends_with(name));
        if !paths.iter().all(|path| there(path)) {
            return Ok(());
        }
        let Some(index) = read_index(storage, segment, base, bytes) else {
            self.fault(
                &paths[0],
                0,
                "the index or the time index is damaged; it will be rebuilt",
            );
            return Ok(());
        };
        let file = storage.open(segment, Open::Read).doing("open", segment)?;
        let mut rebuilt = Index::new(base);
        let mut scanner = Scanner::new(&*file, 0, base, index.covered());
        while let Ok(Some(batch)) = scanner.next() {
            rebuilt.push(batch.header().base_offset, batch.header());
        }
        if rebuilt != index {
            self.fault(
                &paths[0],
                0,
                "the index is of another state of the segment; it will be rebuilt",
            );
        }
        Ok(())
    }

    /// Compares a segment's length with the checkpoint's.
    fn compare(&mut self, checkpoint: Option<&Checkpoint>, path: &Path, base: u64, bytes: u64, last: bool) {
        let Some(checkpoint) = checkpoint else { return };
        let complete = checkpoint.segments.iter().find(|one| one.base == base);
        match complete {
            Some(complete) if complete.bytes != bytes && !last && !self.in_use => {
                let what = format!(
                    "the segment's batches have {bytes} bytes and had {}",
                    complete.bytes
                );
                self.fault(path, bytes.min(complete.bytes), what);
            }
            _ => {}
        }
    }
}

/// Walks a segment's file, also across damage.
pub(crate) struct Walk<'f> {
    file: &'f dyn File,
    position: u64,
    /// The offset that the next batch must have, if it is known.
    expected: Option<u64>,
    /// No batch of the segment has this offset, or a greater one.
    limit: u64,
    end: u64,
    /// A batch behind damage.
    found: Option<u64>,
}

impl<'f> Walk<'f> {
    pub(crate) fn new(file: &'f dyn File, base: Option<u64>, end: u64) -> Walk<'f> {
        let limit = base.map_or(u64::MAX, |base| base.saturating_add(OFFSETS_MAX));
        Walk {
            limit,
            file,
            position: 0,
            expected: base,
            end,
            found: None,
        }
    }

    /// The position and the offset of the first whole batch behind a damaged one, which begins at `position` and should have had
    /// the offset `expected`.
    pub(crate) fn behind(
        file: &'f dyn File,
        position: u64,
        expected: u64,
        end: u64,
        end_offset: u64,
    ) -> io::Result<Option<(u64, u64)>> {
        let walk = Walk {
            file,
            position,
            expected: Some(expected),
            limit: end_offset,
            end,
            found: None,
        };
        walk.search(position)
    }

    /// The end of the pieces: that of the file, or of what is used of it.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    pub(crate) fn next(&mut self) -> io::Result<Option<Piece>> {
        if self.position >= self.end {
            return Ok(None);
        }
        let position = self.position;
        let expected = match self.found.take().or(self.expected) {
            Some(expected) => expected,
            None => self.base_offset(position)?,
        };
        match self.batch(position, expected)? {
            Ok(header) => {
                self.position += header.bytes;
                self.expected = Some(header.end_offset());
                Ok(Some(Piece::Batch { position, header }))
            }
            // Allocated for appends that were not made.
            Err(_) if is_unused(self.file, position, self.end)? => {
                self.end = position;
                Ok(None)
            }
            Err(fault) => {
                let next = self.search(position)?;
                self.position = next.map_or(self.end, |(at, _)| at);
                self.found = next.map(|(_, offset)| offset);
                Ok(Some(Piece::Damage {
                    position,
                    bytes: self.position - position,
                    fault,
                }))
            }
        }
    }

    fn base_offset(&self, position: u64) -> io::Result<u64> {
        let mut head = [0; 8];
        read_full(self.file, &mut head, position)?;
        Ok(u64::from_be_bytes(head))
    }

    /// The header of the batch at a position, if it is whole and has readable records.
    fn batch(&self, position: u64, expected: u64) -> io::Result<Result<BatchHeader, Fault>> {
        let mut scanner = Scanner::new(self.file, position, expected, self.end);
        match scanner.next() {
            Ok(Some(batch)) => Ok(check_records(&batch)
                .map(|()| *batch.header())
                .map_err(Fault::Batch)),
            Ok(None) => Ok(Err(BatchError::Incomplete {
                need: HEADER_BYTES as u64,
                have: 0,
            }
            .into())),
            Err(Stop::Fault(fault)) => Ok(Err(fault)),
            Err(Stop::Io(error)) => Err(error),
        }
    }

    /// The position and the offset of the first whole batch after a position whose offset continues the segment.
    fn search(&self, after: u64) -> io::Result<Option<(u64, u64)>> {
        let mut buffer = vec![0; SEARCH_BYTES + HEADER_BYTES];
        let mut from = after + 1;
        while from < self.end {
            let count = read_full(self.file, &mut buffer, from)?;
            for at in 0..count.saturating_sub(HEADER_BYTES).min(SEARCH_BYTES) {
                let Ok(header) = BatchHeader::parse(&buffer[at..count]) else {
                    continue;
                };
                let offset = header.base_offset;
                let position = from + at as u64;
                // The checksum does not cover the offset, so an impossible one is damage, too.
                let continues = self.expected.is_none_or(|expected| offset >= expected)
                    && header.end_offset() <= self.limit;
                if continues && position + header.bytes <= self.end && self.batch(position, offset)?.is_ok() {
                    return Ok(Some((position, offset)));
                }
            }
            from += SEARCH_BYTES as u64;
        }
        Ok(None)
    }
}

/// Reads all records of a batch that is not compressed.
fn check_records(batch: &Batch<'_>) -> Result<(), BatchError> {
    match batch.records() {
        Err(BatchError::Compressed(_)) => Ok(()),
        Err(error) => Err(error),
        Ok(mut records) => records.try_for_each(|record| record.map(drop)),
    }
}
