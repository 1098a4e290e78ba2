//! The examples run, and print what they should.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs an example's program, which cargo builds beside this test's.
fn example(name: &str, arguments: &[&str]) -> Output {
    let program = path(name);
    let output = Command::new(&program).args(arguments).output();
    output.unwrap_or_else(|error| panic!("{}: {error}", program.display()))
}

/// Where `cargo test` has built an example.
///
/// Cargo builds the examples for `cargo test`, but not for `cargo test --test NAME`; then they may be missing, or older than
/// the library. The latter is an error, because a test of an old program proves nothing.
fn path(name: &str) -> PathBuf {
    const COMMAND: &str = "cargo build -p hikyaku-spawn --examples";
    let test = std::env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).unwrap();
    let path = profile.join("examples").join(name);
    assert!(
        path.exists(),
        "{} is missing: run `{COMMAND}` first",
        path.display()
    );
    let changed = |path: &Path| path.metadata().and_then(|data| data.modified()).unwrap();
    let library = profile.join("libspawn.rlib");
    assert!(
        !library.exists() || changed(&path) >= changed(&library),
        "{} is older than the library: run `{COMMAND}` first",
        path.display()
    );
    path
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn the_event_loop_reports_the_end_of_every_process() {
    let output = example("event_loop", &[]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        text(output.stdout),
        "3 processes ended: exit status: 0, exit status: 3, signal: 15 (SIGTERM)\n"
    );
}

#[test]
fn the_limits_apply_and_the_status_is_passed_on() {
    let output = example("limits", &["sh", "-c", "ulimit -v; nice; exit 7"]);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let printed = text(output.stdout);
    let (limit, priority) = printed.split_once('\n').unwrap();
    assert_eq!(limit, "1048576", "{printed}");
    assert_eq!(priority, "5\n", "{printed}");
}

#[test]
fn output_beyond_the_limit_is_discarded() {
    let output = example("limits", &["head", "-c", "2000000", "/dev/zero"]);
    assert_eq!(output.stdout.len(), 1 << 20);
    assert_eq!(text(output.stderr), "(output beyond 1 MiB was discarded)\n");
}

#[test]
fn a_program_that_does_not_exist_is_named() {
    let output = example("limits", &["/no/such/program"]);
    assert_eq!(output.status.code(), Some(127));
    let told = text(output.stderr);
    assert!(told.starts_with("cannot start `/no/such/program`: "), "{told}");
}
