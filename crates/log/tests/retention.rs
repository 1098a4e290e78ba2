//! Retention, prefix deletion, truncation and removal.
#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use log::storage::Simulated;
use log::{Error, Log, Options, Retention};

/// A log with a record at each of 60 times, ten or fewer per segment.
fn filled(storage: &Simulated) -> Log {
    let (log, _) = open(storage, small());
    for time in 0..60 {
        append(&log, &[plain("key", &"v".repeat(20))], time).unwrap();
    }
    assert!(log.segments().len() > 5);
    log
}

fn segment_files(storage: &Simulated) -> usize {
    let files = storage.files();
    files
        .keys()
        .filter(|path| path.extension().is_some_and(|it| it == "log"))
        .count()
}

#[test]
fn the_oldest_segments_go_by_size() {
    let storage = Simulated::new();
    let log = filled(&storage);
    let (before, files) = (log.bytes(), segment_files(&storage));
    let removed = log
        .retain(
            Retention {
                bytes: Some(2500),
                age_ms: None,
            },
            0,
        )
        .unwrap();
    assert!(removed > 0 && log.bytes() == before - removed);
    assert!(log.bytes() >= 2500 && log.bytes() < 3500, "{}", log.bytes());
    assert_eq!(log.start(), log.segments()[0].base());
    assert_eq!(segment_files(&storage), log.segments().len());
    assert!(log.segments().len() < files);
    let error = log.read_blocking(0..1, 100).unwrap_err();
    assert!(matches!(error, Error::OutOfRange { offset: 0, .. }), "{error}");
    let (start, expected) = (log.start(), all(&log));
    drop(log);
    let (log, recovery) = open(&storage.power_cut(log::storage::Loss::All), small());
    assert!(
        recovery.missing.is_empty() && recovery.damage.is_empty(),
        "{recovery:?}"
    );
    assert_eq!((log.start(), all(&log)), (start, expected));
}

#[test]
fn segments_go_by_the_age_of_their_newest_record() {
    let storage = Simulated::new();
    let log = filled(&storage);
    let by_age = |age, now| {
        log.retain(
            Retention {
                bytes: None,
                age_ms: Some(age),
            },
            now,
        )
        .unwrap()
    };
    assert_eq!(by_age(60, 60), 0);
    assert!(by_age(30, 60) > 0);
    assert!(log.segments()[0].max_timestamp() >= 30);
    assert!(by_age(10, 1000) > 0);
    assert_eq!((log.start(), log.end(), log.bytes()), (60, 60, 0));
    assert_eq!(log.segments().len(), 1);
    assert_eq!(append_value(&log, "goes on"), 60);
}

#[test]
fn a_prefix_is_removed_to_the_offset() {
    let storage = Simulated::new();
    let log = filled(&storage);
    let held = log.read_blocking(3..4, 1).unwrap().remove(0);
    log.remove_before(25).unwrap();
    assert_eq!(log.start(), 25);
    assert_eq!(all(&log).len(), 35);
    assert!(log.segments()[0].base() <= 25);
    let mut bytes = Vec::new();
    held.read_into_blocking(&mut bytes).unwrap();
    assert!(!bytes.is_empty(), "what a reader holds stays");
    assert_eq!(log.remove_before(10).unwrap(), 0, "the start never moves back");
    log.remove_before(1000).unwrap();
    assert_eq!((log.start(), log.bytes()), (60, 0));
    drop(log);
    let (log, recovery) = open(&storage, small());
    assert!(recovery.missing.is_empty(), "{recovery:?}");
    assert_eq!((log.start(), log.end()), (60, 60));
}

#[test]
fn a_start_within_a_segment_survives() {
    let storage = Simulated::new();
    filled(&storage).remove_before(3).unwrap();
    let (log, _) = open(&storage.power_cut(log::storage::Loss::All), small());
    assert_eq!(log.start(), 3);
    assert_eq!(all(&log)[0].0, 3);
}

#[test]
fn truncation_cuts_at_a_batch() {
    for offset in [0, 1, 17, 30, 59, 60] {
        let storage = Simulated::new();
        let log = filled(&storage);
        log.sync().unwrap();
        let held = log.read_blocking(0..60, u64::MAX).unwrap();
        let before = all(&log);
        log.truncate(offset).unwrap();
        assert_eq!(log.end(), offset);
        assert_eq!(all(&log), before[..offset as usize]);
        let mut bytes = Vec::new();
        held.iter()
            .for_each(|extent| extent.read_into_blocking(&mut bytes).unwrap());
        assert_eq!(append_value(&log, "new"), offset);
        let expected = all(&log);
        drop(log);
        let (log, recovery) = open(&storage, small());
        assert!(
            recovery.missing.is_empty() && recovery.damage.is_empty(),
            "{recovery:?}"
        );
        assert_eq!(all(&log), expected);
    }
}

#[test]
fn truncation_takes_whole_batches() {
    let storage = Simulated::new();
    let (log, _) = open(&storage, small());
    let three = [plain("a", "1"), plain("b", "2"), plain("c", "3")];
    append(&log, &three, 0).unwrap();
    append(&log, &three, 0).unwrap();
    log.truncate(4).unwrap();
    assert_eq!(log.end(), 3);
    let error = log.truncate(5).unwrap_err();
    assert!(
        matches!(
            error,
            Error::OutOfRange {
                offset: 5,
                start: 0,
                end: 3
            }
        ),
        "{error}"
    );
}

#[test]
fn a_removed_log_leaves_nothing_but_foreign_files() {
    let folder = Folder::new();
    let path = folder.path().join("log");
    let (log, _) = Log::open(&path, Options::default()).unwrap();
    append_value(&log, "0");
    let other = log.clone();
    log.remove().unwrap();
    assert!(!path.exists());
    let error = append(&other, &[plain("a", "b")], 0).unwrap_err();
    assert!(matches!(error, Error::Failed { .. }), "{error}");
    drop(other);
    let (log, _) = Log::open(&path, Options::default()).unwrap();
    std::fs::write(path.join("notes.txt"), "mine").unwrap();
    log.remove().unwrap();
    assert_eq!(std::fs::read_dir(&path).unwrap().count(), 1);
}
