//! Every workspace's `Cargo.lock` fits its manifests. Cargo checks the main one itself; `bench/rivals` and `fuzz` are built
//! rarely, and depend on crates whose dependencies change.

use std::path::Path;
use std::process::{Command, Output};

/// The workspaces beside the main one.
const WORKSPACES: [&str; 2] = ["bench/rivals", "fuzz"];

/// Resolves a workspace's dependencies, without a change of its lock file. Downloads nothing but the registry's index.
fn resolve(workspace: &Path, offline: bool) -> Output {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["update", "--workspace", "--locked"]);
    if offline {
        cargo.arg("--offline");
    }
    cargo.current_dir(workspace).output().expect("cargo runs")
}

#[test]
fn every_lock_file_is_up_to_date() {
    for name in WORKSPACES {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
        let mut output = resolve(&workspace, true);
        let mut told = String::from_utf8_lossy(&output.stderr).into_owned();
        // A fresh machine's index has only packages of the main workspace.
        if !output.status.success() && told.contains("offline mode") {
            output = resolve(&workspace, false);
            told = String::from_utf8_lossy(&output.stderr).into_owned();
        }
        assert!(
            output.status.success(),
            "{name}/Cargo.lock: run `cargo update --workspace` in {name}, and commit its lock file: {told}"
        );
    }
}
