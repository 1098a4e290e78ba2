//! Appends through a mapping of the active segment's end.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use common::*;
use log::inspect::verify;
use log::storage::{Loss, Simulated, Storage};
use log::{Log, Options};

const ENOSPC: i32 = 28;

/// Options with one large segment.
fn large() -> Options {
    let mut options = Options::default();
    options.mapped = true;
    options
}

fn segment_length(log: &Log) -> u64 {
    std::fs::metadata(log.segments().last().unwrap().path())
        .unwrap()
        .len()
}

#[test]
fn small_appends_are_no_operations_on_files() {
    let storage = Simulated::new();
    let (log, _) = open(&storage, large());
    append_numbers(&log, 0..1);
    let before = storage.operations();
    append_numbers(&log, 1..300);
    assert_eq!(storage.operations(), before);
    // Without syncs, pages are made in steps of 64 KiB, by a write each.
    let (bytes, long) = (log.bytes(), "v".repeat(3000));
    (0..150).for_each(|_| _ = append_value(&log, &long));
    let writes = (log.bytes() - bytes) / (64 << 10);
    let made = storage.operations() - before;
    assert!(made > 0 && made <= writes + 1, "{made}");
    assert_eq!(log.end(), 450);
}

#[test]
fn a_quiet_log_can_give_back_the_space_ahead() {
    use std::os::unix::fs::MetadataExt;
    let folder = Folder::new();
    let (log, _) = Log::open(folder.path(), large()).unwrap();
    let path = log.segments()[0].path().to_owned();
    let allocated = || std::fs::metadata(&path).unwrap().blocks() * 512;
    log.trim().unwrap();
    for round in 0..3 {
        append_numbers(&log, 10 * round..10 * (round + 1));
        let before = allocated();
        log.trim().unwrap();
        assert_eq!(segment_length(&log), log.bytes());
        assert!(allocated() <= 8192, "{} of {before} bytes are left", allocated());
    }
    let expected = all(&log);
    assert_eq!(expected.len(), 30);
    drop(log);
    let (log, _) = Log::open(folder.path(), large()).unwrap();
    assert_eq!(all(&log), expected);
}

#[test]
fn a_killed_process_leaves_zeros_which_are_no_fault() {
    let folder = Folder::new();
    let (log, _) = Log::open(folder.path(), large()).unwrap();
    append_numbers(&log, 0..100);
    let (expected, bytes) = (all(&log), log.bytes());
    assert!(segment_length(&log) > bytes);
    // A process that is killed leaves its files as they are, and so does a log that is dropped.
    drop(log);
    let storage: Arc<dyn Storage> = Arc::new(log::storage::Disk);
    let found = verify(&*storage, folder.path()).unwrap();
    assert_eq!((found.batches, &found.faults[..]), (100, &[][..]));
    assert_eq!(log::repair(&storage, folder.path()).unwrap(), []);
    let (log, recovery) = Log::open(folder.path(), large()).unwrap();
    assert!(recovery.cuts.is_empty(), "{recovery:?}");
    assert_eq!(segment_length(&log), bytes);
    assert_eq!(all(&log), expected);
    assert_eq!(append_value(&log, "next"), 100);
}

#[test]
fn torn_bytes_among_the_zeros_are_cut_and_reported() {
    let storage = Simulated::new();
    let (log, _) = open(&storage, large());
    append_numbers(&log, 0..3);
    let (path, bytes) = (log.segments()[0].path().to_owned(), log.bytes());
    drop(log);
    let mut file = storage.files()[&path].clone();
    file[bytes as usize + 70..][..9].fill(7);
    storage.put(&path, file);
    let (log, recovery) = open(&storage, large());
    assert_eq!(recovery.cuts.len(), 1);
    assert_eq!(recovery.cuts[0].position, bytes);
    assert_eq!(all(&log).len(), 3);
}

#[test]
fn repair_keeps_what_is_whole_and_drops_the_zeros() {
    let storage = Simulated::new();
    let (log, _) = open(&storage, mapped());
    append_numbers(&log, 0..30);
    log.sync().unwrap();
    let paths: Vec<_> = log.segments().iter().map(|one| one.path().to_owned()).collect();
    let bytes = log.segments().last().unwrap().bytes();
    assert!(paths.len() > 2);
    drop(log);
    let mut first = storage.files()[&paths[0]].clone();
    first[80] ^= 1;
    storage.put(&paths[0], first);
    let shared: Arc<dyn Storage> = Arc::new(storage.clone());
    assert!(!log::repair(&shared, folder()).unwrap().is_empty());
    assert_eq!(storage.files()[paths.last().unwrap()].len() as u64, bytes);
    assert!(verify(&storage, folder()).unwrap().faults.is_empty());
    let (log, recovery) = open(&storage, mapped());
    assert!(
        recovery.damage.is_empty() && recovery.cuts.is_empty(),
        "{recovery:?}"
    );
    assert_eq!(all(&log).len(), 29);
}

#[test]
fn small_and_large_appends_follow_each_other() {
    let folder = Folder::new();
    let (log, _) = Log::open(folder.path(), large()).unwrap();
    let mut expected = Vec::new();
    for number in 0..200_u64 {
        let value = "v".repeat((number * 97 % 9000) as usize);
        let record = plain(&number.to_string(), &value);
        append(&log, std::slice::from_ref(&record), 1).unwrap();
        expected.push((number, record));
        if number % 50 == 0 {
            log.sync().unwrap();
        }
    }
    assert_eq!(all(&log), expected);
    drop(log);
    assert_eq!(all(&Log::open(folder.path(), large()).unwrap().0), expected);
}

#[test]
fn appends_go_on_after_closing_and_space_is_given_back() {
    let folder = Folder::new();
    let (log, _) = Log::open(folder.path(), large()).unwrap();
    append_numbers(&log, 0..10);
    log.close().unwrap();
    assert_eq!(segment_length(&log), log.bytes());
    append_numbers(&log, 10..20);
    log.close().unwrap();
    assert_eq!(segment_length(&log), log.bytes());
    assert_eq!(all(&log).len(), 20);
}

#[test]
fn a_refused_allocation_or_length_leaves_system_calls() {
    for operation in 0..3 {
        let storage = Simulated::new();
        let (log, _) = open(&storage, large());
        storage.fail_at(storage.operations() + operation, ENOSPC);
        let failed = append(&log, &[plain("k", "v")], 1).is_err();
        append_numbers(&log, 0..5);
        let expected = all(&log);
        assert_eq!(expected.len(), if failed { 5 } else { 6 });
        drop(log);
        assert_eq!(all(&open(&storage.power_cut(Loss::None), large()).0), expected);
    }
}

#[test]
fn a_failed_write_between_copies_is_undone() {
    let storage = Simulated::new();
    let (log, _) = open(&storage, large());
    append_numbers(&log, 0..3);
    let long = [plain("k", &"v".repeat(10_000))];
    storage.shorten_at(storage.operations());
    storage.fail_at(storage.operations() + 1, ENOSPC);
    assert!(append(&log, &long, 1).unwrap_err().is_full());
    append_numbers(&log, 3..6);
    append(&log, &long, 1).unwrap();
    let expected = all(&log);
    assert_eq!(expected.len(), 7);
    drop(log);
    let (log, recovery) = open(&storage.power_cut(Loss::None), large());
    assert!(recovery.cuts.is_empty(), "{recovery:?}");
    assert_eq!(all(&log), expected);
}

/// A process that is killed in the middle of a copy leaves any part of a batch, since nothing orders the stores of a copy.
#[test]
fn any_part_of_a_batch_behind_the_last_whole_one_is_cut() {
    let storage = Simulated::new();
    let (log, _) = open(&storage, large());
    append_numbers(&log, 0..3);
    let (path, before) = (log.segments()[0].path().to_owned(), log.bytes() as usize);
    let expected = all(&log);
    append_value(&log, "torn");
    let whole = storage.files()[&path].clone();
    let after = log.bytes() as usize;
    drop(log);
    storage.put(&path, whole[..after].to_vec());
    for cut in before..=after {
        for present in [before..cut, cut..after] {
            let mut torn = whole[..after].to_vec();
            torn.resize(after + 500, 0);
            let absent = |at: &usize| !present.contains(at);
            (before..after).filter(absent).for_each(|at| torn[at] = 0);
            let is_whole = torn[..after] == whole[..after];
            let is_empty = torn[before..after].iter().all(|&byte| byte == 0);
            let torn_storage = storage.power_cut(Loss::None);
            torn_storage.put(&path, torn);
            let (log, recovery) = open(&torn_storage, large());
            let (kept, cuts) = (3 + u64::from(is_whole), !is_whole && !is_empty);
            assert_eq!(
                (log.end(), recovery.cuts.len()),
                (kept, usize::from(cuts)),
                "{present:?}"
            );
            assert_eq!(all(&log)[..3], expected);
            assert_eq!(append_value(&log, "next"), kept);
        }
    }
}

#[test]
fn many_small_logs_share_a_small_file_system() {
    let storage = Simulated::new();
    storage.set_capacity(Some(20 << 20));
    let shared: Arc<dyn Storage> = Arc::new(storage);
    let logs: Vec<_> = (0..8)
        .map(|number| folder().join(number.to_string()))
        .map(|path| Log::open_in(shared.clone(), &path, large()).unwrap().0)
        .collect();
    logs.iter().for_each(|log| append_numbers(log, 0..10));
    // Every log has room for more, whichever appended first.
    let long = [plain("k", &"v".repeat(100_000))];
    for log in logs.iter().rev() {
        append(log, &long, 1).unwrap();
    }
}
