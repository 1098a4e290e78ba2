//! The examples of this crate, run as programs.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
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
fn path(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(|deps| deps.parent()).unwrap();
    let path = profile.join("examples").join(name);
    assert!(
        path.exists(),
        "{} is missing: a test that is run by itself needs `cargo build -p hikyaku-io --examples` first",
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
