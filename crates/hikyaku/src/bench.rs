//! `hikyaku bench`: the tables of measurements, each against whatever server it is pointed at.

use std::io::{Write, stdout};
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::{USAGE, fail, written};

/// Measure servers, and what starting a process costs
#[derive(Args, Debug)]
pub(crate) struct Bench {
    #[command(subcommand)]
    table: Table,
}

#[derive(Debug, Subcommand)]
enum Table {
    /// Put load on memcached-protocol servers: one, or several in alternating phases
    Kv(load::kv::Options),
    Spawn(tables::spawn::Options),
}

/// How a measured process, which is this program started once more, gets back to its table.
const SPAWN: &[&str] = &["bench", "spawn"];

/// Measures, and prints what was found.
pub(crate) fn run(asked: Bench) -> ExitCode {
    match asked.table {
        Table::Kv(options) => kv(options),
        Table::Spawn(options) => spawn(options),
    }
}

fn kv(options: load::kv::Options) -> ExitCode {
    let json = options.json;
    match load::kv::run(options) {
        Ok(report) if json => written(writeln!(stdout(), "{}", report.to_json())),
        Ok(report) => written(write!(stdout(), "{report}")),
        Err(error) => failed(matches!(error, load::Error::Option { .. }), error),
    }
}

fn spawn(options: tables::spawn::Options) -> ExitCode {
    let json = options.json;
    match tables::spawn::run(options, SPAWN) {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(report)) if json => written(writeln!(stdout(), "{}", report.to_json())),
        Ok(Some(report)) => written(write!(stdout(), "{report}")),
        Err(error) => failed(matches!(error, tables::Error::Option { .. }), error),
    }
}

fn failed(asked_wrongly: bool, error: impl std::fmt::Display) -> ExitCode {
    let code = fail(error);
    if asked_wrongly {
        ExitCode::from(USAGE)
    } else {
        code
    }
}
