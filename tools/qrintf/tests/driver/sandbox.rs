//! A directory for one test, and commands that run in it.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs};

/// The driver under test.
pub(crate) const DRIVER: &str = env!("CARGO_BIN_EXE_qrintf-cc");

/// Where the headers of this source tree are.
pub(crate) const HEADERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/include");

/// A small program with calls of several kinds.
pub(crate) const SOURCE: &str = r#"#include <stdio.h>
int main(int argc, char **argv)
{
    char text[64];
    snprintf(text, sizeof text, "%d.%d.%s", argc, argc + 1, argv[0] ? "x" : "");
    puts(text);
    return 0;
}
"#;

/// A directory of its own, removed at the end.
pub(crate) struct Sandbox {
    root: PathBuf,
}

impl Sandbox {
    /// An empty directory.
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let root = env::temp_dir().join(format!("qrintf-driver-{}-{count}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        // The path as programs in it see it.
        let root = root.canonicalize().unwrap();
        Self { root }
    }

    /// A directory with `SOURCE` in `a.c`.
    pub(crate) fn with_source() -> Self {
        let sandbox = Self::new();
        sandbox.write("a.c", SOURCE);
        sandbox
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|fault| panic!("{name}: {fault}"))
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|fault| panic!("{name}: {fault}"))
    }

    /// An executable script.
    pub(crate) fn script(&self, name: &str, body: &str) {
        self.write(name, &format!("#!/bin/sh\n{body}\n"));
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// A stand-in for a compiler, which writes its own path and then a line for each word to `called`.
    pub(crate) fn stand_in(&self, name: &str) {
        let log = self.path("called");
        self.script(
            name,
            &format!("printf '%s\\n' \"$0\" \"$@\" >> '{}'", log.display()),
        );
    }

    pub(crate) fn link(&self, to: impl AsRef<Path>, name: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(to, path).unwrap();
    }

    /// `program` with the words of `line`, which holds no quotes.
    pub(crate) fn command(&self, program: impl AsRef<Path>, line: &str) -> Command {
        let mut command = Command::new(program.as_ref());
        command.args(line.split_whitespace()).current_dir(&self.root);
        for variable in [
            "QRINTF_CC",
            "QRINTF_REPORT",
            "QRINTF_STRICT",
            "CC",
            "CFLAGS",
            "CPPFLAGS",
            "MAKEFLAGS",
            "CPATH",
            "C_INCLUDE_PATH",
        ] {
            command.env_remove(variable);
        }
        command.env("LC_ALL", "C");
        command
    }

    /// The driver with the words of `line`.
    pub(crate) fn driver(&self, line: &str) -> Command {
        self.command(DRIVER, line)
    }

    /// The path and the words that the stand-in was called with since the last question.
    pub(crate) fn called(&self) -> Vec<String> {
        let words = self.read("called").lines().map(str::to_owned).collect();
        fs::remove_file(self.path("called")).unwrap();
        words
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// Runs to the end and expects success; the output is returned.
pub(crate) fn run(command: &mut Command) -> Output {
    let output = command
        .output()
        .unwrap_or_else(|fault| panic!("{command:?}: {fault}"));
    assert!(output.status.success(), "{command:?}\n{}", text(&output));
    output
}

/// Both streams as text.
pub(crate) fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Standard error as text.
pub(crate) fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Where a program is installed; the tests' packages are, see `tests/install`.
fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap();
    let mut places = env::split_paths(&path).map(|directory| directory.join(program));
    places.find(|place| place.exists())
}

/// True if a program is installed.
pub(crate) fn installed(program: &str) -> bool {
    find(program).is_some()
}

/// The compilers that every promise is kept with.
pub(crate) const COMPILERS: [&str; 4] = ["gcc-11", "gcc-12", "clang-14", "aarch64-linux-gnu-gcc"];

/// Those of `COMPILERS` that this machine has, and what `gcc` and `clang` are here, if that is another.
pub(crate) fn compilers() -> Vec<&'static str> {
    let mut real = BTreeSet::new();
    let mut found = Vec::new();
    for name in COMPILERS.into_iter().chain(["gcc", "clang"]) {
        match find(name) {
            Some(path) if real.insert(path.canonicalize().unwrap()) => found.push(name),
            Some(_) => {}
            None => assert!(
                !["gcc", "clang"].contains(&name),
                "{name}: tests/install has not run"
            ),
        }
    }
    found
}
