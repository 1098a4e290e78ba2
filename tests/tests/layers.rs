//! Imports point down: reads the workspace's own metadata and fails when a layer uses what it must not know.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// What each package of the workspace may use of the others. Who adds a package says here which layer it is.
///
/// The order is the order of the layers, from the lowest; `io`, `wire` and `kv` know nothing of each other, and of the
/// tools below them only what makes bytes (`format`) and processes (`spawn`).
const MAY_USE: &[(&str, &[&str])] = &[
    ("hikyaku-format-macros", &[]),
    ("hikyaku-format", &["hikyaku-format-macros"]),
    ("hikyaku-spawn", &[]),
    ("hikyaku-qrintf", &[]),
    ("hikyaku-noshell", &[]),
    ("hikyaku-io", &["hikyaku-format", "hikyaku-spawn"]),
    ("hikyaku-wire", &["hikyaku-format"]),
    ("hikyaku-kv", &[]),
    ("hikyaku-tables", &["hikyaku-spawn", "hikyaku-format"]),
    (
        "hikyaku-memcached",
        &["hikyaku-kv", "hikyaku-wire", "hikyaku-io", "hikyaku-format"],
    ),
    ("hikyaku-load", &["hikyaku-wire", "hikyaku-io"]),
    (
        "hikyaku",
        &[
            "hikyaku-memcached",
            "hikyaku-load",
            "hikyaku-tables",
            "hikyaku-kv",
            "hikyaku-wire",
            "hikyaku-io",
            "hikyaku-format",
            "hikyaku-spawn",
        ],
    ),
    ("hikyaku-tests", &[]),
];

/// Package to packages of the workspace that it depends on, for whatever purpose.
fn uses() -> BTreeMap<String, BTreeSet<String>> {
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
    let name = |value: &serde_json::Value| value["name"].as_str().expect("a name").to_owned();
    let local = |package: &serde_json::Value| {
        let dependencies = package["dependencies"].as_array().expect("dependencies");
        // A dependency inside the workspace has a path.
        dependencies
            .iter()
            .filter(|one| one["path"].is_string())
            .map(name)
            .collect()
    };
    packages
        .iter()
        .map(|package| (name(package), local(package)))
        .collect()
}

#[test]
fn every_package_has_its_layer() {
    let known: BTreeSet<String> = MAY_USE.iter().map(|(package, _)| (*package).to_owned()).collect();
    assert_eq!(uses().into_keys().collect::<BTreeSet<_>>(), known);
}

#[test]
fn no_layer_imports_upward() {
    for (package, used) in uses() {
        let (_, allowed) = MAY_USE
            .iter()
            .find(|(name, _)| *name == package)
            .expect("every package has its layer");
        let upward: Vec<_> = used
            .iter()
            .filter(|one| !allowed.contains(&one.as_str()))
            .collect();
        assert!(upward.is_empty(), "{package} must not know {upward:?}");
    }
}

#[test]
fn the_table_itself_points_down() {
    for (index, (package, allowed)) in MAY_USE.iter().enumerate() {
        for one in *allowed {
            let below = MAY_USE[..index].iter().any(|(name, _)| name == one);
            assert!(below, "{package} may use {one}, which is not below it");
        }
    }
}
