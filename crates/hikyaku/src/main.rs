//! The daemon and its command line: the only crate that knows all the others.
//!
//! ```text
//!   cli ─► config (file, flags, faults) ─► serve ─► loops, stores, listeners, signals
//!    ├──► check                                       └► banner, on standard output
//!    ├──► client (kv …)
//!    ├──► offline (kv import, export, scan --store)
//!    ├──► logs (log dump, verify, repair)
//!    ├──► bench: becomes hikyaku-bench
//!    └──► generate (completions, man pages)
//! ```
//!
//! **Invariant**: only this crate reads configuration, knows of users and signals, and prints.
//!
//! **Invariant**: the exit status is 0 when what was asked is done, 1 when it failed, and 2 when it was asked wrongly.

#![forbid(unsafe_code)]

mod address;
mod bench;
mod check;
mod cli;
mod client;
mod config;
mod generate;
mod logs;
mod memcached_flags;
mod offline;
mod serve;
mod system;

use std::process::ExitCode;

use clap::Parser;

use bench::Bench;
use cli::{Cli, Command};

/// The command line or the configuration is wrong.
pub(crate) const USAGE: u8 = 2;

fn main() -> ExitCode {
    if let Some(bench) = Bench::from_help(std::env::args_os().skip(1)) {
        return bench::run(&bench);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    match cli.command {
        Command::Serve(flags) => serve::run(&flags),
        Command::Check { file } => check::run(&file),
        Command::Kv(asked) => client::run(&asked),
        Command::Log(asked) => logs::run(&asked),
        Command::Bench(asked) => bench::run(&asked),
        Command::Completions { shell } => generate::completions(shell),
        Command::Man { directory } => generate::man(directory.as_deref()),
    }
}

/// Prints why the command line cannot be understood, or the help that was asked for.
fn refuse(error: &clap::Error) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match memcached_flags::explain(error, &arguments) {
        Some(lines) => {
            eprint!("{lines}");
            ExitCode::from(USAGE)
        }
        None => error.exit(),
    }
}

/// Tells what failed on standard error.
pub(crate) fn fail(error: impl std::fmt::Display) -> ExitCode {
    eprintln!("hikyaku: {error}");
    ExitCode::FAILURE
}

/// Ends a command that writes to standard output. A closed pipe is not a failure: the reader has read enough.
pub(crate) fn written(result: std::io::Result<()>) -> ExitCode {
    match result {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            fail(format_args!("cannot write: {error}"))
        }
        _ => ExitCode::SUCCESS,
    }
}
