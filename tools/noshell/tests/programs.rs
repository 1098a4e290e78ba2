//! Programs of the world with libnoshell preloaded: interpreters' own test suites, and what everybody's scripts do.
//!
//! **Invariant**: a suite must pass, and must have reached libnoshell; a script must do exactly what it does without it.

#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::process::{Command, Output};
use std::time::Duration;
use support::{environment, library, package, preload, remove_scratch, run, scratch, text};

const LIMIT: Duration = Duration::from_secs(400);

/// Runs a program in a new folder, with files in it.
fn started(
    name: &str,
    line: &[&str],
    files: &[(&str, &str)],
    input: &str,
    noshell: bool,
    trace: bool,
) -> Output {
    let folder = scratch(name);
    for (file, content) in files {
        fs::write(folder.join(file), content).unwrap();
    }
    let mut command = Command::new(line[0]);
    environment(command.args(&line[1..]).current_dir(&folder), &folder);
    if noshell {
        preload(&mut command, &[&library()]);
    }
    if trace {
        command.env("NOSHELL_TRACE", "1");
    }
    let output = run(&mut command, input.as_bytes(), LIMIT);
    remove_scratch(&folder);
    output
}

/// A program must do the same on both sides, and at least so many of its commands must have run without a shell.
fn same(name: &str, line: &[&str], files: &[(&str, &str)], input: &str, direct_min: usize) {
    let theirs = started(name, line, files, input, false, false);
    let ours = started(name, line, files, input, true, false);
    let show = |output: &Output| {
        format!(
            "{}\n{}\n{}",
            output.status,
            text(&output.stdout),
            text(&output.stderr)
        )
    };
    assert_eq!(show(&theirs), show(&ours), "{line:?}");
    assert!(
        !theirs.stdout.is_empty(),
        "{line:?} says something: {}",
        show(&theirs)
    );
    let traced = text(&started(name, line, files, input, true, true).stderr);
    let direct = traced.lines().filter(|line| line.contains(": direct: ")).count();
    assert!(
        direct >= direct_min,
        "{line:?}: only {direct} commands ran directly:\n{traced}"
    );
}

#[test]
fn lua_s_own_files() {
    let suite = package().join("../../target/clients/lua-tests");
    let suite = suite
        .canonicalize()
        .expect("tests/install has brought Lua's tests");
    let folder = scratch("lua");
    for file in fs::read_dir(suite)
        .unwrap()
        .map(Result::unwrap)
        .filter(|file| file.path().is_file())
    {
        fs::copy(file.path(), folder.join(file.file_name())).unwrap();
    }
    // The suite ends a command by SIGHUP, which is ignored in what nohup starts.
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP", "lua5.4", "files.lua"]);
    environment(command.current_dir(&folder), &folder);
    preload(&mut command, &[&library()]);
    command.env("NOSHELL_TRACE", "1");
    // Standard input must be a pipe: the suite wants it unable to seek.
    let output = run(&mut command, b"", LIMIT);
    remove_scratch(&folder);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    assert!(out.contains("testing popen/pclose and execute"), "{out}");
    assert!(
        err.contains("popen: direct: ") && err.contains("system: shell (builtin): exit 129"),
        "{err}"
    );
}

/// A Python that has its own tests.
fn python() -> &'static str {
    let has_tests = |python: &&str| {
        let tried = Command::new(python)
            .args(["-c", "import test.test_popen, test.test_subprocess"])
            .output();
        tried.is_ok_and(|output| output.status.success())
    };
    ["python3", "/usr/bin/python3"]
        .into_iter()
        .find(has_tests)
        .expect("tests/install has brought Python's tests")
}

#[test]
fn python_s_own_tests() {
    let folder = scratch("python");
    let mut command = Command::new(python());
    command
        .args(["-m", "unittest", "-q", "test.test_popen", "test.test_subprocess"])
        .env("TMPDIR", &folder)
        .current_dir(&folder);
    preload(&mut command, &[&library()]);
    let output = run(&mut command, b"", LIMIT);
    remove_scratch(&folder);
    let err = text(&output.stderr);
    assert!(
        output.status.success() && err.contains("\nOK"),
        "{}\n{err}",
        text(&output.stdout)
    );
}

#[test]
fn python_os_system() {
    let script = "import os\n\
        for command in ('args a', 'code 3', 'die 15', 'nowhere', 'args $HOME', 'args >file', 'copy <file', '', 'exit 5'):\n    \
            print(command, os.system(command), flush=True)\n";
    same(
        "python-system",
        &[python(), "script.py"],
        &[("script.py", script)],
        "",
        4,
    );
}

#[test]
fn gawk_pipes() {
    let script = r#"
        BEGIN {
            print "system", system("args from system"), system("code 7"), system("die 15"), system("nowhere"), system("exit 9")
            print "to a pipe" | "copy"
            print "close", close("copy")
            print "b\na\nc" | "sort"
            print "close", close("sort")
            print "x" | "copy >file"; close("copy >file")
            while ((getline line < "file") > 0) print "file", line
            while (("args getline" | getline line) > 0) print line
            print "close", close("args getline")
            printf "" | "code 4"
            print "close", close("code 4")
            "uname -s" | getline system_name
            print system_name
            print "both ways" |& "cat"; close("cat", "to"); "cat" |& getline line; print line
        }
    "#;
    same(
        "gawk",
        &["gawk", "-f", "script.awk"],
        &[("script.awk", script)],
        "",
        6,
    );
}

#[test]
fn make_and_its_shell() {
    let makefile = "NAME := $(shell uname -s)\n\
        all: one two\n\t@echo $(NAME)\n\t@args a 'b c' \"d\"\n\t-@code 3\n\t@args *.txt\n\
        one two:\n\t@args $@ > $@.txt\n\t@copy < $@.txt; code 0\n";
    // Make starts its children by itself; what it starts finds the library as well.
    same(
        "make",
        &["make", "--no-print-directory"],
        &[("Makefile", makefile)],
        "",
        0,
    );
}

#[test]
fn php_programs() {
    let script = r#"
        function show($what, $value) { echo $what, ": ", var_export($value, true), "\n"; flush(); }
        show("shell_exec", shell_exec("args a b"));
        show("backticks", `args "c d"`);
        show("exec", exec("args e", $lines, $status)); show("lines", $lines); show("status", $status);
        show("exec", exec("code 3", $none, $status)); show("status", $status);
        show("exec", exec("nowhere", $none, $status)); show("status", $status);
        show("exec", exec("die 9", $none, $status)); show("status", $status);
        show("system", system("args f", $status)); show("status", $status);
        passthru("args g", $status); show("status", $status);
        $pipe = popen("copy", "w"); fwrite($pipe, "through popen\n"); show("pclose", pclose($pipe));
        $pipe = popen("args h", "r"); show("read", fread($pipe, 100)); show("pclose", pclose($pipe));
        show("escaped", shell_exec("args " . escapeshellarg("it's \$HOME; `x` * ?")));
        show("list", shell_exec("args i; args j"));
        $process = proc_open(["args", "k"], [1 => ["pipe", "w"]], $pipes);
        show("proc_open", stream_get_contents($pipes[1])); show("proc_close", proc_close($process));
        mail("nobody", "no mailer", "here");
    "#;
    same(
        "php",
        &["php", "-n", "-d", "sendmail_path=/bin/false", "-r", script],
        &[],
        "",
        10,
    );
}

#[test]
fn sqlite_system() {
    let input = ".system args a 'b c'\n.shell code 3\n.system nowhere\n.system args $HOME\n\
        .once |copy\nselect 1, 'x';\n.output |sort -r\nselect 2 union select 3;\n.output\n.system args last >file\n.system copy <file\n";
    same("sqlite3", &["sqlite3", ":memory:"], &[], input, 4);
}

#[test]
fn sed_e() {
    let input = "args one\nargs 'two words'\ncode 3\nargs $HOME\nnowhere\nargs a; args b\n";
    same("sed-s", &["sed", "s/^/ /e"], &[], input, 3);
    same("sed-e", &["sed", "e args before"], &[], "line\n", 1);
    same("sed-e-line", &["sed", "e"], &[], input, 3);
}

#[test]
fn ed_commands() {
    let input = "!args a\nr !args b\n,p\nw !copy\n!args $HOME\nQ\n";
    same("ed", &["ed", "-s"], &[], input, 3);
}
