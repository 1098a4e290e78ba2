//! Compaction: segments with many dead records are rewritten without them, in the background.
//!
//! ```text
//!   sealed segments      A 10 %  B 40 % live  C 95 %  D 30 %  active
//!                        └── one run ──┘              └─ one run
//!   rewrite a run ──▶ slots that point to its records are moved ──▶ its maps go
//! ```
//!
//! A record is dropped if no slot points to it. But if the index has none of its key, the key was deleted or has expired, and older
//! records of it must not come back at the next start: so tombstones, and records with an expiry, are held until no older segment has
//! such a record.
//!
//! **Invariant:** a record that a slot points to is kept, and the slot is moved before the old map goes.
//! **Invariant:** a segment whose rewriting failed, or saved nothing, is not rewritten again at once.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

use log::{Candidate, Judge, Log, Moved, Segment, SegmentId, Verdict};

use super::Shared;
use super::garbage::{Choice, Figures, choose};
use super::index::Location;
use super::journal::map_segment;
use super::maps::Map;
use crate::durability::Logs;
use crate::record::{Facts, number_bytes};
use crate::throttle::Throttle;
use crate::{KEY_LENGTH_MAX, Work, processor};

/// Bytes that are read between two rests: a fraction of a millisecond, for which a loop on the same core may have to wait.
const STEP_BYTES: u64 = 64 << 10;
/// Bytes that are written between two syncs of a new segment, so that none of them makes a client's sync wait for long.
const SYNC_BYTES: u64 = 4 << 20;
/// The time between two looks for work.
const PERIOD: Duration = Duration::from_secs(1);
/// How long segments rest that could not be rewritten, or whose rewriting saved nothing.
const AFTER_FAILURE: Duration = Duration::from_secs(60);

/// The thread's work, until the store is closed.
pub(super) fn run(shared: &Shared) {
    processor::be_nice();
    let mut compactor = Compactor::new(shared);
    while !shared.durability.stops_within(PERIOD) {
        // Where records are lost, nothing tells which of the others they hide or are hidden by.
        if shared.damage.is_any() {
            continue;
        }
        if compactor.look().is_break() {
            return;
        }
    }
}

/// The state of compaction between two looks for work.
pub(super) struct Compactor<'s> {
    shared: &'s Shared,
    throttle: Throttle,
    /// The end of each log at the last look.
    ends: Vec<u64>,
    /// Segments that rest, with the ends of their rests.
    resting: HashMap<(u32, SegmentId), Instant>,
}

/// A partition at one moment.
struct Partition {
    number: u32,
    log: Log,
    segments: Vec<Arc<Segment>>,
    maps: HashMap<SegmentId, (u16, Arc<Map>)>,
}

/// The result of rewriting a run.
enum Outcome {
    Replaced,
    /// The new segment would not have been smaller.
    Futile,
    /// The store is being closed.
    Stopped,
}

impl<'s> Compactor<'s> {
    /// For the calling thread.
    pub(super) fn new(shared: &'s Shared) -> Compactor<'s> {
        Compactor {
            shared,
            throttle: Throttle::new(shared.settings.compaction_percent),
            ends: Vec::new(),
            resting: HashMap::new(),
        }
    }

    /// Compacts all partitions as far as it is worth it.
    fn look(&mut self) -> ControlFlow<()> {
        let ends: Vec<u64> = self.shared.journals.logs().map(|log| log.end()).collect();
        let before = std::mem::replace(&mut self.ends, ends);
        let now = Instant::now();
        self.resting.retain(|_, until| *until > now);
        for (number, log) in self.shared.journals.logs().enumerate() {
            let is_quiet = before.get(number).is_some_and(|end| *end == log.end());
            if is_quiet {
                // Space that is allocated ahead may be many times that of the items. It is an optimization: no harm if it fails.
                let _ = log.trim();
            }
            loop {
                match self.compact(number as u32, &log, is_quiet) {
                    Ok(ControlFlow::Continue(true)) => {
                        self.shared.durability.health.succeeded(Work::Compaction);
                    }
                    Ok(ControlFlow::Continue(false)) => break,
                    Ok(ControlFlow::Break(())) => return ControlFlow::Break(()),
                    Err(error) => {
                        self.shared.durability.health.failed(Work::Compaction, &error);
                        break;
                    }
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Rewrites one run of segments of a partition, if there is one that is worth it. Continues with true if it did something, and
    /// breaks if the store is being closed.
    ///
    /// # Errors
    /// Those of the log. The run rests then.
    pub(super) fn compact(
        &mut self,
        number: u32,
        log: &Log,
        is_quiet: bool,
    ) -> Result<ControlFlow<(), bool>, log::Error> {
        let partition = Partition::new(self.shared, number, log);
        let figures = partition.figures(&self.resting);
        let run = match choose(&figures, is_quiet, self.shared.settings.segment_bytes) {
            Choice::Nothing => return Ok(ControlFlow::Continue(false)),
            Choice::Roll => return log.roll().map(|()| ControlFlow::Continue(true)),
            Choice::Rewrite(run) => &partition.segments[run],
        };
        let outcome = self.rewrite(&partition, run);
        if !matches!(outcome, Ok(Outcome::Replaced)) {
            let until = Instant::now() + AFTER_FAILURE;
            self.resting
                .extend(run.iter().map(|one| ((number, one.id()), until)));
        }
        Ok(match outcome? {
            Outcome::Replaced | Outcome::Futile => ControlFlow::Continue(true),
            Outcome::Stopped => ControlFlow::Break(()),
        })
    }

    /// Rewrites a run.
    fn rewrite(&self, partition: &Partition, run: &[Arc<Segment>]) -> Result<Outcome, log::Error> {
        let shared = self.shared;
        let cleaned = partition.log.end();
        // A delete has its tombstone in the log before it removes the slot, so a value may still count as live though its tombstone is
        // in the run.
        shared.index.pass();
        let mut judge = Decisions {
            shared,
            numbers: run
                .iter()
                .filter_map(|one| Some((one.id(), partition.maps.get(&one.id())?.0)))
                .collect(),
            hides: partition.hides(run),
            pending: None,
            moves: Vec::new(),
            held: 0,
            held_values: 0,
        };
        // Kafka's consumers of the topic may still have to see the tombstones: they stay
        // while they hide something. Near to their
        // own times, the horizon takes few bytes.
        let horizon = run.iter().map(|one| one.max_timestamp()).max().unwrap_or(0);
        let mut rewrite = partition.log.rewrite(run, horizon)?;
        let counters = &shared.counters.compaction;
        let (mut counted, mut synced) = ((0, 0), 0);
        loop {
            let (is_done, rest) = self.throttle.run(|| {
                let is_done = rewrite.step(STEP_BYTES, &mut judge)?;
                let (read, written) = rewrite.progress();
                counters.bytes_read.fetch_add(read - counted.0, Relaxed);
                counters.bytes_written.fetch_add(written - counted.1, Relaxed);
                counted = (read, written);
                if written - synced >= SYNC_BYTES {
                    rewrite.sync()?;
                    synced = written;
                }
                Ok(is_done)
            });
            if is_done? {
                break;
            }
            if shared.durability.stops_within(rest) {
                return Ok(Outcome::Stopped);
            }
        }
        let (installed, rest) = self.throttle.run(|| {
            // Records that a flush has removed may go only when the flush is durable. It is in the log of partition 0.
            if let Some(first) = shared.journals.0[0].log().filter(|_| partition.number > 0) {
                first.sync()?;
            }
            let _no_slot_is_copied = shared.snapshots.moving.lock();
            let Some(replaced) = rewrite.install()? else {
                return Ok(false);
            };
            // The last batch was written now.
            counters
                .bytes_written
                .fetch_add(replaced.new.bytes().saturating_sub(counted.1), Relaxed);
            let map = relocate(shared, partition.number, &replaced, &judge.moves)?;
            map.held.store(judge.held, Relaxed);
            // Those that died meanwhile are counted as written, and not as live.
            map.records.store(judge.moves.len() as u64 + judge.held, Release);
            if judge.held_values == 0 {
                map.cleaned.store(cleaned, Relaxed);
            }
            for old in &replaced.old {
                if let Some((number, _)) = partition.maps.get(&old.id()) {
                    shared.maps.remove(*number, &shared.index);
                }
            }
            Ok(true)
        });
        counters
            .runs
            .fetch_add(u64::from(*installed.as_ref().unwrap_or(&false)), Relaxed);
        match installed? {
            _ if shared.durability.stops_within(rest) => Ok(Outcome::Stopped),
            true => Ok(Outcome::Replaced),
            false => Ok(Outcome::Futile),
        }
    }
}

impl Partition {
    fn new(shared: &Shared, number: u32, log: &Log) -> Partition {
        let all = shared.maps.all().into_iter();
        let own = all.filter(|(_, map)| map.partition == number);
        Partition {
            number,
            log: log.clone(),
            segments: log.segments(),
            maps: own
                .map(|(number, map)| (map.segment.id(), (number, map)))
                .collect(),
        }
    }

    /// Figures of the segments.
    fn figures(&self, resting: &HashMap<(u32, SegmentId), Instant>) -> Vec<Figures> {
        let complete_end = self.segments.iter().rev().nth(1).map_or(0, |last| last.end());
        let mut older = u64::MAX;
        let figures = self.segments.iter().map(|segment| {
            let hides = older < segment.end();
            let cleaned = self.cleaned(segment);
            older = older.min(cleaned);
            let known = self.maps.get(&segment.id());
            Figures {
                rests: resting.contains_key(&(self.number, segment.id())),
                is_unclean: cleaned < complete_end,
                bytes: segment.bytes(),
                ..known.map_or_else(Figures::default, |(_, map)| Figures::of(map, hides))
            }
        });
        figures.collect()
    }

    /// Returns true if segments before a run may have records that those of the run hide.
    ///
    /// Only values without a slot have to be hidden. A segment has none of those that were deleted before some offset if it was
    /// rewritten since, or if all of its records have slots.
    fn hides(&self, run: &[Arc<Segment>]) -> bool {
        let (base, end) = (run[0].base(), run.last().map_or(0, |last| last.end()));
        let mut older = self.segments.iter().take_while(|segment| segment.base() < base);
        older.any(|segment| self.cleaned(segment) < end)
    }

    /// The offset up to which nothing has to be hidden in a segment.
    fn cleaned(&self, segment: &Segment) -> u64 {
        let Some((_, map)) = self.maps.get(&segment.id()) else {
            return 0;
        };
        // The count of records is read first: a record that is counted later has a later offset.
        let (records, live) = (map.records.load(Acquire), map.live.load(Acquire));
        if records == live {
            u64::MAX
        } else {
            map.cleaned.load(Relaxed)
        }
    }
}

/// Lets the index point to the records where they are now.
fn relocate(
    shared: &Shared,
    partition: u32,
    replaced: &log::Replaced,
    moves: &[(u64, Location, u64)],
) -> Result<Arc<Map>, log::Error> {
    let new = replaced.new.clone();
    let path = new.path().to_owned();
    let active = map_segment(&shared.maps, new, partition, 0);
    let active = active.map_err(|error| crate::folder::failed("map", &path, error))?;
    active.map.passed(0..active.map.end());
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
    Ok(active.map)
}

/// Decides which records stay.
struct Decisions<'a> {
    shared: &'a Shared,
    numbers: HashMap<SegmentId, u16>,
    /// True if older segments may have records that those of the run hide.
    hides: bool,
    /// The record that was just judged, if a slot points to it: its hash, its location and the length of its key.
    pending: Option<(u64, Location, usize)>,
    /// Hashes, old locations and new positions of keys.
    moves: Vec<(u64, Location, u64)>,
    /// Records that stay though no slot points to them.
    held: u64,
    /// Those of them that have a value.
    held_values: u64,
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
        let location = |(value, map): (&[u8], &u16)| Location {
            map: *map,
            position: (candidate.value.position - (value.as_ptr() as u64 - key.as_ptr() as u64)) as u32,
        };
        let map = self.numbers.get(&candidate.value.segment);
        let location = record.value.zip(map).map(location);
        if let Some(location) = location.filter(|location| guard.find_location(*location).is_some()) {
            self.pending = Some((hash, location, key.len()));
            return Verdict::Keep;
        }
        let ends_older = record.value.is_none() || !Facts::of(record).endless();
        let fingerprint = || super::hash(&self.shared.fingerprints, key);
        if ends_older && self.hides && guard.find_blindly(fingerprint()).is_none() {
            self.held += 1;
            self.held_values += u64::from(record.value.is_some());
            return Verdict::Keep;
        }
        Verdict::Drop
    }

    fn moved(&mut self, moved: Moved) {
        if let Some((hash, location, key_length)) = self.pending.take() {
            let gap = number_bytes(moved.to.bytes as usize) + key_length;
            self.moves.push((hash, location, moved.to.position - gap as u64));
        }
    }
}
