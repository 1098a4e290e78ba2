//! Random commands, run for real by the C library and by libnoshell in equal folders: what libnoshell claims to understand
//! must behave the same. And whatever it runs itself, `sh -n` must take for a command.
//!
//! `NOSHELL_FUZZ=COUNT[:SEED]` runs other commands than the few thousand of `make test`; `make fuzz-long` does.

#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};
use support::battery::{Outcome, Side, WAYS, difference, outcomes};
use support::corpus::shown;
use support::generator::{self, Random};
use support::{Flavour, Shell, text};

const COUNT: usize = 2500;
const BATCH: usize = 1250;

fn wanted() -> (usize, u64) {
    let Ok(text) = std::env::var("NOSHELL_FUZZ") else {
        return (COUNT, 1);
    };
    let (count, seed) = text.split_once(':').unwrap_or((&text, "1"));
    (
        count.parse().expect("NOSHELL_FUZZ=COUNT:SEED"),
        seed.parse().expect("NOSHELL_FUZZ=COUNT:SEED"),
    )
}

/// Different commands, in batches.
fn batches(salt: u64) -> Vec<Vec<Vec<u8>>> {
    let (count, seed) = wanted();
    let mut random = Random::new(seed.wrapping_mul(1000) + salt);
    let mut seen = BTreeSet::new();
    let mut commands = Vec::new();
    while commands.len() < count {
        let command = generator::command(&mut random);
        if seen.insert(command.clone()) {
            commands.push(command);
        }
    }
    commands.chunks(BATCH).map(<[_]>::to_vec).collect()
}

fn compare(commands: &[Vec<u8>], theirs: &[Outcome], ours: &[Outcome]) -> Vec<String> {
    let calls = commands.iter().flat_map(|command| WAYS.map(|way| (command, way)));
    calls
        .zip(theirs.iter().zip(ours))
        .filter(|(_, (theirs, ours))| theirs != ours)
        .map(|((command, way), (theirs, ours))| {
            format!(
                "{way}(\"{}\")
{}",
                shown(command),
                difference(theirs, ours)
            )
        })
        .collect()
}

fn behaves(shell: Shell, salt: u64) {
    for commands in batches(salt) {
        let theirs = outcomes("fuzz", shell, Side::Library, &commands);
        let ours = outcomes("fuzz", shell, Side::Noshell(Flavour::Release), &commands);
        let found = compare(&commands, &theirs, &ours);
        assert!(
            found.is_empty(),
            "{} calls differ under {}:\n{}",
            found.len(),
            shell.name(),
            found.join("")
        );
    }
}

#[test]
fn random_commands_behave_under_dash() {
    behaves(Shell::Dash, 0);
}

#[test]
fn random_commands_behave_under_bash() {
    behaves(Shell::Bash, 1);
}

/// Returns whether a shell accepts a text as a complete command.
fn is_command(shell: Shell, command: &[u8]) -> bool {
    let mut process = Command::new(shell.name())
        .arg("-n")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    process.stdin.take().unwrap().write_all(command).unwrap();
    process.wait().unwrap().success()
}

#[test]
fn what_runs_directly_is_a_command_to_dash() {
    let commands: Vec<_> = batches(2).concat();
    let commands = &commands[..commands.len().min(BATCH)];
    let traced = outcomes("routes", Shell::Dash, Side::Traced, commands);
    let direct: Vec<_> = commands
        .iter()
        .zip(traced.chunks(WAYS.len()))
        .filter(|(_, calls)| calls.iter().any(|call| text(&call.err).contains(": direct: ")))
        .map(|(command, _)| command)
        .collect();
    // The generator must stay near the border, or nothing here is tried.
    assert!(
        direct.len() * 8 > commands.len(),
        "only {} of {} ran directly",
        direct.len(),
        commands.len()
    );
    assert!(
        direct.len() * 8 < commands.len() * 7,
        "{} of {} ran directly",
        direct.len(),
        commands.len()
    );
    let wrong: Vec<_> = direct
        .iter()
        .filter(|command| !is_command(Shell::Dash, command))
        .map(|command| shown(command))
        .collect();
    assert!(
        wrong.is_empty(),
        "dash -n takes these for no commands:\n{}",
        wrong.join("\n")
    );
}
