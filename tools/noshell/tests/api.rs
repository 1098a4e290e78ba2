//! The functions of noshell.h, called from C, linked with the static library and with the shared one.

#![allow(clippy::unwrap_used)]

mod support;

use std::process::Command;
use std::time::Duration;
use support::{
    Flavour, children, environment, library_folder, package, program, remove_scratch, run, scratch, text,
};

const LIMIT: Duration = Duration::from_secs(60);
const ENOENT: i32 = libc_errno::ENOENT;

/// The numbers of Linux, on all its processors.
mod libc_errno {
    pub(super) const ENOENT: i32 = 2;
    pub(super) const E2BIG: i32 = 7;
    pub(super) const EBADF: i32 = 9;
    pub(super) const ECHILD: i32 = 10;
    pub(super) const EACCES: i32 = 13;
    pub(super) const EINVAL: i32 = 22;
    pub(super) const EMFILE: i32 = 24;
}

/// The output of a scenario on standard output and standard error, linked in both ways.
fn said(scenario: &str) -> (String, String) {
    let include = format!("-I{}", package().join("include").display());
    let folder = library_folder(Flavour::Release);
    let archive = folder.join("libnoshell.a").display().to_string();
    let shared = folder.join("libnoshell.so").display().to_string();
    let rpath = format!("-Wl,-rpath,{}", folder.display());
    let by_static = by(scenario, "api-static", &[&include, "-pthread", &archive]);
    let by_shared = by(scenario, "api-shared", &[&include, &rpath, &shared]);
    assert_eq!(by_static, by_shared, "{scenario}: static and shared");
    by_static
}

fn by(scenario: &str, name: &str, options: &[&str]) -> (String, String) {
    let program = support::program_as(name, "api", options);
    let folder = scratch(&format!("{name}-{scenario}"));
    let mut command = Command::new(program);
    environment(command.arg(scenario).current_dir(&folder), &folder);
    command.env("PROBE_VARS", children().join("vars"));
    let output = run(&mut command, b"", LIMIT);
    remove_scratch(&folder);
    assert!(
        output.status.success(),
        "{scenario}: {}: {}",
        output.status,
        text(&output.stderr)
    );
    (text(&output.stdout), text(&output.stderr))
}

#[track_caller]
fn says(scenario: &str, expected: &str) {
    let (out, err) = said(scenario);
    assert_eq!((out.as_str(), err.as_str()), (expected, ""), "{scenario}");
}

#[test]
fn streams_read_what_no_shell_has_touched() {
    says(
        "reading",
        "stream 1 pid 1 cloexec 1 5[name][a b][*][$HOME][]\nstatus 0\n\
         stream 1 pid 1 cloexec 1 status 1792\n\
         stream 1 pid 1 cloexec 1 status 15\n\
         stream 1 pid 1 cloexec 1 1[args]\nstatus 0\n",
    );
}

#[test]
fn streams_are_written() {
    says(
        "writing",
        "stream 1 pid 1 cloexec 1 written\nstatus 0\nstream 1 pid 1 cloexec 1 written\nstatus 0\n",
    );
}

#[test]
fn standard_error_goes_where_the_mode_says() {
    let one = |text: &str| format!("stream 1 pid 1 cloexec 1 {text}status 0\n");
    assert_eq!(said("errors_kept"), (one("out\n"), "err\n".to_owned()));
    assert_eq!(said("errors_discarded"), (one("out\n"), String::new()));
    assert_eq!(said("errors_joined"), (one("out\nerr\n"), String::new()));
}

#[test]
fn senseless_types_and_modes_are_refused() {
    let refused = format!("NULL errno {}\n", libc_errno::EINVAL).repeat(6);
    says(
        "refused",
        &format!("{refused}children left: -1 errno {}\n", libc_errno::ECHILD),
    );
}

#[test]
fn missing_programs_are_no_children() {
    let (enoent, eacces) = (ENOENT, libc_errno::EACCES);
    let lines = [enoent, enoent, eacces, eacces, enoent]
        .map(|errno| format!("NULL errno {errno}\n"))
        .concat();
    says(
        "missing",
        &format!("{lines}children left: -1 errno {}\n", libc_errno::ECHILD),
    );
}

#[test]
fn programs_run_to_their_end() {
    let status = |code: i32| code << 8;
    let (missing, forbidden) = (status(127), status(126));
    says(
        "running",
        &format!(
            "code 0\ncode {}\ndie 9\ndie 15\nnowhere {missing}\n./nowhere {missing}\n/dev/null {forbidden}\n\
             4[args][a b][*][>x]\nargs 0\nchildren left: -1 errno {}\n",
            status(7),
            libc_errno::ECHILD
        ),
    );
}

#[test]
fn what_is_too_much_is_told() {
    let left = format!("children left: -1 errno {}\n", libc_errno::ECHILD);
    says("too_much", &format!("NULL errno {}\n{left}", libc_errno::E2BIG));
    says(
        "no_descriptors",
        &format!("NULL errno {}\n{left}", libc_errno::EMFILE),
    );
}

#[test]
fn spawned_programs_are_pidfds_with_pipes() {
    says(
        "spawning",
        &format!(
            "pidfd 1 pid 1 cloexec 1\nended 0\ntext\nended 1\nstatus 0\nchildren left: -1 errno {}\n",
            libc_errno::ECHILD
        ),
    );
}

#[test]
fn spawned_programs_have_their_own_surroundings() {
    says("spawning_elsewhere", "A=b\nstatus 0\n/\nstatus 0\n");
    says("joined", "status 0\nout\nerr\n");
}

#[test]
fn what_cannot_be_spawned_says_why() {
    let (enoent, ebadf, einval) = (ENOENT, libc_errno::EBADF, libc_errno::EINVAL);
    says(
        "spawning_nothing",
        &format!(
            "nowhere: -1 errno {enoent}\ndirectory: -1 errno {enoent}\ndescriptor: -1 errno {ebadf}\nno pidfd: -1 errno {einval}\n\
             children left: -1 errno {}\n",
            libc_errno::ECHILD
        ),
    );
}

/// The header compiles as C89 and as C++.
#[test]
fn the_header_compiles_everywhere() {
    let include = format!("-I{}", package().join("include").display());
    for (compiler, language, standard) in [
        ("cc", "c", "gnu89"),
        ("cc", "c", "c99"),
        ("cc", "c", "c2x"),
        ("c++", "c++", "c++98"),
        ("c++", "c++", "c++20"),
    ] {
        let folder = scratch(&format!("header-{standard}"));
        let source = folder.join("use.txt");
        std::fs::write(&source, "#include <noshell.h>\nint used(struct popen_noshell_pass_to_pclose *p) { return pclose_noshell(p); }\n")
            .unwrap();
        let output = Command::new(compiler)
            .args([
                "-x",
                language,
                &format!("-std={standard}"),
                "-Wall",
                "-Wextra",
                "-Werror",
                "-pedantic",
                &include,
                "-c",
            ])
            .arg(&source)
            .arg("-o")
            .arg(folder.join("use.o"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{standard}: {}", text(&output.stderr));
        remove_scratch(&folder);
    }
    // One of the compilers must have been there to compile the rest of these tests.
    assert!(program("probe", &["-static"]).is_file());
}
