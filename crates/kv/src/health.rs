//! Failures of a store's work in the background, which no call returns.
//!
//! **Invariant:** work that fails again and again is noted once, until it has succeeded.

use std::fmt::{self, Display};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use parking_lot::Mutex;

use crate::{Notice, StoreState};

/// Notices that wait for a reader; further ones are dropped. Each kind of work adds two at most between two successes.
const NOTICES_MAX: usize = 64;

/// Work that a store does in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Work {
    /// Making writes durable.
    Sync,
    /// Writing the checkpoint of a log.
    Checkpoint,
    /// Rewriting segments.
    Compaction,
    /// Writing a snapshot of the index.
    Snapshot,
    /// Merging writes into the pages of a tree.
    Merge,
    /// Reading items from the device.
    Read,
    /// Preparing a store for writes that was opened on a full device.
    Opening,
}

impl Work {
    const COUNT: usize = Work::Opening as usize + 1;
}

impl Display for Work {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Work::Sync => "the sync",
            Work::Checkpoint => "the checkpoint",
            Work::Compaction => "the compaction",
            Work::Snapshot => "the snapshot of the index",
            Work::Merge => "the merge of writes into pages",
            Work::Read => "a read of an item",
            Work::Opening => "the preparation for writes",
        })
    }
}

/// The failures of one store.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// By kind of work: whether its last attempt failed.
    failing: [AtomicBool; Work::COUNT],
    errors: AtomicU64,
    refusal: Mutex<Option<Refusal>>,
    notices: Mutex<Vec<Notice>>,
}

#[derive(Debug)]
struct Refusal {
    since: Instant,
    reason: String,
}

impl Health {
    /// Notes a failure.
    pub(crate) fn failed(&self, work: Work, error: &dyn Display) {
        self.errors.fetch_add(1, Relaxed);
        if !self.failing[work as usize].swap(true, Relaxed) {
            let error = error.to_string();
            self.note(Notice::Failed { work, error });
        }
    }

    /// Notes a success.
    pub(crate) fn succeeded(&self, work: Work) {
        if self.failing[work as usize].swap(false, Relaxed) {
            self.note(Notice::Succeeded { work });
        }
    }

    /// Notes that the store refuses writes from now on. The first reason counts.
    pub(crate) fn refuse(&self, reason: &dyn Display) {
        let mut refusal = self.refusal.lock();
        if refusal.is_none() {
            let reason = reason.to_string();
            self.note(Notice::WritesRefused {
                reason: reason.clone(),
            });
            let since = Instant::now();
            *refusal = Some(Refusal { since, reason });
        }
    }

    fn note(&self, notice: Notice) {
        let mut notices = self.notices.lock();
        if notices.len() < NOTICES_MAX {
            notices.push(notice);
        }
    }

    /// The notices since the last call.
    pub(crate) fn notices(&self) -> Vec<Notice> {
        std::mem::take(&mut *self.notices.lock())
    }

    /// The number of failures.
    pub(crate) fn errors(&self) -> u64 {
        self.errors.load(Relaxed)
    }

    /// Whether the store takes writes.
    pub(crate) fn state(&self) -> StoreState {
        match &*self.refusal.lock() {
            None => StoreState::Writable,
            Some(Refusal { since, reason }) => StoreState::Refused {
                age: since.elapsed(),
                reason: reason.clone(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_noted_once_until_a_success() {
        let health = Health::default();
        for _ in 0..3 {
            health.failed(Work::Compaction, &"no room");
        }
        health.failed(Work::Checkpoint, &"no room");
        let failed = |work| Notice::Failed {
            work,
            error: "no room".to_owned(),
        };
        assert_eq!(
            health.notices(),
            [failed(Work::Compaction), failed(Work::Checkpoint)]
        );
        health.succeeded(Work::Compaction);
        health.succeeded(Work::Compaction);
        health.failed(Work::Compaction, &"no room");
        let work = Work::Compaction;
        assert_eq!(
            health.notices(),
            [Notice::Succeeded { work }, failed(Work::Compaction)]
        );
        assert_eq!((health.errors(), health.state()), (5, StoreState::Writable));
    }

    #[test]
    fn the_first_reason_for_refusing_writes_counts() {
        let health = Health::default();
        health.refuse(&"sync of 0: input/output error");
        health.refuse(&"closed");
        let [Notice::WritesRefused { reason }] = &health.notices()[..] else {
            panic!("it is told once");
        };
        assert_eq!(reason, "sync of 0: input/output error");
        let StoreState::Refused { reason: kept, .. } = health.state() else {
            panic!("it refuses writes");
        };
        assert_eq!(&kept, reason);
    }

    #[test]
    fn notices_that_nobody_reads_are_bounded() {
        let health = Health::default();
        for _ in 0..NOTICES_MAX {
            health.failed(Work::Sync, &"");
            health.succeeded(Work::Sync);
        }
        assert_eq!(health.notices().len(), NOTICES_MAX);
    }
}
