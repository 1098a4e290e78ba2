//! A process that writes to a store is killed at random points; every write that it reported must be there afterwards.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::future::Future;
use std::io::{BufRead, BufReader, Write};
use std::pin::pin;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use kv::{Committed, Decision, Engine, New, Now, Store, StoreError};

const NOW: Now = Now(1_700_000_000);
/// The variable that makes a process of this test the one that writes.
const WRITER: &str = "KILLS_WRITER_URI";
const KEYS: u64 = 200;
const ROUNDS: u64 = 12;

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn wait(committed: Committed) -> Result<(), StoreError> {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut committed = pin!(committed);
    loop {
        match committed.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => return result,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// The value of the write with this number; none is a deletion. Small records are copied into mapped files, and some are so large
/// that they are written.
fn value(number: u64) -> Option<Vec<u8>> {
    let large = if number.is_multiple_of(11) { 16 } else { 1 };
    let length = large * (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54);
    (!number.is_multiple_of(7))
        .then(|| [&number.to_be_bytes()[..], &vec![number as u8; length as usize]].concat())
}

fn key(number: u64) -> Vec<u8> {
    format!("key-{}", number.wrapping_mul(31) % KEYS).into_bytes()
}

/// Writes from a number on until it is killed, and reports each write that was acknowledged.
fn write(uri: &str) {
    let (store, _) = Store::open(uri).unwrap();
    let first: u64 = std::env::var("KILLS_FIRST").unwrap().parse().unwrap();
    let mut out = std::io::stdout().lock();
    for number in first.. {
        let new = value(number);
        let parts = [new.as_deref().unwrap_or_default()];
        let decision = match new {
            Some(_) => Decision::Put(New::new(&parts)),
            None => Decision::Remove,
        };
        let stored = store.update(&store.key(&key(number)), NOW, |_| (decision, ()));
        let commit = stored.unwrap().ready().unwrap().commit;
        store.begin_commit();
        wait(store.committed(commit)).unwrap();
        writeln!(out, "acknowledged {number}").unwrap();
        out.flush().unwrap();
    }
}

/// Starts a writer, kills it after some writes, and returns the number of the last one that it reported.
fn kill_a_writer(uri: &str, first: u64, writes: u64) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kills", "--nocapture"])
        .env(WRITER, uri)
        .env("KILLS_FIRST", first.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let number = |line: String| line.strip_prefix("acknowledged ")?.parse::<u64>().ok();
    let mut last = first - 1;
    for line in lines.by_ref().map(Result::unwrap) {
        last = number(line).unwrap_or(last);
        if last >= first + writes {
            break;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // What it had reported before it died counts, too. The last line may be cut short.
    lines
        .map_while(Result::ok)
        .filter_map(number)
        .fold(last, u64::max)
}

/// Compares the store with the writes up to the last one reported. One more may have been done.
fn check(uri: &str, last: u64) {
    let (store, _) = Store::open(uri).unwrap();
    let mut newest = BTreeMap::new();
    for number in 1..=last {
        newest.insert(key(number), number);
    }
    for (key, number) in newest {
        let read = store.read(&store.key(&key), NOW, |entry| {
            entry.map(|entry| entry.bytes().to_vec())
        });
        let read = read.unwrap().ready().unwrap();
        let next = last + 1;
        let unreported = self::key(next) == key && read == value(next);
        assert!(
            unreported || read == value(number),
            "write {number} of {last} is lost"
        );
    }
}

fn kill_often(sync: &str) {
    let folder = std::env::temp_dir().join(format!("hikyaku-kills-{}-{sync}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let uri = format!("hash:{}?sync={sync}&partitions=3", folder.display());
    let mut last = 0;
    for round in 0..ROUNDS {
        last = kill_a_writer(&uri, last + 1, 1 + round * round * 7 % 300);
        check(&uri, last);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn kills() {
    match std::env::var(WRITER) {
        Ok(uri) => write(&uri),
        Err(_) => ["none", "interval", "commit"].into_iter().for_each(kill_often),
    }
}
