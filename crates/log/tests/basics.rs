//! Appending, reading and opening again, on the disk.
#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use log::batch::{Batch, Batches};
use log::{Answer, Error, Log, Options};

#[test]
fn what_is_appended_is_read() {
    let folder = Folder::new();
    let (log, recovery) = Log::open(folder.path(), Options::default()).unwrap();
    assert!(recovery.created && !recovery.clean);
    assert_eq!((log.start(), log.end(), log.synced()), (0, 0, 0));
    let first = batch(&[plain("a", "1"), plain("b", "2")], 5);
    let second = batch(&[plain("c", "3")], 6);
    let batches = [Batch::parse(&first).unwrap(), Batch::parse(&second).unwrap()];
    let appended = log.append(&batches, 10).unwrap();
    assert_eq!(
        (appended.base_offset, appended.end_offset, appended.position),
        (0, 3, 0)
    );
    assert_eq!(appended.bytes, (first.len() + second.len()) as u64);
    assert_eq!(append_value(&log, "4"), 3);
    assert_eq!(log.end(), 4);
    assert_eq!(log.synced(), 0);
    assert_eq!(log.sync().unwrap(), 4);
    assert_eq!(log.synced(), 4);
    let expected = [
        (0, plain("a", "1")),
        (1, plain("b", "2")),
        (2, plain("c", "3")),
        (3, plain("key", "4")),
    ];
    assert_eq!(all(&log), expected);
    // Within a batch, the whole batch comes.
    let Answer::Ready(extents) = log.read(1..2, 1).unwrap() else {
        panic!("it was just written");
    };
    assert_eq!(
        (extents[0].position(), extents[0].bytes()),
        (0, first.len() as u64)
    );
}

#[test]
fn figures_begin_with_the_opening() {
    let folder = Folder::new();
    let (log, _) = Log::open(folder.path(), small()).unwrap();
    append_value(&log, "before");
    log.close().unwrap();
    drop(log);
    let (log, _) = Log::open(folder.path(), small()).unwrap();
    assert_eq!(log.activity(), log::Activity::default());
    let before = log.bytes();
    for number in 0..40 {
        append_value(&log, &number.to_string());
    }
    assert!(log.segments().len() > 1, "the appends span segments");
    let activity = log.activity();
    assert_eq!(
        (activity.appended_records, activity.appended_bytes),
        (40, log.bytes() - before)
    );
    assert_eq!((activity.synced_records, activity.syncs), (0, 0));
    log.sync().unwrap();
    let activity = log.activity();
    assert_eq!(activity.synced_records, 40);
    assert_eq!(activity.syncs, log.segments().len() as u64);
    assert!(activity.sync_longest >= activity.sync_last && !activity.sync_last.is_zero());
}

#[test]
fn bytes_other_than_offset_and_epoch_stay_as_they_came() {
    let folder = Folder::new();
    let (log, _) = Log::open(folder.path(), Options::default()).unwrap();
    append_value(&log, "0");
    let bytes = batch(&[plain("a", "1")], 5);
    let appended = log.append(&[Batch::parse(&bytes).unwrap()], 0).unwrap();
    let extent = &log.read_blocking(1..2, 1 << 20).unwrap()[0];
    let mapped = extent.map().unwrap();
    mapped.populate().unwrap();
    assert_eq!(mapped[16..], bytes[16..]);
    assert_eq!(mapped[..8], appended.base_offset.to_be_bytes());
    assert_eq!(mapped[12..16], [0; 4]);
    assert_eq!(extent.position(), appended.position);
    let file = extent.system_file().unwrap().unwrap();
    assert_eq!(file.metadata().unwrap().len(), extent.position() + extent.bytes());
}

#[test]
fn segments_roll_by_size_and_age_and_reads_span_them() {
    let folder = Folder::new();
    let mut options = small();
    options.segment_age_ms = Some(100);
    let (log, _) = Log::open(folder.path(), options).unwrap();
    for number in 0..50 {
        append_value(&log, &number.to_string().repeat(10));
    }
    let by_size = log.segments().len();
    assert!(by_size >= 5, "{by_size}");
    assert!(log.segments().iter().all(|segment| segment.bytes() <= 1000));
    append(&log, &[plain("k", "v")], 100).unwrap();
    assert_eq!(
        log.segments().len(),
        by_size,
        "the first append of the segment was at 1"
    );
    append(&log, &[plain("k", "v")], 101).unwrap();
    assert_eq!(log.segments().len(), by_size + 1);
    assert_eq!(all(&log).len(), 52);
    let extents = log.read_blocking(0..52, u64::MAX).unwrap();
    assert_eq!(extents.len(), by_size + 1);
    assert_eq!(
        extents.iter().map(|extent| extent.bytes()).sum::<u64>(),
        log.bytes()
    );
    let limited = log.read_blocking(0..30, u64::MAX).unwrap();
    let mut bytes = Vec::new();
    limited
        .iter()
        .for_each(|extent| extent.read_into_blocking(&mut bytes).unwrap());
    let last = Batches::new(&bytes).last().unwrap().unwrap();
    assert_eq!(last.header().end_offset(), 30, "reads end where they are told to");
}

#[test]
fn an_append_larger_than_a_segment_gets_its_own() {
    let folder = Folder::new();
    let (log, _) = Log::open(folder.path(), small()).unwrap();
    append_value(&log, "small");
    append_value(&log, &"large".repeat(1000));
    append_value(&log, "small");
    assert_eq!(log.segments().len(), 3);
    assert_eq!(all(&log).len(), 3);
}

#[test]
fn a_closed_log_opens_without_checking_anything() {
    let folder = Folder::new();
    let (log, _) = Log::open(folder.path(), small()).unwrap();
    append_numbers(&log, 0..30);
    let before = all(&log);
    log.close().unwrap();
    drop(log);
    let (log, recovery) = Log::open(folder.path(), small()).unwrap();
    assert!(recovery.clean, "{recovery:?}");
    assert_eq!((recovery.checked_bytes, log.end(), log.synced()), (0, 30, 30));
    assert_eq!(all(&log), before);
    assert_eq!(append_value(&log, "more"), 30);
}

#[test]
fn a_killed_log_is_checked_from_its_checkpoint_on() {
    let folder = Folder::new();
    let (log, _) = Log::open(folder.path(), Options::default()).unwrap();
    append_numbers(&log, 0..30);
    log.checkpoint().unwrap();
    let before = log.bytes();
    append_numbers(&log, 30..50);
    let (expected, bytes) = (all(&log), log.bytes());
    drop(log);
    let (log, recovery) = Log::open(folder.path(), Options::default()).unwrap();
    assert!(!recovery.clean && recovery.cuts.is_empty(), "{recovery:?}");
    assert_eq!(
        (recovery.checked_bytes, recovery.checked_batches),
        (bytes - before, 20)
    );
    assert_eq!((log.end(), log.synced()), (50, 30));
    assert_eq!(all(&log), expected);
}

#[test]
fn a_torn_write_is_cut_and_reported() {
    let folder = Folder::new();
    let (log, _) = Log::open(folder.path(), Options::default()).unwrap();
    append_numbers(&log, 0..3);
    let path = log.segments()[0].path().to_owned();
    let whole = log.bytes();
    drop(log);
    let torn = batch(&[plain("torn", "write")], 1);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.truncate(whole as usize);
    bytes.extend(&torn[..torn.len() - 1]);
    std::fs::write(&path, &bytes).unwrap();
    let (log, recovery) = Log::open(folder.path(), Options::default()).unwrap();
    assert_eq!(recovery.cuts.len(), 1, "{recovery:?}");
    let cut = &recovery.cuts[0];
    assert_eq!(
        (cut.position, cut.bytes, &cut.path),
        (whole, torn.len() as u64 - 1, &path)
    );
    assert_eq!(cut.kept, None);
    assert!(cut.reason.to_string().contains("needs"), "{}", cut.reason);
    assert_eq!(log.end(), 3);
    assert_eq!(append_value(&log, "3"), 3);
    assert_eq!(all(&log).len(), 4);
}

#[test]
fn a_second_process_is_refused_and_told_which_holds_it() {
    let folder = Folder::new();
    let (log, _) = Log::open(folder.path(), Options::default()).unwrap();
    let error = Log::open(folder.path(), Options::default()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains(&format!("by process {}", std::process::id())),
        "{text}"
    );
    drop(log);
    Log::open(folder.path(), Options::default()).unwrap();
}

#[test]
fn records_are_found_by_time() {
    let folder = Folder::new();
    let (log, _) = Log::open(folder.path(), small()).unwrap();
    let times = [100, 300, 200, 400, 50, 500, 450, 600];
    for _ in 0..5 {
        for time in times {
            append(&log, &[plain("k", &"v".repeat(50)), plain("k", "later")], time).unwrap();
        }
    }
    for asked in 0..=601 {
        let expected = times
            .iter()
            .position(|&time| time >= asked)
            .map(|at| 2 * at as u64);
        let found = log.find_time_blocking(asked).unwrap();
        assert_eq!(found.map(|found| found.offset), expected, "{asked}");
    }
}

#[test]
fn offsets_outside_the_log_are_errors() {
    let folder = Folder::new();
    let (log, _) = Log::open(folder.path(), Options::default()).unwrap();
    append_value(&log, "0");
    assert!(
        log.read_blocking(1..5, 100).unwrap().is_empty(),
        "the end itself is not an error"
    );
    let error = log.read_blocking(2..5, 100).unwrap_err();
    assert!(
        matches!(
            error,
            Error::OutOfRange {
                offset: 2,
                start: 0,
                end: 1
            }
        ),
        "{error}"
    );
}

#[test]
fn preallocated_space_is_given_back() {
    use std::os::unix::fs::MetadataExt;
    let folder = Folder::new();
    let (log, _) = Log::open(folder.path(), Options::default()).unwrap();
    append_value(&log, "0");
    let path = log.segments()[0].path().to_owned();
    let allocated = || std::fs::metadata(&path).unwrap().blocks() * 512;
    assert_eq!(std::fs::metadata(&path).unwrap().len(), log.bytes());
    let before = allocated();
    log.close().unwrap();
    assert!(allocated() <= 8192, "{} of {before} bytes are left", allocated());
}

#[test]
fn scans_visit_every_batch_with_its_location() {
    let folder = Folder::new();
    let (log, _) = Log::open(folder.path(), small()).unwrap();
    append_numbers(&log, 0..40);
    let mut offsets = Vec::new();
    log.scan::<Error>(7, |location, batch| {
        let mut bytes = Vec::new();
        log.extent(location)?.read_into_blocking(&mut bytes)?;
        assert_eq!(bytes, batch.bytes());
        offsets.push(batch.header().base_offset);
        Ok(())
    })
    .unwrap();
    assert_eq!(offsets, (7..40).collect::<Vec<_>>());
}
