//! C++: the overloads of `-DQRINTF_CXX` write what libc writes, through namespaces, and leave methods alone.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cxx/overload.cc");

/// Builds the source by `compiler` behind qrintf-cc; the program's path.
fn build(compiler: &str, flags: &[&str]) -> PathBuf {
    let name = format!("overload-{compiler}{}", flags.concat());
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let output = Command::new(env!("CARGO_BIN_EXE_qrintf-cc"))
        .arg(compiler)
        .args(["-std=c++17", "-Wall", "-Wextra", "-Werror"])
        .args(flags)
        .arg(SOURCE)
        .arg("-o")
        .arg(&program)
        .output()
        .expect("qrintf-cc runs");
    assert!(
        output.status.success(),
        "{compiler} {flags:?}: {}",
        text(&output.stderr)
    );
    assert!(
        output.stderr.is_empty(),
        "{compiler} {flags:?}: {}",
        text(&output.stderr)
    );
    program
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn run(program: &Path) -> Output {
    Command::new(program).output().expect("the program runs")
}

/// True if the program has functions of the runtime.
fn is_specialized(program: &Path) -> bool {
    let symbols = Command::new("nm").arg(program).output().expect("nm runs");
    let symbols = text(&symbols.stdout);
    [
        "qrintf_u32_any",
        "qrintf_hex64",
        "qrintf_double_any",
        "qrintf_string_padded",
        "qrintf_to_stream",
        "qrintf_to_descriptor",
        "qrintf_to_allocation",
    ]
    .iter()
    .all(|function| symbols.contains(function))
}

#[test]
fn overloads_write_what_libc_writes() {
    let fortified = ["-O2", "-D_FORTIFY_SOURCE=2", "-DQRINTF_CXX"];
    for (compiler, flags) in [
        ("g++", &["-O2", "-DQRINTF_CXX"][..]),
        ("g++-11", &["-O1", "-DQRINTF_CXX"]),
        ("g++", &fortified),
        ("clang++", &["-O2", "-DQRINTF_CXX"]),
    ] {
        let program = build(compiler, flags);
        let output = run(&program);
        assert!(
            output.status.success(),
            "{compiler} {flags:?}: {}",
            text(&output.stderr)
        );
        assert_eq!(
            text(&output.stdout),
            "0 failures\n 3.14|7   |\nplain\n",
            "{compiler} {flags:?}"
        );
        assert!(is_specialized(&program), "{compiler} {flags:?}");
    }
}

#[test]
fn without_the_word_cxx_is_left_alone() {
    let program = build("g++", &["-O1"]);
    assert!(run(&program).status.success());
    assert!(!is_specialized(&program));
}
