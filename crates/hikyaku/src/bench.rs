//! `hikyaku bench`: the tables of measurements, each against whatever server it is pointed at.

use std::io::{Write, stdout};
use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::{USAGE, fail, written};

/// Measure servers
#[derive(Args, Debug)]
pub(crate) struct Bench {
    #[command(subcommand)]
    table: Table,
}

#[derive(Debug, Subcommand)]
enum Table {
    /// Put load on memcached-protocol servers: one, or several in alternating phases
    Kv(load::kv::Options),
}

/// Measures, and prints what was found.
pub(crate) fn run(asked: Bench) -> ExitCode {
    let Table::Kv(options) = asked.table;
    let json = options.json;
    match load::kv::run(options) {
        Ok(report) if json => written(writeln!(stdout(), "{}", report.to_json())),
        Ok(report) => written(write!(stdout(), "{report}")),
        Err(error) => {
            let code = if matches!(error, load::Error::Option { .. }) {
                ExitCode::from(USAGE)
            } else {
                ExitCode::FAILURE
            };
            fail(error);
            code
        }
    }
}
