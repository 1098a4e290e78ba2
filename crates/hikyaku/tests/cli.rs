//! The command line: what is asked wrongly is told, with exit status 2; help and completions come from one declaration.
#![allow(missing_docs)]

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn hikyaku(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hikyaku"))
        .args(arguments)
        .env_remove("HIKYAKU_LOG")
        .output()
        .expect("it runs")
}

#[track_caller]
fn assert_refused(arguments: &[&str], expected: &str) {
    let output = hikyaku(arguments);
    assert_eq!(String::from_utf8_lossy(&output.stderr), expected);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn what_comes_later_is_refused_by_name() {
    assert_refused(
        &[
            "serve",
            "--http",
            "127.0.0.1:0",
            "--kafka",
            "127.0.0.1:0",
            "--files",
            "public",
        ],
        "--files: is not in this version, which speaks memcached; leave it out\n\
         --http: is not in this version, which speaks memcached; leave it out\n\
         --kafka: is not in this version, which speaks memcached; leave it out\n",
    );
}

#[test]
fn wrong_flags_are_all_told_at_once() {
    assert_refused(
        &[
            "serve",
            "--memcached",
            "localhost",
            "--store",
            "memory:?capacity=1GiB",
            "--workers",
            "0",
        ],
        "--memcached: \"localhost\" is not an address; write IP:PORT or NAME:PORT, such as \"127.0.0.1:11211\", \
         \"[::1]:11211\" or \"localhost:11211\", or \"unix:/PATH\"\n\
         --store: \"memory:?capacity=1GiB\" has no name; write NAME=URI, such as default=memory:?capacity=1GiB\n\
         --workers: \"0\" is not a count; write auto or a whole number above 0\n",
    );
}

#[test]
fn flags_of_memcached_are_answered_with_ours() {
    let output = hikyaku(&[
        "serve", "-m", "64", "-c1024", "-t", "4", "-I", "2m", "-S", "-l", "::1", "-U", "0", "-vv",
    ]);
    let told = String::from_utf8_lossy(&output.stderr);
    let flags: Vec<&str> = told.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(flags, ["-m", "-c", "-t", "-I", "-S", "-l", "-U", "-vv"]);
    assert!(
        told.starts_with("memcached's -m is --capacity here, with a unit: --capacity 64MiB\n"),
        "{told}"
    );
    assert_eq!(output.status.code(), Some(2));
    let output = hikyaku(&["serve", "-q"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("unexpected argument '-q'"));
}

#[test]
fn a_wrong_log_level_is_told() {
    let output = hikyaku(&["serve", "--memcached", "127.0.0.1:0", "--log", "hikyaku=loud"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        told.starts_with("--log: \"hikyaku=loud\" is not a level") && told.contains("; write error, warn"),
        "{told}"
    );
    assert_eq!(output.status.code(), Some(2));
}

/// The filter would take such a word for a module, and log nothing.
#[test]
fn a_misspelt_log_level_is_told() {
    assert_refused(
        &["serve", "--memcached", "127.0.0.1:0", "--log", "io=debug,wran"],
        "--log: \"wran\" is not a level; write error, warn, info, debug or trace, or MODULE=LEVEL\n",
    );
}

#[test]
fn help_names_every_command() {
    let help = hikyaku(&["--help"]);
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    for command in ["serve", "check", "kv", "log", "bench", "completions", "man"] {
        assert!(
            help.lines().any(|line| line.trim_start().starts_with(command)),
            "{command} is missing: {help}"
        );
    }
}

#[test]
fn completions_and_pages_know_the_flags() {
    for shell in ["bash", "zsh", "fish"] {
        let script = hikyaku(&["completions", shell]);
        assert!(script.status.success());
        assert!(
            String::from_utf8_lossy(&script.stdout).contains("memcached"),
            "{shell}"
        );
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("man");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let path = folder.display().to_string();
    assert!(hikyaku(&["man", "--directory", &path]).status.success());
    for page in ["hikyaku.1", "hikyaku-serve.1", "hikyaku-kv.1", "hikyaku-kv-get.1"] {
        let text = std::fs::read_to_string(folder.join(page)).expect(page);
        assert!(text.contains(".TH"), "{page}");
    }
}

#[test]
fn who_closes_the_pipe_has_read_enough() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hikyaku"))
        .args(["completions", "zsh"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    // Without a reader the first write fails.
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success());
}
