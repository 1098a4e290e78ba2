//! Figures of what a log has done since it was opened.
//!
//! **Invariant:** an append pays nothing for its figures: they follow from positions that the log keeps anyway.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::log::Log;

/// Figures since the log was opened. They are read one after another, so they may lag each other by a few operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Activity {
    /// Bytes that were appended.
    pub appended_bytes: u64,
    /// Records that were appended.
    pub appended_records: u64,
    /// Records of these that are durable.
    pub synced_records: u64,
    /// Syncs of segments.
    pub syncs: u64,
    /// The duration of the last sync of a segment.
    pub sync_last: Duration,
    /// The duration of the longest one.
    pub sync_longest: Duration,
}

/// The counters behind [`Activity`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// The log's end, and the bytes of its active segment, when it was opened.
    end: u64,
    active_bytes: u64,
    /// Bytes of formerly active segments.
    completed_bytes: AtomicU64,
    syncs: AtomicU64,
    sync_last_ns: AtomicU64,
    sync_longest_ns: AtomicU64,
}

impl Counters {
    pub(crate) fn new(end: u64, active_bytes: u64) -> Counters {
        Counters {
            end,
            active_bytes,
            ..Counters::default()
        }
    }

    /// A segment of this size is no longer active.
    pub(crate) fn completed(&self, bytes: u64) {
        self.completed_bytes.fetch_add(bytes, Relaxed);
    }

    /// Runs a sync and measures it.
    pub(crate) fn sync<T>(&self, sync: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let result = sync();
        let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.syncs.fetch_add(1, Relaxed);
        self.sync_last_ns.store(took, Relaxed);
        self.sync_longest_ns.fetch_max(took, Relaxed);
        result
    }
}

impl Log {
    /// Figures since the log was opened.
    pub fn activity(&self) -> Activity {
        let counters = &self.shared.activity;
        let nanoseconds = |value: &AtomicU64| Duration::from_nanos(value.load(Relaxed));
        let bytes = {
            let segments = self.shared.segments.read();
            counters.completed_bytes.load(Relaxed) + segments.active().bytes()
        };
        Activity {
            appended_bytes: bytes.saturating_sub(counters.active_bytes),
            appended_records: self.end().saturating_sub(counters.end),
            synced_records: self.synced().saturating_sub(counters.end),
            syncs: counters.syncs.load(Relaxed),
            sync_last: nanoseconds(&counters.sync_last_ns),
            sync_longest: nanoseconds(&counters.sync_longest_ns),
        }
    }
}
