//! Programs run and return their status.
#![allow(clippy::unwrap_used)]

use spawn::Command;

#[test]
fn a_program_runs_and_its_output_comes_back() {
    let output = Command::new("echo").arg("hello").output().unwrap();
    assert_eq!(output.stdout, b"hello\n");
    assert!(output.status.success());
}

#[test]
fn a_missing_program_is_told_by_its_step() {
    let error = Command::new("no-such-program")
        .env("PATH", "/nowhere")
        .spawn()
        .unwrap_err();
    assert_eq!(error.stage(), Some(spawn::Stage::Exec));
    assert_eq!(error.errno(), libc::ENOENT);
    assert_eq!(
        error.to_string(),
        "cannot start `no-such-program`: execve: No such file or directory (os error 2)"
    );
}

#[test]
fn the_asynchronous_form_does_the_same() {
    let child = Command::new("true").start().unwrap().wait();
    assert!(child.unwrap().wait().unwrap().success());
    let error = Command::new("no-such-program")
        .start()
        .unwrap()
        .wait()
        .unwrap_err();
    assert_eq!(error.errno(), libc::ENOENT);
}
