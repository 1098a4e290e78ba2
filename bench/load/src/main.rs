//! The generators without the daemon around them, for work on either.

use clap::Parser;
use std::process::ExitCode;

/// Load generators.
#[derive(Parser)]
enum Command {
    /// memcached-protocol servers
    Kv(load::kv::Options),
}

fn main() -> ExitCode {
    let Command::Kv(options) = Command::parse();
    let json = options.json;
    match load::kv::run(options) {
        Ok(report) if json => println!("{}", report.to_json()),
        Ok(report) => println!("{report}"),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
