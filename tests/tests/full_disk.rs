//! Hash stores on a device that is full, read-only, or taken away.
//!
//! Small file systems are mounted for this, which needs the rights of root. Without them, the tests say so and check nothing.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use hikyaku_tests::{Connection, Daemon, Folder, PATIENCE, Signal, Tool, executable};

const VALUE_BYTES: usize = 60_000;

/// A file system of 32 MiB in memory.
struct Disk {
    folder: Folder,
}

impl Disk {
    /// Nothing if this process may not mount any.
    fn mount() -> Option<Disk> {
        let disk = Disk {
            folder: Folder::new(),
        };
        std::fs::create_dir(disk.path()).expect("the folder is new");
        let ran = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=32m", "tmpfs"])
            .arg(disk.path())
            .output();
        match ran {
            Ok(output) if output.status.success() => Some(disk),
            other => {
                eprintln!(
                    "NOT TESTED: a file system cannot be mounted, which needs the rights of root: {other:?}"
                );
                None
            }
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path("disk")
    }

    fn ballast(&self) -> PathBuf {
        self.path().join("ballast")
    }

    /// Takes all the room that is left.
    fn fill(&self) {
        let mut file = std::fs::File::options()
            .create(true)
            .append(true)
            .open(self.ballast())
            .expect("a file");
        for size in [1 << 20, 4096, 1] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
    }

    fn remount(&self, how: &str) {
        let option = format!("remount,{how}");
        let status = Command::new("mount")
            .args(["-o", &option])
            .arg(self.path())
            .status()
            .expect("mount runs");
        assert!(status.success());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Nothing may be mounted there.
        let _ = Command::new("umount").arg("-l").arg(self.path()).output();
    }
}

fn arguments(data: &std::path::Path) -> Vec<String> {
    let data = data.to_str().expect("the path is UTF-8");
    [
        "--memcached",
        "127.0.0.1:0",
        "--store",
        "default=hash:kept?partitions=2",
        "--data",
        data,
    ]
    .map(str::to_owned)
    .to_vec()
}

fn value(number: u32) -> String {
    format!("{number:VALUE_BYTES$}")
}

fn set(connection: &mut Connection, key: &str, value: &str) -> String {
    connection.send(format!("set {key} 0 0 {}\r\n{value}\r\n", value.len()));
    connection.line()
}

#[track_caller]
fn assert_there(connection: &mut Connection, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let mut reply = format!("VALUE key-{number} 0 {VALUE_BYTES}\r\n");
        write!(reply, "{}\r\nEND\r\n", value(number)).expect("a string takes it");
        connection.exchange(format!("get key-{number}\r\n"), reply);
    }
}

/// Sets until the reply is the expected one.
#[track_caller]
fn assert_becomes(connection: &mut Connection, expected: &str) {
    let began = Instant::now();
    loop {
        let reply = set(connection, "small", "1");
        if reply.starts_with(expected) {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{reply:?} and not {expected:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn cas(connection: &mut Connection, key: &str) -> String {
    connection.send(format!("mg {key} c\r\n"));
    connection.line()
}

#[test]
fn a_store_on_a_full_disk_starts_and_serves_reads() {
    let Some(disk) = Disk::mount() else { return };
    let daemon = Daemon::start(&arguments(&disk.path()));
    let mut connection = daemon.connect();
    let first = cas_after_set(&mut connection);
    let mut stored = 0;
    let refusal = loop {
        let reply = set(&mut connection, &format!("key-{stored}"), &value(stored));
        if !reply.starts_with("STORED") {
            break reply;
        }
        stored += 1;
        assert!(stored < 2000, "the disk is never full");
    };
    assert!(
        refusal.starts_with("SERVER_ERROR") && refusal.contains("full"),
        "{refusal}"
    );
    assert!(stored > 200, "{stored}");
    disk.fill();
    // A refused overwrite leaves the old value.
    let refused = set(&mut connection, "key-0", &value(9_999));
    assert!(refused.starts_with("SERVER_ERROR"), "{refused}");
    assert_there(&mut connection, 0..stored);

    // Once stopped in order, and once killed.
    daemon.signal(Signal::Terminate);
    assert!(daemon.ended().0.success());
    for _ in 0..2 {
        disk.fill();
        let daemon = Daemon::start(&arguments(&disk.path()));
        let mut connection = daemon.connect();
        assert_there(&mut connection, 0..stored);
        let refused = set(&mut connection, "small", "1");
        assert!(
            refused.starts_with("SERVER_ERROR") && refused.contains("full"),
            "{refused}"
        );
        connection.exchange("mn\r\n", "MN\r\n");
    }

    disk.fill();
    let daemon = Daemon::start(&arguments(&disk.path()));
    let mut connection = daemon.connect();
    assert!(set(&mut connection, "small", "1").starts_with("SERVER_ERROR"));
    std::fs::remove_file(disk.ballast()).expect("the ballast is there");
    assert_becomes(&mut connection, "STORED");
    assert_ne!(cas(&mut connection, "small"), first, "a CAS is given out once");
    assert_there(&mut connection, 0..stored);
}

fn cas_after_set(connection: &mut Connection) -> String {
    assert!(set(connection, "small", "0").starts_with("STORED"));
    cas(connection, "small")
}

#[test]
fn a_disk_that_has_room_again_takes_writes_again() {
    let Some(disk) = Disk::mount() else { return };
    let daemon = Daemon::start(&arguments(&disk.path()));
    let mut connection = daemon.connect();
    assert!(set(&mut connection, "key-0", &value(0)).starts_with("STORED"));
    disk.fill();
    // Segments have allocated space ahead.
    let mut number = 1;
    while set(&mut connection, &format!("key-{number}"), &value(number)).starts_with("STORED") {
        number += 1;
    }
    assert_there(&mut connection, 0..number);
    std::fs::remove_file(disk.ballast()).expect("the ballast is there");
    assert!(set(&mut connection, &format!("key-{number}"), &value(number)).starts_with("STORED"));
    assert_there(&mut connection, 0..number + 1);
}

#[test]
fn a_read_only_folder_is_refused_at_the_start_with_a_remedy() {
    let Some(disk) = Disk::mount() else { return };
    let daemon = Daemon::start(&arguments(&disk.path()));
    assert!(set(&mut daemon.connect(), "key", "1").starts_with("STORED"));
    daemon.signal(Signal::Terminate);
    assert!(daemon.ended().0.success());
    disk.remount("ro");
    let ran = Tool::new(executable())
        .arg("serve")
        .args(arguments(&disk.path()))
        .run();
    assert!(!ran.status.success());
    for part in ["kept", "Read-only file system", "make the folder writable"] {
        assert!(ran.errors.contains(part), "{}", ran.errors);
    }
    disk.remount("rw");
    Daemon::start(&arguments(&disk.path()))
        .connect()
        .exchange("get key\r\n", "VALUE key 0 1\r\n1\r\nEND\r\n");
}

/// Files whose folder is gone can still be written to: such writes must not be acknowledged for long.
#[test]
fn writes_are_refused_once_the_folder_has_vanished() {
    let folder = Folder::new();
    let daemon = Daemon::start(&arguments(&folder.path("data")));
    let mut connection = daemon.connect();
    assert!(set(&mut connection, "key-0", &value(0)).starts_with("STORED"));
    std::fs::remove_dir_all(folder.path("data/kept")).expect("the store is there");
    assert_becomes(&mut connection, "SERVER_ERROR");
    assert_there(&mut connection, 0..1);
    drop(connection);
    daemon.signal(Signal::Terminate);
    let (_, errors) = daemon.ended();
    assert!(
        errors.contains("kept") && errors.contains("refuses writes"),
        "{errors}"
    );
}
