//! Writing a snapshot.

use std::io::IoSlice;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use log::Error;
use log::storage::{File, Open, temporary, write_full};

use super::super::Shared;
use super::super::index::SHARDS;
use super::Snapshots;
use super::format::{Directory, Extent, HEAD_BYTES, Head, Known, Part, push_slot};
use crate::folder::failed;

/// Bytes that are written at once.
const CHUNK_BYTES: usize = 1 << 20;
/// Bytes that are written between two syncs, so that those of the logs do not have to wait for the whole file.
const SYNC_BYTES: u64 = 16 << 20;

/// A snapshot that does not have its name yet.
pub(super) struct Draft<'s> {
    snapshots: &'s Snapshots,
    path: PathBuf,
    file: Arc<dyn File>,
    position: u64,
    directory: Directory,
    installed: bool,
}

impl<'s> Draft<'s> {
    /// Writes the slots of all shards into a new file.
    ///
    /// # Errors
    /// The device failed or is full.
    pub(super) fn copy(snapshots: &'s Snapshots, shared: &Shared) -> Result<Draft<'s>, Error> {
        let _no_slot_moves = snapshots.moving.lock();
        let path = temporary(&snapshots.path);
        let file = snapshots.storage.open(&path, Open::Replace);
        let mut draft = Draft {
            snapshots,
            file: file.map_err(|error| failed("create", &path, error))?,
            path,
            position: HEAD_BYTES as u64,
            directory: Directory {
                store: snapshots.store,
                seed: snapshots.seed,
                ..Directory::default()
            },
            installed: false,
        };
        draft.note_points(shared);
        draft.copy_slots(shared)?;
        draft.note_segments(shared);
        Ok(draft)
    }

    /// No flush is under way meanwhile, so the points are all before it or all behind it.
    fn note_points(&mut self, shared: &Shared) {
        let flushed = shared.flushing.lock();
        self.directory.flush_at = shared.flush_at.load(Relaxed);
        let journals = shared.journals.0.iter().enumerate();
        self.directory.partitions = journals
            .map(|(number, journal)| Part {
                point: journal.point(),
                end: 0,
                flushed: flushed.get(number).copied().unwrap_or(0),
            })
            .collect();
    }

    fn copy_slots(&mut self, shared: &Shared) -> Result<(), Error> {
        let (mut slots, mut bytes, mut unsynced) = (Vec::new(), Vec::new(), 0);
        for number in 0..SHARDS {
            slots.clear();
            shared.index.copy(number, &mut slots);
            let from = bytes.len();
            slots.iter().for_each(|slot| push_slot(&mut bytes, *slot));
            self.directory.shards.push(Extent {
                slots: slots.len() as u32,
                crc: log::crc32c(&bytes[from..]),
            });
            if bytes.len() >= CHUNK_BYTES || number + 1 == SHARDS {
                self.write(&bytes)?;
                unsynced += bytes.len() as u64;
                bytes.clear();
            }
            if unsynced >= SYNC_BYTES {
                self.sync()?;
                unsynced = 0;
            }
        }
        Ok(())
    }

    /// No segment that a copied slot names has lost its number since.
    fn note_segments(&mut self, shared: &Shared) {
        let maps = shared.maps.all().into_iter();
        self.directory.segments = maps
            .map(|(number, map)| Known {
                number: number.into(),
                partition: map.partition,
                generation: map.segment.generation(),
                base: map.segment.base(),
                bytes: map.segment.bytes(),
                records: map.records.load(Relaxed),
                held: map.held.load(Relaxed),
                cleaned: map.cleaned.load(Relaxed),
            })
            .collect();
    }

    /// Completes the file and gives it its name. The logs had these ends after the copying, and were synced then. Returns the sum of
    /// the points' offsets.
    ///
    /// # Errors
    /// The device failed or is full.
    pub(super) fn install(mut self, ends: &[u64]) -> Result<u64, Error> {
        for (part, end) in self.directory.partitions.iter_mut().zip(ends) {
            part.end = *end;
        }
        let directory = self.directory.encode();
        let head = Head {
            position: self.position,
            length: directory.len() as u32,
            crc: log::crc32c(&directory),
        };
        self.write(&directory)?;
        self.position = 0;
        self.write(&head.encode())?;
        self.sync()?;
        let Snapshots { storage, path, .. } = self.snapshots;
        let named = storage.rename(&self.path, path);
        named.map_err(|error| failed("rename", &self.path, error))?;
        self.installed = true;
        let folder = path.parent().unwrap_or(path);
        let synced = storage.sync_folder(folder);
        synced.map_err(|error| failed("sync the folder", folder, error))?;
        let offsets = self.directory.partitions.iter().map(|part| part.point.offset);
        Ok(offsets.sum())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let written = write_full(&*self.file, &mut [IoSlice::new(bytes)], self.position);
        written.map_err(|error| failed("write", &self.path, error))?;
        self.position += bytes.len() as u64;
        Ok(())
    }

    fn sync(&self) -> Result<(), Error> {
        self.file
            .sync()
            .map_err(|error| failed("sync", &self.path, error))
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if !self.installed {
            // The next opening removes it otherwise.
            let _ = self.snapshots.storage.remove(&self.path);
        }
    }
}
