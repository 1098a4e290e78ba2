//! Failing devices, full file systems, flipped bits, foreign folders.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::PathBuf;

use common::*;
use log::storage::{Loss, Simulated};
use log::{Answer, Error, Fault, Log, Options};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;

#[test]
fn a_failed_sync_ends_writing_and_not_reading() {
    let storage = Simulated::new();
    let (log, _) = open(&storage, Options::default());
    append_numbers(&log, 0..3);
    log.sync().unwrap();
    append_numbers(&log, 3..5);
    storage.fail_syncs(Some(EIO));
    let error = log.sync().unwrap_err();
    assert!(matches!(error, Error::Failed { doing: "sync", .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains("writes are refused since it could not sync"),
        "{error}"
    );
    // The device works again, and what it has is still unknown.
    storage.fail_syncs(None);
    assert_eq!(log.sync().unwrap_err().to_string(), error.to_string());
    let refused = append(&log, &[plain("a", "b")], 0).unwrap_err();
    assert_eq!(refused.to_string(), error.to_string());
    assert_eq!(log.checkpoint().unwrap_err().to_string(), error.to_string());
    assert_eq!((log.synced(), log.end()), (3, 5));
    assert_eq!(all(&log).len(), 5);
    drop(log);
    let killed = storage.power_cut(Loss::None);
    assert!(open(&killed, Options::default()).1.reread);
    assert!(!open(&killed, Options::default()).1.reread);
    let (log, _) = open(&storage.power_cut(Loss::All), Options::default());
    assert_eq!(all(&log).len(), 3);
    assert_eq!(append_value(&log, "again"), 3);
}

/// A process is killed with unsynced bytes in two segments, the second of which has a new name. Its successor syncs an append
/// to the second one. A power cut must not take what that append follows.
#[test]
fn what_a_killed_process_has_not_synced_is_synced_with_the_next_append() {
    let storage = Simulated::new();
    let (log, _) = open(&storage, small());
    append_numbers(&log, 0..16);
    assert_eq!(log.segments().len(), 2);
    drop(log);
    let killed = storage.power_cut(Loss::None);
    let (log, _) = open(&killed, small());
    append_numbers(&log, 16..17);
    assert_eq!(log.sync().unwrap(), 17);
    let expected = all(&log);
    drop(log);
    let (log, recovery) = open(&killed.power_cut(Loss::All), small());
    assert_eq!(all(&log), expected, "{recovery:?}");
}

/// After a failed sync the page cache has bytes which the device has not, and a later sync does not write them.
#[test]
fn recovery_after_a_failed_sync_reads_from_the_device() {
    let storage = Simulated::new();
    let (log, _) = open(&storage, small());
    append_numbers(&log, 0..3);
    log.sync().unwrap();
    append_numbers(&log, 3..5);
    storage.fail_syncs(Some(EIO));
    log.sync().unwrap_err();
    storage.fail_syncs(None);
    drop(log);
    let killed = storage.power_cut(Loss::None);
    let (log, _) = open(&killed, small());
    assert_eq!(all(&log).len(), 3, "the device has three");
    append_numbers(&log, 5..6);
    log.sync().unwrap();
    let expected = all(&log);
    drop(log);
    assert_eq!(all(&open(&killed.power_cut(Loss::All), small()).0), expected);
}

#[test]
fn a_full_file_system_refuses_appends_and_nothing_else() {
    let storage = Simulated::new();
    let mut options = Options::default();
    options.preallocate = false;
    let (log, _) = open(&storage, options);
    append_numbers(&log, 0..3);
    let before = all(&log);
    storage.set_capacity(Some(storage.files().values().map(Vec::len).sum::<usize>() + 50));
    let error = append(&log, &[plain("too", "large")], 0).unwrap_err();
    assert!(error.is_full(), "{error}");
    assert_eq!((all(&log), log.end()), (before.clone(), 3));
    log.check().unwrap();
    drop(log);
    // It still opens and is read.
    let (log, recovery) = open(&storage, Options::default());
    assert!(recovery.cuts.is_empty(), "{recovery:?}");
    assert_eq!(all(&log), before);
    storage.set_capacity(None);
    assert_eq!(append_value(&log, "now"), 3);
}

#[test]
fn a_torn_log_opens_on_a_full_file_system() {
    let storage = Simulated::new();
    let (log, _) = open(&storage, Options::default());
    append_numbers(&log, 0..3);
    let path = log.segments()[0].path().to_owned();
    drop(log);
    let mut bytes = storage.files()[&path].clone();
    bytes.extend(&[7; 30]);
    storage.put(&path, bytes);
    storage.set_capacity(Some(0));
    let (log, recovery) = open(&storage, Options::default());
    assert_eq!(recovery.cuts.len(), 1);
    assert_eq!(all(&log).len(), 3);
    assert!(append(&log, &[plain("a", "b")], 0).unwrap_err().is_full());
    storage.set_capacity(None);
    assert_eq!(append_value(&log, "room again"), 3);
}

/// As root, on a file system of 64 KiB in memory; skipped where it cannot be mounted.
#[test]
fn a_log_on_a_file_system_that_is_really_full_opens_and_is_read() {
    let folder = Folder::new();
    let mount = |arguments: &[&str]| {
        let status = std::process::Command::new(arguments[0])
            .args(&arguments[1..])
            .arg(folder.path())
            .output();
        status.is_ok_and(|output| output.status.success())
    };
    if !mount(&["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs"]) {
        eprintln!("skipped: no file system could be mounted");
        return;
    }
    let check = || {
        let (log, _) = Log::open(folder.path(), Options::default()).unwrap();
        let large = "v".repeat(3000);
        let mut count = 0;
        let error = loop {
            match append(&log, &[plain("key", &large)], 0) {
                Ok(_) => count += 1,
                Err(error) => break error,
            }
        };
        assert!(error.is_full() && count >= 10, "{count}: {error}");
        // Nothing is left for anything.
        std::fs::write(folder.path().join("filler"), vec![0; 64 << 10]).unwrap_err();
        drop(log);
        let (log, recovery) = Log::open(folder.path(), Options::default()).unwrap();
        assert!(recovery.cuts.is_empty(), "{recovery:?}");
        assert_eq!(all(&log).len(), count);
        std::fs::remove_file(folder.path().join("filler")).unwrap();
    };
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check));
    assert!(mount(&["umount"]));
    result.unwrap();
}

#[test]
fn every_operation_of_an_append_may_fail_alone() {
    for errno in [EIO, ENOSPC] {
        let mut failures = 0;
        for operation in 0.. {
            let storage = Simulated::new();
            let (log, _) = open(&storage, small());
            append_numbers(&log, 0..3);
            let first = storage.operations();
            storage.fail_at(first + operation, errno);
            let long = [plain("key", &"v".repeat(900))];
            let failed = append(&log, &long, 0).is_err();
            if storage.operations() == first + operation {
                break;
            }
            failures += usize::from(failed);
            let count = if failed { 3 } else { 4 };
            assert_eq!(all(&log).len(), count);
            // One failed operation is undone, so the log goes on.
            append_value(&log, "next");
            assert_eq!(all(&log).len(), count + 1);
            let expected = all(&log);
            drop(log);
            assert_eq!(all(&open(&storage.power_cut(Loss::None), small()).0), expected);
        }
        assert!(failures >= 2, "creating the segment and writing");
    }
}

#[test]
fn a_write_that_fails_halfway_and_cannot_be_cut_ends_writing() {
    let storage = Simulated::new();
    let mut options = Options::default();
    options.preallocate = false;
    let (log, _) = open(&storage, options);
    append_numbers(&log, 0..3);
    storage.shorten_writes(Some(40));
    storage.stop_at(storage.operations() + 1);
    let error = append(&log, &[plain("a", "b")], 0).unwrap_err();
    assert!(matches!(error, Error::Failed { doing: "cut", .. }), "{error}");
    assert_eq!(all(&log).len(), 3);
    drop(log);
    let (log, recovery) = open(&storage.power_cut(Loss::None), Options::default());
    // One write of 40 bytes, and a half of the next one, in which the storage stopped.
    assert_eq!(
        (recovery.cuts.len(), recovery.cuts[0].bytes),
        (1, 55),
        "{recovery:?}"
    );
    assert_eq!(all(&log).len(), 3);
}

#[test]
fn short_writes_are_continued() {
    let storage = Simulated::new();
    storage.shorten_writes(Some(7));
    let (log, _) = open(&storage, small());
    append_numbers(&log, 0..30);
    log.close().unwrap();
    let expected = all(&log);
    drop(log);
    assert_eq!(all(&open(&storage, small()).0), expected);
}

#[test]
fn an_unreadable_file_is_an_error_and_not_an_end() {
    let storage = Simulated::new();
    let (log, _) = open(&storage, Options::default());
    append_numbers(&log, 0..3);
    storage.fail_reads(Some(EIO));
    let error = log.read_blocking(0..3, 100).unwrap_err();
    assert!(matches!(error, Error::Io { doing: "read", .. }), "{error}");
    storage.fail_reads(None);
    assert_eq!(all(&log).len(), 3);
    log.checkpoint().unwrap();
    append_numbers(&log, 3..5);
    drop(log);
    storage.fail_reads(Some(EIO));
    assert!(matches!(
        try_open(&storage, Options::default()).unwrap_err(),
        Error::Io { .. }
    ));
    storage.fail_reads(None);
    assert_eq!(
        all(&open(&storage, Options::default()).0).len(),
        5,
        "nothing was cut"
    );
}

#[test]
fn cold_bytes_are_announced_and_not_waited_for() {
    let storage = Simulated::new();
    let (log, _) = open(&storage, small());
    append_numbers(&log, 0..30);
    log.close().unwrap();
    drop(log);
    let (log, _) = open(&storage, small());
    let mut fetched = 0;
    storage.evict();
    let extents = loop {
        match log.read(3..30, 1 << 20).unwrap() {
            Answer::Ready(extents) => break extents,
            Answer::Cold(cold) => {
                fetched += 1;
                cold.fetch().unwrap();
            }
        }
    };
    // The index of the first segment, and its headers.
    assert_eq!((fetched, extents[0].segment().base()), (2, 0));
    let extent = &extents[0];
    storage.evict();
    assert!(!extent.is_resident());
    let mut bytes = Vec::new();
    let Answer::Cold(cold) = extent.read_into(&mut bytes).unwrap() else {
        panic!("it was evicted");
    };
    assert!(bytes.is_empty());
    cold.fetch().unwrap();
    assert!(extent.is_resident());
    assert!(extent.read_into(&mut bytes).unwrap().ready().is_some());
    storage.evict();
    extent.fetch_checked().unwrap();
}

/// A closed log with three segments, some of whose bytes the checkpoint covers and some not.
fn example() -> Simulated {
    let storage = Simulated::new();
    let (log, _) = open(&storage, small());
    append_numbers(&log, 0..20);
    log.checkpoint().unwrap();
    append_numbers(&log, 20..28);
    assert_eq!(log.segments().len(), 3);
    storage.power_cut(Loss::None)
}

/// Opens a damaged log and reads it record by record: what comes out is what was written, or an error.
fn read_damaged(storage: &Simulated, expected: &[(u64, Plain)], story: &str) {
    let log = match try_open(storage, small()) {
        Ok((log, _)) => log,
        Err(Error::Corrupt { .. } | Error::FutureVersion { .. } | Error::Foreign { .. }) => return,
        Err(error) => panic!("{story}: {error}"),
    };
    for offset in log.start()..log.end() {
        let extents = match log.read_blocking(offset..offset + 1, 1) {
            Ok(extents) => extents,
            Err(Error::Corrupt { .. } | Error::Missing { .. }) => continue,
            Err(error) => panic!("{story}: {error}"),
        };
        if extents[0].fetch_checked().is_err() {
            continue;
        }
        for (at, record) in records(&log, offset..offset + 1) {
            assert!(expected.contains(&(at, record)), "{story}: offset {at}");
        }
    }
    // Later records do not take the offsets of durable ones.
    assert!(log.end() >= 20, "{story}: {}", log.end());
}

#[test]
fn a_flipped_bit_anywhere_never_yields_a_wrong_record() {
    let whole = example();
    let expected = all(&open(&whole.power_cut(Loss::None), small()).0);
    assert_eq!(expected.len(), 28);
    let mut flips = 0;
    for (path, bytes) in whole.files() {
        for bit in (0..bytes.len() * 8).filter(|bit| bit % 5 == 0) {
            let storage = whole.power_cut(Loss::None);
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            storage.put(&path, flipped);
            read_damaged(&storage, &expected, &format!("{} bit {bit}", path.display()));
            flips += 1;
        }
    }
    assert!(flips > 3000, "{flips}");
}

#[test]
fn a_file_cut_anywhere_or_gone_never_yields_a_wrong_record() {
    let whole = example();
    let expected = all(&open(&whole.power_cut(Loss::None), small()).0);
    for (path, bytes) in whole.files() {
        for length in (0..bytes.len()).step_by(5) {
            let storage = whole.power_cut(Loss::None);
            storage.put(&path, bytes[..length].to_vec());
            read_damaged(
                &storage,
                &expected,
                &format!("{} cut at {length}", path.display()),
            );
        }
        let storage = whole.power_cut(Loss::None);
        log::storage::Storage::remove(&storage, &path).unwrap();
        read_damaged(&storage, &expected, &format!("{} removed", path.display()));
    }
}

#[test]
fn damage_before_the_checkpoint_is_reported_and_not_cut() {
    let storage = example();
    let path = PathBuf::from("/log/00000000000000000000.log");
    let bytes = storage.files()[&path].clone();
    storage.put(&path, bytes[..500].to_vec());
    let (log, recovery) = open(&storage, small());
    assert_eq!(recovery.damage.len(), 1, "{recovery:?}");
    assert!(matches!(recovery.damage[0].reason, Fault::Short { .. }));
    let lost = recovery.missing[0].clone();
    assert!(recovery.cuts.is_empty() && lost.start > 0 && lost.end == log.segments()[1].base());
    assert_eq!(storage.files()[&path].len(), 500);
    assert_eq!(records(&log, 0..lost.start).len() as u64, lost.start);
    let error = log.read_blocking(lost.start..lost.end, 100).unwrap_err();
    assert!(
        matches!(error, Error::Missing { from, to } if from == lost.start && to == lost.end),
        "{error}"
    );
    assert_eq!(records(&log, lost.end..28).len() as u64, 28 - lost.end);
}

#[test]
fn whole_batches_behind_damage_are_kept_beside() {
    let storage = Simulated::new();
    let (log, _) = open(&storage, Options::default());
    append_numbers(&log, 0..10);
    let path = log.segments()[0].path().to_owned();
    drop(log);
    let mut bytes = storage.files()[&path].clone();
    bytes[150] ^= 1;
    storage.put(&path, bytes.clone());
    let (log, recovery) = open(&storage, Options::default());
    let cut = &recovery.cuts[0];
    let kept = cut.kept.as_ref().unwrap();
    assert!(
        kept.ends_with("00000000000000000000.log.cut"),
        "{}",
        kept.display()
    );
    assert_eq!(storage.files()[kept], bytes[cut.position as usize..]);
    assert!(log.end() < 10);
}

#[test]
fn folders_of_others_are_refused() {
    let storage = Simulated::new();
    drop(open(&storage, small()));
    storage.put(&PathBuf::from("/log/checkpoint"), b"hikyaku-log 7\n".to_vec());
    let error = try_open(&storage, small()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("/log/checkpoint has format version 7; this version reads up to 1"),
        "{text}"
    );
    let storage = Simulated::new();
    drop(open(&storage, small()));
    log::storage::Storage::remove(&storage, &PathBuf::from("/log/checkpoint")).unwrap();
    let path = PathBuf::from("/log/00000000000000000000.log");
    storage.put(&path, "some other program's log\n".repeat(10).into_bytes());
    let error = try_open(&storage, small()).unwrap_err();
    assert!(matches!(error, Error::Foreign { .. }), "{error}");
    assert_eq!(storage.files()[&path].len(), 250, "it is not touched");
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error() {
    let folder = Folder::new();
    let path = folder.path().join("file");
    std::fs::write(&path, "").unwrap();
    let error = Log::open(path.join("log"), Options::default()).unwrap_err();
    assert!(error.to_string().contains("cannot create the folder"), "{error}");
    let error = Log::open(&path, Options::default()).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
}

#[test]
fn a_log_whose_folder_vanishes_goes_on_with_what_is_open() {
    let folder = Folder::new();
    let path = folder.path().join("log");
    let (log, _) = Log::open(&path, small()).unwrap();
    append_numbers(&log, 0..3);
    std::fs::remove_dir_all(&path).unwrap();
    assert_eq!(all(&log).len(), 3);
    let error = append(&log, &[plain("key", &"v".repeat(900))], 0).unwrap_err();
    assert!(matches!(error, Error::Io { doing: "create", .. }), "{error}");
    assert!(log.checkpoint().is_err());
}

#[test]
fn a_link_in_place_of_a_segment_is_not_followed() {
    let folder = Folder::new();
    let (log, _) = Log::open(folder.path(), small()).unwrap();
    append_numbers(&log, 0..3);
    let path = log.segments()[0].path().to_owned();
    log.close().unwrap();
    drop(log);
    let elsewhere = folder.path().join("elsewhere");
    std::fs::rename(&path, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    let error = Log::open(folder.path(), small()).unwrap_err();
    assert!(matches!(error, Error::Io { doing: "open", .. }), "{error}");
}

#[test]
fn impossible_options_are_refused() {
    let mut options = Options::default();
    options.segment_bytes = u64::MAX;
    let error = try_open(&Simulated::new(), options).unwrap_err();
    assert!(error.to_string().starts_with("segment_bytes: "), "{error}");
}
