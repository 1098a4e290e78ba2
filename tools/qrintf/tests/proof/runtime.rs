//! The C runtime of `qrintf.h`: builds the programs of `check/` with every compiler and libc at hand and runs their
//! short forms; `make check-digits` runs the long ones. Then what concerns the headers as such: no warning in any
//! dialect, and one copy of each function in a program of several objects.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::toolchain::{AARCH64, CLANG, GCC, MUSL, MUSL_CLANG, Toolchain, scratch, succeed};

/// Ways to build a program, each with a name. gcc shares functions between objects when told so; both ways are here.
const BUILDS: &[(&str, Toolchain, &[&str])] = &[
    ("gcc", GCC, &["-O2", "-DQRINTF_COMDAT"]),
    ("gcc-size", GCC, &["-Os"]),
    (
        "gcc-checked",
        GCC,
        &[
            "-O1",
            "-g",
            "-fsanitize=undefined,address",
            "-fno-sanitize-recover",
        ],
    ),
    ("clang", CLANG, &["-O2"]),
    ("clang-size", CLANG, &["-Os"]),
    ("musl", MUSL, &["-O2", "-DQRINTF_COMDAT"]),
    ("musl-clang", MUSL_CLANG, &["-O2"]),
    ("aarch64", AARCH64, &["-O2", "-DQRINTF_COMDAT"]),
];

/// Warnings that any current header raises under a dialect are off.
const DIALECTS: &[&[&str]] = &[
    &["gcc", "-std=gnu89", "-Wno-long-long", "-Wno-overlength-strings"],
    &["gcc", "-std=gnu2x", "-DQRINTF_COMDAT"],
    &["clang", "-std=gnu89", "-Wno-long-long", "-Wno-overlength-strings"],
    &["clang", "-std=gnu2x"],
    &["g++", "-x", "c++", "-std=c++98"],
    &["g++", "-x", "c++", "-std=c++20"],
    &["clang++", "-x", "c++", "-std=c++98"],
    &["clang++", "-x", "c++", "-std=c++20"],
    &["aarch64-linux-gnu-gcc", "-std=gnu11"],
];

const WARNINGS: &[&str] = &[
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wconversion",
    "-Wsign-conversion",
    "-Wshadow",
    "-Wcast-qual",
    "-Wundef",
    "-Werror",
];

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Gives a compiler one program of `check/`. The headers do not count as system headers here, so that warnings are seen.
fn with<'a>(compiler: &'a mut Command, program: &str) -> &'a mut Command {
    compiler
        .arg("-iquote")
        .arg(folder("include"))
        .arg(folder("check").join(program))
}

/// The words of a command that begins with a compiler's name.
fn compiler(words: &[&str], program: &str) -> Command {
    let mut command = Command::new(words[0]);
    with(command.args(&words[1..]), program);
    command
}

/// Builds one program of `check/` in every way and runs it.
fn check(program: &str, arguments: &[&str]) {
    let folder = scratch(&format!("runtime-{program}-{}", arguments.join("-")));
    for (name, toolchain, flags) in BUILDS {
        let path = folder.join(name);
        let mut compile = toolchain.plain();
        let compile = with(compile.args(*flags), &format!("{program}.c"));
        succeed(compile.arg("-o").arg(&path).arg("-lm"));
        succeed(toolchain.run(&path).args(arguments));
    }
}

#[test]
fn the_first_numbers_are_written_as_counted() {
    check("exhaustive", &["0", "100000"]);
}

#[test]
fn the_last_numbers_of_32_bits_are_written_as_counted() {
    check("exhaustive", &["4294937296", "30000"]);
}

#[test]
fn numbers_of_64_bits_are_right_at_their_boundaries() {
    check("boundaries", &["12", "20000"]);
}

#[test]
fn mixtures_of_flags_are_those_of_libc() {
    check("mixtures", &["100000"]);
}

#[test]
fn doubles_are_those_of_libc() {
    check("doubles", &["50000"]);
}

#[test]
fn tables_are_what_they_say() {
    check("tables", &[]);
}

#[test]
fn another_decimal_point_is_left_to_libc() {
    let folder = scratch("point");
    for compile in [&["gcc", "-O2"], &["clang", "-O2"]] {
        let path = folder.join(compile[0]);
        succeed(compiler(compile, "point.c").arg("-o").arg(&path));
        succeed(&mut Command::new(path));
    }
}

#[test]
fn no_dialect_warns() {
    // Not /dev/null: compilers replace what their output is to be, and root's would replace the device.
    let object = scratch("dialects").join("dialect.o");
    for dialect in DIALECTS {
        succeed(
            compiler(dialect, "linkage.c")
                .args(WARNINGS)
                .args(["-O2", "-DPART=1", "-c", "-o"])
                .arg(&object),
        );
    }
}

/// One of the four objects of the program that shows how copies meet.
fn part(folder: &Path, compile: &[&str], number: usize) -> PathBuf {
    let object = folder.join(format!("{number}.o"));
    let mut command = compiler(compile, "linkage.c");
    succeed(
        command
            .args(["-c", &format!("-DPART={number}"), "-o"])
            .arg(&object),
    );
    object
}

/// Links objects by a command that begins with a compiler's name.
fn link(words: &[&str], objects: &[PathBuf], program: &Path) {
    let mut command = Command::new(words[0]);
    succeed(command.args(&words[1..]).args(objects).arg("-o").arg(program));
}

/// Builds the program of four objects and returns how often it defines a function of the runtime, and its text's size.
fn linked(name: &str, compile: &[&str], words: &[&str]) -> (usize, u64) {
    let folder = scratch(&format!("copies-{name}"));
    let objects = [0, 1, 2, 3].map(|number| part(&folder, compile, number));
    let program = folder.join("program");
    link(words, &objects, &program);
    let printed = text_of(&mut Command::new(&program));
    assert!(
        printed.starts_with("101101101        0x65  part0.10000000000000001102"),
        "{printed}"
    );
    let symbols = text_of(Command::new("nm").arg(&program));
    let copies = symbols
        .lines()
        .filter(|line| line.contains(" qrintf_u64"))
        .count();
    let sizes = text_of(Command::new("size").arg(&program));
    let size = sizes
        .lines()
        .nth(1)
        .and_then(|line| line.split_whitespace().next())
        .unwrap();
    (copies, size.parse().unwrap())
}

/// A command's output.
fn text_of(command: &mut Command) -> String {
    String::from_utf8(succeed(command).stdout).unwrap()
}

#[test]
fn copies_fold_whatever_links() {
    let (copies, once) = linked("gcc", &["gcc", "-O2", "-DQRINTF_COMDAT"], &["cc"]);
    assert_eq!(copies, 1);
    let (_, thrice) = linked("private", &["gcc", "-O2", "-DQRINTF_STATIC"], &["cc"]);
    assert!(
        once + 2 * 5000 < thrice,
        "{once} and {thrice} bytes: folding saves nothing"
    );
    for (name, compile, link) in [
        ("gcc-g", &["gcc", "-O2", "-g", "-DQRINTF_COMDAT"][..], &["cc"][..]),
        ("gcc-c++", &["gcc", "-O2", "-DQRINTF_COMDAT"], &["c++"]),
        (
            "gcc-static",
            &["gcc", "-Os", "-DQRINTF_COMDAT"],
            &["cc", "-static"],
        ),
        (
            "gcc-clang",
            &["gcc", "-O3", "-fPIC", "-DQRINTF_COMDAT"],
            &["clang"],
        ),
        ("g++", &["g++", "-x", "c++", "-O2"], &["c++"]),
        ("clang", &["clang", "-O2"], &["cc"]),
        ("clang++", &["clang++", "-x", "c++", "-O2"], &["c++"]),
        (
            "clang-lto",
            &["clang", "-O2", "-flto"],
            &["clang", "-flto", "-fuse-ld=gold"],
        ),
    ] {
        assert_eq!(linked(name, compile, link).0, 1, "{name}");
    }
}

#[test]
fn link_time_optimization_of_gcc_links() {
    linked("gcc-lto", &["gcc", "-O2", "-flto"], &["gcc", "-O2", "-flto"]);
    linked(
        "gcc-lto-parts",
        &["gcc", "-O2", "-flto"],
        &["gcc", "-O2", "-flto", "-flto-partition=max"],
    );
}

/// Objects of different compilers, languages and link kinds in one program.
#[test]
fn copies_of_different_compilers_meet() {
    let compilers: [&[&str]; 4] = [
        &["gcc", "-O2", "-DQRINTF_COMDAT"],
        &["clang", "-O2"],
        &["g++", "-x", "c++", "-O2"],
        &["gcc", "-O2", "-flto"],
    ];
    let folder = scratch("mixed");
    for turn in 0..compilers.len() {
        let objects =
            [0, 1, 2, 3].map(|number| part(&folder, compilers[(turn + number) % compilers.len()], number));
        let program = folder.join("program");
        link(&["c++", "-O2", "-flto"], &objects, &program);
        succeed(&mut Command::new(&program));
    }
}

/// Old objects and new ones may meet in a program: a name that they share says which version it is.
#[test]
fn shared_names_carry_a_version() {
    let folder = scratch("versioned");
    for compile in [&["gcc", "-O2", "-DQRINTF_COMDAT"][..], &["clang", "-O2"]] {
        let object = part(&folder, compile, 1);
        let symbols = text_of(Command::new("nm").arg(&object));
        let shared: Vec<_> = symbols.lines().filter(|line| line.contains(" W ")).collect();
        assert!(shared.len() > 10, "{symbols}");
        assert!(shared.iter().all(|line| line.ends_with("_v3")), "{symbols}");
    }
}

/// `ld -r` keeps the groups, so an object made of objects folds with others.
#[test]
fn objects_may_be_joined_first() {
    let folder = scratch("joined");
    let halves = [[0, 1], [2, 3]].map(|numbers| {
        let objects = numbers.map(|number| part(&folder, &["gcc", "-O2", "-DQRINTF_COMDAT"], number));
        let half = folder.join(format!("{numbers:?}.o"));
        link(&["ld", "-r"], &objects, &half);
        half
    });
    let program = folder.join("program");
    link(&["cc"], &halves, &program);
    succeed(&mut Command::new(&program));
}
