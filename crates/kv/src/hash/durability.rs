//! Durability of writes, and the thread that waits for the device.
//!
//! ```text
//!   none       the system writes when it likes
//!   interval   the thread syncs once a second, if there is anything new
//!   commit     the thread syncs when it is told to; one round serves every write before it
//! ```
//!
//! **Invariant:** a point is reached only after all logs were synced that had writes with smaller points.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::Journals;
use super::journal::store_error;
use crate::commits::Commits;
use crate::{Commit, StoreError};

/// The time between two rounds of `interval`.
const INTERVAL: Duration = Duration::from_secs(1);
/// The time between two checkpoints, which bound what has to be checked after a crash.
const CHECKPOINT: Duration = Duration::from_secs(60);

/// When a write is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// When the system writes it. It survives a crash of the process.
    None,
    /// Within a second.
    #[default]
    Interval,
    /// Before the client is told.
    Commit,
}

impl Sync {
    /// The choice with this name.
    pub(crate) fn named(name: &str) -> Option<Sync> {
        match name {
            "none" => Some(Sync::None),
            "interval" => Some(Sync::Interval),
            "commit" => Some(Sync::Commit),
            _ => None,
        }
    }
}

/// The state that writers and the thread share.
#[derive(Debug, Default)]
pub(super) struct Durability {
    pub(super) sync: Sync,
    /// The number of writes.
    points: AtomicU64,
    pub(super) commits: Arc<Commits>,
    /// True once writes are refused.
    failed: AtomicBool,
    request: Mutex<Request>,
    asked: Condvar,
    stopping: Condvar,
    /// Rounds that were made, and writes that they served.
    pub(super) rounds: AtomicU64,
}

#[derive(Debug, Default)]
struct Request {
    sync: bool,
    stop: bool,
}

impl Durability {
    pub(super) fn new(sync: Sync) -> Durability {
        Durability {
            sync,
            ..Durability::default()
        }
    }

    /// The point of a write that was appended.
    #[inline]
    pub(super) fn appended(&self) -> Commit {
        let point = self.points.fetch_add(1, Ordering::AcqRel) + 1;
        match self.sync {
            Sync::Commit => Commit(point),
            Sync::None | Sync::Interval => Commit::NONE,
        }
    }

    /// The point of the last write.
    pub(super) fn last(&self) -> Commit {
        Commit(self.points.load(Ordering::Acquire))
    }

    /// # Errors
    /// Writes are refused.
    #[inline]
    pub(super) fn check(&self) -> Result<(), StoreError> {
        if self.failed.load(Ordering::Acquire) {
            return Err(StoreError::Unavailable);
        }
        Ok(())
    }

    /// Refuses all writes from now on.
    pub(super) fn fail(&self, error: StoreError) {
        self.failed.store(true, Ordering::Release);
        self.commits.fail(error);
    }

    /// Begins a round, or makes another one follow that is under way.
    pub(super) fn request(&self) {
        let mut request = self.request.lock();
        if !request.sync {
            request.sync = true;
            drop(request);
            self.asked.notify_one();
        }
    }

    /// Ends the threads.
    pub(super) fn stop(&self) {
        self.request.lock().stop = true;
        self.asked.notify_all();
        self.stopping.notify_all();
    }

    /// Rests for some time; true if the threads shall end.
    pub(super) fn stops_within(&self, time: Duration) -> bool {
        let mut request = self.request.lock();
        let until = std::time::Instant::now() + time;
        while !request.stop && !self.stopping.wait_until(&mut request, until).timed_out() {}
        request.stop
    }

    /// The thread's work, until it is stopped.
    pub(super) fn run(&self, journals: &Journals) {
        let (mut done, mut checkpoint) = (0, std::time::Instant::now());
        while self.wait() {
            let last = self.points.load(Ordering::Acquire);
            if last != done && self.sync != Sync::None {
                if let Err(error) = self.round(journals) {
                    self.fail(error);
                    return;
                }
                done = last;
            }
            if checkpoint.elapsed() >= CHECKPOINT {
                checkpoint = std::time::Instant::now();
                // Without a checkpoint, more has to be checked after a crash.
                let _ = journals.logs().try_for_each(|log| log.checkpoint());
            }
        }
    }

    /// Waits for the next round; false if there is none.
    fn wait(&self) -> bool {
        let mut request = self.request.lock();
        if !request.sync && !request.stop {
            self.asked.wait_for(&mut request, INTERVAL);
        }
        request.sync = false;
        !request.stop
    }

    /// Syncs all logs.
    ///
    /// # Errors
    /// A device failed, and may have lost writes.
    pub(super) fn round(&self, journals: &Journals) -> Result<(), StoreError> {
        let last = self.points.load(Ordering::Acquire);
        for log in journals.logs() {
            log.sync().map_err(|error| store_error(&error))?;
        }
        self.rounds.fetch_add(1, Ordering::Relaxed);
        self.commits.reach(last);
        Ok(())
    }
}
