//! `hikyaku check`: everything that is wrong with a configuration, at once.

use std::path::Path;
use std::process::ExitCode;

use crate::USAGE;
use crate::config::{self, Flags};

/// Prints a line a fault on standard output; they are what was asked for, not a failure to answer.
pub(crate) fn run(file: &Path) -> ExitCode {
    match config::load(Some(file), &Flags::default()) {
        Ok(_) => ExitCode::SUCCESS,
        Err(faults) => {
            print!("{faults}");
            ExitCode::from(USAGE)
        }
    }
}
