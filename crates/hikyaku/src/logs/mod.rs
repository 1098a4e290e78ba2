//! `hikyaku log`: looking at the files of logs, and repairing them.
//!
//! **Invariant**: `dump` and `verify` change nothing; they work on logs that are in use.

mod dump;
mod targets;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};
use log::storage::{Disk, Storage};

use crate::{fail, written};
use targets::Target;

/// Look at the files of logs, verify and repair them
#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 success; 1 damaged, or failure; 2 wrong command line.")]
pub(crate) struct Log {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print a line per batch: offset, records, bytes, checksum
    Dump {
        /// A segment, a log's folder, or a store's folder
        path: PathBuf,
        /// Print JSON, a line per batch
        #[arg(long)]
        json: bool,
    },
    /// Print a line per fault, FILE:POSITION: what, and last the numbers of batches, records and faults
    Verify {
        /// A segment, a log's folder, or a store's folder
        path: PathBuf,
    },
    /// Cut out what is damaged, and keep a copy of the old file beside it
    ///
    /// The other records keep their offsets. The log must not be in use. Afterwards, verify finds no fault.
    Repair {
        /// A log's folder, a store's folder, or a segment, whose whole log is repaired
        path: PathBuf,
    },
}

/// Why a command could not be completed.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Log(#[from] log::Error),
    #[error("cannot read {}: {source}", path.display())]
    Path { path: PathBuf, source: io::Error },
    #[error("{} is neither a segment nor the folder of a log or a store", .0.display())]
    NoLog(PathBuf),
    #[error("{} belongs to no log: there is no checkpoint beside it", .0.display())]
    Alone(PathBuf),
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
}

/// Runs the command.
pub(crate) fn run(asked: &Log) -> ExitCode {
    let result = match &asked.command {
        Command::Dump { path, json } => dump::run(path, *json),
        Command::Verify { path } => verify(path),
        Command::Repair { path } => repair(path),
    };
    match result {
        Ok(code) => code,
        Err(Error::Output(error)) => written(Err(error)),
        Err(error) => fail(error),
    }
}

fn verify(path: &std::path::Path) -> Result<ExitCode, Error> {
    let mut out = io::stdout().lock();
    let (mut batches, mut records, mut faults) = (0, 0, 0);
    for target in targets::find(path)? {
        let found = match &target {
            Target::Segment(file) => log::inspect::verify_segment(&Disk, file)?,
            Target::Log(folder) => log::inspect::verify(&Disk, folder)?,
        };
        for fault in &found.faults {
            writeln!(out, "{}:{}: {}", fault.path.display(), fault.position, fault.what)?;
        }
        batches += found.batches;
        records += found.records;
        faults += found.faults.len();
    }
    writeln!(out, "{batches} batches, {records} records, {faults} faults")?;
    Ok(if faults == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn repair(path: &std::path::Path) -> Result<ExitCode, Error> {
    let storage: Arc<dyn Storage> = Arc::new(Disk);
    let mut out = io::stdout().lock();
    let mut changes = 0;
    for target in targets::find(path)? {
        let folder = target.log().ok_or_else(|| Error::Alone(path.to_owned()))?;
        for one in log::repair(&storage, &folder)? {
            write!(
                out,
                "{}:{}: {}; {} bytes cut",
                one.path.display(),
                one.position,
                one.what,
                one.bytes
            )?;
            match one.kept {
                Some(kept) => writeln!(out, "; the old file is {}", kept.display())?,
                None => writeln!(out)?,
            }
            changes += 1;
        }
    }
    if changes == 0 {
        writeln!(out, "nothing to repair")?;
    }
    Ok(ExitCode::SUCCESS)
}
