//! A model of the log, through a storage that stops at every operation and then loses what was not synced.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;

use common::*;
use log::storage::{Loss, Simulated};
use log::{Compaction, Error, Log, Options};

/// The operations of a run, in addition to appending, syncing and rolling.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Appending,
    Compacting,
    Truncating,
}

/// The expected state: records by offset. Those before `synced` must survive a power cut, and those before `acked`
/// a crash of the process. Others may have been written.
#[derive(Default)]
struct Model {
    /// The records that an offset has had: more than one after a truncation.
    records: BTreeMap<u64, Vec<Plain>>,
    acked: u64,
    synced: u64,
    /// The start that was asked for last.
    start: u64,
    compacted: bool,
}

impl Model {
    fn append(&mut self, log: &Log, random: &mut Random) -> Result<(), Error> {
        let count = 1 + random.below(3);
        let records: Vec<Plain> = (0..count)
            .map(|_| {
                let value = "x".repeat(random.below(150) as usize);
                plain(&random.below(10).to_string(), &value)
            })
            .collect();
        for (at, record) in records.iter().enumerate() {
            let offset = log.end() + at as u64;
            self.records.entry(offset).or_default().push(record.clone());
        }
        append(log, &records, 7)?;
        self.acked = log.end();
        Ok(())
    }

    fn step(&mut self, kind: Kind, log: &Log, random: &mut Random) -> Result<(), Error> {
        match (random.below(14), kind) {
            (0 | 1, _) => self.synced = log.sync()?,
            (2, _) => {
                log.checkpoint()?;
                self.synced = log.synced();
            }
            (3, _) => log.roll()?,
            (4, Kind::Compacting) => {
                self.compacted = true;
                log.compact(Compaction::at(0), &mut |_| {})?;
            }
            (5, Kind::Compacting) => {
                self.start = log.start() + random.below(1 + (log.end() - log.start()) / 4);
                log.remove_before(self.start)?;
            }
            (4 | 5, Kind::Truncating) => {
                let keep = log.start() + random.below(1 + log.end() - log.start());
                // A truncation may take hold or not, and goes back to the beginning of a batch.
                let lowest = keep.saturating_sub(3);
                self.acked = self.acked.min(lowest);
                self.synced = self.synced.min(lowest);
                log.truncate(keep)?;
                self.acked = log.end();
            }
            _ => self.append(log, random)?,
        }
        Ok(())
    }

    /// Compares the log after a crash with the model: nothing durable is missing, and nothing is there that was not written.
    fn check(&self, log: &Log, least: u64, story: &str) {
        assert!(
            log.end() >= least,
            "{story}: the log ends at {} and had {least}",
            log.end()
        );
        assert!(log.start() <= self.start, "{story}");
        let found = all(log);
        for (offset, record) in &found {
            let known = self.records.get(offset).is_some_and(|all| all.contains(record));
            assert!(known, "{story}: offset {offset}");
        }
        if !self.compacted {
            assert_eq!(found.len() as u64, log.end() - log.start(), "{story}");
            return;
        }
        // Of each key, the newest record stays.
        let mut newest = BTreeMap::new();
        for (offset, records) in self.records.range(log.start().max(self.start)..log.end()) {
            newest.insert(records[0].0.clone(), *offset);
        }
        for (key, offset) in newest {
            assert!(
                found.iter().any(|(at, _)| *at == offset),
                "{story}: the newest {key:?} at {offset}"
            );
        }
    }
}

/// Runs a log until it has made its steps or the storage stops, and closes it.
fn run(storage: &Simulated, options: Options, kind: Kind, seed: u64) -> Model {
    let (mut model, mut random) = (Model::default(), Random::new(seed));
    let mut work = |model: &mut Model| -> Result<(), Error> {
        let (log, _) = try_open(storage, options)?;
        for _ in 0..40 {
            model.step(kind, &log, &mut random)?;
        }
        log.close()?;
        model.synced = log.synced();
        Ok(())
    };
    let _ = work(&mut model);
    model
}

fn crash_everywhere(kind: Kind, seed: u64, losses: &[Loss]) {
    crash_everywhere_with(small(), kind, seed, losses);
    // A simulated file that is mapped is compared with its mapping at every operation, which takes its time.
    if seed.is_multiple_of(2) {
        crash_everywhere_with(mapped(), kind, seed, losses);
    }
}

fn crash_everywhere_with(options: Options, kind: Kind, seed: u64, losses: &[Loss]) {
    let whole = Simulated::new();
    run(&whole, options, kind, seed);
    for stop in 0..whole.operations() {
        let storage = Simulated::new();
        storage.stop_at(stop);
        let model = run(&storage, options, kind, seed);
        for &loss in losses {
            let story = format!(
                "{kind:?}, mapped {}, seed {seed}, stopped at {stop}, {loss:?}",
                options.mapped
            );
            let after = storage.power_cut(loss);
            let least = if loss == Loss::None {
                model.acked
            } else {
                model.synced
            };
            let (log, recovery) = open(&after, options);
            let whole = recovery.damage.is_empty() && recovery.missing.is_empty();
            assert!(
                whole && recovery.checkpoint_damage.is_none(),
                "{story}: {recovery:?}"
            );
            model.check(&log, least, &story);
            // The recovered log works, and its state survives another cut, also in new segments.
            let next = log.end();
            assert_eq!(append_value(&log, "after"), next, "{story}");
            append_numbers(&log, 0..10);
            log.sync().unwrap();
            let expected = all(&log);
            drop(log);
            let (log, recovery) = open(&after.power_cut(Loss::All), options);
            assert_eq!(all(&log), expected, "{story}: {recovery:?}");
        }
    }
}

fn some(seed: u64, count: u64) -> Vec<Loss> {
    (0..count)
        .map(|one| Loss::Some {
            seed: seed * 100 + one,
        })
        .collect()
}

#[test]
fn a_killed_process_loses_nothing_acknowledged() {
    (0..4).for_each(|seed| crash_everywhere(Kind::Appending, seed, &[Loss::None]));
}

#[test]
fn a_power_cut_loses_nothing_synced() {
    (0..4).for_each(|seed| crash_everywhere(Kind::Appending, seed, &[Loss::All]));
}

#[test]
fn a_power_cut_that_keeps_some_sectors_loses_nothing_synced() {
    (0..3).for_each(|seed| crash_everywhere(Kind::Appending, seed, &some(seed, 3)));
}

#[test]
fn compaction_and_removal_can_stop_anywhere() {
    (0..2).for_each(|seed| crash_everywhere(Kind::Compacting, seed, &[Loss::None, Loss::All]));
    (2..8).for_each(|seed| crash_everywhere(Kind::Compacting, seed, &some(seed, 4)));
}

#[test]
fn truncation_can_stop_anywhere() {
    (0..2).for_each(|seed| crash_everywhere(Kind::Truncating, seed, &[Loss::None, Loss::All]));
    (2..6).for_each(|seed| crash_everywhere(Kind::Truncating, seed, &some(seed, 4)));
}
