//! The tables without the daemon around them, for work on either.

use clap::Parser;
use std::process::ExitCode;

/// Tables of measurements.
#[derive(Parser)]
enum Command {
    /// What starting a process costs
    Spawn(tables::spawn::Options),
}

fn main() -> ExitCode {
    let Command::Spawn(options) = Command::parse();
    let json = options.json;
    match tables::spawn::run(options, &["spawn"]) {
        Ok(None) => {}
        Ok(Some(report)) if json => println!("{}", report.to_json()),
        Ok(Some(report)) => print!("{report}"),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
