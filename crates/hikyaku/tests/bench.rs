//! `hikyaku bench` becomes `hikyaku-bench`: where it is found, and what is passed on. A shell script stands in for it.
#![allow(missing_docs)]

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{PoisonError, RwLock};

/// Held for reading while a process starts, for writing while a program is written: a child has its parent's descriptors
/// until it executes its own program, and the kernel executes no file that somebody has open for writing (ETXTBSY).
static PROGRAMS: RwLock<()> = RwLock::new(());

/// A folder of this test's own with a copy of `hikyaku` in it, so that no built `hikyaku-bench` is beside it.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("path")).expect("the folder can be made");
    let _writing = PROGRAMS.write().unwrap_or_else(PoisonError::into_inner);
    fs::copy(env!("CARGO_BIN_EXE_hikyaku"), folder.join("hikyaku")).expect("the program can be copied");
    folder
}

fn write_script(file: &Path, body: &str) {
    let _writing = PROGRAMS.write().unwrap_or_else(PoisonError::into_inner);
    fs::write(file, format!("#!/bin/sh\n{body}\n")).expect("the script can be written");
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("its mode can be set");
}

fn start(folder: &Path, arguments: &[&str]) -> Child {
    let path = format!("{}:/usr/bin:/bin", folder.join("path").display());
    let _starting = PROGRAMS.read().unwrap_or_else(PoisonError::into_inner);
    Command::new(folder.join("hikyaku"))
        .args(arguments)
        .env("PATH", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    start(folder, arguments).wait_with_output().expect("it ends")
}

fn output(folder: &Path, arguments: &[&str]) -> String {
    String::from_utf8(run(folder, arguments).stdout).expect("UTF-8")
}

#[test]
fn without_the_program_the_remedy_is_named() {
    let output = run(&folder("bench-absent"), &["bench", "kv"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(
        errors.starts_with("hikyaku: hikyaku-bench is neither") && errors.contains("make build"),
        "{errors}"
    );
}

#[test]
fn the_program_beside_this_one_goes_before_path() {
    let folder = folder("bench-search");
    write_script(&folder.join("path/hikyaku-bench"), "echo path");
    assert_eq!(output(&folder, &["bench"]), "path\n");
    write_script(&folder.join("hikyaku-bench"), "echo beside");
    assert_eq!(output(&folder, &["bench"]), "beside\n");
    fs::set_permissions(folder.join("hikyaku-bench"), fs::Permissions::from_mode(0o644))
        .expect("its mode can be set");
    assert_eq!(
        output(&folder, &["bench"]),
        "path\n",
        "a file that cannot be executed is passed over"
    );
}

#[test]
fn arguments_input_and_status_are_passed_on() {
    let folder = folder("bench-passed");
    write_script(
        &folder.join("hikyaku-bench"),
        "echo $$; printf '<%s>' \"$@\"; cat; exit 7",
    );
    let mut child = start(&folder, &["bench", "kv", "--help", "-k", "a b", "--", "-h"]);
    let pid = child.id();
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(b"input").expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        format!("{pid}\n<kv><--help><-k><a b><--><-h>input"),
        "the same process, every argument, standard input"
    );
    assert_eq!(output.status.code(), Some(7));
}

#[test]
fn help_is_asked_of_the_program() {
    let folder = folder("bench-help");
    write_script(&folder.join("hikyaku-bench"), "printf '<%s>' \"$@\"");
    assert_eq!(output(&folder, &["help", "bench", "kv"]), "<kv><--help>");
    assert_eq!(output(&folder, &["bench", "--help"]), "<--help>");
}

#[test]
fn a_program_that_does_not_describe_itself_is_left_out_of_the_completions() {
    let folder = folder("bench-silent");
    write_script(&folder.join("hikyaku-bench"), "echo nonsense");
    let output = run(&folder, &["completions", "bash"]);
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("bench"));
}
