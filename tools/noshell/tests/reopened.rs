//! `freopen` on a stream of `popen`.

#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::process::Command;
use std::time::Duration;
use support::{environment, library, preload, program, remove_scratch, run, scratch, text};

#[test]
fn a_stream_that_was_opened_again_is_still_a_command_s() {
    let folder = scratch("reopened");
    fs::write(folder.join("in"), "from a file\n").unwrap();
    fs::write(folder.join("out.expected"), "to the command\n").unwrap();
    fs::write(folder.join("other.expected"), "to the file\n").unwrap();
    let mut command = Command::new(program("reopened", &[]));
    environment(command.current_dir(&folder), &folder);
    preload(&mut command, &[&library()]);
    let output = run(&mut command, b"", Duration::from_secs(60));
    remove_scratch(&folder);
    assert_eq!(text(&output.stdout), "all right\n", "{}", text(&output.stderr));
}
