//! A model of the log, through a storage that stops at every operation and then loses what was not synced.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;

use common::*;
use log::storage::{Loss, Simulated};
use log::{Error, Log};

/// What the log must have: records by offset, of which those before `synced` must survive a power cut and those before `acked`
/// a crash of the process. Others may have been written.
#[derive(Default)]
struct Model {
    records: BTreeMap<u64, Plain>,
    acked: u64,
    synced: u64,
}

impl Model {
    fn append(&mut self, log: &Log, random: &mut Random) -> Result<(), Error> {
        let count = 1 + random.below(3);
        let records: Vec<Plain> = (0..count)
            .map(|_| {
                plain(
                    &random.below(10).to_string(),
                    &"x".repeat(random.below(150) as usize),
                )
            })
            .collect();
        for (at, record) in records.iter().enumerate() {
            self.records.insert(log.end() + at as u64, record.clone());
        }
        append(log, &records, 7)?;
        self.acked = log.end();
        Ok(())
    }

    fn step(&mut self, log: &Log, random: &mut Random) -> Result<(), Error> {
        match random.below(12) {
            0 | 1 => self.synced = log.sync()?,
            2 => {
                log.checkpoint()?;
                self.synced = log.synced();
            }
            3 => log.roll()?,
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
        assert_eq!(log.start(), 0, "{story}");
        for (offset, record) in all(log) {
            assert_eq!(
                self.records.get(&offset),
                Some(&record),
                "{story}: offset {offset}"
            );
        }
        assert_eq!(all(log).len() as u64, log.end(), "{story}");
    }
}

/// Runs a log until it has made its steps or the storage stops, and closes it.
fn run(storage: &Simulated, seed: u64) -> Model {
    let (mut model, mut random) = (Model::default(), Random::new(seed));
    let mut work = |model: &mut Model| -> Result<(), Error> {
        let (log, _) = try_open(storage, small())?;
        for _ in 0..40 {
            model.step(&log, &mut random)?;
        }
        log.close()?;
        model.synced = log.synced();
        Ok(())
    };
    let _ = work(&mut model);
    model
}

fn crash_everywhere(seed: u64, losses: &[Loss]) {
    let whole = Simulated::new();
    run(&whole, seed);
    for stop in 0..whole.operations() {
        let storage = Simulated::new();
        storage.stop_at(stop);
        let model = run(&storage, seed);
        for &loss in losses {
            let story = format!("seed {seed}, stopped at {stop}, {loss:?}");
            let after = storage.power_cut(loss);
            let least = if loss == Loss::None {
                model.acked
            } else {
                model.synced
            };
            let (log, recovery) = open(&after, small());
            assert!(
                recovery.damage.is_empty() && recovery.missing.is_empty(),
                "{story}: {recovery:?}"
            );
            model.check(&log, least, &story);
            // The recovered log works, and its state survives another cut.
            let next = log.end();
            assert_eq!(append_value(&log, "after"), next, "{story}");
            log.sync().unwrap();
            let expected = all(&log);
            drop(log);
            let (log, recovery) = open(&after.power_cut(Loss::All), small());
            assert_eq!(all(&log), expected, "{story}: {recovery:?}");
        }
    }
}

#[test]
fn a_killed_process_loses_nothing_acknowledged() {
    (0..6).for_each(|seed| crash_everywhere(seed, &[Loss::None]));
}

#[test]
fn a_power_cut_loses_nothing_synced() {
    (0..6).for_each(|seed| crash_everywhere(seed, &[Loss::All]));
}

#[test]
fn a_power_cut_that_keeps_some_sectors_loses_nothing_synced() {
    (0..3).for_each(|seed| {
        let losses: Vec<Loss> = (0..3)
            .map(|one| Loss::Some {
                seed: seed * 100 + one,
            })
            .collect();
        crash_everywhere(seed, &losses);
    });
}
