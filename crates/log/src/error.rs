//! Why a log cannot do what it was asked.

use std::io;
use std::path::{Path, PathBuf};

use crate::batch::BatchError;

/// An error of a log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The operation.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file system has no room. Nothing was written; the log goes on, and later appends may succeed.
    #[error("cannot {doing} {}: {source}; free some space", path.display())]
    Full {
        /// The operation.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file system is mounted read-only, or this process lacks the rights.
    #[error("cannot {doing} {}: {source}; make the folder writable for the user of this process", path.display())]
    Denied {
        /// The operation.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// An earlier failure left it unknown what the device has. The log refuses writes until it is opened again, and reads go
    /// on.
    #[error("{}: writes are refused since it could not {doing}: {reason}; open the log again to recover it", path.display())]
    Failed {
        /// What failed.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error, as text.
        reason: String,
    },
    /// Another process has the log open, or another part of this one.
    #[error("{} is in use{}; stop that process first", path.display(), holder(*pid))]
    Locked {
        /// The folder.
        path: PathBuf,
        /// The process, if its lock file tells.
        pid: Option<u32>,
    },
    /// The folder or file was not written by this program.
    #[error("{} is not part of a log: {reason}; move it away, or name another folder", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The evidence.
        reason: String,
    },
    /// A newer version of this program wrote the log.
    #[error("{} has format version {found}; this version reads up to {supported}: use a newer one", path.display())]
    FutureVersion {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that this program reads.
        supported: u32,
    },
    /// Bytes that were whole when they were written no longer are.
    #[error("{}:{position}: {reason}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The position of the batch in it.
        position: u64,
        /// The fault.
        reason: Fault,
    },
    /// Records of these offsets are lost: their segment is missing or was cut.
    #[error("the records from offset {from} up to {to} are missing")]
    Missing {
        /// The first offset that is lost.
        from: u64,
        /// The offset after the last one that is lost.
        to: u64,
    },
    /// The log does not have this offset.
    #[error("offset {offset} is not in the log, which has {start} up to {end}")]
    OutOfRange {
        /// The offset.
        offset: u64,
        /// The log's first offset.
        start: u64,
        /// The offset after the log's last one.
        end: u64,
    },
    /// An append is larger than a segment can be.
    #[error("an append of {bytes} bytes exceeds the limit of {max}")]
    TooLarge {
        /// The bytes of the append.
        bytes: u64,
        /// The limit.
        max: u64,
    },
    /// The segment that a location names was replaced or removed.
    #[error("segment {id} no longer exists")]
    NoSegment {
        /// The segment's number.
        id: u32,
    },
    /// Another rewrite of the same log is at work.
    #[error("another compaction of this log is at work")]
    Rewriting,
    /// An option has an impossible value.
    #[error("{name}: {reason}")]
    Option {
        /// The option.
        name: &'static str,
        /// The reason, and what would be right.
        reason: String,
    },
}

/// A fault in the bytes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The bytes are not a batch.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The batch does not begin with the offset that follows the batch before it.
    #[error("the batch begins at offset {found} and should at {expected}")]
    Offset {
        /// The batch's base offset.
        found: u64,
        /// The offset after the batch before it.
        expected: u64,
    },
    /// The segment is shorter than it was when it was completed.
    #[error("the segment ends here and had {expected} bytes")]
    Short {
        /// The segment's bytes when it was completed.
        expected: u64,
    },
    /// Bytes follow the segment's last batch.
    #[error("{bytes} bytes follow the segment's end")]
    Long {
        /// The number of bytes.
        bytes: u64,
    },
}

impl Error {
    /// An error of the system. A full file system is told apart, and one that may not be written to.
    pub fn io(doing: &'static str, path: &Path, source: io::Error) -> Error {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::Full { doing, path, source },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Error::Denied { doing, path, source }
            }
            _ => Error::Io { doing, path, source },
        }
    }

    /// Returns true if the file system has no room.
    pub fn is_full(&self) -> bool {
        matches!(self, Error::Full { .. })
    }
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" by process {pid}"))
}

/// Adds what was tried to the system's error.
pub(crate) trait Doing<T> {
    fn doing(self, what: &'static str, path: &Path) -> Result<T, Error>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, what: &'static str, path: &Path) -> Result<T, Error> {
        self.map_err(|source| Error::io(what, path, source))
    }
}
