//! Appends, syncs, reads and compactions at the same time, on the disk; and a process that is killed.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;

use common::*;
use log::batch::Batches;
use log::{Compaction, Log, Options};

const APPENDERS: u64 = 2;
const APPENDS: u64 = 400;

#[test]
fn appends_syncs_reads_and_compaction_do_not_disturb_each_other() {
    let folder = Folder::new();
    let mut options = Options::default();
    options.segment_bytes = 20_000;
    let (log, _) = Log::open(folder.path(), options).unwrap();
    let done = AtomicBool::new(false);
    scope(|scope| {
        let appenders: Vec<_> = (0..APPENDERS)
            .map(|thread| {
                let log = &log;
                scope.spawn(move || {
                    for number in 0..APPENDS {
                        // Half of the keys are overwritten.
                        let key = format!("{thread} {}", number % (APPENDS / 2));
                        append(log, &[plain(&key, &number.to_string())], 0).unwrap();
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let synced = log.sync().unwrap();
                assert!(synced <= log.end());
                log.checkpoint().unwrap();
            }
        });
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                log.compact(Compaction::at(0), &mut |_| {}).unwrap();
            }
        });
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let end = log.end();
                let mut next = 0;
                while next < end {
                    for extent in log.read_blocking(next..end, 10_000).unwrap() {
                        let mut bytes = Vec::new();
                        extent.read_into_blocking(&mut bytes).unwrap();
                        Batches::new(&bytes).for_each(|batch| next = batch.unwrap().header().end_offset());
                    }
                }
            }
        });
        appenders
            .into_iter()
            .for_each(|appender| appender.join().unwrap());
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(log.end(), APPENDERS * APPENDS);
    log.roll().unwrap();
    log.compact(Compaction::at(0), &mut |_| {}).unwrap();
    let records = all(&log);
    for thread in 0..APPENDERS {
        for number in APPENDS / 2..APPENDS {
            let record = plain(
                &format!("{thread} {}", number % (APPENDS / 2)),
                &number.to_string(),
            );
            assert!(records.iter().any(|(_, found)| *found == record), "{record:?}");
        }
    }
}

/// The name of the variable that makes this test's program the process to be killed.
const CHILD: &str = "HIKYAKU_LOG_TEST_CHILD";

/// Appends and tells each offset, until it is killed.
#[test]
fn child_that_is_killed() {
    let Some(folder) = std::env::var_os(CHILD) else {
        return;
    };
    let (log, recovery) = Log::open(&folder, small()).unwrap();
    assert!(
        recovery.missing.is_empty() && recovery.damage.is_empty(),
        "{recovery:?}"
    );
    let mut out = std::io::stdout();
    loop {
        let offset = log.end();
        append(&log, &[plain("key", &offset.to_string())], 0).unwrap();
        writeln!(out, "offset {offset}").unwrap();
        if offset % 50 == 0 {
            log.checkpoint().unwrap();
        }
    }
}

#[test]
fn a_process_killed_at_any_time_loses_nothing_that_it_acknowledged() {
    const KILLS: u64 = 20;
    let folder = Folder::new();
    let mut random = Random::new(3);
    for _ in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_that_is_killed", "--nocapture"])
            .env(CHILD, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut acknowledged = None;
        let mut left = 1 + random.below(300);
        for line in lines {
            // The first one may follow the name of the test.
            let Some((_, offset)) = line
                .as_ref()
                .unwrap()
                .split_once("offset ")
                .map(|(a, b)| (a, b.to_owned()))
            else {
                continue;
            };
            acknowledged = Some(offset.parse::<u64>().unwrap());
            left = left.saturating_sub(1);
            if left == 0 {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        let (log, recovery) = Log::open(folder.path(), small()).unwrap();
        assert!(
            recovery.missing.is_empty() && recovery.damage.is_empty(),
            "{recovery:?}"
        );
        assert!(
            log.end() > acknowledged.unwrap(),
            "{} {acknowledged:?}",
            log.end()
        );
        let expected: Vec<(u64, Plain)> = (0..log.end())
            .map(|offset| (offset, plain("key", &offset.to_string())))
            .collect();
        assert_eq!(all(&log), expected);
    }
}
