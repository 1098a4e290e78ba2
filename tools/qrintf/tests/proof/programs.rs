//! Real programs, from the sources of Debian's packages: built by `qrintf-cc`, tested by their own tests, and with fewer
//! calls of the library left in their objects.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::toolchain::{self, driver, scratch, succeed};

#[test]
fn lua_builds_and_prints_the_same() {
    let folder = scratch("lua");
    let [plain, ours] = ["plain", "ours"].map(|name| {
        let tree = copy("lua", &folder.join(name));
        let compiler = if name == "plain" {
            "gcc".to_owned()
        } else {
            specialized("gcc")
        };
        succeed(make(&tree).arg("linux").arg(format!("CC={compiler} -std=gnu99")));
        succeed(make(&tree).arg("test"));
        tree
    });
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proof/lua/numbers.lua");
    let [expected, printed] =
        [&plain, &ours].map(|tree| succeed(Command::new(tree.join("src/lua")).arg(&script)).stdout);
    assert!(expected.len() > 100_000, "{} bytes", expected.len());
    assert!(expected == printed, "see {}", folder.display());
    fewer_calls(&plain.join("src"), &ours.join("src"));
}

#[test]
fn zlib_passes_its_tests() {
    let folder = scratch("zlib");
    let [plain, ours] = ["plain", "ours"].map(|name| {
        let tree = copy("zlib", &folder.join(name));
        let compiler = if name == "plain" {
            "gcc".to_owned()
        } else {
            specialized("gcc")
        };
        succeed(Command::new("./configure").current_dir(&tree).env("CC", compiler));
        let tested = succeed(make(&tree).arg("test"));
        let said = String::from_utf8_lossy(&tested.stdout).into_owned();
        for kind in ["zlib test OK", "zlib shared test OK", "zlib 64-bit test OK"] {
            assert!(said.contains(kind), "{said}");
        }
        tree
    });
    let configured = |tree: &PathBuf| fs::read_to_string(tree.join("zconf.h")).expect("configured");
    assert_eq!(configured(&plain), configured(&ours));
    fewer_calls(&plain, &ours);
}

#[test]
#[ignore = "takes minutes: make test-long"]
fn redis_passes_its_tests() {
    let folder = scratch("redis");
    let [plain, ours] = ["plain", "ours"].map(|name| {
        let tree = copy("redis", &folder.join(name));
        let compiler = if name == "plain" {
            "gcc".to_owned()
        } else {
            specialized("gcc")
        };
        succeed(
            make(&tree)
                .args(["MALLOC=libc", "OPTIMIZATION=-O2"])
                .arg(format!("CC={compiler}")),
        );
        tree
    });
    fewer_calls(&plain.join("src"), &ours.join("src"));
    let mut test = Command::new("./runtest");
    test.current_dir(&ours).args(["--clients", "2"]);
    for unit in ["unit/type/zset", "unit/type/incr", "unit/info", "unit/printver"] {
        test.args(["--single", unit]);
    }
    let said = succeed(&mut test);
    let said = String::from_utf8_lossy(&said.stdout);
    assert!(said.contains("All tests passed without errors!"), "{said}");
}

/// nginx formats by functions of its own: nothing may change, and all must build.
#[test]
#[ignore = "takes minutes: make test-long"]
fn nginx_builds_and_starts() {
    let folder = scratch("nginx");
    let tree = copy("nginx", &folder.join("ours"));
    let mut configure = Command::new("./configure");
    configure
        .current_dir(&tree)
        .arg(format!("--with-cc={}", specialized("gcc")));
    configure.args([
        "--without-http_rewrite_module",
        "--without-http_gzip_module",
        "--prefix=.",
    ]);
    succeed(&mut configure);
    succeed(&mut make(&tree));
    fs::create_dir_all(tree.join("logs")).expect("the tree takes folders");
    succeed(
        Command::new(tree.join("objs/nginx"))
            .arg("-t")
            .arg("-p")
            .arg(&tree),
    );
}

#[test]
#[ignore = "takes minutes: make test-long"]
fn memcached_configures_and_builds() {
    let folder = scratch("memcached");
    let [plain, ours] = ["plain", "ours"].map(|name| {
        let tree = copy("../memcached-suite", &folder.join(name));
        let compiler = if name == "plain" {
            "gcc".to_owned()
        } else {
            specialized("gcc")
        };
        succeed(Command::new("./configure").current_dir(&tree).env("CC", compiler));
        succeed(make(&tree).arg("memcached"));
        tree
    });
    let configured = |tree: &PathBuf| fs::read_to_string(tree.join("config.h")).expect("configured");
    assert_eq!(configured(&plain), configured(&ours));
    fewer_calls(&plain, &ours);
    succeed(Command::new(ours.join("memcached")).arg("-V"));
}

/// What to pass as `CC`.
fn specialized(compiler: &str) -> String {
    format!("{} {compiler}", driver().display())
}

fn make(tree: &Path) -> Command {
    let mut make = Command::new("make");
    // The test itself may run below a `make`, whose flags are not this program's.
    make.current_dir(tree)
        .args(["-s", "-j2"])
        .env_remove("MAKEFLAGS")
        .env_remove("MFLAGS");
    make
}

/// A copy of a source tree that `tests/install` fetched.
fn copy(name: &str, to: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let from = root.join("target/clients/sources").join(name);
    assert!(from.exists(), "{} is missing; run tests/install", from.display());
    succeed(Command::new("cp").arg("-r").arg(&from).arg(to));
    to.to_owned()
}

/// Compares how many places of the objects in two folders call the library's functions.
fn fewer_calls(plain: &Path, ours: &Path) {
    let before = calls(plain);
    let after = calls(ours);
    println!("calls of the printf family: {before} plain, {after} specialized");
    assert!(
        after < before,
        "{before} calls before, {after} after in {}",
        ours.display()
    );
}

fn calls(folder: &Path) -> usize {
    let entries = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path());
    let objects = entries.filter(|path| path.extension().is_some_and(|extension| extension == "o"));
    let listed = succeed(Command::new("objdump").arg("-r").args(objects));
    String::from_utf8_lossy(&listed.stdout)
        .lines()
        .filter(|line| calls_the_family(line))
        .count()
}

/// Whether a relocation is of one of the functions; `__snprintf_chk` is `snprintf` under `_FORTIFY_SOURCE`.
fn calls_the_family(relocation: &str) -> bool {
    let Some(symbol) = relocation.split_whitespace().nth(2) else {
        return false;
    };
    let name = symbol.split(['-', '+']).next().unwrap_or_default();
    let name = name
        .strip_prefix("__")
        .and_then(|rest| rest.strip_suffix("_chk"))
        .unwrap_or(name);
    toolchain::FAMILY.contains(&name)
}
