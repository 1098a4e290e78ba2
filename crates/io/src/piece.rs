//! Pieces: the elements of output that are not copied to the loop's buffer.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

/// A part of the output that is not copied. Its `Drop` is the completion: it runs as soon as the kernel took its last
/// byte, or the connection ended.
pub enum Piece {
    /// Bytes of its own.
    Bytes(Vec<u8>),
    /// A range of memory that its owner keeps alive and unchanged. Leaves by `writev`.
    Shared {
        /// The owner.
        owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
        /// The range within the owner's bytes.
        range: Range<usize>,
    },
    /// A range of a file. Leaves by `sendfile` (under TLS it is read).
    File {
        /// The file.
        file: Arc<File>,
        /// Where the range begins.
        offset: u64,
        /// How long it is.
        length: u64,
    },
}

impl Piece {
    /// How many bytes it is.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "an empty piece is never queued")]
    pub fn len(&self) -> u64 {
        match self {
            Piece::Bytes(bytes) => bytes.len() as u64,
            Piece::Shared { range, .. } => range.len() as u64,
            Piece::File { length, .. } => *length,
        }
    }

    /// How many bytes it keeps from the loop's allowance: shared memory and files are their owners' affair.
    pub(crate) fn held(&self) -> usize {
        match self {
            Piece::Bytes(bytes) => bytes.capacity(),
            _ => 0,
        }
    }
}

impl From<Vec<u8>> for Piece {
    fn from(bytes: Vec<u8>) -> Piece {
        Piece::Bytes(bytes)
    }
}

impl From<Box<[u8]>> for Piece {
    fn from(bytes: Box<[u8]>) -> Piece {
        Piece::Bytes(bytes.into())
    }
}

impl From<&[u8]> for Piece {
    fn from(bytes: &[u8]) -> Piece {
        Piece::Bytes(bytes.to_vec())
    }
}

impl From<Arc<[u8]>> for Piece {
    fn from(bytes: Arc<[u8]>) -> Piece {
        Piece::Shared {
            range: 0..bytes.len(),
            owner: Arc::new(bytes),
        }
    }
}

impl std::fmt::Debug for Piece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self {
            Piece::Bytes(_) => "Bytes",
            Piece::Shared { .. } => "Shared",
            Piece::File { .. } => "File",
        };
        write!(f, "{kind}({} bytes)", self.len())
    }
}

/// A part of what is to be written.
#[derive(Clone, Copy)]
pub(crate) enum Part<'a> {
    Bytes(&'a [u8]),
    File {
        file: &'a Arc<File>,
        offset: u64,
        length: u64,
    },
}

impl<'a> Part<'a> {
    /// The rest of a piece after `start` bytes.
    pub(crate) fn of(piece: &'a Piece, start: u64) -> Part<'a> {
        match piece {
            Piece::Bytes(bytes) => Part::Bytes(&bytes[start as usize..]),
            Piece::Shared { owner, range } => {
                let bytes = (**owner).as_ref();
                Part::Bytes(&bytes[range.start + start as usize..range.end])
            }
            Piece::File { file, offset, length } => Part::File {
                file,
                offset: offset + start,
                length: length - start,
            },
        }
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            Part::Bytes(bytes) => bytes.len() as u64,
            Part::File { length, .. } => *length,
        }
    }

    pub(crate) fn skip(self, count: u64) -> Part<'a> {
        match self {
            Part::Bytes(bytes) => Part::Bytes(&bytes[count as usize..]),
            Part::File { file, offset, length } => Part::File {
                file,
                offset: offset + count,
                length: length - count,
            },
        }
    }
}
