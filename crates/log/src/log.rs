//! The log: its state, opening, and the figures that anyone may ask for.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock};

use crate::activity::Counters;
use crate::append::Writer;
use crate::checkpoint::Checkpoint;
use crate::error::{Doing, Error};
use crate::files::LOCK_NAME;
use crate::options::Options;
use crate::recovery;
use crate::report::Recovery;
use crate::segment::{Segment, SegmentId};
use crate::storage::{self, Disk, Lock, Storage};

/// An append-only log of record batches in a folder. Clones are handles on the same log, for any thread.
///
/// The [crate](crate)'s description lists the calls that wait for a device.
#[derive(Clone, Debug)]
pub struct Log {
    pub(crate) shared: Arc<Shared>,
}

/// The state of a log.
///
/// **Invariant:** locks are taken in the order `upkeep`, `writer`, `segments`. A thread that holds `writer` or `segments` never
/// waits for the device to write.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) folder: PathBuf,
    pub(crate) options: Options,
    /// Held by everything that syncs, removes or replaces files, and by no append.
    pub(crate) upkeep: Mutex<Upkeep>,
    pub(crate) writer: Mutex<Writer>,
    pub(crate) segments: RwLock<Segments>,
    /// The first offset; the one after the last; the one before which everything is durable.
    pub(crate) start: AtomicU64,
    pub(crate) end: AtomicU64,
    pub(crate) synced: AtomicU64,
    pub(crate) failure: Failure,
    pub(crate) activity: Counters,
    /// True during a rewrite, whose temporary file has a fixed name.
    pub(crate) rewriting: AtomicBool,
    /// Dropped last, after everything above.
    _lock: Lock,
}

/// The state behind the `upkeep` lock.
#[derive(Debug, Default)]
pub(crate) struct Upkeep {
    /// The last checkpoint that was written.
    pub(crate) checkpoint: Option<Checkpoint>,
}

/// The segments, in order of their base offsets. The last one is active.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    pub(crate) live: Vec<Arc<Segment>>,
    /// All that anyone may still hold, by number.
    by_id: HashMap<SegmentId, Weak<Segment>>,
    next_id: u32,
}

impl Segments {
    fn new(live: Vec<Arc<Segment>>, next_id: u32) -> Segments {
        let by_id = live
            .iter()
            .map(|segment| (segment.id(), Arc::downgrade(segment)))
            .collect();
        Segments { live, by_id, next_id }
    }

    pub(crate) fn take_id(&mut self) -> SegmentId {
        self.next_id += 1;
        SegmentId(self.next_id - 1)
    }

    pub(crate) fn register(&mut self, segment: &Arc<Segment>) {
        self.by_id.retain(|_, held| held.strong_count() > 0);
        self.by_id.insert(segment.id(), Arc::downgrade(segment));
    }

    pub(crate) fn push(&mut self, segment: Arc<Segment>) {
        self.register(&segment);
        self.live.push(segment);
    }

    pub(crate) fn get(&self, id: SegmentId) -> Option<Arc<Segment>> {
        self.by_id.get(&id)?.upgrade()
    }

    /// The index of the last segment that begins at or before an offset.
    pub(crate) fn at(&self, offset: u64) -> usize {
        self.live
            .partition_point(|segment| segment.base() <= offset)
            .saturating_sub(1)
    }

    /// The active segment.
    pub(crate) fn active(&self) -> &Arc<Segment> {
        // Opening makes one, and no operation removes the last.
        self.live.last().expect("a log has an active segment")
    }
}

/// The reason for refusing writes, if any.
#[derive(Debug, Default)]
pub(crate) struct Failure {
    failed: AtomicBool,
    reason: Mutex<Option<(&'static str, PathBuf, String)>>,
}

impl Failure {
    /// Refuses all further writes. The first reason counts.
    pub(crate) fn set(&self, doing: &'static str, path: &Path, source: &std::io::Error) -> Error {
        let mut reason = self.reason.lock();
        let (doing, path, reason) = reason
            .get_or_insert_with(|| (doing, path.to_owned(), source.to_string()))
            .clone();
        self.failed.store(true, Ordering::Release);
        Error::Failed { doing, path, reason }
    }

    /// # Errors
    /// The log refuses writes.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if !self.failed.load(Ordering::Acquire) {
            return Ok(());
        }
        match self.reason.lock().clone() {
            Some((doing, path, reason)) => Err(Error::Failed { doing, path, reason }),
            None => Ok(()),
        }
    }
}

impl Log {
    /// Opens the log of a folder, or creates it. Recovery checks what was not durable for certain; its report should be
    /// logged, for it tells what was lost.
    ///
    /// This waits for the device.
    ///
    /// # Errors
    /// The folder is in use, of another program or of a newer version, or the system refuses.
    pub fn open(folder: impl AsRef<Path>, options: Options) -> Result<(Log, Recovery), Error> {
        Log::open_in(Arc::new(Disk), folder.as_ref(), options)
    }

    /// The same on another storage.
    ///
    /// # Errors
    /// As for [`Log::open`].
    pub fn open_in(
        storage: Arc<dyn Storage>,
        folder: &Path,
        options: Options,
    ) -> Result<(Log, Recovery), Error> {
        options.check()?;
        storage.create_folder(folder).doing("create the folder", folder)?;
        let lock = lock(&*storage, folder)?;
        let recovered = recovery::recover(&storage, folder)?;
        let segments = Segments::new(recovered.segments, recovered.next_id);
        let active = segments.active().clone();
        let mut writer = Writer::new(active.clone(), active.file()?);
        writer.distrust(&segments.live, recovered.report.clean);
        let shared = Shared {
            folder: folder.to_owned(),
            options,
            upkeep: Mutex::new(Upkeep {
                checkpoint: recovered.checkpoint,
            }),
            start: AtomicU64::new(recovered.start),
            end: AtomicU64::new(active.end()),
            synced: AtomicU64::new(recovered.synced),
            writer: Mutex::new(writer),
            segments: RwLock::new(segments),
            failure: Failure::default(),
            activity: Counters::new(active.end(), active.bytes()),
            rewriting: AtomicBool::new(false),
            storage,
            _lock: lock,
        };
        let log = Log {
            shared: Arc::new(shared),
        };
        log.adopt(&recovered.report)?;
        Ok((log, recovered.report))
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.shared.folder
    }

    /// The first offset. Those before it were deleted.
    pub fn start(&self) -> u64 {
        self.shared.start.load(Ordering::Acquire)
    }

    /// The offset that the next record gets: all before it can be read.
    pub fn end(&self) -> u64 {
        self.shared.end.load(Ordering::Acquire)
    }

    /// The offset before which everything is durable.
    pub fn synced(&self) -> u64 {
        self.shared.synced.load(Ordering::Acquire)
    }

    /// Bytes of all segments.
    pub fn bytes(&self) -> u64 {
        self.shared
            .segments
            .read()
            .live
            .iter()
            .map(|segment| segment.bytes())
            .sum()
    }

    /// The segments, oldest first. The last one is active.
    pub fn segments(&self) -> Vec<Arc<Segment>> {
        self.shared.segments.read().live.clone()
    }

    /// The segment with this number, also one that was replaced or removed and is still held.
    ///
    /// # Errors
    /// It no longer exists.
    pub fn segment(&self, id: SegmentId) -> Result<Arc<Segment>, Error> {
        self.shared
            .segments
            .read()
            .get(id)
            .ok_or(Error::NoSegment { id: id.0 })
    }

    /// Returns an error if the log refuses writes, since it could not sync or cut a file.
    ///
    /// # Errors
    /// [`Error::Failed`], with the first failure.
    pub fn check(&self) -> Result<(), Error> {
        self.shared.failure.check()
    }
}

/// Locks a folder for this process.
pub(crate) fn lock(storage: &dyn Storage, folder: &Path) -> Result<Lock, Error> {
    let path = folder.join(LOCK_NAME);
    let note = format!("{}\n", std::process::id());
    match storage.lock(&path, note.as_bytes()) {
        Ok(lock) => Ok(lock),
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
            let holder = storage::read_whole(storage, &path, 64).unwrap_or_default();
            let pid = String::from_utf8_lossy(&holder).trim().parse().ok();
            Err(Error::Locked {
                path: folder.to_owned(),
                pid,
            })
        }
        Err(error) => Err(Error::io("lock", &path, error)),
    }
}
