//! Dependencies point down: the workspace's metadata is compared with the table of permitted dependencies.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Packages of the workspace, each with the packages that it depends on.
type Dependencies = BTreeMap<String, BTreeSet<String>>;

/// The packages from the lowest layer to the highest, each with the packages of the workspace that it depends on.
///
/// A new package, and a new dependency of an old one, is entered here; a dependency that is gone is removed.
const LAYERS: &[(&str, &[&str])] = &[
    ("hikyaku-format-macros", &[]),
    ("hikyaku-format", &["hikyaku-format-macros"]),
    ("hikyaku-spawn", &[]),
    ("hikyaku-qrintf", &[]),
    ("hikyaku-noshell", &[]),
    ("hikyaku-io", &["hikyaku-spawn"]),
    ("hikyaku-wire", &["hikyaku-format"]),
    ("hikyaku-log", &[]),
    ("hikyaku-kv", &["hikyaku-log"]),
    (
        "hikyaku-memcached",
        &["hikyaku-format", "hikyaku-io", "hikyaku-kv", "hikyaku-wire"],
    ),
    (
        "hikyaku",
        &[
            "hikyaku-io",
            "hikyaku-kv",
            "hikyaku-log",
            "hikyaku-memcached",
            "hikyaku-wire",
        ],
    ),
    ("hikyaku-display", &[]),
    ("hikyaku-load", &["hikyaku-display", "hikyaku-wire"]),
    ("hikyaku-tables", &["hikyaku-display", "hikyaku-spawn"]),
    (
        "hikyaku-bench",
        &["hikyaku-display", "hikyaku-load", "hikyaku-tables"],
    ),
    ("hikyaku-instructions", &["hikyaku-format", "hikyaku-io"]),
    ("hikyaku-tests", &[]),
];

fn permitted() -> Dependencies {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    LAYERS
        .iter()
        .map(|(package, below)| ((*package).to_owned(), owned(below)))
        .collect()
}

/// The workspace's packages, as cargo describes them.
fn packages() -> Vec<serde_json::Value> {
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
    metadata["packages"].as_array().expect("packages").clone()
}

/// The dependencies of a package, including those of its tests and build scripts. Those inside the workspace have a path.
fn dependencies(package: &serde_json::Value, inside: bool) -> BTreeSet<String> {
    let all = package["dependencies"].as_array().expect("dependencies").iter();
    all.filter(|one| one["path"].is_string() == inside)
        .map(name)
        .collect()
}

fn name(value: &serde_json::Value) -> String {
    value["name"].as_str().expect("a name").to_owned()
}

fn declared() -> Dependencies {
    packages()
        .iter()
        .map(|package| (name(package), dependencies(package, true)))
        .collect()
}

/// The differences between the manifests and the table, one line per package or dependency.
fn differences(declared: &Dependencies, permitted: &Dependencies) -> Vec<String> {
    let none = BTreeSet::new();
    let packages: BTreeSet<&String> = declared.keys().chain(permitted.keys()).collect();
    let mut found = Vec::new();
    for package in packages {
        if !permitted.contains_key(package) {
            found.push(format!("{package} is not in LAYERS"));
        }
        if !declared.contains_key(package) {
            found.push(format!("{package} is in LAYERS and not in the workspace"));
        }
        let used = declared.get(package).unwrap_or(&none);
        let allowed = permitted.get(package).unwrap_or(&none);
        let forbidden = used.difference(allowed);
        found.extend(forbidden.map(|one| format!("{package} must not depend on {one}")));
        let unused = allowed.difference(used);
        found.extend(unused.map(|one| format!("{package} may depend on {one} and does not")));
    }
    found
}

#[test]
fn packages_depend_on_what_the_table_permits_and_on_nothing_else() {
    assert_eq!(differences(&declared(), &permitted()), Vec::<String>::new());
}

#[test]
fn every_dependency_has_a_reason() {
    let map = include_str!("../../ARCHITECTURE.md");
    let (_, table) = map.split_once("## Dependencies").expect("the section");
    for package in packages() {
        for one in dependencies(&package, false) {
            assert!(
                table.contains(&format!("`{one}`")),
                "{} uses {one}; name it with its reason in ARCHITECTURE.md",
                name(&package)
            );
        }
    }
}

#[test]
fn the_table_points_down() {
    for (index, (package, below)) in LAYERS.iter().enumerate() {
        for one in *below {
            let is_below = LAYERS[..index].iter().any(|(name, _)| name == one);
            assert!(is_below, "{package} may depend on {one}, which is not below it");
        }
    }
}

#[test]
fn every_kind_of_difference_is_found() {
    let packages = |list: &[(&str, &[&str])]| -> Dependencies {
        list.iter()
            .map(|(name, below)| (name.to_string(), below.iter().map(ToString::to_string).collect()))
            .collect()
    };
    let declared = packages(&[("a", &["b"]), ("b", &[]), ("new", &[])]);
    let permitted = packages(&[("a", &["c"]), ("b", &[]), ("c", &[])]);
    assert_eq!(
        differences(&declared, &permitted),
        [
            "a must not depend on b",
            "a may depend on c and does not",
            "c is in LAYERS and not in the workspace",
            "new is not in LAYERS",
        ]
    );
}

/// Cargo builds the examples of all packages into one folder, where a second one of a name overwrites the first.
#[test]
fn no_two_examples_share_a_name() {
    let mut owners = BTreeMap::new();
    for package in packages() {
        let targets = package["targets"].as_array().expect("targets");
        let examples = targets.iter().filter(|target| {
            target["kind"]
                .as_array()
                .is_some_and(|kinds| kinds.iter().any(|kind| kind == "example"))
        });
        for example in examples.map(name) {
            let other = owners.insert(example.clone(), name(&package));
            assert_eq!(
                other,
                None,
                "both it and {} have an example {example}",
                name(&package)
            );
        }
    }
    assert!(owners.contains_key("access_log"), "{owners:?}");
}
