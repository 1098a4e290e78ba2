//! Daemons are killed under load, again and again; every acknowledged write must be there afterwards.
//!
//! ```text
//!   start ──▶ compare ──▶ writers on many connections, pipelined ──▶ kill at a random write, or in a compaction ──▶ start …
//! ```

mod model;
mod writer;

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use hikyaku_tests::{Daemon, Folder, PATIENCE, Random};

use writer::{Known, Writer};

const WRITERS: usize = 8;

/// A daemon with a store in this folder.
fn start(folder: &Folder, uri: &str) -> Daemon {
    let data = folder.path("data");
    let store = format!("default={uri}");
    Daemon::start(&[
        "--memcached",
        "127.0.0.1:0",
        "--workers",
        "2",
        "--store",
        &store,
        "--data",
        data.to_str().expect("the path is UTF-8"),
    ])
}

/// Waits until the writers have had this many commands acknowledged.
fn await_acknowledged(acknowledged: &Receiver<usize>, count: usize) {
    let mut sum = 0;
    while sum < count {
        sum += acknowledged.recv_timeout(PATIENCE).expect("writers are at work");
    }
}

/// Waits until the store compacts, which needs a second or two of writes.
fn await_compaction(daemon: &Daemon) {
    let mut connection = daemon.connect();
    let read = |statistics: std::collections::BTreeMap<String, String>| {
        statistics.get("store_compaction_bytes_read").cloned()
    };
    let Some(before) = read(connection.statistics("")) else {
        return;
    };
    let began = Instant::now();
    while read(connection.statistics("")).as_ref() == Some(&before)
        && began.elapsed() < Duration::from_secs(2)
    {}
}

/// Lets writers work until a kill.
fn kill_under_load(daemon: Daemon, writers: &mut [Writer], known: &Known, random: &mut Random) {
    let (sender, receiver) = channel();
    let address = daemon.address().to_owned();
    std::thread::scope(|scope| {
        for writer in writers {
            let (address, sender) = (&address, sender.clone());
            scope.spawn(move || writer.run(address, known, &sender));
        }
        drop(sender);
        if random.below(8) == 0 {
            await_compaction(&daemon);
        }
        await_acknowledged(&receiver, 1 + random.below(3000));
        // Dropping a daemon kills it.
        drop(daemon);
        while receiver.recv_timeout(PATIENCE).is_ok() {}
    });
}

/// Flushes everything, and kills the daemon when it was told to, or when it has answered.
fn kill_at_a_flush(daemon: Daemon, folder: &Folder, uri: &str, writers: &mut [Writer], random: &mut Random) {
    let mut connection = daemon.connect();
    let before: usize = writers.iter().map(Writer::len).sum();
    connection.send("flush_all\r\n");
    let is_acknowledged = random.below(2) == 0;
    if is_acknowledged {
        assert_eq!(connection.line(), "OK");
    }
    drop(daemon);
    let daemon = start(folder, uri);
    let left: usize = daemon.connect().statistics("")["curr_items"]
        .parse()
        .expect("a number");
    let is_whole = left == 0 || left == before && !is_acknowledged;
    assert!(is_whole, "{left} of {before} items are left by a flush");
    if left == 0 {
        writers.iter_mut().for_each(Writer::forget);
    }
}

/// Kills the daemons of a store.
fn kill_often(uri: &str, kills: usize, seed: u64) {
    let folder = Folder::new();
    let (mut random, known) = (Random::new(seed), Known::default());
    let mut writers: Vec<Writer> = (0..WRITERS).map(Writer::new).collect();
    for _ in 0..kills {
        let daemon = start(&folder, uri);
        for writer in &mut writers {
            writer.check(daemon.address());
        }
        if random.below(20) == 0 {
            kill_at_a_flush(daemon, &folder, uri, &mut writers, &mut random);
        } else {
            kill_under_load(daemon, &mut writers, &known, &mut random);
        }
    }
    let daemon = start(&folder, uri);
    writers
        .iter_mut()
        .for_each(|writer| writer.check(daemon.address()));
    let writes = known.lock().expect("no writer panics").len();
    eprintln!("{uri}: {kills} kills, {writes} acknowledged writes with a CAS");
}

const STORES: [&str; 6] = [
    "hash:kept?sync=none&partitions=1",
    "hash:kept?sync=interval",
    "hash:kept?sync=commit&partitions=3",
    "hash:kept?sync=interval&partitions=2&preallocate=false",
    "tree:kept?sync=interval",
    "tree:kept?sync=commit&compression=lz4",
];

#[test]
fn acknowledged_writes_survive_kills() {
    for (uri, seed) in STORES.into_iter().zip(1..) {
        kill_often(uri, 4, seed);
    }
}

/// The memory engine forgets, so this shows that the comparison notices it.
#[test]
#[should_panic(expected = "there is")]
fn a_store_that_forgets_is_noticed() {
    kill_often("memory:?capacity=64MiB", 3, 1);
}

/// The number of kills is in `KILLS`, for all stores together.
#[test]
#[ignore = "takes ten minutes"]
fn acknowledged_writes_survive_a_thousand_kills() {
    let kills: usize = std::env::var("KILLS").map_or(1000, |text| text.parse().expect("a number"));
    for (uri, seed) in STORES.into_iter().zip(100..) {
        kill_often(uri, kills.div_ceil(STORES.len()), seed);
    }
}
