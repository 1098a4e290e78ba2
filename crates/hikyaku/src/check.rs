//! `hikyaku check`: everything that is wrong with a configuration, at once.

use std::path::Path;
use std::process::ExitCode;

use crate::USAGE;
use crate::config::{self, Flags};

/// Prints one line per fault on standard output, since faults are the result and not a failure of the command.
pub(crate) fn run(file: &Path) -> ExitCode {
    match config::load(Some(file), &Flags::default()) {
        Ok(_) => ExitCode::SUCCESS,
        Err(faults) => {
            print!("{faults}");
            ExitCode::from(USAGE)
        }
    }
}
