//! Compaction: segments with many dead records are rewritten without them, in the background.
//!
//! ```text
//!   sealed segments      A 10 %  B 40 % live  C 95 %  D 30 %  active
//!                        └── one run ──┘              └─ one run
//!   rewrite a run ──▶ slots that point to its records are moved ──▶ its maps go
//! ```
//!
//! A record is dropped if the index has a newer one of its key. If the index has none, the key was deleted or has expired, and older
//! records of it must not come back at the next start: so tombstones, and records with an expiry, are dropped from the
//! oldest segments only.
//!
//! **Invariant:** a record that a slot points to is kept, and the slot is moved before the old map goes.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use log::{Candidate, Judge, Log, Moved, Segment, SegmentId, Verdict};

use super::Shared;
use super::index::Location;
use super::journal::map_segment;
use super::maps::Map;
use crate::durability::Logs;
use crate::record::{Facts, number_bytes};
use crate::{KEY_LENGTH_MAX, Work};

/// Bytes that are read between two rests.
const STEP_BYTES: u64 = 256 << 10;
/// The part of one core, and of the device's time, that compaction takes: one in so many.
const SHARE: u32 = 4;
/// The time between two looks for work.
const PERIOD: Duration = Duration::from_secs(1);
/// A segment is rewritten if fewer of its records are live, in percent.
const LIVE_MAX: u64 = 80;
/// The active segment is completed early if it has this many bytes and fewer than half of its records are live.
const ROLL_BYTES_MIN: u64 = 1 << 20;

/// The thread's work, until the store is closed.
pub(super) fn run(shared: &Shared) {
    while !shared.durability.stops_within(PERIOD) {
        for (partition, log) in shared.journals.logs().enumerate() {
            loop {
                match compact(shared, partition as u32, &log, ROLL_BYTES_MIN) {
                    Ok(true) => shared.durability.health.succeeded(Work::Compaction),
                    Ok(false) => break,
                    // The run stays as it is.
                    Err(error) => {
                        shared.durability.health.failed(Work::Compaction, &error);
                        break;
                    }
                }
            }
        }
    }
}

/// Rewrites one run of segments of a partition, if there is one that is worth it. Returns true if it did.
///
/// # Errors
/// Those of the log.
pub(super) fn compact(
    shared: &Shared,
    partition: u32,
    log: &Log,
    roll_bytes_min: u64,
) -> Result<bool, log::Error> {
    let maps = maps_of(shared, partition);
    let segments = log.segments();
    if let Some((active, _)) = segments.split_last()
        && let Some((_, map)) = maps.get(&active.id())
        && active.bytes() >= roll_bytes_min
        && live_percent(map) < 50
    {
        log.roll()?;
        return compact(shared, partition, log, u64::MAX);
    }
    let Some(run) = choose(&segments, &maps, shared.settings.segment_bytes) else {
        return Ok(false);
    };
    let rewritten = rewrite(shared, partition, log, &run, &maps);
    if !matches!(rewritten, Ok(true)) {
        // Trying again would have the same result, so no record of the run counts as dead any more.
        for (_, map) in run.iter().filter_map(|one| maps.get(&one.id())) {
            map.records.store(map.live.load(Relaxed), Relaxed);
        }
    }
    rewritten
}

/// Rewrites a run; false if that would save nothing, or the threads shall end.
fn rewrite(
    shared: &Shared,
    partition: u32,
    log: &Log,
    run: &[Arc<Segment>],
    maps: &HashMap<SegmentId, (u16, Arc<Map>)>,
) -> Result<bool, log::Error> {
    let mut judge = Decisions {
        shared,
        numbers: run
            .iter()
            .filter_map(|one| Some((one.id(), maps.get(&one.id())?.0)))
            .collect(),
        oldest: run[0].base() <= log.start(),
        pending: None,
        moves: Vec::new(),
    };
    // Kafka's consumers of the topic may still have to see the tombstones: they stay until the run is the oldest.
    let mut rewrite = log.rewrite(run, i64::MAX)?;
    loop {
        let began = Instant::now();
        if rewrite.step(STEP_BYTES, &mut judge)? {
            break;
        }
        if shared.durability.stops_within(began.elapsed() * (SHARE - 1)) {
            return Ok(false);
        }
    }
    let moves = judge.moves;
    let (read, written) = rewrite.bytes();
    let counters = &shared.counters.compaction;
    counters.bytes_read.fetch_add(read, Relaxed);
    counters.bytes_written.fetch_add(written, Relaxed);
    let Some(replaced) = rewrite.install()? else {
        return Ok(false);
    };
    counters.runs.fetch_add(1, Relaxed);
    relocate(shared, partition, &replaced, &moves)?;
    for old in &replaced.old {
        if let Some((number, _)) = maps.get(&old.id()) {
            shared.maps.remove(*number, &shared.index);
        }
    }
    Ok(true)
}

/// The maps of a partition, by their segments.
fn maps_of(shared: &Shared, partition: u32) -> HashMap<SegmentId, (u16, Arc<Map>)> {
    let all = shared.maps.all().into_iter();
    all.filter(|(_, map)| map.partition == partition)
        .map(|(number, map)| (map.segment.id(), (number, map)))
        .collect()
}

/// The share of records that are live. A segment without records that could be dropped is wholly live.
fn live_percent(map: &Map) -> u64 {
    let (records, live) = (map.records.load(Relaxed), map.live.load(Relaxed));
    (live * 100).checked_div(records).unwrap_or(100)
}

/// About how many bytes of a segment are of live records.
pub(super) fn live_bytes(map: &Map) -> u64 {
    map.segment.bytes() * live_percent(map).min(100) / 100
}

/// The first run of adjacent complete segments that have many dead records and fit into one.
fn choose(
    segments: &[Arc<Segment>],
    maps: &HashMap<SegmentId, (u16, Arc<Map>)>,
    segment_bytes: u64,
) -> Option<Vec<Arc<Segment>>> {
    let complete = &segments[..segments.len().saturating_sub(1)];
    let mut run = Vec::new();
    let mut bytes = 0;
    for segment in complete {
        let Some((_, map)) = maps.get(&segment.id()) else {
            break;
        };
        let percent = live_percent(map);
        let live_bytes = segment.bytes() * percent / 100;
        let fits = bytes + live_bytes <= segment_bytes;
        if percent < LIVE_MAX && (fits || run.is_empty()) {
            bytes += live_bytes;
            run.push(segment.clone());
        } else if !run.is_empty() {
            break;
        }
    }
    (!run.is_empty()).then_some(run)
}

/// Lets the index point to the records where they are now.
fn relocate(
    shared: &Shared,
    partition: u32,
    replaced: &log::Replaced,
    moves: &[(u64, Location, u64)],
) -> Result<(), log::Error> {
    let new = replaced.new.clone();
    let path = new.path().to_owned();
    let active = map_segment(&shared.maps, new, partition, 0);
    let active = active.map_err(|error| crate::folder::failed("map", &path, error))?;
    for (hash, old, position) in moves {
        let mut guard = shared.index.lock(*hash, &shared.maps);
        if let Some(found) = guard.find_location(*old) {
            let location = Location {
                map: active.number,
                position: *position as u32,
            };
            guard.relocate(found, location);
        }
    }
    active.map.records.store(moves.len() as u64, Relaxed);
    Ok(())
}

/// Decides which records stay.
struct Decisions<'a> {
    shared: &'a Shared,
    numbers: HashMap<SegmentId, u16>,
    /// True if no segment is older than the run.
    oldest: bool,
    /// The record that was just judged, if a slot points to it: its hash, its location and the length of its key.
    pending: Option<(u64, Location, usize)>,
    /// Hashes, old locations and new positions of keys.
    moves: Vec<(u64, Location, u64)>,
}

impl Judge for Decisions<'_> {
    fn judge(&mut self, candidate: &Candidate<'_>) -> Verdict {
        self.pending = None;
        let record = candidate.record;
        let Some(key) = record.key.filter(|key| key.len() <= KEY_LENGTH_MAX) else {
            return Verdict::Keep;
        };
        let hash = super::hash(&self.shared.secrets, key);
        let guard = self.shared.index.lock(hash, &self.shared.maps);
        let Some(found) = guard.find(key) else {
            let ends_older = record.value.is_none() || !Facts::of(record).endless();
            return if ends_older && !self.oldest {
                Verdict::Keep
            } else {
                Verdict::Drop
            };
        };
        let (Some(value), Some(map)) = (record.value, self.numbers.get(&candidate.value.segment)) else {
            return Verdict::Drop;
        };
        let gap = value.as_ptr() as u64 - key.as_ptr() as u64;
        let location = Location {
            map: *map,
            position: (candidate.value.position - gap) as u32,
        };
        if found.slot.location() != location {
            return Verdict::Drop;
        }
        self.pending = Some((hash, location, key.len()));
        Verdict::Keep
    }

    fn moved(&mut self, moved: Moved) {
        if let Some((hash, location, key_length)) = self.pending.take() {
            let gap = number_bytes(moved.to.bytes as usize) + key_length;
            self.moves.push((hash, location, moved.to.position - gap as u64));
        }
    }
}
