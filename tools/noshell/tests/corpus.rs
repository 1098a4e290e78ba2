//! The corpus of commands, by the machine's C library and by libnoshell, under dash and under bash.
//!
//! **Invariant**: whatever of a call can be seen is compared: what it returned, errno, standard output and standard error, and
//! every file of the directory in which it ran.

#![allow(clippy::unwrap_used)]

mod support;

use support::battery::{Outcome, Side, WAYS, difference, outcomes};
use support::corpus::{self, Entry, Route};
use support::{Flavour, Shell};

fn commands(entries: &[Entry]) -> Vec<Vec<u8>> {
    entries.iter().map(|entry| entry.command.clone()).collect()
}

/// Every call that differs, with the command and its place in the corpus.
fn compare(entries: &[Entry], theirs: &[Outcome], ours: &[Outcome]) {
    let calls = entries.iter().flat_map(|entry| WAYS.map(|way| (entry, way)));
    let found: Vec<String> = calls
        .zip(theirs.iter().zip(ours))
        .filter(|(_, (theirs, ours))| theirs != ours)
        .map(|((entry, way), (theirs, ours))| {
            let command = corpus::shown(&entry.command);
            format!(
                "{}: {way}(\"{command}\")\n{}",
                entry.place,
                difference(theirs, ours)
            )
        })
        .collect();
    assert!(
        found.is_empty(),
        "{} of {} calls differ:\n{}",
        found.len(),
        ours.len(),
        found.join("")
    );
}

fn same_under(shell: Shell) {
    let entries = corpus::all();
    assert!(entries.len() > 600, "the corpus is read");
    let commands = commands(&entries);
    let theirs = outcomes("corpus", shell, Side::Library, &commands);
    let ours = outcomes("corpus", shell, Side::Noshell(Flavour::Release), &commands);
    compare(&entries, &theirs, &ours);
}

#[test]
fn nothing_differs_under_dash() {
    same_under(Shell::Dash);
}

#[test]
fn nothing_differs_under_bash() {
    same_under(Shell::Bash);
}

/// Only the commands that libnoshell may run itself: a shell with sanitizers loaded is slow, and not ours.
#[test]
fn sanitizers_find_nothing() {
    let entries: Vec<_> = corpus::all()
        .into_iter()
        .filter(|entry| entry.route != Route::Shell)
        .collect();
    let commands = commands(&entries);
    let theirs = outcomes("sanitized", Shell::Dash, Side::Library, &commands);
    let ours = outcomes(
        "sanitized",
        Shell::Dash,
        Side::Noshell(Flavour::Sanitized),
        &commands,
    );
    compare(&entries, &theirs, &ours);
}

/// Commands that need no shell must not start one, or all of the above would be true of a library that does nothing.
#[test]
fn commands_take_the_way_that_they_must() {
    let entries: Vec<_> = corpus::all()
        .into_iter()
        .filter(|entry| entry.route != Route::Either)
        .collect();
    let traced = outcomes("routes", Shell::Dash, Side::Traced, &commands(&entries));
    let calls = entries.iter().flat_map(|entry| WAYS.map(|way| (entry, way)));
    let wrong: Vec<String> = calls
        .zip(&traced)
        .filter_map(|((entry, way), outcome)| {
            let said = support::text(&outcome.err);
            let prefix = format!(
                "noshell: {way}: {}",
                if entry.route == Route::Direct {
                    "direct"
                } else {
                    "shell"
                }
            );
            let right = said.lines().any(|line| line.starts_with(&prefix));
            (!right).then(|| {
                format!(
                    "{}: {way}(\"{}\"): {said}",
                    entry.place,
                    corpus::shown(&entry.command)
                )
            })
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {} calls went the wrong way:\n{}",
        wrong.len(),
        traced.len(),
        wrong.join("\n")
    );
}

/// Under bash fewer words are plain: braces, `!` and bytes of other alphabets may mean something. Most are all the same.
#[test]
fn most_plain_commands_need_no_bash_either() {
    let entries: Vec<_> = corpus::all()
        .into_iter()
        .filter(|entry| entry.route == Route::Direct)
        .collect();
    let traced = outcomes("routes", Shell::Bash, Side::Traced, &commands(&entries));
    let direct = traced
        .iter()
        .filter(|outcome| support::text(&outcome.err).contains(": direct: "))
        .count();
    assert!(
        direct * 10 > traced.len() * 8,
        "{direct} of {} ran directly",
        traced.len()
    );
}

/// Its results are another shell's, so every command is left to that one.
#[test]
fn an_unknown_shell_runs_everything_itself() {
    let entries: Vec<_> = corpus::all()
        .into_iter()
        .filter(|entry| entry.route == Route::Direct)
        .collect();
    let commands = commands(&entries);
    let theirs = outcomes("corpus", Shell::Busybox, Side::Library, &commands);
    let ours = outcomes(
        "corpus",
        Shell::Busybox,
        Side::Noshell(Flavour::Release),
        &commands,
    );
    compare(&entries, &theirs, &ours);
    for outcome in outcomes("routes", Shell::Busybox, Side::Traced, &commands) {
        let said = support::text(&outcome.err);
        assert!(
            said.contains(": shell (") && !said.contains(": direct: "),
            "{said}"
        );
    }
}
