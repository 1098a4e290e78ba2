//! What can go wrong when a table is measured as a whole; what a single row lacks is part of the report.

use std::io;
use std::path::PathBuf;

/// Why a table could not be measured, or not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option has a value that makes no sense.
    #[error("{option}: {problem}")]
    Option {
        /// The option as it is typed.
        option: &'static str,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// A file or folder that the measurement needs.
    #[error("cannot write {path}: {source}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// This program could not find or start itself for the measured processes.
    #[error("cannot start a process to measure from: {0}")]
    Start(#[source] io::Error),
    /// The machine's processor has no child image here.
    #[error("the measured child is written for x86-64 and aarch64, not for this machine")]
    Machine,
    /// A measured process could not say what it found.
    #[error("a measured process lost its coordinator: {0}")]
    Protocol(#[source] io::Error),
}
