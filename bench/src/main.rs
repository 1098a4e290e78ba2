//! `hikyaku-bench`, the program that `hikyaku bench` runs: load generators and the tables of measurements.
//!
//! ```text
//!   hikyaku bench NAME … ──execve──► hikyaku-bench NAME … ──► load (kv, echo)
//!                                        │               └──► tables (spawn, disk)
//!                                        └ describe: this command line as JSON, for hikyaku's man pages and completions
//! ```
//!
//! It is a program of its own so that the daemon links no load generator.
//!
//! **Invariant**: the exit status is 0 on success, 1 on failure, 2 when the command line is wrong, and 128 and the number of
//! the signal that interrupted `disk`.

#![forbid(unsafe_code)]

mod describe;

use std::fmt::Display;
use std::io::{ErrorKind, Write, stdin, stdout};
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// Measure servers, disks and process creation
#[derive(Debug, Parser)]
#[command(name = "hikyaku-bench", bin_name = "hikyaku bench", version, arg_required_else_help = true, after_help = EXIT)]
struct Cli {
    #[command(subcommand)]
    table: Table,
}

const EXIT: &str = "Exit status: 0 on success, 1 on failure, 2 if the command line is wrong.";

#[derive(Debug, Subcommand)]
enum Table {
    Kv(load::kv::Options),
    #[command(hide = true)]
    Echo(load::echo::Options),
    Spawn(tables::spawn::Options),
    Disk(tables::disk::Options),
    /// Draw the curves that standard input describes as JSON
    #[command(hide = true)]
    Plot,
    /// Print this command line as JSON
    #[command(hide = true)]
    Describe,
}

/// The spawn table starts this program with these arguments as one of its measured parents.
const SPAWN: &[&str] = &["spawn"];

fn main() -> ExitCode {
    match Cli::parse().table {
        Table::Kv(options) => load_report(options.json, load::kv::run(options)),
        Table::Echo(options) => load_report(options.json, load::echo::run(options)),
        Table::Spawn(options) => spawn(options),
        Table::Disk(options) => disk(&options),
        Table::Plot => plot(),
        Table::Describe => print(describe::command(&Cli::command())),
    }
}

fn load_report(json: bool, report: Result<load::Report, load::Error>) -> ExitCode {
    match report {
        Ok(report) if json => print(report.to_json()),
        Ok(report) => print(report),
        Err(error) => fail(matches!(error, load::Error::Option { .. }), error),
    }
}

fn spawn(options: tables::spawn::Options) -> ExitCode {
    let json = options.json;
    match tables::spawn::run(options, SPAWN) {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(report)) if json => print(report.to_json()),
        Ok(Some(report)) => print(report),
        Err(error) => fail(matches!(error, tables::Error::Option { .. }), error),
    }
}

fn disk(options: &tables::disk::Options) -> ExitCode {
    match tables::disk::run(options) {
        Ok(report) if options.json => print(report.to_json()),
        Ok(report) => print(report),
        Err(error @ tables::Error::Interrupted { signal }) => {
            fail(false, error);
            ExitCode::from(u8::try_from(128 + signal).unwrap_or(1))
        }
        Err(error) => fail(false, error),
    }
}

fn plot() -> ExitCode {
    match serde_json::from_reader::<_, display::Lines>(stdin()) {
        Ok(lines) => print(lines.render()),
        Err(error) => fail(true, format_args!("standard input is not a chart: {error}")),
    }
}

/// Prints a report, with a newline at its end. A broken pipe is not an error.
fn print(report: impl Display) -> ExitCode {
    let text = report.to_string();
    match writeln!(stdout(), "{}", text.trim_end_matches('\n')) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            fail(false, format_args!("cannot write: {error}"))
        }
        _ => ExitCode::SUCCESS,
    }
}

fn fail(usage: bool, error: impl Display) -> ExitCode {
    eprintln!("hikyaku bench: {error}");
    ExitCode::from(if usage { 2 } else { 1 })
}
