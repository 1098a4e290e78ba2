//! Which segments to compact: those whose dead records take the most of them.
//!
//! ```text
//!   partition:   A 5 % dead   B 60 %   C 70 %   D 20 %   active 90 %
//!                             └── a run ──┘              └ completed first, if it has most
//! ```
//!
//! A partition is compacted while its dead bytes exceed a part of its live ones. The part is smaller once the partition is quiet:
//! then the work is done once, while for one that is written to, the segments would soon have dead records again.
//!
//! Bytes follow from counts of records: the records of one segment count as equally long, since the index does not know their lengths.
//!
//! Records that hide older ones of their keys, such as tombstones, are not dead while older segments may have such records. If there are
//! many, the oldest segments are cleaned first.
//!
//! **Invariant:** a run is a range of adjacent complete segments.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use super::maps::Map;

/// Dead bytes that a partition may have, in percent of its live ones: while it is written to, and when it is quiet.
const BUSY_PERCENT_MAX: u64 = 25;
const QUIET_PERCENT_MAX: u64 = 10;
/// Dead bytes below which compacting is not worth its syncs, in the same cases.
const BUSY_BYTES_MIN: u64 = 1 << 20;
const QUIET_BYTES_MIN: u64 = 4 << 10;
/// A segment next to the run joins it if this many percent of its bytes are dead.
const JOINS_PERCENT_MIN: u64 = 10;

/// Figures of a segment, as far as compaction needs them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Figures {
    pub(super) bytes: u64,
    /// Bytes of records that can be dropped.
    pub(super) dead: u64,
    /// Bytes of records that are kept because they hide older ones.
    pub(super) held: u64,
    /// It may have records that later segments must hide.
    pub(super) is_unclean: bool,
    /// It was rewritten lately in vain.
    pub(super) rests: bool,
}

impl Figures {
    /// Of a map. `hides` tells whether an older segment may have records that this one has to hide.
    pub(super) fn of(map: &Map, hides: bool) -> Figures {
        let bytes = map.segment.bytes();
        let (records, live) = (map.records.load(Relaxed), map.live.load(Relaxed));
        let held = if hides { map.held.load(Relaxed) } else { 0 };
        let dead = records.saturating_sub(live + held);
        let part = |part: u64| {
            let bytes = u128::from(bytes) * u128::from(part) / u128::from(records.max(1));
            u64::try_from(bytes).unwrap_or(u64::MAX)
        };
        Figures {
            bytes,
            dead: part(dead),
            held: part(held),
            ..Figures::default()
        }
    }

    /// About how many bytes stay.
    pub(super) fn live(&self) -> u64 {
        self.bytes.saturating_sub(self.dead)
    }

    fn dead_percent(&self) -> u64 {
        (self.dead * 100).checked_div(self.bytes).unwrap_or(0)
    }
}

/// The next thing to do for a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Nothing,
    /// Complete the active segment.
    Roll,
    /// Rewrite this range of its segments.
    Rewrite(Range<usize>),
}

/// Chooses among the segments of a partition, the last of which is active.
pub(super) fn choose(segments: &[Figures], is_quiet: bool, segment_bytes: u64) -> Choice {
    let Some((active, complete)) = segments.split_last() else {
        return Choice::Nothing;
    };
    let sum = |part: fn(&Figures) -> u64| segments.iter().map(part).sum::<u64>();
    let (percent, bytes_min) = match is_quiet {
        true => (QUIET_PERCENT_MAX, QUIET_BYTES_MIN),
        false => (BUSY_PERCENT_MAX, BUSY_BYTES_MIN),
    };
    let most = bytes_min.max(sum(Figures::live) * percent / 100);
    if sum(|one| one.dead) < most {
        let unclean = complete.iter().position(|one| one.is_unclean && !one.rests);
        return match unclean.filter(|_| sum(|one| one.held) >= most) {
            // Once the oldest records that are hidden have gone, so may those that hide them.
            Some(at) => Choice::Rewrite(at..at + 1),
            None => Choice::Nothing,
        };
    }
    let candidates = complete.iter().enumerate().filter(|(_, one)| !one.rests);
    let best = candidates.max_by_key(|(_, one)| one.dead_percent());
    let best_percent = best.map_or(0, |(_, one)| one.dead_percent());
    if active.dead >= bytes_min && active.dead_percent() >= best_percent {
        return Choice::Roll;
    }
    match best {
        Some((at, one)) if one.dead > 0 => Choice::Rewrite(extend(complete, at, segment_bytes)),
        _ => Choice::Nothing,
    }
}

/// Adds neighbours to a segment that have dead records, too, or that are small, as far as the result is one segment.
fn extend(complete: &[Figures], at: usize, segment_bytes: u64) -> Range<usize> {
    let mut run = at..at + 1;
    let mut live = complete[at].live();
    let joins = |one: &Figures, live: u64| {
        // Joining the smaller to the larger rewrites each byte a logarithmic number of times.
        let worth = one.dead_percent() >= JOINS_PERCENT_MIN || one.live() <= live;
        worth && !one.rests && live + one.live() <= segment_bytes
    };
    loop {
        if let Some(next) = complete.get(run.end).filter(|one| joins(one, live)) {
            live += next.live();
            run.end += 1;
        } else if run.start > 0 && joins(&complete[run.start - 1], live) {
            run.start -= 1;
            live += complete[run.start].live();
        } else {
            return run;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn segments(all: &[(u64, u64)]) -> Vec<Figures> {
        let figures = all.iter().map(|&(mib, percent)| Figures {
            bytes: mib * MIB,
            dead: mib * MIB * percent / 100,
            ..Figures::default()
        });
        figures.collect()
    }

    #[test]
    fn little_garbage_is_left_alone_while_there_are_writes() {
        let all = segments(&[(64, 15), (64, 15), (1, 0)]);
        assert_eq!(choose(&all, false, 64 * MIB), Choice::Nothing);
        assert_eq!(choose(&all, true, 64 * MIB), Choice::Rewrite(1..2));
        assert_eq!(choose(&[], true, MIB), Choice::Nothing);
        assert_eq!(choose(&segments(&[(0, 0)]), true, MIB), Choice::Nothing);
    }

    #[test]
    fn the_worst_segment_is_first_and_takes_its_neighbours() {
        let all = segments(&[(64, 5), (64, 60), (64, 70), (64, 20), (1, 0)]);
        // 19 + 25 MiB stay, and neither 51 nor 60 MiB would fit, too.
        assert_eq!(choose(&all, false, 64 * MIB), Choice::Rewrite(1..3));
        let mut resting = all.clone();
        resting[2].rests = true;
        assert_eq!(choose(&resting, false, 64 * MIB), Choice::Rewrite(1..2));
        let small = segments(&[(64, 0), (2, 0), (2, 0), (8, 50), (64, 0)]);
        let quiet = choose(&small, true, 64 * MIB);
        assert_eq!(quiet, Choice::Nothing, "4 of 136 MiB are dead");
        let small = segments(&[(9, 0), (2, 0), (2, 0), (8, 50), (1, 0)]);
        assert_eq!(choose(&small, true, 64 * MIB), Choice::Rewrite(1..4));
    }

    /// Tombstones that hide nothing any more were kept for ever.
    #[test]
    fn many_held_records_have_the_oldest_segment_cleaned() {
        let mut all = segments(&[(64, 5), (64, 5), (64, 0), (1, 0)]);
        all[2].held = 60 * MIB;
        (all[0].is_unclean, all[1].is_unclean) = (true, true);
        assert_eq!(choose(&all, false, 64 * MIB), Choice::Rewrite(0..1));
        all[0].is_unclean = false;
        assert_eq!(choose(&all, false, 64 * MIB), Choice::Rewrite(1..2));
        all[1].is_unclean = false;
        assert_eq!(choose(&all, false, 64 * MIB), Choice::Nothing);
    }

    #[test]
    fn the_active_segment_is_completed_if_it_is_the_worst() {
        assert_eq!(choose(&segments(&[(10, 90)]), false, 64 * MIB), Choice::Roll);
        assert_eq!(
            choose(&segments(&[(9, 95), (10, 90)]), false, 64 * MIB),
            Choice::Rewrite(0..1)
        );
        let nothing_dead = segments(&[(9, 0), (0, 0)]);
        assert_eq!(choose(&nothing_dead, true, 64 * MIB), Choice::Nothing);
    }
}
