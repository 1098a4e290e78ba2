//! The C runtime of `qrintf.h`: builds the programs of `check/` with every compiler and libc at hand and runs their
//! short forms; `make check-digits` runs the long ones. Then what concerns the headers as such: no warning in any
//! dialect, and one copy of each function in a program of several objects.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A way to build and to run a program: the compiler's words, and what comes before the program's name.
#[derive(Clone, Copy)]
struct Toolchain {
    name: &'static str,
    compile: &'static [&'static str],
    run: &'static [&'static str],
}

const TOOLCHAINS: &[Toolchain] = &[
    Toolchain {
        name: "gcc",
        compile: &["gcc", "-O2", "-DQRINTF_COMDAT"],
        run: &[],
    },
    Toolchain {
        name: "gcc-size",
        compile: &["gcc", "-Os"],
        run: &[],
    },
    Toolchain {
        name: "gcc-checked",
        compile: &[
            "gcc",
            "-O1",
            "-g",
            "-fsanitize=undefined,address",
            "-fno-sanitize-recover",
        ],
        run: &[],
    },
    Toolchain {
        name: "clang",
        compile: &["clang", "-O2"],
        run: &[],
    },
    Toolchain {
        name: "clang-size",
        compile: &["clang", "-Os"],
        run: &[],
    },
    Toolchain {
        name: "musl",
        compile: &["musl-gcc", "-O2", "-static", "-DQRINTF_COMDAT"],
        run: &[],
    },
    Toolchain {
        name: "aarch64",
        compile: &["aarch64-linux-gnu-gcc", "-O2", "-static", "-DQRINTF_COMDAT"],
        run: &["qemu-aarch64"],
    },
];

/// What a dialect's own rules forbid in any header of today is not asked of it.
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
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("runtime");
    std::fs::create_dir_all(&path).unwrap();
    path.join(name)
}

fn succeeded(command: &mut Command) -> Output {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}; tests/install installs it"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// A compiler call over one program of `check/`. The headers are no system headers here, so that warnings are seen.
fn compiler(words: &[&str], program: &str) -> Command {
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .arg("-iquote")
        .arg(folder("include"))
        .arg(folder("check").join(program));
    command
}

/// Builds one program of `check/` with every toolchain and runs it.
fn check(program: &str, arguments: &[&str]) {
    for toolchain in TOOLCHAINS {
        let path = scratch(&format!("{program}-{}", toolchain.name));
        succeeded(
            compiler(toolchain.compile, &format!("{program}.c"))
                .arg("-o")
                .arg(&path)
                .arg("-lm"),
        );
        let mut command = match toolchain.run {
            [] => Command::new(&path),
            [emulator, rest @ ..] => {
                let mut command = Command::new(emulator);
                command.args(rest).arg(&path);
                command
            }
        };
        succeeded(command.args(arguments));
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
    for compile in [&["gcc", "-O2"], &["clang", "-O2"]] {
        let path = scratch(&format!("point-{}", compile[0]));
        succeeded(compiler(compile, "point.c").arg("-o").arg(&path));
        succeeded(&mut Command::new(path));
    }
}

#[test]
fn no_dialect_warns() {
    for dialect in DIALECTS {
        // Not /dev/null: compilers replace what their output is to be, and root's would replace the device.
        let object = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dialect.o");
        succeeded(
            compiler(dialect, "linkage.c")
                .args(WARNINGS)
                .args(["-O2", "-DPART=1", "-c", "-o"])
                .arg(object),
        );
    }
}

/// Builds the program of three objects and returns how often it defines a function of the runtime, and its text's size.
fn linked(name: &str, compile: &[&str], link: &[&str]) -> (usize, u64) {
    let mut objects = Vec::new();
    for part in 0..4 {
        let object = scratch(&format!("linkage-{name}-{part}.o"));
        succeeded(
            compiler(compile, "linkage.c")
                .args(["-c", &format!("-DPART={part}"), "-o"])
                .arg(&object),
        );
        objects.push(object);
    }
    let program = scratch(&format!("linkage-{name}"));
    succeeded(
        Command::new(link[0])
            .args(&link[1..])
            .args(&objects)
            .arg("-o")
            .arg(&program),
    );
    let text = succeeded(&mut Command::new(&program)).stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(
        text.starts_with("101101101        0x65  part0.10000000000000001102"),
        "{text}"
    );
    let symbols = String::from_utf8(succeeded(Command::new("nm").arg(&program)).stdout).unwrap();
    let copies = symbols
        .lines()
        .filter(|line| line.contains(" qrintf_u64"))
        .count();
    let sizes = String::from_utf8(succeeded(Command::new("size").arg(&program)).stdout).unwrap();
    let size = sizes
        .lines()
        .nth(1)
        .and_then(|line| line.split_whitespace().next())
        .unwrap();
    (copies, size.parse().unwrap())
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
    for turn in 0..compilers.len() {
        let mut objects = Vec::new();
        for part in 0..4 {
            let object = scratch(&format!("mixed-{turn}-{part}.o"));
            let compile = compilers[(turn + part) % compilers.len()];
            succeeded(
                compiler(compile, "linkage.c")
                    .args(["-c", &format!("-DPART={part}"), "-o"])
                    .arg(&object),
            );
            objects.push(object);
        }
        let program = scratch(&format!("mixed-{turn}"));
        succeeded(
            Command::new("c++")
                .args(["-O2", "-flto"])
                .args(&objects)
                .arg("-o")
                .arg(&program),
        );
        succeeded(&mut Command::new(&program));
    }
}

/// Old objects and new ones may meet in a program: a name that they share says which version it is.
#[test]
fn shared_names_carry_a_version() {
    for compile in [&["gcc", "-O2", "-DQRINTF_COMDAT"][..], &["clang", "-O2"]] {
        let object = scratch(&format!("versioned-{}.o", compile[0]));
        let mut command = compiler(compile, "linkage.c");
        succeeded(command.args(["-c", "-DPART=1", "-o"]).arg(&object));
        let symbols = String::from_utf8(succeeded(Command::new("nm").arg(&object)).stdout).unwrap();
        let shared: Vec<_> = symbols.lines().filter(|line| line.contains(" W ")).collect();
        assert!(shared.len() > 10, "{symbols}");
        assert!(shared.iter().all(|line| line.ends_with("_v1")), "{symbols}");
    }
}

/// `ld -r` keeps the groups, so an object made of objects folds with others.
#[test]
fn objects_may_be_joined_first() {
    for (part, output) in [("0 1", "joined-01.o"), ("2 3", "joined-23.o")] {
        let objects: Vec<_> = part
            .split(' ')
            .map(|part| {
                let object = scratch(&format!("joined-{part}.o"));
                let words = ["gcc", "-O2", "-DQRINTF_COMDAT"];
                succeeded(
                    compiler(&words, "linkage.c")
                        .args(["-c", &format!("-DPART={part}"), "-o"])
                        .arg(&object),
                );
                object
            })
            .collect();
        succeeded(
            Command::new("ld")
                .arg("-r")
                .args(&objects)
                .arg("-o")
                .arg(scratch(output)),
        );
    }
    let program = scratch("joined");
    succeeded(
        Command::new("cc")
            .arg(scratch("joined-01.o"))
            .arg(scratch("joined-23.o"))
            .arg("-o")
            .arg(&program),
    );
    succeeded(&mut Command::new(&program));
}
