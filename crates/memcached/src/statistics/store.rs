//! The store's figures in `stats`: engine, log, durability and compaction.
//!
//! memcached's own test counts the lines of `stats`, so these lines take the places of as many that have no meaning here: those of
//! [`CONSTANTS`], whose values never change.

use std::fmt::Display;
use std::time::Duration;

use kv::{CompactionStatistics, DurabilityStatistics, LogStatistics, Statistics, StoreState, Sync};

use super::Tell;

/// Statistics of memcached's machinery which have no counterpart here, in the order in which they give way.
const CONSTANTS: [(&str, &str); 24] = [
    ("unexpected_napi_ids", "0"),
    ("round_robin_fallback", "0"),
    ("response_obj_oom", "0"),
    ("response_obj_count", "0"),
    ("response_obj_bytes", "0"),
    ("read_buf_count", "0"),
    ("read_buf_bytes", "0"),
    ("read_buf_bytes_free", "0"),
    ("read_buf_oom", "0"),
    ("reserved_fds", "0"),
    ("log_worker_dropped", "0"),
    ("slab_reassign_inline_reclaim", "0"),
    ("slab_reassign_rescues", "0"),
    ("slab_reassign_chunk_rescues", "0"),
    ("slab_reassign_busy_items", "0"),
    ("slab_reassign_busy_deletes", "0"),
    ("slab_reassign_busy_nomem", "0"),
    ("slab_reassign_last_busy_status", "none"),
    ("slab_reassign_running", "0"),
    ("hash_is_expanding", "0"),
    ("slab_global_page_pool", "0"),
    ("slabs_moved", "0"),
    ("crawler_items_checked", "0"),
    ("crawler_reclaimed", "0"),
];

/// Tells the store's figures, and then the constants that they leave.
pub(super) fn tell_all(store: &Statistics, now: u64, tell: &mut Tell<'_>) {
    let mut lines = 0;
    figures(store, now, &mut |name, value| {
        lines += 1;
        tell(name, value);
    });
    for (name, value) in CONSTANTS.iter().skip(lines) {
        tell(name, value);
    }
}

/// Tells the store's figures. `now` is in seconds since 1970.
fn figures(store: &Statistics, now: u64, tell: &mut Tell<'_>) {
    tell("engine", &store.engine);
    state(&store.state, now, tell);
    if let Some(figures) = &store.log {
        log(figures, tell);
    }
    if let Some(figures) = &store.durability {
        durability(figures, tell);
    }
    if let Some(figures) = &store.compaction {
        compaction(figures, tell);
    }
    if let Some(reads) = store.cold_reads {
        tell("store_cold_reads", &reads);
    }
    if let Some(age) = store.snapshot_age {
        tell("store_snapshot_age", &age.as_secs());
    }
    // A store in memory has no work that could fail.
    if store.durability.is_some() {
        tell("store_background_errors", &store.background_errors);
    }
}

fn state(state: &StoreState, now: u64, tell: &mut Tell<'_>) {
    match state {
        StoreState::Refused { age, reason } => {
            tell("store_state", &"refused");
            tell("store_refused_since", &now.saturating_sub(age.as_secs()));
            tell("store_refused_because", &line(reason));
        }
        _ => tell("store_state", &"writable"),
    }
}

fn log(figures: &LogStatistics, tell: &mut Tell<'_>) {
    tell("store_log_bytes", &figures.bytes);
    tell("store_log_live_bytes", &figures.live_bytes);
    tell("store_log_segments", &figures.segments);
    tell("store_log_partitions", &figures.partitions);
    tell("store_log_appended_bytes", &figures.appended_bytes);
    tell("store_log_appended_records", &figures.appended_records);
}

fn durability(figures: &DurabilityStatistics, tell: &mut Tell<'_>) {
    let name = match figures.sync {
        Sync::None => "none",
        Sync::Interval => "interval",
        Sync::Commit => "commit",
    };
    let writes_per_sync = figures.synced_writes as f64 / figures.syncs.max(1) as f64;
    tell("store_sync", &name);
    tell("store_syncs", &figures.syncs);
    tell("store_writes_per_sync", &format_args!("{writes_per_sync:.1}"));
    tell("store_sync_last_us", &microseconds(figures.last));
    tell("store_sync_longest_us", &microseconds(figures.longest));
    tell("store_dirty_age_ms", &figures.dirty_age.as_millis());
}

fn compaction(figures: &CompactionStatistics, tell: &mut Tell<'_>) {
    tell("store_compactions", &figures.runs);
    tell("store_compaction_bytes_read", &figures.bytes_read);
    tell("store_compaction_bytes_written", &figures.bytes_written);
    tell("store_compaction_share", &figures.share_percent);
}

fn microseconds(duration: Duration) -> impl Display {
    duration.as_micros()
}

/// A text that cannot end its line.
fn line(text: &str) -> String {
    let printable = |character: char| if character.is_control() { ' ' } else { character };
    text.chars().map(printable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(store: &Statistics) -> Vec<(String, String)> {
        let mut lines = Vec::new();
        tell_all(store, 1000, &mut |name, value| {
            lines.push((name.to_owned(), value.to_string()));
        });
        lines
    }

    fn value<'l>(lines: &'l [(String, String)], name: &str) -> Option<&'l str> {
        let found = lines.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A store whose figures are all there.
    fn durable() -> Statistics {
        let mut store = Statistics::default();
        store.engine = "hash";
        store.log = Some(LogStatistics::default());
        store.durability = Some(DurabilityStatistics::default());
        store.compaction = Some(CompactionStatistics::default());
        store.cold_reads = Some(7);
        store.snapshot_age = Some(Duration::from_secs(9));
        store
    }

    #[test]
    fn every_engine_has_as_many_lines() {
        let memory = told(&Statistics::default());
        let durable = told(&durable());
        assert_eq!((memory.len(), durable.len()), (CONSTANTS.len(), CONSTANTS.len()));
        assert_eq!(value(&memory, "store_sync"), None);
        assert_eq!(value(&durable, "engine"), Some("hash"));
        assert_eq!(value(&durable, "store_state"), Some("writable"));
        assert_eq!(value(&durable, "store_snapshot_age"), Some("9"));
        for (name, _) in &durable {
            assert_eq!(
                durable.iter().filter(|(other, _)| other == name).count(),
                1,
                "{name}"
            );
        }
    }

    #[test]
    fn a_store_that_refuses_writes_says_since_when_and_why() {
        let mut store = durable();
        store.state = StoreState::Refused {
            age: Duration::from_millis(30_900),
            reason: "cannot sync x:\r\ninput/output error".to_owned(),
        };
        let lines = told(&store);
        assert_eq!(value(&lines, "store_state"), Some("refused"));
        assert_eq!(value(&lines, "store_refused_since"), Some("970"));
        assert_eq!(
            value(&lines, "store_refused_because"),
            Some("cannot sync x:  input/output error")
        );
    }

    #[test]
    fn writes_per_sync_are_a_number_before_the_first_sync() {
        let mut store = durable();
        assert_eq!(value(&told(&store), "store_writes_per_sync"), Some("0.0"));
        let figures = store.durability.get_or_insert_default();
        (figures.syncs, figures.synced_writes) = (4, 130);
        assert_eq!(value(&told(&store), "store_writes_per_sync"), Some("32.5"));
    }
}
