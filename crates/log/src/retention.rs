//! Removing records: the oldest, the newest, or all.
//!
//! **Invariant:** the checkpoint forgets a segment before its file is removed, so recovery never misses a file that was removed
//! on purpose.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::MutexGuard;

use crate::append::Writer;
use crate::checkpoint::Recover;
use crate::cold::{answer, wait};
use crate::error::{Doing, Error};
use crate::files::{is_own, remove_segment_files};
use crate::index::Index;
use crate::log::{Log, Shared, Upkeep};
use crate::options::Retention;
use crate::segment::{Facts, Segment, index_paths};
use crate::storage::{self, File, Open};

/// Bytes that are copied at a time.
const COPY_BYTES: usize = 1 << 20;

impl Log {
    /// Removes the oldest segments as far as `retention` says, and returns the number of bytes. `now` is in milliseconds since
    /// 1970. The active segment is removed only by age, and replaced by an empty one.
    ///
    /// This waits for the device. Readers that hold extents of a removed segment can go on reading them.
    ///
    /// # Errors
    /// The log refuses writes, or the system refuses.
    pub fn retain(&self, retention: Retention, now: i64) -> Result<u64, Error> {
        let mut upkeep = self.shared.upkeep.lock();
        self.shared.failure.check()?;
        let start = self.start_after(retention, now);
        self.shared.remove_before(&mut upkeep, start)
    }

    /// Removes all records before an offset, and returns the number of bytes that were freed: those of segments that have only
    /// such records. An offset behind the log's end means its end.
    ///
    /// This waits for the device.
    ///
    /// # Errors
    /// As for [`Log::retain`].
    pub fn remove_before(&self, offset: u64) -> Result<u64, Error> {
        let mut upkeep = self.shared.upkeep.lock();
        self.shared.failure.check()?;
        let start = offset.min(self.end());
        self.shared.remove_before(&mut upkeep, start)
    }

    /// Removes all records from an offset on, and the records before it that are in the same batch. The next append gets the
    /// offset of the first one that was removed.
    ///
    /// This waits for the device, and appends wait for it. The segment that has the offset is copied up to there, so readers
    /// can go on with what they hold.
    ///
    /// # Errors
    /// The log refuses writes, does not have the offset, or the system refuses. If that happens halfway, the log refuses
    /// writes afterwards.
    pub fn truncate(&self, offset: u64) -> Result<(), Error> {
        let mut upkeep = self.shared.upkeep.lock();
        self.shared.failure.check()?;
        let (start, end) = (self.start(), self.end());
        if offset < start || offset > end {
            return Err(Error::OutOfRange { offset, start, end });
        }
        if offset == end {
            return Ok(());
        }
        let segment = self.segment_at(offset)?;
        let first = wait(|| answer(segment.find(offset)))?;
        self.shared
            .truncate(&mut upkeep, &segment, first.position, first.header.base_offset)
    }

    /// Removes the log and its folder. Files in it that are not the log's are left, and the folder with them.
    ///
    /// Other handles refuse to append from now on; what they hold can still be read. If this is interrupted, a part of the log
    /// is left, which can be opened and removed.
    ///
    /// # Errors
    /// Those of the system.
    pub fn remove(self) -> Result<(), Error> {
        let shared = &self.shared;
        let _upkeep = shared.upkeep.lock();
        let _writer = shared.writer.lock();
        let gone = std::io::Error::other("it was removed");
        let _ = shared.failure.set("use the log", &shared.folder, &gone);
        let (storage, folder) = (&shared.storage, &shared.folder);
        let names = storage.list(folder).doing("list", folder)?;
        let mut left = 0;
        for name in &names {
            if is_own(name) {
                let path = folder.join(name);
                storage.remove(&path).doing("remove", &path)?;
            } else {
                left += 1;
            }
        }
        storage.sync_folder(folder).doing("sync the folder", folder)?;
        if left == 0 {
            storage.remove_folder(folder).doing("remove", folder)?;
        }
        Ok(())
    }

    /// The first offset that `retention` keeps.
    fn start_after(&self, retention: Retention, now: i64) -> u64 {
        let segments = self.segments();
        let mut total = self.bytes();
        let expired = |segment: &Segment| {
            let age = retention.age_ms.and_then(|age| i64::try_from(age).ok());
            segment.bytes() > 0 && age.is_some_and(|age| segment.max_timestamp() < now.saturating_sub(age))
        };
        let mut start = self.start();
        for (number, segment) in segments.iter().enumerate() {
            let active = number + 1 == segments.len();
            let rest = total - segment.bytes();
            let surplus = !active && retention.bytes.is_some_and(|bytes| rest >= bytes);
            if !surplus && !expired(segment) {
                break;
            }
            total = rest;
            start = start.max(segment.end());
        }
        start
    }
}

impl Shared {
    /// Moves the start, and removes the segments before it.
    fn remove_before(&self, upkeep: &mut MutexGuard<'_, Upkeep>, start: u64) -> Result<u64, Error> {
        if start <= self.start.load(Ordering::Acquire) {
            return Ok(0);
        }
        {
            let mut writer = self.writer.lock();
            if writer.active().bytes() > 0 && writer.active().end() <= start {
                self.roll(&mut writer)?;
            }
        }
        self.start.store(start, Ordering::Release);
        let removed: Vec<Arc<Segment>> = {
            let mut segments = self.segments.write();
            let keep = segments.at(start);
            segments.live.drain(..keep).collect()
        };
        // A removed segment must not be synced again.
        let base = self.segments.read().live.first().map_or(0, |first| first.base());
        self.writer
            .lock()
            .completed
            .retain(|segment| segment.base() >= base);
        self.checkpoint(upkeep, false)?;
        for segment in &removed {
            remove_segment_files(&*self.storage, segment.path())?;
        }
        if !removed.is_empty() {
            self.storage
                .sync_folder(&self.folder)
                .doing("sync the folder", &self.folder)?;
        }
        Ok(removed.iter().map(|segment| segment.bytes()).sum())
    }

    fn truncate(
        &self,
        upkeep: &mut MutexGuard<'_, Upkeep>,
        segment: &Arc<Segment>,
        position: u64,
        end: u64,
    ) -> Result<(), Error> {
        let mut writer = self.writer.lock();
        self.lower_checkpoint(upkeep, segment.base(), position, end)?;
        let result = self.replace_with_prefix(&mut writer, segment, position, end);
        result.map_err(|error| match error {
            Error::Io { doing, path, source }
            | Error::Full { doing, path, source }
            | Error::Denied { doing, path, source } => self.failure.set(doing, &path, &source),
            error => error,
        })
    }

    /// Makes the checkpoint promise nothing at or after a position.
    fn lower_checkpoint(
        &self,
        upkeep: &mut MutexGuard<'_, Upkeep>,
        base: u64,
        position: u64,
        offset: u64,
    ) -> Result<(), Error> {
        let mut lower = upkeep.checkpoint.clone().unwrap_or_default();
        lower.clean = false;
        lower.segments.retain(|one| one.base < base);
        if lower.recover.offset > offset {
            lower.recover = Recover {
                base,
                position,
                offset,
            };
        }
        self.write_checkpoint(upkeep, lower)
    }

    /// Removes the segments behind one, newest first, and makes that one's prefix the active segment.
    fn replace_with_prefix(
        &self,
        writer: &mut Writer,
        segment: &Arc<Segment>,
        position: u64,
        end: u64,
    ) -> Result<(), Error> {
        let later: Vec<Arc<Segment>> = {
            let mut segments = self.segments.write();
            let at = segments.at(segment.base());
            segments.live.split_off(at + 1)
        };
        self.end.store(end, Ordering::Release);
        self.synced.fetch_min(end, Ordering::AcqRel);
        writer.completed.retain(|one| one.base() < segment.base());
        for one in later.iter().rev() {
            remove_segment_files(&*self.storage, one.path())?;
        }
        let path = segment.path();
        for index in index_paths(path) {
            // It may not have been written yet.
            let _ = self.storage.remove(&index);
        }
        let temporary = storage::temporary(path);
        let copy = self
            .storage
            .open(&temporary, Open::Replace)
            .doing("create", &temporary)?;
        copy_prefix(&*segment.file()?, &*copy, position).doing("copy", path)?;
        copy.sync().doing("sync", &temporary)?;
        self.storage
            .rename(&temporary, path)
            .doing("rename", &temporary)?;
        self.storage
            .sync_folder(&self.folder)
            .doing("sync the folder", &self.folder)?;
        let index = segment.index_of_prefix(position)?;
        let facts = Facts {
            base: segment.base(),
            end,
            bytes: position,
            synced: position,
            generation: 0,
            max_timestamp: index.max_timestamp(),
        };
        self.install_active(writer, facts, copy, index);
        Ok(())
    }

    fn install_active(&self, writer: &mut Writer, facts: Facts, file: Arc<dyn File>, index: Index) {
        let mut segments = self.segments.write();
        let id = segments.take_id();
        let segment = Segment::new(
            &self.storage,
            &self.folder,
            id,
            facts,
            Some(file.clone()),
            Some(index),
        );
        let segment = Arc::new(segment);
        segments.live.pop();
        segments.push(segment.clone());
        writer.replace_active(segment, file);
    }
}

/// Copies the first bytes of a file.
fn copy_prefix(from: &dyn File, to: &dyn File, bytes: u64) -> std::io::Result<()> {
    let mut buffer = vec![0; COPY_BYTES.min(bytes as usize)];
    let mut done = 0;
    while done < bytes {
        let most = buffer.len().min((bytes - done) as usize);
        let count = storage::read_full(from, &mut buffer[..most], done)?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        storage::write_full(to, &mut [std::io::IoSlice::new(&buffer[..count])], done)?;
        done += count as u64;
    }
    Ok(())
}
