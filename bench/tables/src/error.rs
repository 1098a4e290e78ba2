//! Errors of a whole table. The reason why a single row could not be measured is part of the report.

use std::io;
use std::path::PathBuf;

/// The reason why a table could not be measured or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option has an invalid value.
    #[error("{option}: {problem}")]
    Option {
        /// The option as it is typed.
        option: &'static str,
        /// The problem and its remedy.
        problem: String,
    },
    /// A file or folder could not be written.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The disk to be measured is full.
    #[error("cannot write {}: {source}; free {} MiB there, or name another folder with --dir", path.display(), needed >> 20)]
    Full {
        /// The file.
        path: PathBuf,
        /// The bytes that the whole measurement needs.
        needed: u64,
        /// The system's reason.
        source: io::Error,
    },
    /// A signal ended the run; its files are removed.
    #[error("interrupted; the files of the measurement are removed")]
    Interrupted {
        /// The signal's number.
        signal: i32,
    },
    /// This program could not find itself or start itself as a measured process.
    #[error("cannot start a process to measure from: {0}")]
    Start(#[source] io::Error),
    /// No child image exists for this processor.
    #[error("the measured child is written for x86-64 and aarch64, not for this machine")]
    Machine,
    /// A measured process could not report its results.
    #[error("a measured process lost its coordinator: {0}")]
    Protocol(#[source] io::Error),
}
