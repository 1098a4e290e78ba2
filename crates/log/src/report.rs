//! The report of opening a log.

use std::ops::Range;
use std::path::PathBuf;

use crate::error::Fault;

/// The report of opening a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// The folder was empty, and the log is new.
    pub created: bool,
    /// The log had been closed in order, and nothing had to be checked.
    pub clean: bool,
    /// A sync had failed when the log was last open, so its files were read from the device and not from the page cache.
    pub reread: bool,
    /// Bytes that were read and checked.
    pub checked_bytes: u64,
    /// Batches that were checked.
    pub checked_batches: u64,
    /// Bytes that were cut off, since a write had not been completed.
    pub cuts: Vec<Cut>,
    /// Segments behind a cut, which were renamed.
    pub set_aside: Vec<PathBuf>,
    /// Damage that was left as it is.
    pub damage: Vec<Damage>,
    /// Offsets whose records are lost.
    pub missing: Vec<Range<u64>>,
    /// Why the checkpoint could not be used; then all segments were checked.
    pub checkpoint_damage: Option<&'static str>,
}

/// Bytes that recovery cut off the end of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The segment.
    pub path: PathBuf,
    /// The segment's new length.
    pub position: u64,
    /// Bytes that were cut.
    pub bytes: u64,
    /// The fault at the position.
    pub reason: Fault,
    /// The file that has the bytes, if whole batches were among them.
    pub kept: Option<PathBuf>,
}

/// Damage in a part of the log that had been durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// Where in the file.
    pub position: u64,
    /// The fault.
    pub reason: Fault,
}
