//! Real programs, from the sources of Debian's packages: built by `qrintf-cc`, tested by their own tests, and with fewer
//! calls of the library left in their objects.
//!
//! Lua, zlib, Redis, memcached and sqlite's shell call the library. nginx, curl and sqlite itself format by functions of
//! their own, some under the library's names (`#define snprintf curl_msnprintf`): nothing of theirs may break or change.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::toolchain::{self, driver, scratch, succeed};

#[test]
fn lua_builds_and_prints_the_same() {
    let trees = both("lua", "lua", |tree, compiler| {
        succeed(make(tree).arg("linux").arg(format!("CC={compiler} -std=gnu99")));
        succeed(make(tree).arg("test"));
    });
    let script = files().join("lua/numbers.lua");
    let [expected, printed] = trees
        .each_ref()
        .map(|tree| succeed(Command::new(tree.join("src/lua")).arg(&script)).stdout);
    assert!(expected.len() > 100_000, "{} bytes", expected.len());
    assert!(expected == printed, "see {}", trees[1].display());
    fewer_calls(&trees, "src");
}

#[test]
fn zlib_passes_its_tests() {
    let trees = both("zlib", "zlib", |tree, compiler| {
        succeed(Command::new("./configure").current_dir(tree).env("CC", compiler));
        let said = text(&succeed(make(tree).arg("test")).stdout);
        for kind in ["zlib test OK", "zlib shared test OK", "zlib 64-bit test OK"] {
            assert!(said.contains(kind), "{said}");
        }
    });
    same_file(&trees, "zconf.h");
    fewer_calls(&trees, "");
}

#[test]
#[ignore = "takes minutes: make test-long"]
fn redis_passes_its_tests() {
    let trees = both("redis", "redis", |tree, compiler| {
        succeed(
            make(tree)
                .args(["MALLOC=libc", "OPTIMIZATION=-O2"])
                .arg(format!("CC={compiler}")),
        );
    });
    fewer_calls(&trees, "src");
    let mut test = Command::new("./runtest");
    test.current_dir(&trees[1]).args(["--clients", "2"]);
    for unit in ["unit/type/zset", "unit/type/incr", "unit/info", "unit/printver"] {
        test.args(["--single", unit]);
    }
    let said = text(&succeed(&mut test).stdout);
    assert!(said.contains("All tests passed without errors!"), "{said}");
}

#[test]
#[ignore = "takes minutes: make test-long"]
fn memcached_configures_and_builds() {
    let trees = both("memcached", "../memcached-suite", |tree, compiler| {
        succeed(Command::new("./configure").current_dir(tree).env("CC", compiler));
        succeed(make(tree).arg("memcached"));
    });
    same_file(&trees, "config.h");
    fewer_calls(&trees, "");
    succeed(Command::new(trees[1].join("memcached")).arg("-V"));
}

/// The shell prints by the library, the database by itself: one session in every mode, and the database's own check of
/// what its fuzzers once found.
#[test]
#[ignore = "takes minutes: make test-long"]
fn sqlite_passes_its_checks_and_prints_the_same() {
    let trees = both("sqlite", "sqlite3", |tree, compiler| {
        let mut configure = Command::new("./configure");
        configure.args(["--disable-tcl", "--disable-readline", "CFLAGS=-O2"]);
        succeed(configure.current_dir(tree).arg(format!("CC={compiler}")));
        succeed(make(tree).arg("sqlite3"));
        // The shell is linked from its sources at once; its calls are counted in an object.
        let mut compile = Command::new("sh");
        compile.args(["-c", &format!("{compiler} -O2 -c shell.c")]);
        succeed(compile.current_dir(tree));
    });
    same_file(&trees, "sqlite_cfg.h");
    fewer_calls(&trees, "");
    let [expected, printed] = trees.each_ref().map(|tree| session(tree));
    assert!(expected.len() > 100_000, "{expected}");
    assert!(expected == printed, "see {}", trees[1].display());

    succeed(make(&trees[1]).arg("fuzzcheck"));
    let mut check = Command::new("./fuzzcheck");
    check.current_dir(&trees[1]).arg("test/fuzzdata8.db");
    let said = text(&succeed(&mut check).stdout);
    assert!(said.contains("fuzzcheck: 0 errors out of 575 tests"), "{said}");
}

/// What sqlite's shell says to the script; wrong statements in it make the shell's status that of a failure.
fn session(tree: &Path) -> String {
    let script = fs::File::open(files().join("sqlite/session.sql")).expect("it is in the repository");
    let output = Command::new("./sqlite3")
        .current_dir(tree)
        .arg("session.db")
        .stdin(script)
        .output()
        .expect("it was just built");
    text(&output.stdout) + &text(&output.stderr)
}

/// curl with the warnings and checks of its developers, and its tests of single functions, its own `printf` among them.
#[test]
#[ignore = "takes minutes: make test-long"]
fn curl_configures_the_same_and_passes_its_tests() {
    let trees = both("curl", "curl", |tree, compiler| {
        let mut configure = Command::new("./configure");
        configure.args([
            "--enable-debug",
            "--enable-optimize",
            "--enable-werror",
            "--disable-shared",
        ]);
        configure.args(["--disable-manual", "--disable-ldap"]);
        for library in [
            "ssl", "zlib", "brotli", "zstd", "libpsl", "libidn2", "nghttp2", "librtmp",
        ] {
            configure.arg(format!("--without-{library}"));
        }
        succeed(
            configure
                .current_dir(tree)
                .arg("CFLAGS=-O2")
                .arg(format!("CC={compiler}")),
        );
    });
    same_file(&trees, "lib/curl_config.h");
    let [_, ours] = trees;
    succeed(&mut make(&ours));
    succeed(make(&ours).args(["-C", "tests"]));
    let mut test = Command::new("./runtests.pl");
    test.current_dir(ours.join("tests")).args(["-n", "-a"]);
    // Requests to a real server; every conversion of curl's printf; single functions.
    for range in ["1 to 20", "557", "1300 to 1309", "1394 to 1399", "1600 to 1661"] {
        test.args(range.split(' '));
    }
    let said = text(&succeed(&mut test).stdout);
    assert!(said.contains(" reported OK: 100%"), "{said}");
}

#[test]
#[ignore = "takes minutes: make test-long"]
fn curl_configures_the_same_by_cmake() {
    let trees = both("curl-cmake", "curl", |tree, compiler| {
        let mut configure = Command::new("cmake");
        configure.args(["-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=Release"]);
        for (option, value) in [
            ("CURL_USE_OPENSSL", "OFF"),
            ("CURL_USE_LIBSSH2", "OFF"),
            ("CURL_ZLIB", "OFF"),
            ("CURL_DISABLE_LDAP", "ON"),
        ] {
            configure.arg(format!("-D{option}={value}"));
        }
        succeed(configure.current_dir(tree).env("CC", compiler));
    });
    same_file(&trees, "build/lib/curl_config.h");
}

/// A project of meson's, whose program then lists what its own tests have.
#[test]
#[ignore = "fetches what `make test` does without: make test-long"]
fn pkgconf_configures_the_same_by_meson() {
    let trees = both("pkgconf", "pkgconf", |tree, compiler| {
        let mut setup = Command::new("meson");
        setup.args(["setup", "--buildtype=release", "-Dtests=false", "build"]);
        succeed(setup.current_dir(tree).env("CC", compiler));
        succeed(Command::new("ninja").args(["-C", "build"]).current_dir(tree));
    });
    same_file(&trees, "build/libpkgconf/config.h");
    fewer_calls(&trees, "build/pkgconf.p");
    let [expected, printed] = trees.each_ref().map(|tree| {
        let mut list = Command::new(tree.join("build/pkgconf"));
        let list = list.arg("--list-all").env("PKG_CONFIG_PATH", "tests/lib1");
        text(&succeed(list.current_dir(tree)).stdout)
    });
    assert!(expected.lines().count() > 3, "{expected}");
    assert_eq!(expected, printed);
}

#[test]
#[ignore = "takes minutes: make test-long"]
fn nginx_builds_and_starts() {
    let tree = copy("nginx", &scratch("nginx").join("ours"));
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

/// Two copies of a source in a folder of this name: built by gcc, and by gcc behind `qrintf-cc`. `build` gets each, and
/// what to pass as `CC`.
fn both(name: &str, source: &str, build: impl Fn(&Path, &str)) -> [PathBuf; 2] {
    let folder = scratch(name);
    [("plain", "gcc".to_owned()), ("ours", specialized("gcc"))].map(|(name, compiler)| {
        let tree = copy(source, &folder.join(name));
        build(&tree, &compiler);
        tree
    })
}

/// The value for `CC`.
pub(crate) fn specialized(compiler: &str) -> String {
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

/// A copy of a source tree that `tests/install` or `tests/install-long` fetched.
pub(crate) fn copy(name: &str, to: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let from = root.join("target/clients/sources").join(name);
    assert!(
        from.exists(),
        "{} is missing; run tests/install-long",
        from.display()
    );
    // With their times: make would make files again that the archive has, by tools that the machine lacks.
    succeed(Command::new("cp").arg("-a").arg(&from).arg(to));
    to.to_owned()
}

/// Where the scripts are that programs are given.
fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proof")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A configuration must not depend on the driver.
fn same_file(trees: &[PathBuf; 2], name: &str) {
    let [plain, ours] = trees
        .each_ref()
        .map(|tree| fs::read_to_string(tree.join(name)).expect("configured"));
    assert_eq!(plain, ours, "{name}");
}

/// Compares how many places of the objects in a folder of two trees call the library's functions.
fn fewer_calls(trees: &[PathBuf; 2], folder: &str) {
    let [before, after] = trees.each_ref().map(|tree| calls(&tree.join(folder)));
    println!("calls of the printf family: {before} plain, {after} specialized");
    assert!(
        after < before,
        "{before} calls before, {after} after in {}",
        trees[1].display()
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

/// True if a relocation refers to one of the functions; `__snprintf_chk` is `snprintf` under `_FORTIFY_SOURCE`.
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
