//! Programs that call `system`, `popen`, `pclose` and `fclose` in many situations. Each runs with the C library's functions and with
//! libnoshell's; output and status must be identical.
//!
//! **Invariant**: each scenario runs in an empty folder that has one name on both sides, with the same environment.

#![allow(clippy::unwrap_used)]

mod support;

use std::path::Path;
use std::process::Command;
use std::time::Duration;
use support::{Shell, environment, library, preload, program, remove_scratch, run, scratch, text};

const LIMIT: Duration = Duration::from_secs(120);

/// Standard output, standard error and the end of a program.
fn seen(wrapper: Option<&Path>, program: &Path, scenario: &str, shell: Shell, noshell: bool) -> String {
    let folder = scratch(&format!(
        "{}{}-{scenario}-{}",
        if wrapper.is_some() { "below-" } else { "" },
        program.file_name().unwrap().display(),
        shell.name()
    ));
    let mut command = shell.command(wrapper.unwrap_or(program));
    if wrapper.is_some() {
        command.arg(program);
    }
    environment(command.arg(scenario).current_dir(&folder), &folder);
    if noshell {
        preload(&mut command, &[&library()]);
    }
    let output = run(&mut command, b"standard input\n", LIMIT);
    remove_scratch(&folder);
    // A shell without a descriptor to open libraries with complains of the one that is preloaded as well.
    let errors = text(&output.stderr);
    let errors: Vec<_> = errors
        .lines()
        .filter(|line| !line.contains("from LD_PRELOAD cannot be"))
        .collect();
    format!(
        "{}\n{}\n-- standard error\n{}",
        output.status,
        text(&output.stdout),
        errors.join("\n")
    )
}

/// The differing lines of two texts.
fn differences(theirs: &str, ours: &str) -> String {
    let (theirs, ours): (Vec<_>, Vec<_>) = (theirs.lines().collect(), ours.lines().collect());
    let pairs = (0..theirs.len().max(ours.len())).map(|line| (line, theirs.get(line), ours.get(line)));
    pairs
        .filter(|(_, theirs, ours)| theirs != ours)
        .take(8)
        .map(|(line, theirs, ours)| {
            let show = |side: Option<&&str>| {
                side.map_or("(ended)".to_owned(), |text| text.escape_default().to_string())
            };
            format!(
                "    line {}:\n      libc {}\n      ours {}\n",
                line + 1,
                show(theirs),
                show(ours)
            )
        })
        .collect()
}

fn compare(name: &str, options: &[&str], shell: Shell) {
    compare_below(None, name, options, shell);
}

/// The same below a program that runs it.
fn compare_below(wrapper: Option<&Path>, name: &str, options: &[&str], shell: Shell) {
    let program = program(name, options);
    let listed = support::text(&Command::new(&program).output().unwrap().stdout);
    assert!(listed.lines().count() > 2, "{name} lists its scenarios");
    let found: String = listed
        .lines()
        .filter_map(|scenario| {
            let theirs = seen(wrapper, &program, scenario, shell, false);
            let ours = seen(wrapper, &program, scenario, shell, true);
            (theirs != ours).then(|| format!("{name} {scenario}\n{}", differences(&theirs, &ours)))
        })
        .collect();
    assert!(found.is_empty(), "under {}:\n{found}", shell.name());
}

#[test]
fn signals_under_dash() {
    compare("signals", &[], Shell::Dash);
}

#[test]
fn signals_under_bash() {
    compare("signals", &[], Shell::Bash);
}

#[test]
fn streams_under_dash() {
    compare("streams", &[], Shell::Dash);
}

#[test]
fn streams_under_bash() {
    compare("streams", &[], Shell::Bash);
}

#[test]
fn surroundings_under_dash() {
    compare("surroundings", &[], Shell::Dash);
}

#[test]
fn surroundings_under_bash() {
    compare("surroundings", &[], Shell::Bash);
}

/// Kernels before 5.3 have no clone3, and sandboxes may forbid it: then `posix_spawn` does the work.
#[test]
fn without_clone3() {
    let wrapper = program("without_clone3", &[]);
    for name in ["signals", "streams", "surroundings"] {
        compare_below(Some(&wrapper), name, &[], Shell::Dash);
    }
}
