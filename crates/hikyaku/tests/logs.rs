//! `hikyaku log dump`, `verify` and `repair`, as a user runs them.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use log::batch::{Builder, NewRecord};
use log::{Log, Options};

/// A store's folder with two logs of 20 batches, removed on drop.
struct Store(PathBuf);

impl Store {
    fn new(name: &str) -> Store {
        let path = std::env::temp_dir().join(format!("hikyaku-logs-{name}-{}", std::process::id()));
        let store = Store(path);
        for partition in ["0", "1"] {
            let (log, _) = Log::open(store.0.join(partition), Options::default()).unwrap();
            let mut builder = Builder::new();
            for number in 0..20 {
                builder.clear();
                for value in ["first", "second"] {
                    let value = Some(value.as_bytes());
                    builder
                        .push(&NewRecord {
                            timestamp: number,
                            value,
                            ..NewRecord::default()
                        })
                        .unwrap();
                }
                log.append(&[builder.finish()], 0).unwrap();
            }
            log.close().unwrap();
        }
        store
    }

    fn segment(&self) -> PathBuf {
        self.0.join("0/00000000000000000000.log")
    }

    fn damage(&self, position: usize) {
        let mut bytes = std::fs::read(self.segment()).unwrap();
        bytes[position] ^= 1;
        std::fs::write(self.segment(), bytes).unwrap();
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(arguments: &[&str], path: &Path) -> Output {
    let program = env!("CARGO_BIN_EXE_hikyaku");
    Command::new(program)
        .arg("log")
        .args(arguments)
        .arg(path)
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn a_whole_store_is_dumped_and_verified() {
    let store = Store::new("whole");
    let dumped = text(&run(&["dump"], &store.0));
    assert_eq!(dumped.lines().count(), 2 * 21, "{dumped}");
    assert!(dumped.contains("offset 38 records 2 bytes "), "{dumped}");
    let dumped = text(&run(&["dump", "--json"], &store.segment()));
    let first: serde_json::Value = serde_json::from_str(dumped.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["offset"], &first["records"], &first["crc_ok"]),
        (&0.into(), &2.into(), &true.into())
    );
    let verified = run(&["verify"], &store.0);
    assert_eq!(text(&verified), "40 batches, 80 records, 0 faults\n");
    assert_eq!(verified.status.code(), Some(0));
    let repaired = run(&["repair"], &store.0);
    assert_eq!(
        (text(&repaired).as_str(), repaired.status.code()),
        ("nothing to repair\n", Some(0))
    );
}

#[test]
fn damage_is_named_and_cut_out() {
    let store = Store::new("damaged");
    store.damage(200);
    let file = store.segment();
    let verified = run(&["verify"], &store.0);
    let lines = text(&verified);
    assert!(
        lines.starts_with(&format!("{}:", file.display())) && lines.contains("CRC-32C"),
        "{lines}"
    );
    assert!(lines.ends_with("39 batches, 78 records, 1 faults\n"), "{lines}");
    assert_eq!(verified.status.code(), Some(1));
    assert!(text(&run(&["dump"], &store.0)).contains("damaged: "));
    let damaged = std::fs::read(&file).unwrap();
    let repaired = run(&["repair"], &file);
    let lines = text(&repaired);
    assert_eq!(repaired.status.code(), Some(0), "{lines}");
    let kept = format!("{}.cut", file.display());
    assert!(lines.contains("bytes cut") && lines.contains(&kept), "{lines}");
    assert_eq!(std::fs::read(&kept).unwrap(), damaged);
    let verified = run(&["verify"], &store.0);
    assert_eq!(verified.status.code(), Some(0), "{}", text(&verified));
}

#[test]
fn what_is_no_log_is_an_error() {
    let store = Store::new("errors");
    let empty = store.0.join("empty");
    std::fs::create_dir(&empty).unwrap();
    let missing = store.0.join("missing");
    for command in ["dump", "verify", "repair"] {
        let output = run(&[command], &empty);
        assert!(
            text(&output).contains("is neither a segment nor the folder of a log or a store"),
            "{}",
            text(&output)
        );
        assert_eq!(output.status.code(), Some(1));
        let output = run(&[command], &missing);
        assert!(text(&output).contains("cannot read"), "{}", text(&output));
        assert_eq!(output.status.code(), Some(1));
    }
    let alone = store.0.join("alone.log");
    std::fs::copy(store.segment(), &alone).unwrap();
    assert_eq!(
        text(&run(&["verify"], &alone)),
        "20 batches, 40 records, 0 faults\n"
    );
    let output = run(&["repair"], &alone);
    assert!(text(&output).contains("belongs to no log"), "{}", text(&output));
}

#[test]
fn a_log_in_use_is_not_repaired() {
    let store = Store::new("used");
    let (_log, _) = Log::open(store.0.join("0"), Options::default()).unwrap();
    store.damage(200);
    assert_eq!(run(&["verify"], &store.0).status.code(), Some(1));
    let output = run(&["repair"], &store.0);
    assert!(
        text(&output).contains(&format!("in use by process {}", std::process::id())),
        "{}",
        text(&output)
    );
    assert_eq!(output.status.code(), Some(1));
}
