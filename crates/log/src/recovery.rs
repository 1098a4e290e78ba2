//! Opening a folder: which segments there are, how far each is whole, and where the log ends.
//!
//! ```text
//!   before the checkpoint's point   complete segments: their length is compared, their bytes are not read
//!   behind it                       every batch is checked; the log ends before the first one that is not whole
//! ```
//!
//! **Invariant:** recovery never cuts or removes bytes before the checkpoint's point. Damage there is reported, and reading
//! the lost offsets is an error.
//! **Invariant:** an offset that was ever durable is not given to another record.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::batch::{Batches, HEADER_BYTES};
use crate::checkpoint::{Checkpoint, Complete, Found, Replace};
use crate::error::{Doing, Error, Fault};
use crate::files::{FAILED_NAME, aside, remove_segment_files};
use crate::index::Index;
use crate::report::{Cut, Damage, Recovery};
use crate::scanner::{Scanner, Stop, is_unused};
use crate::segment::{self, Facts, Segment, SegmentId, base_of, base_of_index, file_name, index_paths};
use crate::storage::{self, Advice, File, Open, Storage, TEMPORARY_SUFFIX};

/// A log's parts as recovery leaves them.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) segments: Vec<Arc<Segment>>,
    pub(crate) start: u64,
    /// Everything before this offset is durable.
    pub(crate) synced: u64,
    pub(crate) next_id: u32,
    /// The checkpoint that the folder has.
    pub(crate) checkpoint: Option<Checkpoint>,
    pub(crate) report: Recovery,
}

/// The most cut bytes that are read to look for whole batches, and copied if there are any.
const CUT_LOOK_BYTES_MAX: u64 = 64 << 20;

/// A segment's state while it is being recovered.
struct Part {
    facts: Facts,
    index: Option<Index>,
    file: Option<Arc<dyn File>>,
    was_cut: bool,
}

struct Work<'a> {
    storage: &'a Arc<dyn Storage>,
    folder: &'a Path,
    checkpoint: Option<Checkpoint>,
    report: Recovery,
    parts: Vec<Part>,
}

/// Recovers the log of a folder, which this process has locked.
pub(crate) fn recover(storage: &Arc<dyn Storage>, folder: &Path) -> Result<Recovered, Error> {
    let mut report = Recovery::default();
    let checkpoint = match Checkpoint::read(&**storage, folder)? {
        Found::Intact(checkpoint) => Some(checkpoint),
        Found::Absent => None,
        Found::Damaged(reason) => {
            report.checkpoint_damage = Some(reason);
            None
        }
    };
    let mut work = Work {
        storage,
        folder,
        checkpoint,
        report,
        parts: Vec::new(),
    };
    let names = storage.list(folder).doing("list", folder)?;
    work.report.reread = names.iter().any(|name| name == FAILED_NAME);
    work.finish_replacing(&names)?;
    let bases = work.bases()?;
    if work.checkpoint.is_none() {
        work.refuse_foreign(&bases)?;
        if bases.is_empty() && work.report.checkpoint_damage.is_none() {
            work.report.created = true;
        }
    }
    work.recover_segments(&bases)?;
    let recovered = work.finish()?;
    if recovered.report.reread {
        let path = folder.join(FAILED_NAME);
        storage.remove(&path).doing("remove", &path)?;
    }
    Ok(recovered)
}

impl Work<'_> {
    fn path(&self, base: u64) -> PathBuf {
        self.folder.join(file_name(base))
    }

    /// Completes a compaction that was being installed, or forgets it; removes files that were never completed.
    fn finish_replacing(&mut self, names: &[String]) -> Result<(), Error> {
        let replace = self.checkpoint.as_ref().and_then(|checkpoint| checkpoint.replace);
        let mut changed = false;
        if let Some(Replace { from, to, bytes }) = replace {
            let new = storage::temporary(&self.path(from));
            let installed =
                !names.iter().any(|name| new.ends_with(name)) && self.length(from)? == Some(bytes);
            if installed {
                for base in names
                    .iter()
                    .filter_map(|name| base_of(name))
                    .filter(|base| (from + 1..to).contains(base))
                {
                    self.remove_segment(base)?;
                }
            }
            if let Some(checkpoint) = &mut self.checkpoint {
                if installed {
                    checkpoint.install(Replace { from, to, bytes });
                } else {
                    checkpoint.replace = None;
                }
            }
            changed = true;
        }
        for name in names.iter().filter(|name| name.ends_with(TEMPORARY_SUFFIX)) {
            let path = self.folder.join(name);
            self.storage.remove(&path).doing("remove", &path)?;
        }
        match &self.checkpoint {
            Some(checkpoint) if changed => {
                self.storage
                    .sync_folder(self.folder)
                    .doing("sync the folder", self.folder)?;
                checkpoint.write(&**self.storage, self.folder)
            }
            _ => Ok(()),
        }
    }

    /// A segment's length, if it exists.
    fn length(&self, base: u64) -> Result<Option<u64>, Error> {
        let path = self.path(base);
        match self.storage.open(&path, Open::Read) {
            Ok(file) => Ok(Some(file.length().doing("measure", &path)?)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("open", &path, error)),
        }
    }

    fn remove_segment(&self, base: u64) -> Result<(), Error> {
        let path = self.path(base);
        remove_segment_files(&**self.storage, &path)
    }

    /// The base offsets of the segments that are there, in order. Segments before the log's start, segments that compaction has
    /// replaced and indexes without a segment are removed.
    fn bases(&self) -> Result<Vec<u64>, Error> {
        let names = self.storage.list(self.folder).doing("list", self.folder)?;
        let mut bases: Vec<u64> = names.iter().filter_map(|name| base_of(name)).collect();
        bases.sort_unstable();
        let start = self.checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.start);
        let keep = bases.partition_point(|&base| base <= start).saturating_sub(1);
        for base in bases.drain(..keep) {
            self.remove_segment(base)?;
        }
        if let Some(checkpoint) = &self.checkpoint {
            // The device may have the new checkpoint and not the removal that came before it.
            for base in bases.extract_if(.., |base| checkpoint.has_replaced(*base)) {
                self.remove_segment(base)?;
            }
        }
        for name in &names {
            if base_of_index(name).is_some_and(|base| bases.binary_search(&base).is_err()) {
                let path = self.folder.join(name);
                let _ = self.storage.remove(&path);
            }
        }
        Ok(bases)
    }

    /// Without a checkpoint nothing says that the segments are ours, so each must at least begin like one: cutting "torn bytes"
    /// off another program's file would destroy it.
    fn refuse_foreign(&self, bases: &[u64]) -> Result<(), Error> {
        for &base in bases {
            let path = self.path(base);
            let file = self.storage.open(&path, Open::Read).doing("open", &path)?;
            let mut head = [0; HEADER_BYTES];
            let count = storage::read_full(&*file, &mut head, 0).doing("read", &path)?;
            let foreign = match crate::batch::BatchHeader::parse(&head[..count]) {
                Ok(header) => header.base_offset != base,
                // A crash can leave less than a header, or zeros.
                Err(_) => head[..count].iter().any(|&byte| byte != 0) && count == HEADER_BYTES,
            };
            if foreign {
                let reason =
                    "it has no checkpoint, and the file does not begin with a record batch of its offset"
                        .into();
                return Err(Error::Foreign { path, reason });
            }
        }
        Ok(())
    }

    /// Recovers the segments in order. The end of one is the base of the next.
    fn recover_segments(&mut self, bases: &[u64]) -> Result<(), Error> {
        for (number, &base) in bases.iter().enumerate() {
            let end = self.end(base);
            if base < end || end < base && self.is_tail(end) {
                return self.set_aside(&bases[number..]);
            }
            if end < base {
                self.report.missing.push(end..base);
            }
            let last = number + 1 == bases.len();
            let part = match self.complete(base) {
                Some((complete, end)) => self.recover_complete(complete, end)?,
                None => self.recover_tail(base, last)?,
            };
            let was_cut = part.was_cut;
            self.parts.push(part);
            if was_cut && !last {
                return self.set_aside(&bases[number + 1..]);
            }
        }
        Ok(())
    }

    /// Where the log's next segment should begin. Before the first one, that is where the checkpoint says, or anywhere.
    fn end(&self, base: u64) -> u64 {
        if let Some(part) = self.parts.last() {
            return part.facts.end;
        }
        let Some(checkpoint) = &self.checkpoint else {
            return base;
        };
        let first = checkpoint
            .segments
            .first()
            .map_or(checkpoint.recover.base, |first| first.base);
        // The segments before the start are gone.
        first.max(checkpoint.start).min(base.max(first))
    }

    /// Returns true for an offset behind the checkpoint's point. A gap there means that a write was lost: the log ends before it.
    fn is_tail(&self, offset: u64) -> bool {
        self.checkpoint
            .as_ref()
            .is_some_and(|checkpoint| offset >= checkpoint.recover.offset)
    }

    /// The facts of a segment that the checkpoint has as complete, and its end.
    fn complete(&self, base: u64) -> Option<(Complete, u64)> {
        let checkpoint = self.checkpoint.as_ref()?;
        let at = checkpoint
            .segments
            .iter()
            .position(|segment| segment.base == base)?;
        let next = checkpoint
            .segments
            .get(at + 1)
            .map_or(checkpoint.recover.base, |next| next.base);
        Some((checkpoint.segments[at], next))
    }

    /// A complete segment: only its length is compared. Space that was allocated behind its batches may still be there.
    fn recover_complete(&mut self, complete: Complete, end: u64) -> Result<Part, Error> {
        let path = self.path(complete.base);
        let length = self.length(complete.base)?.unwrap_or(0);
        let length = self.cut_unused(&path, complete.bytes, length)?;
        let mut facts = Facts {
            base: complete.base,
            end,
            bytes: complete.bytes,
            synced: complete.bytes,
            generation: complete.generation,
            max_timestamp: complete.max_timestamp,
        };
        if length > complete.bytes {
            let reason = Fault::Long {
                bytes: length - complete.bytes,
            };
            self.report.damage.push(Damage {
                path,
                position: complete.bytes,
                reason,
            });
        } else if length < complete.bytes {
            let reason = Fault::Short {
                expected: complete.bytes,
            };
            self.report.damage.push(Damage {
                path: path.clone(),
                position: length,
                reason,
            });
            let scanned = self.scan(&path, complete.base, None, length)?;
            (facts.end, facts.bytes, facts.synced) = (scanned.end, scanned.bytes, scanned.bytes);
        }
        Ok(Part {
            facts,
            index: None,
            file: None,
            was_cut: false,
        })
    }

    /// Cuts the zeros behind a segment's batches, if nothing else is there, and returns the length.
    fn cut_unused(&self, path: &Path, bytes: u64, length: u64) -> Result<u64, Error> {
        if length <= bytes {
            return Ok(length);
        }
        let file = self.storage.open(path, Open::Write).doing("open", path)?;
        if !is_unused(&*file, bytes, length).doing("read", path)? {
            return Ok(length);
        }
        file.set_length(bytes).doing("cut", path)?;
        Ok(bytes)
    }

    /// A segment that the checkpoint does not have as complete: what follows the checkpoint's point is checked, and cut at the
    /// first fault.
    fn recover_tail(&mut self, base: u64, last: bool) -> Result<Part, Error> {
        let path = self.path(base);
        let file = self.storage.open(&path, Open::Write).doing("open", &path)?;
        let length = file.length().doing("measure", &path)?;
        let point = self
            .checkpoint
            .as_ref()
            .map(|checkpoint| checkpoint.recover)
            .filter(|point| point.base == base);
        let trusted = point.filter(|point| point.position <= length);
        if let (Some(point), None) = (point, trusted) {
            let reason = Fault::Short {
                expected: point.position,
            };
            self.report.damage.push(Damage {
                path: path.clone(),
                position: length,
                reason,
            });
        }
        let scanned = self.scan(
            &path,
            base,
            trusted.map(|point| (point.position, point.offset)),
            length,
        )?;
        let was_cut = scanned.fault.is_some();
        if let Some(reason) = scanned.fault {
            self.cut(&path, &*file, scanned.bytes, length, reason)?;
        } else if !last || scanned.bytes < length {
            // Frees what was allocated ahead.
            file.set_length(scanned.bytes).doing("cut", &path)?;
        }
        if let (Some(point), None) = (point, trusted) {
            // The segment ends before what was durable: its rest is lost, and its offsets are not used again.
            self.report.missing.push(scanned.end..point.offset);
        }
        let synced = trusted.map_or(0, |point| point.position);
        let generation = 0;
        let facts = Facts {
            base,
            end: scanned.end,
            bytes: scanned.bytes,
            synced,
            generation,
            max_timestamp: scanned.index.max_timestamp(),
        };
        let file = last.then_some(file);
        Ok(Part {
            facts,
            index: Some(scanned.index),
            file,
            was_cut,
        })
    }

    /// Checks a segment's batches from a trusted point on. The index files serve as far as they describe what is before it.
    fn scan(
        &mut self,
        path: &Path,
        base: u64,
        trusted: Option<(u64, u64)>,
        length: u64,
    ) -> Result<Scanned, Error> {
        let (position, _) = trusted.unwrap_or((0, base));
        let read = segment::read_index(&**self.storage, path, base, position).filter(|_| trusted.is_some());
        let mut index = read.unwrap_or_else(|| Index::new(base));
        if trusted.is_some_and(|(position, offset)| index.covered() == position && index.end() != offset) {
            index = Index::new(base);
        }
        let file = self.storage.open(path, Open::Read).doing("open", path)?;
        if self.report.reread {
            file.advise(0, length, Advice::DontNeed);
        }
        let mut scanner = Scanner::new(&*file, index.covered(), index.end(), length);
        let from = scanner.position();
        let fault = loop {
            match scanner.next() {
                Ok(Some(batch)) => {
                    index.push(batch.header().base_offset, batch.header());
                    self.report.checked_batches += 1;
                }
                Ok(None) => break None,
                Err(Stop::Fault(fault)) => break Some(fault),
                Err(Stop::Io(error)) => return Err(Error::io("read", path, error)),
            }
        };
        let (bytes, end) = (scanner.position(), scanner.expected());
        self.report.checked_bytes += bytes - from;
        let unused = fault.is_some() && is_unused(&*file, bytes, length).doing("read", path)?;
        let fault = fault.filter(|_| !unused);
        Ok(Scanned {
            bytes,
            end,
            index,
            fault,
        })
    }

    /// Cuts a segment. Whole batches among the bytes show damage, not a torn write: then the bytes are kept.
    fn cut(
        &mut self,
        path: &Path,
        file: &dyn File,
        position: u64,
        length: u64,
        reason: Fault,
    ) -> Result<(), Error> {
        let kept = self.keep_cut(path, file, position, length)?;
        file.set_length(position).doing("cut", path)?;
        // Otherwise the bytes could come back behind a power cut, and end the log before segments that were added meanwhile.
        file.sync().doing("sync", path)?;
        let path = path.to_owned();
        self.report.cuts.push(Cut {
            path,
            position,
            bytes: length - position,
            reason,
            kept,
        });
        Ok(())
    }

    fn keep_cut(
        &self,
        path: &Path,
        file: &dyn File,
        position: u64,
        length: u64,
    ) -> Result<Option<PathBuf>, Error> {
        let mut bytes = vec![0; (length - position).min(CUT_LOOK_BYTES_MAX) as usize];
        let count = storage::read_full(file, &mut bytes, position).doing("read", path)?;
        bytes.truncate(count);
        if !has_batch(&bytes) {
            return Ok(None);
        }
        let kept = aside(&**self.storage, self.folder, path)?;
        storage::write_whole(&**self.storage, &kept, &bytes).doing("write", &kept)?;
        self.storage
            .sync_folder(self.folder)
            .doing("sync the folder", self.folder)?;
        Ok(Some(kept))
    }

    /// Renames segments that do not continue the log, since their records may still be wanted.
    fn set_aside(&mut self, bases: &[u64]) -> Result<(), Error> {
        for &base in bases {
            let path = self.path(base);
            let aside = aside(&**self.storage, self.folder, &path)?;
            self.storage.rename(&path, &aside).doing("rename", &path)?;
            for index in index_paths(&path) {
                let _ = self.storage.remove(&index);
            }
            self.report.set_aside.push(aside);
        }
        self.storage
            .sync_folder(self.folder)
            .doing("sync the folder", self.folder)
    }

    /// Makes the segments; the last one is active. A log without a usable last segment gets a new one.
    fn finish(mut self) -> Result<Recovered, Error> {
        let point = self
            .checkpoint
            .as_ref()
            .map(|checkpoint| checkpoint.recover)
            .unwrap_or_default();
        let start = self.checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.start);
        let start = start.max(
            self.parts
                .first()
                .map_or(start.max(point.offset), |part| part.facts.base),
        );
        let end = self.parts.last().map_or(start, |part| part.facts.end);
        let next = end.max(point.offset).max(start);
        let is_tail = self.parts.last().is_some_and(|part| part.index.is_some());
        // `recover_tail` has noted what a segment at the checkpoint's point lost.
        if end < next && !is_tail {
            self.report.missing.push(end..next);
        }
        let fresh = !is_tail || end < next;
        if fresh {
            self.add_segment(next)?;
        } else {
            self.open_last()?;
        }
        let checkpoint = self.checkpoint.as_ref();
        let untouched =
            self.report.cuts.is_empty() && self.report.set_aside.is_empty() && self.report.damage.is_empty();
        let last = self.parts.last().map(|part| (part.facts.base, part.facts.bytes));
        self.report.clean = checkpoint.is_some_and(|one| one.clean)
            && untouched
            && self.report.missing.is_empty()
            && last == Some((point.base, point.position));
        let synced = if fresh { next } else { point.offset.min(next) };
        let segments = self.parts.into_iter().enumerate().map(|(number, part)| {
            let id = SegmentId(number as u32);
            Arc::new(Segment::new(
                self.storage,
                self.folder,
                id,
                part.facts,
                part.file,
                part.index,
            ))
        });
        let segments: Vec<_> = segments.collect();
        let next_id = segments.len() as u32;
        Ok(Recovered {
            segments,
            start,
            synced,
            next_id,
            checkpoint: self.checkpoint,
            report: self.report,
        })
    }

    /// The last segment is the one that was active, but behind it others were set aside.
    fn open_last(&mut self) -> Result<(), Error> {
        let folder = self.folder;
        if let Some(part) = self.parts.last_mut()
            && part.file.is_none()
        {
            let path = folder.join(file_name(part.facts.base));
            part.file = Some(self.storage.open(&path, Open::Write).doing("open", &path)?);
        }
        Ok(())
    }

    fn add_segment(&mut self, base: u64) -> Result<(), Error> {
        let path = self.path(base);
        let file = self.storage.open(&path, Open::Create).doing("create", &path)?;
        self.storage
            .sync_folder(self.folder)
            .doing("sync the folder", self.folder)?;
        let facts = Facts {
            base,
            end: base,
            bytes: 0,
            synced: 0,
            generation: 0,
            max_timestamp: i64::MIN,
        };
        self.parts.push(Part {
            facts,
            index: Some(Index::new(base)),
            file: Some(file),
            was_cut: false,
        });
        Ok(())
    }
}

struct Scanned {
    bytes: u64,
    end: u64,
    index: Index,
    fault: Option<Fault>,
}

/// Returns true if a whole batch begins anywhere in the bytes.
fn has_batch(bytes: &[u8]) -> bool {
    /// Where the format's version is in a batch.
    const MAGIC_AT: usize = 16;
    let starts = bytes
        .iter()
        .enumerate()
        .filter(|&(at, &byte)| byte == 2 && at >= MAGIC_AT);
    starts
        .map(|(at, _)| at - MAGIC_AT)
        .any(|at| matches!(Batches::new(&bytes[at..]).next(), Some(Ok(_))))
}
