//! Foreign C by every compiler: what builds alone builds behind `qrintf-cc`, with each function and object in a section of
//! its own and the unused ones dropped, as embedded systems and distributions build it.
//!
//! Where a build fails, the compiler tries alone: a project that it cannot build either says nothing about `qrintf-cc`, and is
//! a fault of this list or of the machine. How many sources do not compile with the headers, so that the driver compiles them
//! without, is printed.

use std::{fs, path::Path, process::Command};

use crate::{
    programs::{copy, specialized},
    toolchain::scratch,
};

const COMPILERS: [&str; 3] = ["gcc", "gcc-11", "clang"];

/// A project of Debian's and the shell commands that build it, by the compiler `$CC` with the flags `$CFLAGS`, `$LDFLAGS`.
struct Project {
    name: &'static str,
    build: &'static str,
    /// A command to run in the end, and a part of its output.
    check: (&'static str, &'static str),
}

const LUA: Project = Project {
    name: "lua",
    build: "make -s linux CC=\"$CC -std=gnu99\" MYCFLAGS=\"$CFLAGS\" MYLDFLAGS=\"$LDFLAGS\"",
    check: ("src/lua -e 'print(7 // 2, 1e15, 0.1)'", "3\t1e+15\t0.1"),
};
const ZLIB: Project = Project {
    name: "zlib",
    build: "./configure --static && make -s",
    check: ("./example", "uncompress(): hello, hello!"),
};
const JQ: Project = Project {
    name: "jq",
    build: "(autoreconf -fi && ./configure --without-oniguruma --disable-docs --disable-maintainer-mode) >/dev/null 2>&1 && make -s",
    check: ("echo '[1.5, 1e100]' | ./jq -c .", "[1.5,1e+100]"),
};
const BUSYBOX: Project = Project {
    name: "busybox",
    build: "make -s defconfig && make -s CC=\"$CC\" EXTRA_CFLAGS=\"$CFLAGS\" busybox",
    check: ("./busybox printf '%05d %s\\n' 7 x", "00007 x"),
};
const GAWK: Project = Project {
    name: "gawk",
    build: "./configure --disable-extensions --disable-nls --without-mpfr >/dev/null && make -s -C support && make -s gawk",
    check: ("./gawk 'BEGIN { printf \"%d %g\", 7.9, 0.1 }'", "7 0.1"),
};
const GIT: Project = Project {
    name: "git",
    build: "make -s CC=\"$CC\" CFLAGS=\"$CFLAGS -Wall\" LDFLAGS=\"$LDFLAGS\" NO_OPENSSL=1 NO_CURL=1 NO_EXPAT=1 NO_GETTEXT=1 NO_PERL=1 \
            NO_PYTHON=1 NO_TCLTK=1 git",
    check: ("./git --version", "git version 2"),
};
const CURL: Project = Project {
    name: "curl",
    build: "./configure --disable-shared --disable-manual --disable-ldap --without-ssl --without-zlib --without-brotli \
            --without-zstd --without-libpsl --without-libidn2 --without-nghttp2 --without-librtmp >/dev/null && make -s -C lib \
            && make -s -C src",
    check: ("src/curl --version", "Protocols: "),
};

#[test]
fn small_projects_build_by_every_compiler() {
    for project in [LUA, ZLIB] {
        build(&project, &["gcc-11", "clang"]);
    }
}

#[test]
#[ignore = "takes minutes: make test-long"]
fn jq_builds_by_every_compiler() {
    build(&JQ, &COMPILERS);
}

#[test]
#[ignore = "takes minutes: make test-long"]
fn busybox_builds_by_every_compiler() {
    build(&BUSYBOX, &COMPILERS);
}

#[test]
#[ignore = "takes minutes: make test-long"]
fn gawk_builds_by_every_compiler() {
    build(&GAWK, &COMPILERS);
}

#[test]
#[ignore = "takes minutes: make test-long"]
fn git_builds_by_every_compiler() {
    build(&GIT, &COMPILERS);
}

#[test]
#[ignore = "takes minutes: make test-long"]
fn curl_builds_by_every_compiler() {
    build(&CURL, &COMPILERS);
}

fn build(project: &Project, compilers: &[&str]) {
    for compiler in compilers {
        let folder = scratch(&format!("corpus-{}-{compiler}", project.name));
        let report = folder.join("report");
        let built = run(project, &folder.join("ours"), &specialized(compiler), &report);
        if let Err(said) = built {
            let alone = run(project, &folder.join("alone"), compiler, Path::new(""));
            let how = if alone.is_ok() {
                "alone only"
            } else {
                "in neither way"
            };
            panic!("{} builds by {compiler} {how}:\n{said}", project.name);
        }
        let report = fs::read_to_string(&report).unwrap_or_default();
        let count = |words: &str| report.lines().filter(|line| line.ends_with(words)).count();
        println!(
            "{} by {compiler}: {} calls specialized, {} sources do not compile with the headers",
            project.name,
            count(": specialized"),
            count(": left: it does not compile with the headers"),
        );
        // curl formats by functions of its own.
        let has_calls = project.name != CURL.name;
        assert_eq!(
            count(": specialized") > 0,
            has_calls,
            "{} by {compiler}",
            project.name
        );
    }
}

/// Builds and checks a copy in `tree`; what was said if that failed.
fn run(project: &Project, tree: &Path, compiler: &str, report: &Path) -> Result<(), String> {
    copy(project.name, tree);
    let (command, expected) = project.check;
    let output = Command::new("sh")
        .args(["-e", "-c", &format!("{{ {}; }} >&2 && {command}", project.build)])
        .current_dir(tree)
        .env("CC", compiler)
        .env("CFLAGS", "-Os -ffunction-sections -fdata-sections")
        .env("LDFLAGS", "-Wl,--gc-sections")
        .env("QRINTF_REPORT", report)
        // The test itself may run below a `make`, whose flags are not this program's.
        .env("MAKEFLAGS", "-j2")
        .env_remove("MFLAGS")
        .output()
        .expect("there is a shell");
    let said = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8_lossy(&output.stdout);
    if output.status.success() && printed.contains(expected) {
        return Ok(());
    }
    let start = said.len().saturating_sub(4000);
    let last = said.get(start..).unwrap_or(&said);
    Err(format!("{}\n{last}\n{printed}", output.status))
}
