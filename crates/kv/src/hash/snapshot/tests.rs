//! Stores that are opened with snapshots of all sorts.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::tests::{Scratch, compact, get, set, small, snapshot, update};
use super::super::{Hash, Settings};
use super::*;
use crate::{Decision, Engine, Notice, Now};

const NOW: Now = Now(1_700_000_000);
const KEYS: u32 = 300;

fn settings() -> Settings {
    Settings {
        partitions: Some(2),
        ..small()
    }
}

fn key(number: u32) -> Vec<u8> {
    format!("key-{number}").into_bytes()
}

fn fill(hash: &Hash, keys: std::ops::Range<u32>, round: u32) {
    for number in keys {
        set(hash, &key(number), &value(number, round));
    }
}

fn value(number: u32, round: u32) -> Vec<u8> {
    format!("{number} of round {round}{:200}", "").into_bytes()
}

#[track_caller]
fn assert_filled(hash: &Hash, keys: std::ops::Range<u32>, round: u32) {
    for number in keys {
        let found = get(hash, &key(number), NOW);
        assert_eq!(found, Some(value(number, round)), "key {number}");
    }
}

fn path(scratch: &Scratch) -> PathBuf {
    scratch.0.join(NAME)
}

/// Opens the store and returns the reason, too, why its snapshot was not used.
fn open(scratch: &Scratch) -> (Hash, Option<String>) {
    let (hash, notices) = Hash::open(&scratch.0, settings()).unwrap();
    let reason = notices.into_iter().find_map(|notice| match notice {
        Notice::IndexRebuilt { reason } => Some(reason),
        _ => None,
    });
    (hash, reason)
}

/// The records of each segment, and how many of them are live.
fn counts(hash: &Hash) -> Vec<(u32, u64, u64, u64)> {
    let maps = hash.shared.maps.all().into_iter();
    let mut counts: Vec<_> = maps
        .map(|(_, map)| {
            let (records, live) = (map.records.load(Relaxed), map.live.load(Relaxed));
            (map.partition, map.segment.base(), records, live)
        })
        .collect();
    counts.sort_unstable();
    counts
}

#[test]
fn a_closed_store_is_opened_without_reading_its_logs() {
    let scratch = Scratch::new();
    let hash = scratch.open(settings());
    fill(&hash, 0..KEYS, 1);
    hash.close().unwrap();
    drop(hash);
    let (hash, reason) = open(&scratch);
    assert_eq!((reason, hash.shared.snapshots.is_current()), (None, true));
    assert!(hash.shared.journals.logs().all(|log| log.end() > 0));
    assert_filled(&hash, 0..KEYS, 1);
    assert_eq!(hash.statistics().items, u64::from(KEYS));
}

/// Overwritten, new and deleted keys, some before the snapshot and some after it.
#[test]
fn what_follows_a_snapshot_is_replayed() {
    let scratch = Scratch::new();
    let hash = scratch.open(settings());
    fill(&hash, 0..KEYS, 1);
    update(&hash, &key(7), Decision::Remove, NOW).unwrap();
    snapshot(&hash);
    fill(&hash, 100..200, 2);
    fill(&hash, KEYS..KEYS + 50, 2);
    update(&hash, &key(8), Decision::Remove, NOW).unwrap();
    drop(hash);
    let (hash, reason) = open(&scratch);
    assert_eq!((reason, hash.shared.snapshots.is_current()), (None, true));
    for gone in [7, 8] {
        assert_eq!(get(&hash, &key(gone), NOW), None);
    }
    assert_filled(&hash, 9..100, 1);
    assert_filled(&hash, 100..200, 2);
    assert_filled(&hash, 200..KEYS, 1);
    assert_filled(&hash, KEYS..KEYS + 50, 2);
    let with_snapshot = counts(&hash);
    drop(hash);
    fs::remove_file(path(&scratch)).unwrap();
    let (hash, reason) = open(&scratch);
    assert_eq!(reason, None, "a store without a snapshot is nothing special");
    assert_eq!(counts(&hash), with_snapshot);
}

/// A key that was deleted after its record was judged to be live must not come back from the rewritten segment.
#[test]
fn segments_that_were_compacted_since_are_replayed() {
    let scratch = Scratch::new();
    let hash = scratch.open(settings());
    fill(&hash, 0..KEYS, 1);
    fill(&hash, 0..KEYS, 2);
    snapshot(&hash);
    assert!(compact(&hash) > 0);
    for gone in 0..50 {
        update(&hash, &key(gone), Decision::Remove, NOW).unwrap();
    }
    fill(&hash, 100..150, 3);
    drop(hash);
    let (hash, reason) = open(&scratch);
    assert_eq!(reason, None);
    let check = |hash: &Hash| {
        for gone in 0..50 {
            assert_eq!(get(hash, &key(gone), NOW), None);
        }
        assert_filled(hash, 50..100, 2);
        assert_filled(hash, 100..150, 3);
        assert_filled(hash, 150..KEYS, 2);
    };
    check(&hash);
    // Deleted keys, and a snapshot that has them neither as slots nor as tombstones behind its point.
    snapshot(&hash);
    fill(&hash, 200..KEYS, 2);
    compact(&hash);
    drop(hash);
    let (hash, reason) = open(&scratch);
    assert_eq!(reason, None);
    check(&hash);
    let with_snapshot = counts(&hash);
    drop(hash);
    fs::remove_file(path(&scratch)).unwrap();
    let without = counts(&open(&scratch).0);
    let live = |counts: &[(u32, u64, u64, u64)]| counts.iter().map(|one| one.3).collect::<Vec<_>>();
    assert_eq!(live(&with_snapshot), live(&without));
}

#[test]
fn a_flush_after_a_snapshot_counts_and_one_before_it_is_known() {
    let scratch = Scratch::new();
    let hash = scratch.open(settings());
    fill(&hash, 0..KEYS, 1);
    let _ = hash.flush(None, NOW).unwrap();
    fill(&hash, 0..50, 2);
    snapshot(&hash);
    drop(hash);
    let (hash, _) = open(&scratch);
    assert_eq!(hash.statistics().items, 50);
    assert_filled(&hash, 0..50, 2);
    fill(&hash, 100..150, 3);
    let _ = hash.flush(None, NOW).unwrap();
    fill(&hash, 0..20, 4);
    let _ = hash.flush(Some(NOW.0 + 10), NOW).unwrap();
    drop(hash);
    for _ in 0..2 {
        let (hash, reason) = open(&scratch);
        assert_eq!((reason, hash.statistics().items), (None, 20));
        assert_filled(&hash, 0..20, 4);
        // The second time, the pending flush is in the snapshot.
        snapshot(&hash);
        hash.close().unwrap();
    }
    let (hash, _) = open(&scratch);
    assert_eq!(get(&hash, &key(1), Now(NOW.0 + 9)), Some(value(1, 4)));
    assert_eq!(get(&hash, &key(1), Now(NOW.0 + 10)), None);
}

/// The content of a store's snapshot can be anything; the store's content is what the logs have.
#[test]
fn a_damaged_snapshot_is_not_used() {
    let scratch = Scratch::new();
    let hash = scratch.open(settings());
    fill(&hash, 0..KEYS, 1);
    hash.close().unwrap();
    drop(hash);
    let intact = fs::read(path(&scratch)).unwrap();
    let check = |bytes: &[u8], about: &str| {
        fs::write(path(&scratch), bytes).unwrap();
        let (hash, reason) = open(&scratch);
        let reason = reason.expect("there is a reason");
        assert!(reason.contains("index: ") && reason.contains(about), "{reason}");
        assert_eq!(hash.statistics().items, u64::from(KEYS));
        assert_filled(&hash, 0..5, 1);
    };
    let every = intact.len() / 100;
    for at in (0..super::format::HEAD_BYTES).chain((0..intact.len()).step_by(every)) {
        let mut flipped = intact.clone();
        flipped[at] ^= 1 << (at % 8);
        check(&flipped, "");
    }
    for length in (0..intact.len()).step_by(every) {
        check(&intact[..length], "truncated");
    }
    let mut newer = intact.clone();
    newer[11] = 2;
    check(&newer, "it has format version 2; this version reads 1");
    check(&[b'x'; 5000], "another program");
    // Everything that was just written to the file is replaced when the store is closed.
    let (hash, _) = open(&scratch);
    hash.close().unwrap();
    drop(hash);
    assert_eq!(open(&scratch).1, None);
}

#[test]
fn the_snapshot_of_another_store_is_not_used() {
    let (scratch, other) = (Scratch::new(), Scratch::new());
    for (scratch, round) in [(&scratch, 1), (&other, 2)] {
        let hash = scratch.open(settings());
        fill(&hash, 0..KEYS, round);
        hash.close().unwrap();
    }
    fs::copy(path(&other), path(&scratch)).unwrap();
    let (hash, reason) = open(&scratch);
    assert!(reason.unwrap().contains("of another store"));
    assert_filled(&hash, 0..KEYS, 1);
}

/// As if a device had lost what it had confirmed, or a copy of older logs had been put back.
#[test]
fn a_snapshot_that_is_newer_than_the_logs_is_not_used() {
    let scratch = Scratch::new();
    let hash = scratch.open(settings());
    fill(&hash, 0..10, 1);
    hash.close().unwrap();
    drop(hash);
    let copy = Scratch::new();
    for name in ["0", "1"] {
        fs::create_dir_all(copy.0.join(name)).unwrap();
        for file in fs::read_dir(scratch.0.join(name)).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), copy.0.join(name).join(file.file_name())).unwrap();
        }
    }
    let hash = scratch.open(settings());
    fill(&hash, 0..10, 2);
    hash.close().unwrap();
    drop(hash);
    for name in ["0", "1"] {
        fs::remove_dir_all(scratch.0.join(name)).unwrap();
        fs::rename(copy.0.join(name), scratch.0.join(name)).unwrap();
    }
    let (hash, reason) = open(&scratch);
    assert!(reason.unwrap().contains("ends before it"));
    assert_filled(&hash, 0..10, 1);
}

/// A repaired segment has other bytes at the same offsets.
#[test]
fn a_segment_that_was_repaired_is_replayed() {
    let scratch = Scratch::new();
    let hash = scratch.open(settings());
    fill(&hash, 0..KEYS, 1);
    hash.close().unwrap();
    drop(hash);
    // The last segment is the one whose generation does not change.
    let folder = scratch.0.join("0");
    let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let last = names
        .filter(|path| path.extension().is_some_and(|it| it == "log"))
        .max()
        .unwrap();
    let mut bytes = fs::read(&last).unwrap();
    bytes[100] ^= 1;
    fs::write(&last, bytes).unwrap();
    let storage: Arc<dyn Storage> = Arc::new(log::storage::Disk);
    assert!(!log::repair(&storage, &folder).unwrap().is_empty());
    let (hash, reason) = open(&scratch);
    assert_eq!((reason, hash.statistics().items), (None, u64::from(KEYS - 1)));
    let there = (0..KEYS).filter(|number| get(&hash, &key(*number), NOW) == Some(value(*number, 1)));
    assert_eq!(there.count(), KEYS as usize - 1);
}

/// Writers, compaction and snapshots at once; then the store is opened as after a kill.
#[test]
fn snapshots_are_whole_while_writers_go_on() {
    let scratch = Scratch::new();
    let hash = scratch.open(Settings {
        segment_bytes: 1 << 20,
        ..settings()
    });
    let stop = AtomicBool::new(false);
    let newest: Vec<u32> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3_u32)
            .map(|writer| {
                let (hash, stop) = (&hash, &stop);
                scope.spawn(move || {
                    let mut round = 0;
                    while !stop.load(Ordering::Relaxed) && round < 200 {
                        round += 1;
                        fill(hash, writer * 100..writer * 100 + 100, round);
                    }
                    round
                })
            })
            .collect();
        for _ in 0..10 {
            snapshot(&hash);
            compact(&hash);
        }
        snapshot(&hash);
        stop.store(true, Ordering::Relaxed);
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let before = counts(&hash);
    drop(hash);
    let (hash, reason) = open(&scratch);
    assert_eq!(reason, None);
    for (writer, round) in (0..).zip(newest) {
        assert_filled(&hash, writer * 100..writer * 100 + 100, round);
    }
    // The newest segment may not have been mapped yet.
    let live = |counts: Vec<(u32, u64, u64, u64)>| {
        let segments = counts.into_iter().map(|one| (one.0, one.1, one.3));
        segments.filter(|one| one.2 > 0).collect::<Vec<_>>()
    };
    assert_eq!(live(counts(&hash)), live(before));
}

#[test]
fn a_store_with_few_writes_does_not_write_its_index_again() {
    let scratch = Scratch::new();
    let hash = scratch.open(settings());
    fill(&hash, 0..KEYS, 1);
    let logs: Vec<Log> = hash.shared.journals.logs().collect();
    let write = || {
        let _ = fs::remove_file(path(&scratch));
        let sync = |log: &Log| log.sync().map(drop);
        hash.shared
            .snapshots
            .write(&hash.shared, ITEMS_PER_RECORD, &logs, sync)
            .unwrap();
        path(&scratch).exists()
    };
    assert!(write(), "there was none");
    fill(&hash, 0..KEYS / ITEMS_PER_RECORD as u32, 2);
    assert!(!write());
    fill(&hash, 0..1, 3);
    assert!(write());
}

#[test]
fn a_device_that_refuses_the_snapshot_keeps_the_old_one() {
    let scratch = Scratch::new();
    let hash = scratch.open(settings());
    fill(&hash, 0..KEYS, 1);
    snapshot(&hash);
    fill(&hash, 0..KEYS, 2);
    // A folder has the name of the temporary file.
    let temporary = scratch.0.join("index.new");
    fs::create_dir(&temporary).unwrap();
    let logs: Vec<Log> = hash.shared.journals.logs().collect();
    let refused = hash
        .shared
        .snapshots
        .write(&hash.shared, u64::MAX, &logs, Log::checkpoint);
    assert!(refused.unwrap_err().to_string().contains("index.new"));
    hash.close().unwrap();
    drop((logs, hash));
    fs::remove_dir(&temporary).unwrap();
    let (hash, reason) = open(&scratch);
    assert_eq!((reason, hash.shared.snapshots.is_current()), (None, true));
    assert_filled(&hash, 0..KEYS, 2);
}
