//! Runs many commands in one process by `system` and by `popen`, and tells all that can be seen of each.

use super::{
    Flavour, Shell, children, environment, library_folder, preload, program, remove_scratch, run, scratch,
    text,
};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The caller of the functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The machine's own C library.
    Library,
    /// libnoshell, preloaded.
    Noshell(Flavour),
    /// The same, saying where each command goes.
    Traced,
}

/// The results of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The function's result, and errno.
    pub returned: String,
    pub out: Vec<u8>,
    pub err: Vec<u8>,
    /// The files of its directory: mode and content.
    pub files: BTreeMap<PathBuf, (u32, Vec<u8>)>,
}

/// The ways in which each command is called.
pub const WAYS: [&str; 2] = ["system", "popen"];

const LIMIT: Duration = Duration::from_secs(600);

/// Runs the commands; the outcomes are those of `system` and `popen` in turn.
///
/// Sides that are compared must have the same name, since commands tell their directory; only one runs at a time.
pub fn outcomes(name: &str, shell: Shell, side: Side, commands: &[Vec<u8>]) -> Vec<Outcome> {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let root = scratch(&format!("{name}-{}", shell.name()));
    for index in 0..commands.len() {
        for way in WAYS {
            furnish(&root.join(format!("{index}.{way}")));
        }
    }
    let list = root.join("commands");
    fs::write(
        &list,
        commands
            .iter()
            .flat_map(|command| [command.as_slice(), b"\0"].concat())
            .collect::<Vec<u8>>(),
    )
    .unwrap();
    let mut command = prepared(shell, side, &root);
    let output = run(command.arg(&list).current_dir(&root), b"", LIMIT);
    let said = text(&output.stdout);
    assert!(
        output.status.success(),
        "{side:?}: {}\n{said}\n{}",
        output.status,
        text(&output.stderr)
    );
    if side != Side::Traced {
        assert_eq!(text(&output.stderr), "", "{side:?}");
    }
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines.len(), commands.len() * WAYS.len(), "{side:?}");
    let calls = (0..commands.len()).flat_map(|index| WAYS.map(|way| format!("{index}.{way}")));
    let found = calls
        .zip(lines)
        .map(|(call, line)| outcome(&root, &call, line))
        .collect();
    remove_scratch(&root);
    found
}

fn prepared(shell: Shell, side: Side, root: &Path) -> Command {
    let battery = program("battery", &[]);
    children();
    let mut command = shell.command(battery);
    environment(&mut command, root);
    match side {
        Side::Library => {}
        Side::Noshell(Flavour::Release) => preload(
            &mut command,
            &[&library_folder(Flavour::Release).join("libnoshell.so")],
        ),
        Side::Noshell(Flavour::Sanitized) => super::sanitize(&mut command),
        Side::Traced => {
            preload(
                &mut command,
                &[&library_folder(Flavour::Release).join("libnoshell.so")],
            );
            command.env("NOSHELL_TRACE", "1");
        }
    }
    command
}

/// The files that the corpus expects.
fn furnish(folder: &Path) {
    fs::create_dir(folder).unwrap();
    fs::create_dir(folder.join("sub")).unwrap();
    symlink("/dev/null", folder.join("null")).unwrap();
    let write = |name: &str, content: &[u8], mode: u32| {
        let path = folder.join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    };
    write("in", b"first line\nsecond line\n", 0o644);
    write("hello", b"echo \"hello $# $1\"\n", 0o755);
    write("sub/hello", b"echo \"sub $# $1\"\n", 0o755);
    write("hash", b"#!/bin/sh\necho \"hash $# $1\"\n", 0o755);
    write("lost", b"#!/nonexistent/interpreter\n", 0o755);
    write("garbage", b"\x7fELF\x02\x01\x01\0garbage", 0o755);
    write("blank", b"", 0o755);
    write("plain", b"text\n", 0o644);
    write("cwd.c", b"", 0o644);
    write("one.c", b"", 0o644);
}

fn outcome(root: &Path, call: &str, line: &str) -> Outcome {
    let read = |suffix: &str| fs::read(root.join(format!("{call}.{suffix}"))).unwrap();
    let (_, returned) = line.split_once(' ').unwrap();
    let mut files = BTreeMap::new();
    collect(&root.join(call), Path::new(""), &mut files);
    Outcome {
        returned: returned.to_owned(),
        out: read("out"),
        err: read("err"),
        files,
    }
}

fn collect(folder: &Path, below: &Path, files: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = below.join(entry.file_name());
        let data = entry.metadata().unwrap();
        if data.is_dir() {
            collect(&entry.path(), &name, files);
        }
        let content = if data.is_file() {
            fs::read(entry.path()).unwrap()
        } else {
            Vec::new()
        };
        files.insert(name, (data.permissions().mode(), content));
    }
}

/// Where the two sides differ, in words; empty if nowhere.
pub fn difference(theirs: &Outcome, ours: &Outcome) -> String {
    let mut found = String::new();
    let mut note = |what: &str, theirs: String, ours: String| {
        if theirs != ours {
            found += &format!("    {what}:\n      libc {theirs}\n      ours {ours}\n");
        }
    };
    note("returned", theirs.returned.clone(), ours.returned.clone());
    note(
        "standard output",
        theirs.out.escape_ascii().to_string(),
        ours.out.escape_ascii().to_string(),
    );
    note(
        "standard error",
        theirs.err.escape_ascii().to_string(),
        ours.err.escape_ascii().to_string(),
    );
    if theirs.files != ours.files {
        note("files", changed(theirs, ours), changed(ours, theirs));
    }
    found
}

/// The files of one outcome that the other does not have so.
fn changed(outcome: &Outcome, other: &Outcome) -> String {
    let differs = |(name, data): &(&PathBuf, &(u32, Vec<u8>))| other.files.get(*name) != Some(*data);
    let shown = outcome
        .files
        .iter()
        .filter(differs)
        .map(|(name, (mode, content))| format!("{} {mode:o} {}", name.display(), content.escape_ascii()));
    shown.collect::<Vec<_>>().join(", ")
}
