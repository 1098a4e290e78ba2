//! The figures of a tree.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{Shared, Tree};
use crate::durability::Logs;
use crate::{ClassStatistics, CompactionStatistics, DurabilityStatistics, Engine, LogStatistics, Statistics};

/// Counts of events.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) stored: AtomicU64,
    pub(super) flushed: AtomicU64,
    pub(super) expired: AtomicU64,
    read_expired: AtomicU64,
    pub(super) cold_reads: AtomicU64,
    pub(super) merges: AtomicU64,
    pub(super) merged_bytes: AtomicU64,
    pub(super) pages_bytes: AtomicU64,
}

impl Counters {
    /// Notes that a call has met an expired item.
    pub(super) fn expired(&self, read: bool) {
        self.expired.fetch_add(1, Relaxed);
        self.read_expired.fetch_add(u64::from(read), Relaxed);
    }
}

impl Tree {
    /// All figures.
    pub(super) fn figures(&self) -> Statistics {
        let shared = &*self.shared;
        shared.look_for_refusals();
        let counters = &shared.counters;
        let cache = self.cache.statistics();
        let (active, frozen) = shared.pending.figures();
        let expired = counters.expired.load(Relaxed);
        let flushed = counters.flushed.load(Relaxed);
        Statistics {
            engine: "tree",
            state: shared.durability.health.state(),
            background_errors: shared.durability.health.errors(),
            items: shared.items(),
            total_items: counters.stored.load(Relaxed),
            bytes: shared.bytes(),
            expired,
            expired_unfetched: cache.expired_unfetched,
            reclaimed: expired + flushed,
            read_expired: counters.read_expired.load(Relaxed),
            read_flushed: cache.read_flushed,
            flushed,
            used: cache.used + active.bytes + frozen.bytes,
            table_bytes: cache.table_bytes,
            item_size_max: shared.settings.item_size_max,
            log: Some(shared.log_figures()),
            durability: Some(shared.durability_figures()),
            compaction: Some(shared.merge_figures()),
            classes: vec![ClassStatistics {
                items: shared.items(),
                bytes: shared.bytes(),
                ..ClassStatistics::default()
            }],
            cold_reads: Some(counters.cold_reads.load(Relaxed)),
            ..Statistics::default()
        }
    }
}

impl Shared {
    /// Items now. An estimate until pending writes are merged.
    pub(super) fn items(&self) -> u64 {
        let (active, frozen) = self.pending.figures();
        let pages = self.pages_items.load(Relaxed);
        pages.saturating_add_signed(active.items + frozen.items)
    }

    /// Bytes of the items before compression. An estimate, as [`items`](Shared::items).
    fn bytes(&self) -> u64 {
        let (active, frozen) = self.pending.figures();
        self.pages_bytes.load(Relaxed) + active.bytes + frozen.bytes
    }

    /// The log refuses writes by itself when it cannot undo what it has half done.
    fn look_for_refusals(&self) {
        if let Some(error) = self.journal.logs().find_map(|log| log.check().err()) {
            self.durability.refuse(&error);
        }
    }

    fn log_figures(&self) -> LogStatistics {
        let mut figures = LogStatistics::default();
        if let Some(log) = self.journal.log() {
            let activity = log.activity();
            figures.partitions = 1;
            figures.segments = log.segments().len() as u64;
            figures.bytes = log.bytes();
            figures.live_bytes = log.bytes();
            figures.appended_bytes = activity.appended_bytes;
            figures.appended_records = activity.appended_records;
        }
        figures
    }

    fn durability_figures(&self) -> DurabilityStatistics {
        let mut figures = DurabilityStatistics {
            sync: self.settings.sync,
            ..DurabilityStatistics::default()
        };
        if let Some(log) = self.journal.log() {
            let activity = log.activity();
            figures.syncs = activity.syncs;
            figures.synced_writes = activity.synced_records;
            figures.last = activity.sync_last;
            figures.longest = activity.sync_longest;
            if activity.appended_records > activity.synced_records {
                figures.dirty_age = self.durability.dirty_age();
            }
        }
        figures
    }

    /// Merges are the compaction of a tree: what they read is the log's, what they write are pages.
    fn merge_figures(&self) -> CompactionStatistics {
        CompactionStatistics {
            runs: self.counters.merges.load(Relaxed),
            bytes_read: self.counters.merged_bytes.load(Relaxed),
            bytes_written: self.counters.pages_bytes.load(Relaxed),
            share_percent: 100,
        }
    }
}
