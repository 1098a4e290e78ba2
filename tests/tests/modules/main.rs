//! Modules of a crate import each other in one direction: no module reaches itself through its imports.
//!
//! A module and those below it count as one, because a module may share its items with those that it is divided into.
//! Tests are left out.

mod graph;
mod source;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use graph::{Circle, Modules};

/// Permits any circle in a package.
const ANY: &str = "*";

/// Circles that are still to be broken: a package, and modules that may reach each other. An entry that no circle needs is an
/// error.
const PERMITTED: &[(&str, &str)] = &[
    ("hikyaku-spawn", "block, child_side, clone, copied"),
    ("hikyaku-spawn", "child, launch, process, reaper, zygote"),
    ("hikyaku", "client, offline"),
    ("hikyaku-kv", ANY),
    ("hikyaku-log", "activity, append, log"),
    ("hikyaku-log", "cold, segment"),
    ("hikyaku-memcached", "operations, progress, waits"),
    ("hikyaku-load", "dialect, resp"),
    ("hikyaku-tables", "report, text, verdict"),
    (
        "hikyaku-load",
        "client, connection, connections, phases, plot, progress, report, tally",
    ),
];

/// The libraries and programs of the workspace: a name, and the file of the root.
fn roots() -> Vec<(String, PathBuf)> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let targets = packages.iter().flat_map(|package| {
        let targets = package["targets"].as_array().expect("targets").iter();
        targets.map(|target| (package["name"].as_str().expect("a name"), target))
    });
    let is_part = |target: &serde_json::Value| {
        let kinds = target["kind"].as_array().expect("kinds");
        kinds
            .iter()
            .any(|kind| kind == "lib" || kind == "bin" || kind == "proc-macro")
    };
    targets
        .filter(|(_, target)| is_part(target))
        .map(|(package, target)| {
            let root = target["src_path"].as_str().expect("a path");
            (package.to_owned(), PathBuf::from(root))
        })
        .collect()
}

/// The members of a circle, or of a permitted one.
fn members(list: &str) -> BTreeSet<String> {
    list.split(", ").map(str::to_owned).collect()
}

#[test]
fn no_module_imports_itself_through_others() {
    let mut faults = Vec::new();
    let mut unused: Vec<(&str, &str)> = PERMITTED.to_vec();
    for (package, root) in roots() {
        for circle in Modules::read(&root).circles() {
            let permits = |&(of, list): &(&str, &str)| {
                of == package && (list == ANY || circle.members.is_subset(&members(list)))
            };
            if PERMITTED.iter().any(permits) {
                unused.retain(|entry| !permits(entry));
            } else {
                let all = Vec::from_iter(circle.members).join(", ");
                faults.push(format!("{package}: {}; in the circle: {all}", circle.text));
            }
        }
    }
    let unused = unused
        .iter()
        .map(|(package, list)| format!("{package}: {list} is permitted and no circle"));
    faults.extend(unused);
    assert!(faults.is_empty(), "circles of imports:\n{}", faults.join("\n"));
}

#[test]
fn a_circle_is_found_through_reexports_and_folders() {
    let modules = Modules::of(&[
        ("", "mod a; mod b; mod c; mod d; pub use b::deep::Deep;"),
        ("a", "use crate::Deep;"),
        ("b", "pub mod deep; mod below;"),
        (
            "b::deep",
            "use super::below::Below; use crate::c; fn f() { c::g() }",
        ),
        ("b::below", "use super::Shared;"),
        ("c", "fn g() { crate::a::h() }"),
        ("d", "use crate::{a, c};"),
    ]);
    let text = "a -> b -> c -> a (a names crate::Deep; b::deep names crate::c; c names crate::a::h)";
    let circle = Circle {
        members: members("a, b, c"),
        text: text.to_owned(),
    };
    assert_eq!(modules.circles(), [circle]);
}

#[test]
fn one_direction_is_no_circle() {
    let modules = Modules::of(&[
        ("", "mod a; mod b; fn root() { a::f() }"),
        (
            "a",
            "mod below; use crate::b::Leaf; pub struct Shared; #[cfg(test)] mod tests { use crate::c; }",
        ),
        ("a::below", "use super::Shared;"),
        ("b", "use std::fmt; use crate::root; pub struct Leaf;"),
    ]);
    assert_eq!(modules.circles(), []);
}
