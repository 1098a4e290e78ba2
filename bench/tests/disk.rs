//! `disk` as one runs it: the report, folders that cannot be used, and an interrupt.

use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn disk(options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hikyaku-bench"));
    command.arg("disk").args(options);
    command
}

fn run(options: &[&str]) -> Output {
    disk(options).output().expect("the program starts")
}

/// An empty folder.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir(&path).expect("a folder");
    path
}

fn entries(path: &Path) -> usize {
    fs::read_dir(path).expect("readable").count()
}

#[test]
fn json_has_every_row_and_a_verdict() {
    let folder = folder("disk-json");
    let output = run(&[
        "--json",
        "--seconds",
        "1",
        "--dir",
        folder.to_str().expect("UTF-8"),
    ]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
    assert_eq!(entries(&folder), 0, "the files are removed");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = |table: &str| report[table].as_array().expect("rows").clone();
    for row in rows("latency") {
        let measured = row["p50_us"].is_f64() && row["per_second"].as_f64().is_some_and(|rate| rate > 0.0);
        assert!(measured != row["reason"].is_string(), "{row}");
    }
    let writers: Vec<_> = rows("group_commit")
        .iter()
        .map(|row| row["writers"].as_u64())
        .collect();
    assert_eq!(writers, [1, 2, 4, 8, 16, 32, 64].map(Some));
    let cells = rows("files");
    assert_eq!(
        (
            cells.len(),
            cells[0]["bytes"].as_u64(),
            cells[14]["files"].as_u64()
        ),
        (15, Some(1), Some(40))
    );
    for row in rows("group_commit").iter().chain(&cells) {
        let order: Vec<f64> = ["p50_us", "p90_us", "p99_us", "p999_us", "max_us"]
            .iter()
            .map(|name| row[name].as_f64().expect("a percentile"))
            .collect();
        assert!(order[0] > 0.0 && order.is_sorted(), "{row}");
    }
    let verdict = &report["verdict"];
    let named: Vec<_> = verdict["each"]
        .as_array()
        .expect("each")
        .iter()
        .map(|each| each["sync"].as_str())
        .collect();
    assert_eq!(named, ["none", "interval", "commit"].map(Some));
    assert!(named.contains(&verdict["sync"].as_str()), "{verdict}");
}

#[test]
fn the_text_ends_with_the_verdict() {
    let folder = folder("disk-text");
    let output = run(&["--seconds", "1", "--dir", folder.to_str().expect("UTF-8")]);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    for part in [
        "write 4 KiB, fdatasync",
        "  64 writers, ",
        "  10 KiB to each of 40 files",
        "This disk affords sync=",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn folders_that_cannot_be_used_are_named() {
    let file = folder("disk-file").join("file");
    fs::write(&file, "").expect("a file");
    for (dir, reason) in [
        ("/nonexistent", "No such file or directory"),
        (file.to_str().expect("UTF-8"), "Not a directory"),
    ] {
        let output = run(&["--dir", dir]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.starts_with("hikyaku bench: cannot write") && said.contains(dir) && said.contains(reason),
            "{said}"
        );
    }
}

/// Runs a script in which `$1` is the program and `$2` a folder where a small file system can be mounted.
fn in_mount_namespace(name: &str, script: &str) -> Output {
    let program = env!("CARGO_BIN_EXE_hikyaku-bench");
    // Root may mount; other users may do so as root of a namespace of their own.
    let root = fs::metadata("/proc/self").expect("this process").uid() == 0;
    let own: &[&str] = if root { &[] } else { &["--user", "--map-root-user"] };
    let rest = ["--mount", "sh", "-e", "-c", script, "sh", program];
    Command::new("unshare")
        .args(own)
        .args(rest)
        .arg(folder(name))
        .output()
        .expect("unshare(1) of util-linux")
}

#[test]
fn a_full_disk_is_an_error_and_nothing_is_left() {
    let script =
        "mount -t tmpfs -o size=1m none \"$2\"; cd \"$2\"; \"$1\" disk || echo \"status $?, left: $(ls -A)\"";
    let output = in_mount_namespace("disk-full", script);
    let (said, printed) = (
        String::from_utf8_lossy(&output.stderr),
        String::from_utf8_lossy(&output.stdout),
    );
    assert!(
        said.contains("cannot write")
            && said.contains("No space left on device (os error 28); free 150 MiB there"),
        "{said}"
    );
    assert_eq!(printed, "status 1, left: \n");
}

#[test]
fn a_read_only_disk_is_an_error() {
    let script = "mount -t tmpfs -o ro none \"$2\"; \"$1\" disk --dir \"$2\"";
    let output = in_mount_namespace("disk-read-only", script);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("cannot write") && said.contains("Read-only file system"),
        "{said}"
    );
}

#[test]
fn an_interrupt_removes_the_files() {
    for (signal, status) in [("INT", 130), ("TERM", 143)] {
        let folder = folder(&format!("disk-{signal}"));
        // Whoever runs the tests in the background may ignore SIGINT, and a program that is started so goes on ignoring it.
        let mut child = Command::new("env")
            .args([
                "--default-signal=INT,TERM",
                env!("CARGO_BIN_EXE_hikyaku-bench"),
                "disk",
            ])
            .args(["--seconds", "600", "--dir", folder.to_str().expect("UTF-8")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        while entries(&folder) == 0 {
            assert!(child.try_wait().expect("a child").is_none(), "it runs");
            std::thread::yield_now();
        }
        // timeout(1) sends its signal twice.
        let number = child.id().to_string();
        let kill = Command::new("kill")
            .args(["-s", signal, &number, &number])
            .status();
        assert!(kill.expect("kill(1)").success());
        assert_eq!(child.wait().expect("a child").code(), Some(status), "{signal}");
        assert_eq!(entries(&folder), 0, "{signal}: the files are removed");
    }
}

#[test]
fn wrong_times_are_refused() {
    let output = run(&["--seconds", "0"]);
    assert_eq!(output.status.code(), Some(2));
}
