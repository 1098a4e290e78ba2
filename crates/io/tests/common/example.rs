//! The examples of this crate, run as programs.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A running example that listens; killed on drop.
pub struct Example {
    child: Child,
    /// The address that it printed.
    pub address: String,
}

impl Example {
    pub fn start(name: &str, arguments: &[&str]) -> Example {
        let mut child = Command::new(path(name))
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut line = String::new();
        let output = child.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        let address = line.strip_prefix("listening ").expect(&line).trim().to_owned();
        Example { child, address }
    }
}

/// Where `cargo test` has built an example, beside the folder of this test.
///
/// Cargo builds the examples for `cargo test`, but not for `cargo test --test NAME`; then they may be missing, or older than
/// the library. The latter is an error, because a test of an old program proves nothing.
fn path(name: &str) -> PathBuf {
    const COMMAND: &str = "cargo build -p hikyaku-io --examples";
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(|deps| deps.parent()).unwrap();
    let path = profile.join("examples").join(name);
    assert!(
        path.exists(),
        "{} is missing: run `{COMMAND}` first",
        path.display()
    );
    let changed = |path: &Path| path.metadata().and_then(|data| data.modified()).unwrap();
    let library = profile.join("libio.rlib");
    assert!(
        !library.exists() || changed(&path) >= changed(&library),
        "{} is older than the library: run `{COMMAND}` first",
        path.display()
    );
    path
}

impl Drop for Example {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
