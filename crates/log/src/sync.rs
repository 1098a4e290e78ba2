//! Making appends durable, and the checkpoint.
//!
//! **Invariant:** [`Log::synced`] never exceeds what the device has confirmed. After a sync failed, nothing is synced again:
//! the kernel forgets which pages it could not write, so a second try may succeed though bytes were lost.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::MutexGuard;

use crate::checkpoint::{Checkpoint, Complete, Recover};
use crate::error::{Doing, Error};
use crate::files::FAILED_NAME;
use crate::log::{Log, Shared, Upkeep};
use crate::report::Recovery;
use crate::segment::Segment;
use crate::storage::{Open, Pages};

/// The least number of unsynced bytes for which a sync releases the pages of the mapping.
const RELEASED_BYTES_MIN: u64 = 64 << 10;

impl Log {
    /// Makes everything durable that was appended before the call, and returns the offset before which all is durable then.
    ///
    /// This waits for the device and runs on a thread of the caller's choice, while appends go on. Of several threads that
    /// call it, one syncs for all whose appends came before.
    ///
    /// # Errors
    /// The device failed. The log then refuses all further writes, and this call all further syncs; reads go on. Nothing that
    /// an earlier sync confirmed is lost.
    pub fn sync(&self) -> Result<u64, Error> {
        let asked = self.end();
        if self.synced() >= asked {
            self.check()?;
            return Ok(self.synced());
        }
        let upkeep = self.shared.upkeep.lock();
        if self.synced() < asked {
            self.shared.sync(&upkeep)?;
        }
        self.check()?;
        Ok(self.synced())
    }

    /// Syncs, completes the segments that are full, and writes a checkpoint, so that recovery need not check what is before
    /// it. This waits for the device; call it about every minute, and after [`Log::roll`].
    ///
    /// # Errors
    /// As for [`Log::sync`], and if the checkpoint or an index cannot be written.
    pub fn checkpoint(&self) -> Result<(), Error> {
        let mut upkeep = self.shared.upkeep.lock();
        self.shared.checkpoint(&mut upkeep, false)
    }

    /// Syncs everything and marks the log as closed in order, so that opening it again need not check anything. Appends must
    /// have ended. Dropping a log without closing it loses nothing; opening it takes longer then.
    ///
    /// # Errors
    /// As for [`Log::checkpoint`].
    pub fn close(&self) -> Result<(), Error> {
        let mut upkeep = self.shared.upkeep.lock();
        let (active, bytes) = {
            let mut writer = self.shared.writer.lock();
            writer.unmap();
            (writer.active().clone(), writer.active().bytes())
        };
        // Frees what was allocated ahead.
        active.file()?.set_length(bytes).doing("cut", active.path())?;
        match self.shared.checkpoint(&mut upkeep, true) {
            // Everything is synced by then, and opening the log checks more.
            Err(Error::Full { .. }) => Ok(()),
            closed => closed,
        }
    }

    /// Takes over what recovery found. A log whose state the old checkpoint does not describe gets a new one.
    pub(crate) fn adopt(&self, report: &Recovery) -> Result<(), Error> {
        let mut upkeep = self.shared.upkeep.lock();
        let cut = !report.cuts.is_empty() || !report.set_aside.is_empty();
        let lost = !report.missing.is_empty() || !report.damage.is_empty();
        if report.created || report.checkpoint_damage.is_some() || cut || lost {
            self.shared.sync_all(&upkeep)?;
            let written = self.shared.checkpoint(&mut upkeep, false);
            // On a full file system the log can be read, and the next opening finds the same again.
            return written.or_else(|error| {
                if error.is_full() && !report.created {
                    Ok(())
                } else {
                    Err(error)
                }
            });
        }
        Ok(())
    }
}

impl Shared {
    /// Syncs the segments that have unsynced bytes.
    pub(crate) fn sync(&self, _upkeep: &MutexGuard<'_, Upkeep>) -> Result<(), Error> {
        // The list of completed segments must not be taken if they are not going to be synced.
        self.failure.check()?;
        let (mut segments, end, folder_changed, unmapped, pages) = {
            let mut writer = self.writer.lock();
            let mut segments = std::mem::take(&mut writer.completed);
            segments.push(writer.active().clone());
            let folder_changed = std::mem::take(&mut writer.folder_changed);
            let unmapped = std::mem::take(&mut writer.unmapped);
            let end = self.end.load(Ordering::Acquire);
            (segments, end, folder_changed, unmapped, writer.pages())
        };
        drop(unmapped);
        if folder_changed {
            let synced = self.storage.sync_folder(&self.folder);
            synced.map_err(|error| self.fail_sync("sync the folder", &self.folder, &error))?;
        }
        // The active segment is the last one.
        let active = segments.pop();
        for segment in &segments {
            self.complete(segment)?;
        }
        if let Some(active) = active {
            if let Some(pages) = pages {
                release(&pages, &active);
            }
            self.sync_segment(&active)?;
        }
        self.synced.fetch_max(end, Ordering::AcqRel);
        Ok(())
    }

    fn sync_segment(&self, segment: &Arc<Segment>) -> Result<(), Error> {
        self.failure.check()?;
        let bytes = segment.bytes();
        if segment.needs_sync() {
            segment.begin_sync();
            let file = segment.file()?;
            let synced = self.activity.sync(|| file.sync());
            synced.map_err(|error| self.fail_sync("sync", segment.path(), &error))?;
            segment.set_synced(bytes);
        }
        Ok(())
    }

    /// Refuses writes from now on, and leaves a file that makes recovery read from the device what is in the page cache: after
    /// a failed sync, the two may differ.
    fn fail_sync(&self, doing: &'static str, path: &Path, error: &std::io::Error) -> Error {
        // A device that fails may refuse this, too; then there is no more to be done.
        let _ = self.storage.open(&self.folder.join(FAILED_NAME), Open::Replace);
        self.failure.set(doing, path, error)
    }

    /// Completes a formerly active segment: frees its unused allocation, writes its indexes, syncs it.
    fn complete(&self, segment: &Arc<Segment>) -> Result<(), Error> {
        // Nothing is lost if the allocation stays, or the index, which is derived data and written again or rebuilt.
        let _ = segment.file()?.set_length(segment.bytes());
        self.sync_segment(segment)?;
        let _ = segment.write_index();
        Ok(())
    }

    /// Syncs all segments. After recovery, they may be in the page cache only.
    fn sync_all(&self, upkeep: &MutexGuard<'_, Upkeep>) -> Result<(), Error> {
        let segments = self.segments.read().live.clone();
        for segment in &segments {
            self.sync_segment(segment)?;
        }
        self.sync(upkeep)
    }

    /// Syncs and writes a checkpoint.
    pub(crate) fn checkpoint(&self, upkeep: &mut MutexGuard<'_, Upkeep>, clean: bool) -> Result<(), Error> {
        // Appends go on while this syncs: the checkpoint's point is where they were before.
        let (active, position, offset) = {
            let writer = self.writer.lock();
            let active = writer.active();
            (active.clone(), active.bytes(), active.end())
        };
        self.sync_all(upkeep)?;
        let live = self.segments.read().live.clone();
        for segment in live.iter().filter(|segment| segment.base() <= active.base()) {
            let _ = segment.write_index();
        }
        let complete = live.iter().filter(|segment| segment.base() < active.base());
        let checkpoint = Checkpoint {
            clean,
            start: self.start.load(Ordering::Acquire),
            recover: Recover {
                base: active.base(),
                position,
                offset,
            },
            segments: complete.map(|segment| Complete::of(segment)).collect(),
            replace: None,
        };
        self.write_checkpoint(upkeep, checkpoint)
    }

    /// Writes a checkpoint unless it is the last one.
    pub(crate) fn write_checkpoint(
        &self,
        upkeep: &mut MutexGuard<'_, Upkeep>,
        checkpoint: Checkpoint,
    ) -> Result<(), Error> {
        if upkeep.checkpoint.as_ref() != Some(&checkpoint) {
            checkpoint.write(&*self.storage, &self.folder)?;
            upkeep.checkpoint = Some(checkpoint);
        }
        Ok(())
    }
}

/// Releases the pages that a sync is about to write, if they are many enough to pay for it.
fn release(pages: &Pages, active: &Segment) {
    let (from, to) = (active.synced(), active.bytes());
    if to - from >= RELEASED_BYTES_MIN {
        pages.release(from, to);
    }
}

impl Complete {
    pub(crate) fn of(segment: &Segment) -> Complete {
        Complete {
            base: segment.base(),
            generation: segment.generation(),
            bytes: segment.bytes(),
            max_timestamp: segment.max_timestamp(),
        }
    }
}
