//! Threads that race `system`, `popen` and `fork`, over many calls: every status is right, and nothing is left behind. And
//! handlers of signals that fork.
//!
//! `NOSHELL_CALLS=COUNT` makes another number of calls than the 2,000 of `make test`; `make test-long` makes 100,000.

#![allow(clippy::unwrap_used)]

mod support;

use std::path::Path;
use std::time::Duration;
use support::{Shell, environment, library, preload, program, remove_scratch, run, sanitize, scratch, text};

const LIMIT: Duration = Duration::from_secs(3000);
const LIMIT_ALONE: Duration = Duration::from_secs(120);

fn calls() -> u32 {
    std::env::var("NOSHELL_CALLS").map_or(2000, |text| text.parse().expect("NOSHELL_CALLS=COUNT"))
}

fn race(
    name: &str,
    shell: Shell,
    threads: u32,
    calls: u32,
    prepare: impl FnOnce(&mut std::process::Command, &Path),
) {
    let mut command = shell.command(program("threads", &[]));
    command.arg(threads.to_string()).arg(calls.to_string());
    all_right(name, command, LIMIT, prepare);
}

/// Runs a program to its end; it must report no error.
fn all_right(
    name: &str,
    mut command: std::process::Command,
    limit: Duration,
    prepare: impl FnOnce(&mut std::process::Command, &Path),
) {
    let folder = scratch(&format!("threads-{name}"));
    command.current_dir(&folder);
    environment(&mut command, &folder);
    prepare(&mut command, &folder);
    let output = run(&mut command, b"", limit);
    remove_scratch(&folder);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(
        output.status.success() && out == "all right\n" && err.is_empty(),
        "{}: {out}{err}",
        output.status
    );
}

/// The program itself must be right before anything can be said of the library.
#[test]
fn races_of_the_c_library() {
    race("library", Shell::Dash, 6, 300, |_, _| {});
}

#[test]
fn races_under_dash() {
    race("dash", Shell::Dash, 8, calls(), |command, _| {
        preload(command, &[&library()])
    });
}

#[test]
fn races_under_bash() {
    race("bash", Shell::Bash, 8, calls() / 4, |command, _| {
        preload(command, &[&library()])
    });
}

#[test]
fn races_with_sanitizers() {
    race(
        "sanitized",
        Shell::Dash,
        4,
        calls().min(4000) / 4,
        |command, _| sanitize(command),
    );
}

#[test]
fn one_thread_leaves_nothing() {
    race("one", Shell::Dash, 1, calls(), |command, _| {
        preload(command, &[&library()])
    });
}

/// A handler may fork while the thread that it has interrupted is in `popen` or `fclose`.
#[test]
fn handlers_may_fork() {
    for (name, libraries) in [("forks-library", vec![]), ("forks-noshell", vec![library()])] {
        let mut command = Shell::Dash.command(program("handlers", &[]));
        command.arg((calls().min(4000) / 20).to_string());
        let libraries: Vec<&Path> = libraries.iter().map(|path| path.as_path()).collect();
        all_right(name, command, LIMIT_ALONE, |command, _| {
            preload(command, &libraries)
        });
    }
}
