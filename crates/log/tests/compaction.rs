//! Compaction: by key, and by the decisions of an index that is built on the log.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;

use common::*;
use log::batch::{Attributes, Batch, Builder, NewHeader, NewRecord};
use log::storage::{Loss, Simulated};
use log::{Candidate, Compaction, Error, Judge, Location, Log, Moved, Verdict};

fn compact(log: &Log, now: i64) -> log::Compacted {
    log.compact(Compaction::at(now), &mut |_| {}).unwrap()
}

/// The newest value of each key, by replaying the log.
fn table(log: &Log) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut table = BTreeMap::new();
    for (_, (key, value)) in all(log) {
        match (key, value) {
            (Some(key), Some(value)) => drop(table.insert(key, value)),
            (Some(key), None) => drop(table.remove(&key)),
            (None, _) => {}
        }
    }
    table
}

fn overwritten(storage: &Simulated) -> Log {
    let (log, _) = open(storage, small());
    for round in 0..10 {
        for key in 0..20 {
            append(
                &log,
                &[plain(&format!("key {key:03}"), &format!("{round:050}"))],
                round,
            )
            .unwrap();
        }
    }
    log.roll().unwrap();
    log
}

#[test]
fn the_newest_record_of_each_key_stays() {
    let storage = Simulated::new();
    let log = overwritten(&storage);
    let (before, end, bytes) = (table(&log), log.end(), log.bytes());
    let compacted = compact(&log, 100);
    assert_eq!(compacted.removed, 180);
    assert_eq!((compacted.bytes_before, compacted.left), (bytes, 0));
    assert_eq!((log.start(), log.end()), (0, end));
    assert_eq!(table(&log), before);
    let records = all(&log);
    assert_eq!(records.len(), 20);
    assert!(records.iter().all(|(offset, _)| *offset >= 180), "offsets stay");
    // A reader that begins anywhere arrives at the next record.
    let extents = log.read_blocking(5..end, u64::MAX).unwrap();
    assert!(extents[0].bytes() > 0);
    assert_eq!(compact(&log, 100).removed, 0);
    let expected = all(&log);
    drop(log);
    let (log, recovery) = open(&storage.power_cut(Loss::All), small());
    assert!(
        recovery.missing.is_empty() && recovery.damage.is_empty(),
        "{recovery:?}"
    );
    assert_eq!(all(&log), expected);
    assert!(log.segments()[0].generation() > 0);
}

#[test]
fn a_large_store_takes_little_more_than_its_live_records() {
    let storage = Simulated::new();
    let mut options = small();
    options.segment_bytes = 100_000;
    let (log, _) = open(&storage, options);
    for round in 0..10 {
        for key in 0..1000 {
            append(
                &log,
                &[plain(&format!("key {key:016}"), &format!("{round:080}"))],
                0,
            )
            .unwrap();
        }
    }
    log.roll().unwrap();
    compact(&log, 0);
    let live = 1000 * (20 + 80);
    let ratio = log.bytes() as f64 / live as f64;
    assert!(ratio <= 1.3, "{ratio}");
}

#[test]
fn tombstones_stay_for_a_delay_after_their_first_compaction() {
    let storage = Simulated::new();
    let (log, _) = open(&storage, small());
    append(&log, &[plain("gone", "1"), plain("here", "2")], 0).unwrap();
    append(&log, &[(Some(b"gone".to_vec()), None)], 0).unwrap();
    log.roll().unwrap();
    let mut options = Compaction::at(1000);
    options.tombstone_delay_ms = 500;
    let at = |now| {
        let mut options = options;
        options.now = now;
        log.compact(options, &mut |_| {}).unwrap();
        all(&log)
            .into_iter()
            .map(|(offset, _)| offset)
            .collect::<Vec<_>>()
    };
    assert_eq!(at(1000), [1, 2]);
    assert_eq!(at(1499), [1, 2]);
    assert_eq!(at(1500), [1]);
    assert_eq!(log.end(), 3);
}

#[test]
fn the_active_segment_is_never_touched() {
    let storage = Simulated::new();
    let (log, _) = open(&storage, log::Options::default());
    (0..10).for_each(|round| drop(append(&log, &[plain("key", &round.to_string())], 0)));
    assert_eq!(compact(&log, 0).removed, 0);
    assert_eq!(all(&log).len(), 10);
    assert!(matches!(
        log.rewrite(&log.segments(), 0).unwrap_err(),
        Error::NoSegment { .. }
    ));
}

#[test]
fn what_cannot_be_merged_keeps_its_header() {
    let storage = Simulated::new();
    let (log, _) = open(&storage, log::Options::default());
    let mut builder = Builder::new();
    let headers = [NewHeader {
        key: b"h",
        value: Some(b"x"),
    }];
    let mut batch = |key: &str, producer: i64, attributes: u16| {
        builder.clear();
        builder.set_attributes(Attributes(attributes));
        if producer >= 0 {
            builder.set_producer(producer, 1, 7);
        }
        for value in ["old", "new"] {
            let (key, value) = (Some(key.as_bytes()), Some(value.as_bytes()));
            builder
                .push(&NewRecord {
                    timestamp: 5,
                    key,
                    value,
                    headers: &headers,
                })
                .unwrap();
        }
        log.append(&[builder.finish()], 0).unwrap();
    };
    batch("a", -1, 0);
    batch("b", 9, 0);
    batch("c", -1, Attributes::CONTROL | Attributes::TRANSACTIONAL);
    batch("d", -1, Attributes::LOG_APPEND_TIME);
    batch("e", -1, 0);
    // A compressed batch: its records are unknown.
    let mut bytes = common::batch(&[plain("e", "e")], 0);
    bytes[22] = 3;
    let crc = crc(&bytes[21..]);
    bytes[17..21].copy_from_slice(&crc.to_be_bytes());
    log.append(&[Batch::parse(&bytes).unwrap()], 0).unwrap();
    log.roll().unwrap();
    assert_eq!(compact(&log, 0).removed, 4);
    let mut found = Vec::new();
    log.scan::<Error>(0, |_, batch| {
        let header = batch.header();
        found.push((
            header.base_offset,
            header.end_offset(),
            header.count,
            header.producer_id,
            header.attributes.0,
        ));
        let Ok(records) = batch.records() else {
            return Ok(());
        };
        for record in records {
            let record = record.unwrap();
            assert_eq!(record.headers().collect::<Vec<_>>()[0].value, Some(&b"x"[..]));
            assert_eq!(record.timestamp, 5);
        }
        Ok(())
    })
    .unwrap();
    let expected = [
        (0, 2, 1, -1, 0),
        (2, 4, 1, 9, 0),
        (4, 6, 2, -1, 0x30),
        (6, 8, 1, -1, 8),
        (8, 10, 1, -1, 0),
        (10, 11, 1, -1, 3),
    ];
    assert_eq!(found, expected);
}

/// CRC-32C, bit by bit.
fn crc(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                crc >> 1 ^ 0x82f6_3b78
            } else {
                crc >> 1
            };
        }
    }
    !crc
}

/// An index on the log: the location of each key's value.
#[derive(Default)]
struct Index {
    keys: BTreeMap<Vec<u8>, Location>,
    moves: Vec<Moved>,
}

impl Judge for Index {
    fn judge(&mut self, candidate: &Candidate<'_>) -> Verdict {
        let live = self.keys.get(candidate.record.key.unwrap()) == Some(&candidate.value);
        if live { Verdict::Keep } else { Verdict::Drop }
    }

    fn moved(&mut self, moved: Moved) {
        self.moves.push(moved);
    }
}

impl Index {
    fn fill(log: &Log) -> Index {
        let mut index = Index::default();
        log.scan::<Error>(0, |location, batch| {
            for record in batch.records().unwrap() {
                let record = record.unwrap();
                let value = Location {
                    position: location.position + record.value_position,
                    bytes: record.value.unwrap().len() as u64,
                    ..location
                };
                index.keys.insert(record.key.unwrap().to_vec(), value);
            }
            Ok(())
        })
        .unwrap();
        index
    }

    fn check(&self, log: &Log, table: &BTreeMap<Vec<u8>, Vec<u8>>) {
        for (key, value) in table {
            let extent = log.extent(self.keys[key]).unwrap();
            let mut bytes = Vec::new();
            extent.read_into_blocking(&mut bytes).unwrap();
            assert_eq!(bytes, *value);
            extent.fetch_checked().unwrap();
        }
    }
}

#[test]
fn an_index_follows_its_values_into_the_new_segment() {
    let storage = Simulated::new();
    let log = overwritten(&storage);
    let table = table(&log);
    let mut index = Index::fill(&log);
    index.check(&log, &table);
    let mut run = log.segments();
    run.pop();
    let mut rewrite = log.rewrite(&run, 0).unwrap();
    assert!(matches!(log.rewrite(&run, 0).unwrap_err(), Error::Rewriting));
    while !rewrite.step(500, &mut index).unwrap() {}
    index.check(&log, &table);
    let replaced = rewrite.install().unwrap().unwrap();
    drop(run);
    // Old locations are valid until the old segments are released.
    index.check(&log, &table);
    let moves = std::mem::take(&mut index.moves);
    assert_eq!(moves.len(), table.len());
    for moved in moves {
        let key = index
            .keys
            .iter()
            .find(|(_, at)| **at == moved.from)
            .unwrap()
            .0
            .clone();
        index.keys.insert(key, moved.to);
    }
    index.check(&log, &table);
    let old = replaced.old[0].id();
    drop(replaced);
    assert!(matches!(log.segment(old).unwrap_err(), Error::NoSegment { .. }));
    index.check(&log, &table);
}

#[test]
fn an_abandoned_rewrite_leaves_nothing() {
    let storage = Simulated::new();
    let log = overwritten(&storage);
    let (before, files) = (all(&log), storage.files());
    let mut run = log.segments();
    run.pop();
    let mut rewrite = log.rewrite(&run, 0).unwrap();
    rewrite.step(2000, &mut Index::default()).unwrap();
    drop(rewrite);
    assert_eq!(all(&log), before);
    assert_eq!(storage.files(), files);
}
