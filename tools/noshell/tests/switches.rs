//! NOSHELL=off, NOSHELL_TRACE=1 and the counters.

#![allow(clippy::unwrap_used)]

mod support;

use std::process::Command;
use std::time::Duration;
use support::{environment, library, preload, remove_scratch, run, scratch, text};

/// Standard error of a program that calls system() for a plain command and for a list.
fn said(name: &str, variables: &[(&str, &str)]) -> String {
    let folder = scratch(name);
    let mut command = Command::new("lua5.4");
    command
        .args([
            "-e",
            "assert(os.execute('args a') and os.execute('args b; args c'))",
        ])
        .current_dir(&folder);
    environment(&mut command, &folder);
    preload(&mut command, &[&library()]);
    command.envs(variables.iter().copied());
    let output = run(&mut command, b"", Duration::from_secs(60));
    remove_scratch(&folder);
    assert_eq!(text(&output.stdout), "2[args][a]\n2[args][b]\n2[args][c]\n");
    assert!(output.status.success());
    text(&output.stderr)
}

#[test]
fn the_trace_tells_where_commands_went() {
    let traced = said("traced", &[("NOSHELL_TRACE", "1")]);
    assert!(traced.contains("noshell: system: direct: args a\n"), "{traced}");
    assert!(
        traced.contains("noshell: system: shell (list of commands): args b; args c\n"),
        "{traced}"
    );
    assert!(
        traced.contains("noshell: total: 1 direct, 1 by the shell\n"),
        "{traced}"
    );
}

#[test]
fn without_it_nothing_is_told() {
    assert_eq!(said("silent", &[]), "");
    assert_eq!(said("zero", &[("NOSHELL_TRACE", "0")]), "");
}

#[test]
fn off_leaves_everything_to_the_c_library() {
    let traced = said("off", &[("NOSHELL", "off"), ("NOSHELL_TRACE", "1")]);
    assert!(!traced.contains("direct: "), "{traced}");
    assert!(!traced.contains("total: 1 direct"), "{traced}");
}
