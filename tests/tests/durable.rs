//! Stores that survive their daemon.

use std::fmt::Write;

use hikyaku_tests::{Daemon, Folder, Tool, executable};

const ROUNDS: u32 = 4;
const SETS: u32 = 64;

/// A daemon with a store in this folder.
fn start(folder: &Folder, engine: &str, sync: &str) -> Daemon {
    let data = folder.path("data");
    let store = format!("default={engine}:kept?sync={sync}");
    Daemon::start(&[
        "--memcached",
        "127.0.0.1:0",
        "--store",
        &store,
        "--data",
        data.to_str().expect("the path is UTF-8"),
    ])
}

/// Dropping a daemon kills it. Sets arrive in one piece, and their replies leave before it is killed.
fn every_acknowledged_set_is_there_after_a_kill(sync: &str) {
    for engine in ["hash", "tree"] {
        check_kills(engine, sync);
    }
}

fn check_kills(engine: &str, sync: &str) {
    let folder = Folder::new();
    for round in 0..ROUNDS {
        let daemon = start(&folder, engine, sync);
        let mut connection = daemon.connect();
        let (mut reads, mut values) = (String::from("get"), String::new());
        for number in 0..SETS {
            let value = round.wrapping_sub(1);
            write!(reads, " key-{number}").expect("a string takes it");
            write!(values, "VALUE key-{number} {number} 10\r\n{value:010}\r\n").expect("a string takes it");
        }
        reads.push_str("\r\n");
        let expected = if round == 0 {
            "END\r\n".to_owned()
        } else {
            values + "END\r\n"
        };
        connection.exchange(reads, expected);
        let sets = (0..SETS).map(|number| format!("set key-{number} {number} 0 10\r\n{round:010}\r\n"));
        connection.exchange(sets.collect::<String>(), "STORED\r\n".repeat(SETS as usize));
    }
}

#[test]
fn acknowledged_sets_survive_kills_without_syncs() {
    every_acknowledged_set_is_there_after_a_kill("none");
}

#[test]
fn acknowledged_sets_survive_kills_with_syncs_now_and_then() {
    every_acknowledged_set_is_there_after_a_kill("interval");
}

#[test]
fn acknowledged_sets_survive_kills_with_commits() {
    every_acknowledged_set_is_there_after_a_kill("commit");
}

/// Each start reads a snapshot of the index that is some milliseconds old.
#[test]
fn acknowledged_sets_survive_kills_between_snapshots() {
    check_kills("hash", "none&index_snapshot=5ms");
}

#[test]
fn a_second_daemon_on_the_folder_is_refused() {
    for engine in ["hash", "tree"] {
        let folder = Folder::new();
        let daemon = start(&folder, engine, "interval");
        let store = format!("default={engine}:kept");
        let second = Tool::new(executable())
            .args(["serve", "--memcached", "127.0.0.1:0", "--store", &store, "--data"])
            .arg(folder.path("data"));
        let ran = second.run();
        assert!(!ran.status.success());
        let holder = format!("in use by process {}", daemon.pid());
        assert!(ran.errors.contains(&holder), "{}", ran.errors);
        daemon.assert_serves();
    }
}
