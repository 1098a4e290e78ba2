//! The example runs, and prints what it says.
#![allow(clippy::unwrap_used)]

use std::process::Command;

/// The lines in the example's documentation are those that it prints.
#[test]
fn the_access_log_is_as_documented() {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join("examples/access_log");
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let documented: String = include_str!("../examples/access_log.rs")
        .lines()
        .skip_while(|line| *line != "//! ```text")
        .skip(1)
        .take_while(|line| *line != "//! ```")
        .map(|line| format!("{}\n", line.trim_start_matches("//! ")))
        .collect();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), documented);
    assert_eq!(documented.lines().count(), 3);
}
