//! The figures of a hash store.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::Shared;
use super::garbage::Figures;
use crate::durability::Logs;
use crate::stripes::Count;
use crate::{ClassStatistics, CompactionStatistics, DurabilityStatistics, LogStatistics, Statistics};

/// Counts of events.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) stored: Count,
    expired: AtomicU64,
    expired_unfetched: AtomicU64,
    read_expired: AtomicU64,
    read_flushed: AtomicU64,
    pub(super) flushed: AtomicU64,
    pub(super) compaction: CompactionCounters,
}

/// Counts of compactions.
#[derive(Debug, Default)]
pub(super) struct CompactionCounters {
    pub(super) runs: AtomicU64,
    pub(super) bytes_read: AtomicU64,
    pub(super) bytes_written: AtomicU64,
}

impl Counters {
    #[inline]
    pub(super) fn stored(&self) {
        self.stored.add_one();
    }

    pub(super) fn read_flushed(&self) {
        self.read_flushed.fetch_add(1, Relaxed);
    }

    pub(super) fn expired(&self, fetched: bool, read: bool) {
        self.expired.fetch_add(1, Relaxed);
        self.read_expired.fetch_add(u64::from(read), Relaxed);
        if !fetched {
            self.expired_unfetched.fetch_add(1, Relaxed);
        }
    }
}

impl Shared {
    /// All figures.
    pub(super) fn figures(&self) -> Statistics {
        self.look_for_refusals();
        let (table_bytes, items) = self.index.size();
        let counters = &self.counters;
        let (expired, flushed) = (counters.expired.load(Relaxed), counters.flushed.load(Relaxed));
        let log = self.log_figures();
        Statistics {
            engine: "hash",
            state: self.durability.health.state(),
            background_errors: self.durability.health.errors(),
            items,
            total_items: counters.stored.sum(),
            bytes: log.live_bytes,
            classes: vec![ClassStatistics {
                items,
                bytes: log.live_bytes,
                ..ClassStatistics::default()
            }],
            expired,
            reclaimed: expired + flushed,
            expired_unfetched: counters.expired_unfetched.load(Relaxed),
            read_expired: counters.read_expired.load(Relaxed),
            read_flushed: counters.read_flushed.load(Relaxed),
            flushed,
            used: table_bytes,
            table_bytes,
            item_size_max: self.settings.item_size_max,
            log: Some(log),
            durability: Some(self.durability_figures()),
            compaction: Some(self.compaction_figures()),
            ..Statistics::default()
        }
    }

    /// A log refuses writes by itself when it cannot undo what it has half done.
    pub(super) fn look_for_refusals(&self) {
        if let Some(error) = self.journals.logs().find_map(|log| log.check().err()) {
            self.durability.refuse(&error);
        }
    }

    fn log_figures(&self) -> LogStatistics {
        let mut figures = LogStatistics::default();
        for log in self.journals.logs() {
            let activity = log.activity();
            figures.partitions += 1;
            figures.segments += log.segments().len() as u64;
            figures.bytes += log.bytes();
            figures.appended_bytes += activity.appended_bytes;
            figures.appended_records += activity.appended_records;
        }
        let maps = self.maps.all().into_iter();
        figures.live_bytes = maps.map(|(_, map)| Figures::of(&map, true).live()).sum();
        figures
    }

    fn durability_figures(&self) -> DurabilityStatistics {
        let mut figures = DurabilityStatistics {
            sync: self.settings.sync,
            ..DurabilityStatistics::default()
        };
        let mut appended = 0;
        for log in self.journals.logs() {
            let activity = log.activity();
            figures.syncs += activity.syncs;
            figures.synced_writes += activity.synced_records;
            figures.last = figures.last.max(activity.sync_last);
            figures.longest = figures.longest.max(activity.sync_longest);
            appended += activity.appended_records;
        }
        let dirty = appended > figures.synced_writes;
        figures.dirty_age = if dirty {
            self.durability.dirty_age()
        } else {
            Duration::ZERO
        };
        figures
    }

    fn compaction_figures(&self) -> CompactionStatistics {
        let counters = &self.counters.compaction;
        CompactionStatistics {
            runs: counters.runs.load(Relaxed),
            bytes_read: counters.bytes_read.load(Relaxed),
            bytes_written: counters.bytes_written.load(Relaxed),
            share_percent: self.settings.compaction_percent,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::compaction::Compactor;
    use super::super::tests::{Scratch, compact, get, set, small, update};
    use super::super::{Hash, Settings, Sync};
    use super::*;
    use crate::{Decision, Engine, Notice, Now, StoreError, StoreState, Work};

    const NOW: Now = Now(1_700_000_000);

    fn settings() -> Settings {
        Settings {
            sync: Sync::None,
            partitions: Some(1),
            ..small()
        }
    }

    fn fill(hash: &Hash, round: u8) {
        for number in 0..50_u32 {
            set(hash, &number.to_be_bytes(), &[round; 400]);
        }
    }

    #[test]
    fn reads_of_flushed_keys_are_counted() {
        let scratch = Scratch::new();
        let hash = scratch.open(settings());
        (0..3_u8).for_each(|number| assert!(set(&hash, &[number], b"v") > 0));
        let _ = hash.flush(None, NOW).unwrap();
        for key in [0, 0, 1, 9_u8] {
            assert_eq!(get(&hash, &[key], NOW), None);
        }
        let figures = hash.statistics();
        assert_eq!((figures.read_flushed, figures.flushed), (2, 3));
    }

    #[test]
    fn figures_of_log_compaction_and_durability() {
        let scratch = Scratch::new();
        let hash = scratch.open(settings());
        for round in 0..10_u8 {
            fill(&hash, round);
        }
        let before = hash.statistics();
        let log = before.log.unwrap();
        assert_eq!((before.engine, log.partitions), ("hash", 1));
        assert_eq!((log.appended_records, log.appended_bytes), (500, log.bytes));
        assert!(log.segments > 10 && log.live_bytes < log.bytes / 5, "{log:?}");
        let durability = before.durability.unwrap();
        assert_eq!((durability.syncs, durability.synced_writes), (0, 0));
        let runs = compact(&hash) as u64;
        let after = hash.statistics();
        let (log, compaction) = (after.log.unwrap(), after.compaction.unwrap());
        assert!(
            log.live_bytes * 10 > log.bytes * 8 && log.live_bytes <= log.bytes,
            "{log:?}"
        );
        assert!((1..=runs).contains(&compaction.runs), "{compaction:?} {runs}");
        assert_eq!(log.appended_records, 500);
        assert!(compaction.bytes_written > 0 && compaction.bytes_read > 10 * compaction.bytes_written);
        assert_eq!((after.state, after.background_errors), (StoreState::Writable, 0));
    }

    /// Renaming the new segment into its place fails, and it is unknown what the device has.
    #[test]
    fn a_log_that_refuses_writes_is_told_once() {
        let scratch = Scratch::new();
        let hash = scratch.open(settings());
        for round in 0..3_u8 {
            fill(&hash, round);
        }
        let first = scratch.0.join("0/00000000000000000000.log");
        std::fs::remove_file(&first).unwrap();
        std::fs::create_dir(&first).unwrap();
        let log = hash.shared.journals.logs().next().unwrap();
        let mut compactor = Compactor::new(&hash.shared);
        // It may complete the active segment first.
        let error = (0..2).find_map(|_| compactor.compact(0, &log, true).err());
        assert!(error.is_some());
        let notices = hash.notices();
        let [Notice::WritesRefused { reason }] = &notices[..] else {
            panic!("{notices:?}");
        };
        assert!(reason.contains("rename"), "{reason}");
        assert_eq!(hash.notices(), []);
        assert!(
            matches!(hash.statistics().state, StoreState::Refused { reason: kept, .. } if &kept == reason)
        );
        let refused = update(&hash, b"k", Decision::Put(crate::New::new(&[b"v"])), NOW);
        assert_eq!(refused, Err(StoreError::Unavailable));
        assert!(get(&hash, &7_u32.to_be_bytes(), NOW).is_some(), "reads go on");
    }

    #[test]
    fn failures_of_background_work_are_told_and_counted() {
        let scratch = Scratch::new();
        let hash = scratch.open(settings());
        set(&hash, b"k", b"v");
        let blocked = scratch.0.join("0/checkpoint.new");
        std::fs::create_dir(&blocked).unwrap();
        let Shared {
            durability, journals, ..
        } = &*hash.shared;
        assert!(!durability.checkpoint(journals) && !durability.checkpoint(journals));
        std::fs::remove_dir(&blocked).unwrap();
        assert!(durability.checkpoint(journals));
        let work = Work::Checkpoint;
        let notices = hash.notices();
        assert!(
            matches!(&notices[..], [Notice::Failed { work: failed, .. }, Notice::Succeeded { work: succeeded }]
                if (*failed, *succeeded) == (work, work)),
            "{notices:?}"
        );
        assert_eq!(hash.statistics().background_errors, 2);
    }
}
