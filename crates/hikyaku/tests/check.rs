//! `hikyaku check` against files whose every fault is known: `tests/config/NAME.toml` and `NAME.expected`.
#![allow(missing_docs)]

use std::path::Path;
use std::process::{Command, Output};

/// Runs the command in the folder of the files, so that what it prints does not depend on where that is.
fn check(file: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hikyaku"))
        .args(["check", file])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/config"))
        .output()
        .expect("the command runs")
}

#[track_caller]
fn assert_faults(name: &str, expected: &str) {
    let output = check(&format!("{name}.toml"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn every_fault_is_told_with_its_line() {
    assert_faults("bad", include_str!("config/bad.expected"));
}

#[test]
fn what_is_no_toml_is_told_line_by_line() {
    assert_faults("broken", include_str!("config/broken.expected"));
}

#[test]
fn files_that_do_not_belong_together_are_told() {
    assert_faults("tls", include_str!("config/tls.expected"));
}

#[test]
fn stores_outside_the_data_folder_or_within_each_other_are_told() {
    assert_faults("stores", include_str!("config/stores.expected"));
}

/// Once a capacity of 99 TiB passed, and `serve` refused it; nor did anything tell of folders and users that are not there.
#[test]
fn what_the_machine_cannot_give_is_told() {
    assert_faults("machine", include_str!("config/machine.expected"));
}

/// Opening a store would reserve address space for it.
#[test]
fn checking_opens_no_store() {
    let run = |command: &str| {
        let hikyaku = env!("CARGO_BIN_EXE_hikyaku");
        Command::new("sh")
            .args(["-c", &format!("ulimit -v 1000000; exec {hikyaku} {command}")])
            .output()
            .expect("the shell runs")
    };
    let folder = std::env::temp_dir().join(format!("hikyaku-check-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("hikyaku.toml");
    let config = "[store.default]\nuri = \"memory:?capacity=20GiB\"\n[[listen]]\nprotocol = \"memcached\"\n\
                  address = \"127.0.0.1:0\"\n";
    std::fs::write(&file, config).expect("a file");
    let checked = run(&format!("check {}", file.display()));
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
    let served = run(&format!("serve --config {}", file.display()));
    let told = String::from_utf8_lossy(&served.stderr).into_owned();
    assert!(told.contains("cannot reserve 21474836480 bytes"), "{told}");
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

#[test]
fn stores_that_fit_alone_may_not_fit_together_and_names_must_resolve() {
    let output = check("together.toml");
    let told = String::from_utf8_lossy(&output.stdout);
    let expected = include_str!("config/together.expected").lines();
    for (line, expected) in told.lines().zip(expected.clone()) {
        // The resolver's reason depends on the machine.
        assert_eq!(line.split(" (").next(), expected.split(" (").next());
    }
    assert_eq!(
        (told.lines().count(), output.status.code()),
        (expected.count(), Some(2))
    );
}

#[test]
fn a_missing_file_is_told() {
    assert_faults(
        "there-is-no-such-file",
        "there-is-no-such-file.toml:1: the file cannot be read (No such file or directory (os error 2)); \
         name a readable file\n",
    );
}

#[test]
fn the_commented_example_is_right() {
    let output = check("../../../../packaging/hikyaku.toml");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    assert!(output.status.success());
}

/// The keys that the example shows in comments must be valid as well, and be the defaults where it says so.
#[test]
fn the_commented_example_is_right_without_its_comment_signs() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("example");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let example = include_str!("../../../packaging/hikyaku.toml");
    let spoken: Vec<&str> = example
        .lines()
        .map(|line| line.strip_prefix("# ").filter(is_value).unwrap_or(line))
        .collect();
    // The files of tls and the user are not there, and only a Unix socket has a mode.
    let spoken = spoken.join("\n");
    let (spoken, _certificates) = spoken.split_once("[[listen.certificate]]").expect("it is last");
    let spoken = spoken
        .replace("tls = {", "# tls = {")
        .replace("\nuser = ", "\n# user = ")
        .replace("\nmode = ", "\n# mode = ");
    std::fs::write(folder.join("users.txt"), "name:password\n").expect("the folder can be written");
    let file = folder.join("spoken.toml");
    std::fs::write(&file, &spoken).expect("the folder can be written");
    let output = check(&file.display().to_string());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    assert!(
        spoken.contains("\nidle_timeout = ") && spoken.contains("\n[store.sessions]"),
        "{spoken}"
    );
}

fn is_value(line: &&str) -> bool {
    line.starts_with('[') || line.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '))
}
