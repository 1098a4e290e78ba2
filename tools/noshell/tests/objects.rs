//! Checks of the compiled sources: no warning from any installed compiler, and no call of another library's
//! function in what runs between `clone3` and `execve`, or beside the caller on its memory.
//!
//! **Invariant**: the library's own Makefile builds what is looked at.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// The files whose code a child runs on its caller's memory, and the functions in them that only the caller runs.
const CHILDREN: [(&str, &[&str]); 4] = [
    ("clone", &[]),
    ("launch", &[]),
    ("death", &["strcmp"]),
    ("supervisor", &["mmap", "munmap"]),
];

/// One at a time: two builds of one folder would disturb each other.
static BUILDING: Mutex<()> = Mutex::new(());

fn output(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("objects").join(name)
}

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// Builds with `-Werror`, as the Makefile always does.
fn build(compiler: &str, what: &str) {
    let _alone = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = output(compiler);
    let target = if what.is_empty() {
        "all".to_owned()
    } else {
        folder.join(what).display().to_string()
    };
    let made = Command::new("make")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .arg(format!("CC={compiler}"))
        .arg(format!("OUT={}", folder.display()))
        .arg(target)
        .output()
        .unwrap();
    assert!(
        made.status.success(),
        "{compiler}: {}",
        String::from_utf8_lossy(&made.stderr)
    );
}

#[test]
fn every_compiler_is_content() {
    build("cc", "");
    for (compiler, what) in [
        ("clang", ""),
        ("musl-gcc", "libnoshell.a"),
        ("aarch64-linux-gnu-gcc", ""),
    ] {
        if is_there(compiler) {
            build(compiler, what);
        }
    }
}

#[test]
fn children_call_no_library() {
    build("gcc", "");
    for (file, allowed) in CHILDREN {
        let object = output("gcc").join("noshell").join(format!("{file}.o"));
        let listed = Command::new("nm")
            .arg("--undefined-only")
            .arg(&object)
            .output()
            .unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        let names = listed.split_whitespace().filter(|word| *word != "U");
        let foreign: Vec<_> = names
            .filter(|name| !name.starts_with("noshell_") && !allowed.contains(name))
            .collect();
        assert!(foreign.is_empty(), "{file}.c calls {foreign:?}");
    }
}

#[test]
fn only_what_is_meant_is_exported() {
    build("cc", "");
    let library = output("cc").join("libnoshell.so");
    let listed = Command::new("nm")
        .args(["--dynamic", "--defined-only"])
        .arg(&library)
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let mut names: Vec<_> = listed.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "fclose",
            "noshell_statistics",
            "pclose",
            "pclose_noshell",
            "popen",
            "popen_noshell",
            "popen_noshell_compat",
            "spawn_noshell",
            "system",
            "system_noshell",
            "wait_noshell",
        ]
    );
}
