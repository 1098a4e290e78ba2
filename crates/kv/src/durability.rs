//! Durability of writes, and the thread that waits for the device.
//!
//! ```text
//!   none       the system writes when it likes
//!   interval   the thread syncs once a second, if there is anything new
//!   commit     the thread syncs when it is told to; one round serves every write before it
//! ```
//!
//! # Groups
//! With `commit`, the clients of one round have their replies at the same time, and many come back with their next write at the same
//! time, too. A round that began with the first of them would leave the others to the next one, so two groups would alternate and
//! each write would wait for two rounds. So a round waits until as many writes have come as there were in the last round and during
//! it, but not longer than the last round took, nor [`GATHER_MAX`]. A lone client never waits.
//!
//! **Invariant:** a point is reached only after all logs were synced that had writes with smaller points.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use log::Log;

use crate::commits::Commits;
use crate::health::Health;
use crate::stripes::Count;
use crate::{Commit, StoreError, Work};

/// The time between two rounds of `interval`.
const INTERVAL: Duration = Duration::from_secs(1);
/// The time between two checkpoints, which bound what has to be checked after a crash.
const CHECKPOINT: Duration = Duration::from_secs(60);

/// The longest time that a round waits for more writes.
const GATHER_MAX: Duration = Duration::from_millis(1);

/// The logs of a store.
pub(crate) trait Logs {
    /// Those that are open.
    fn logs(&self) -> impl Iterator<Item = Log>;
}

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
pub(crate) struct Durability {
    pub(crate) sync: Sync,
    /// The number of writes that may be waited for.
    points: AtomicU64,
    /// The number of the others.
    writes: Count,
    pub(crate) commits: Arc<Commits>,
    /// True once writes are refused.
    failed: AtomicBool,
    request: Mutex<Request>,
    asked: Condvar,
    stopping: Condvar,
    /// When every write before was last known to be durable.
    clean: Mutex<Option<Instant>>,
    /// The failures of all background work of the store.
    pub(crate) health: Health,
}

#[derive(Debug, Default)]
struct Request {
    sync: bool,
    stop: bool,
    /// The point at which the round that is being gathered is complete.
    goal: u64,
}

/// The facts of the last round that decide when the next one begins.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// The point of the last write that came while it was under way, and as many more as it served.
    next: u64,
    took: Duration,
}

impl Durability {
    pub(crate) fn new(sync: Sync) -> Durability {
        Durability {
            sync,
            ..Durability::default()
        }
    }

    /// The point of a write that was appended.
    #[inline]
    pub(crate) fn appended(&self) -> Commit {
        match self.sync {
            Sync::Commit => Commit(self.points.fetch_add(1, Ordering::AcqRel) + 1),
            Sync::None | Sync::Interval => {
                self.writes.add_one();
                Commit::NONE
            }
        }
    }

    /// The number of all writes.
    fn written(&self) -> u64 {
        self.points.load(Ordering::Acquire) + self.writes.sum()
    }

    /// The point of the last write.
    pub(crate) fn last(&self) -> Commit {
        Commit(self.points.load(Ordering::Acquire))
    }

    /// # Errors
    /// Writes are refused.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        if self.failed.load(Ordering::Acquire) {
            return Err(StoreError::Unavailable);
        }
        Ok(())
    }

    /// Refuses all writes from now on, for this reason.
    pub(crate) fn refuse(&self, error: &log::Error) {
        self.health.refuse(error);
        self.fail(StoreError::from(error));
    }

    /// The age of the oldest write that may not be durable; at most a second too large.
    pub(crate) fn dirty_age(&self) -> Duration {
        self.clean.lock().map_or(Duration::ZERO, |clean| clean.elapsed())
    }

    /// Refuses all writes from now on.
    pub(crate) fn fail(&self, error: StoreError) {
        self.failed.store(true, Ordering::Release);
        self.commits.fail(error);
    }

    /// Begins a round, or makes another one follow that is under way.
    pub(crate) fn request(&self) {
        let mut request = self.request.lock();
        let is_first = !request.sync;
        request.sync = true;
        let is_complete = self.points.load(Ordering::Acquire) >= request.goal;
        drop(request);
        if is_first || is_complete {
            self.asked.notify_one();
        }
    }

    /// Ends the threads.
    pub(crate) fn stop(&self) {
        self.request.lock().stop = true;
        self.asked.notify_all();
        self.stopping.notify_all();
    }

    /// Rests for some time; true if the threads shall end.
    pub(crate) fn stops_within(&self, time: Duration) -> bool {
        let mut request = self.request.lock();
        let until = Instant::now() + time;
        while !request.stop && !self.stopping.wait_until(&mut request, until).timed_out() {}
        request.stop
    }

    /// The thread's work, until it is stopped.
    pub(crate) fn run(&self, store: &impl Logs) {
        let (mut done, mut checkpoint, mut before) = (0, Instant::now(), Round::default());
        while self.wait(before, GATHER_MAX) {
            let (last, began) = (self.written(), Instant::now());
            let round = last != done && self.sync != Sync::None;
            if round {
                if self.round(store).is_err() {
                    return;
                }
                before = Round {
                    next: self.written() + (last - done),
                    took: began.elapsed(),
                };
            }
            let checkpoint_due = checkpoint.elapsed() >= CHECKPOINT;
            let checkpointed = checkpoint_due && self.checkpoint(store);
            if checkpoint_due {
                checkpoint = Instant::now();
            }
            if round || checkpointed || last == done {
                *self.clean.lock() = Some(began);
                done = last;
            }
        }
    }

    /// Writes the checkpoints of all logs. Without one, more has to be checked after a crash.
    pub(crate) fn checkpoint(&self, store: &impl Logs) -> bool {
        let mut result = Ok(());
        for log in store.logs() {
            result = log.checkpoint().and(result);
        }
        match &result {
            Ok(()) => self.health.succeeded(Work::Checkpoint),
            Err(error) => self.health.failed(Work::Checkpoint, error),
        }
        result.is_ok()
    }

    /// Waits for the next round, and for the writes that it should serve; false if there is none.
    fn wait(&self, before: Round, gather_max: Duration) -> bool {
        let mut request = self.request.lock();
        if !request.sync && !request.stop {
            self.asked.wait_for(&mut request, INTERVAL);
        }
        if self.sync == Sync::Commit && request.sync {
            request.goal = before.next;
            let until = Instant::now() + before.took.min(gather_max);
            while self.points.load(Ordering::Acquire) < before.next
                && !request.stop
                && !self.asked.wait_until(&mut request, until).timed_out()
            {}
            request.goal = u64::MAX;
        }
        request.sync = false;
        !request.stop
    }

    /// Syncs all logs.
    ///
    /// # Errors
    /// A device failed, and may have lost writes; all writes are refused from now on.
    pub(crate) fn round(&self, store: &impl Logs) -> Result<(), log::Error> {
        let last = self.points.load(Ordering::Acquire);
        for log in store.logs() {
            log.sync().inspect_err(|error| {
                self.health.failed(Work::Sync, error);
                self.refuse(error);
            })?;
        }
        self.commits.reach(last);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A round that would gather for an hour.
    const ROUND: Round = Round {
        next: 14,
        took: Duration::from_secs(3600),
    };

    #[test]
    fn a_round_begins_when_the_writers_of_the_last_one_are_back() {
        let durability = Durability::new(Sync::Commit);
        // One write came while the last round served three others, up to the tenth.
        durability.points.store(11, Ordering::Release);
        durability.request();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| durability.wait(ROUND, ROUND.took));
            for _ in 0..3 {
                assert!(!waiting.is_finished());
                assert!(!durability.appended().is_none());
                durability.request();
            }
            assert!(waiting.join().unwrap());
        });
        assert!(!durability.request.lock().sync);
    }

    #[test]
    fn a_lone_writer_does_not_wait_for_others() {
        let durability = Durability::new(Sync::Commit);
        let before = Round { next: 1, ..ROUND };
        assert!(!durability.appended().is_none());
        durability.request();
        assert!(durability.wait(before, ROUND.took));
    }

    #[test]
    fn a_round_waits_no_longer_than_the_last_one_took() {
        let durability = Durability::new(Sync::Commit);
        let before = Round {
            took: Duration::from_millis(1),
            ..ROUND
        };
        assert!(!durability.appended().is_none());
        durability.request();
        assert!(durability.wait(before, ROUND.took));
    }
}
