//! The generators without the daemon around them, for work on either.

use clap::Parser;
use std::process::ExitCode;

/// Load generators.
#[derive(Parser)]
enum Command {
    /// memcached-protocol servers
    Kv(load::kv::Options),
    /// Servers that answer every line with so many bytes
    Echo(load::echo::Options),
}

fn main() -> ExitCode {
    let (json, report) = match Command::parse() {
        Command::Kv(options) => (options.json, load::kv::run(options)),
        Command::Echo(options) => (options.json, load::echo::run(options)),
    };
    match report {
        Ok(report) if json => println!("{}", report.to_json()),
        Ok(report) => print!("{report}"),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
