//! Hand-written programs below `c/cases`, which check themselves, by every compiler and level.
//!
//! They first run as the plain compiler makes them, so that a case that the library itself fails is seen as such.

use std::{
    path::Path,
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::toolchain::{
    self, AARCH64, AARCH64_MUSL, CLANG, GCC, GCC_11, MUSL, MUSL_CLANG, Toolchain, scratch, succeed,
};

/// Valid code has to be silent too. The warnings left out are about the cases themselves, and plain compilers print them too.
const SILENT: &[&str] = &[
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wno-unknown-warning-option",
    "-Wno-restrict",
    "-Wno-format-truncation",
    "-Wno-format-overflow",
    "-Wno-format-security",
    "-Wno-string-plus-int",
];

#[test]
fn calls_are_spelled_as_programs_spell_them() {
    run("language", SILENT, &[], &all());
}

#[test]
fn lengths_and_sizes_at_their_limits() {
    run("edges", &["-w"], &[], &all());
}

#[test]
fn streams_see_the_same_writes() {
    run("streams", &["-w"], &[], &all());
}

#[test]
fn rounding_modes_are_kept() {
    run("environment", &["-w"], &[], &all());
    run("environment", &["-w", "-frounding-math"], &[], &[(GCC, &["-O2"])]);
}

#[test]
fn a_decimal_comma_is_printed() {
    let locales = scratch("locales");
    let name = "de_DE.UTF-8";
    succeed(
        Command::new("localedef")
            .args(["-i", "de_DE", "-f", "UTF-8"])
            .arg(locales.join(name)),
    );
    let folding: &[Build] = &[
        (GCC, &["-O2"]),
        (GCC_11, &["-O1"]),
        (CLANG, &["-O2"]),
        (AARCH64, &["-O2"]),
    ];
    let environment = [("LOCPATH", locales.to_str().expect("a path of text"))];
    run_with("environment", &["-w"], &[name], &environment, folding);
}

#[test]
fn pointers_of_every_type_are_taken_once() {
    run("pointers", &["-w"], &[], &all());
}

/// Every standard from C++11 on, with the overloads and without; with them, something of the runtime has to be there.
#[test]
fn overloads_of_cplusplus_print_the_same() {
    let folder = scratch("overloads");
    for compiler in ["g++", "clang++"] {
        for (standard, level) in [
            ("11", "-O2"),
            ("14", "-O1"),
            ("17", "-O2"),
            ("20", "-Os"),
            ("17", "-O0"),
        ] {
            for wanted in [&[][..], &["-DQRINTF_CXX"]] {
                let object = folder.join("overloads.o");
                let program = folder.join("overloads");
                let mut compile = Command::new(toolchain::driver());
                compile
                    .arg(compiler)
                    .arg(format!("-std=c++{standard}"))
                    .args([level, "-Wall", "-Wextra", "-Werror"]);
                compile
                    .args([
                        "-Wno-unknown-warning-option",
                        "-Wno-unused",
                        "-Wno-format",
                        "-Wno-format-truncation",
                    ])
                    .args(wanted)
                    .arg("-c");
                succeed(
                    compile
                        .arg(toolchain::sources().join("cases/overloads.cc"))
                        .arg("-o")
                        .arg(&object),
                );
                succeed(Command::new(compiler).arg(&object).arg("-o").arg(&program));
                succeed(&mut Command::new(&program));
                let names = succeed(Command::new("nm").arg(&object)).stdout;
                let specialized = String::from_utf8_lossy(&names).contains("qrintf_");
                assert_eq!(
                    specialized,
                    !wanted.is_empty() && level != "-O0",
                    "{compiler} {standard} {level} {wanted:?}"
                );
            }
        }
    }
}

type Build = (Toolchain, &'static [&'static str]);

fn all() -> Vec<Build> {
    vec![
        (GCC, &["-O0"]),
        (GCC, &["-O1"]),
        (GCC, &["-O2"]),
        (GCC, &["-O3"]),
        (GCC, &["-Os"]),
        (GCC, &["-O2", "-D_FORTIFY_SOURCE=2"]),
        (GCC, &["-O2", "-D_FORTIFY_SOURCE=3"]),
        (
            GCC,
            &["-O2", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
        ),
        (GCC_11, &["-O2"]),
        (GCC_11, &["-Os", "-D_FORTIFY_SOURCE=2"]),
        (CLANG, &["-O1"]),
        (CLANG, &["-O2"]),
        (CLANG, &["-O3", "-D_FORTIFY_SOURCE=2"]),
        (CLANG, &["-Os"]),
        (
            CLANG,
            &["-O2", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
        ),
        (CLANG, &["-O1", "-fsanitize=memory"]),
        (MUSL, &["-O2"]),
        (MUSL_CLANG, &["-O2"]),
        (AARCH64, &["-O2"]),
        (AARCH64_MUSL, &["-O2"]),
    ]
}

fn run(case: &str, flags: &[&str], arguments: &[&str], builds: &[Build]) {
    run_with(case, flags, arguments, &[], builds);
}

fn run_with(case: &str, flags: &[&str], arguments: &[&str], environment: &[(&str, &str)], builds: &[Build]) {
    let folder = scratch(&format!("{case}-{}-{}", flags.len(), arguments.len()));
    let faults = Mutex::new(String::new());
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(build) = builds.get(next.fetch_add(1, Ordering::Relaxed)) {
                    for specialized in [false, true] {
                        let fault = one(&folder, case, flags, arguments, environment, build, specialized);
                        faults
                            .lock()
                            .expect("no thread panics with it")
                            .push_str(&fault.unwrap_or_default());
                    }
                }
            });
        }
    });
    let faults = faults.into_inner().expect("no thread panics with it");
    assert!(faults.is_empty(), "{faults}");
}

/// Builds and runs one program; what went wrong, if anything did.
fn one(
    folder: &Path,
    case: &str,
    flags: &[&str],
    arguments: &[&str],
    environment: &[(&str, &str)],
    (toolchain, level): &Build,
    specialized: bool,
) -> Option<String> {
    let mut compile = if specialized {
        toolchain.specialized()
    } else {
        toolchain.plain()
    };
    let half = if specialized { "ours" } else { "plain" };
    let name = format!("{}{}-{half}", toolchain.name, level.join("")).replace([',', '='], "-");
    let program = folder.join(name);
    compile
        .arg("-std=gnu11")
        .args(*level)
        .args(flags)
        .arg("-o")
        .arg(&program);
    compile
        .arg(toolchain::sources().join("cases").join(format!("{case}.c")))
        .args(["-pthread", "-lm"]);
    let mut run = toolchain.run(&program);
    // Buffers of streams live as long as the program and do not count as leaks.
    run.args(arguments)
        .env("ASAN_OPTIONS", "detect_leaks=0")
        .envs(environment.iter().copied());
    for command in [&mut compile, &mut run] {
        let output = command
            .output()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().take(30).collect::<Vec<_>>().join("\n");
            return Some(format!("{command:?}: {}\n{said}\n", output.status));
        }
    }
    None
}
