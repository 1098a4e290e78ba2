//! Large values in an output.

use std::sync::Arc;

use io::{Output, Piece};
use kv::{FileRange, Pinned, Value};

/// A large value, which leaves without a copy. It is handed around in a box, so that a lookup's outcome stays small.
#[derive(Debug)]
pub(crate) enum Large {
    Memory(Pinned),
    File(FileRange),
}

/// Appends a value with its `end`; a large one is handed back instead.
// Always inlined: the store then prepares only those parts of the entry that are looked at.
#[inline(always)]
pub(crate) fn append(value: Value<'_>, end: &[u8], out: &mut Vec<u8>) -> Option<Box<Large>> {
    match value {
        Value::Bytes(bytes) => {
            out.extend_from_slice(bytes);
            out.extend_from_slice(end);
            None
        }
        Value::Shared(pinned) => Some(Box::new(Large::Memory(pinned))),
        Value::File(range) => Some(Box::new(Large::File(range))),
    }
}

/// Puts a large value into the output.
#[cold]
pub(crate) fn push(out: &mut Output, large: Large, line_end: bool) {
    out.push(match large {
        Large::Memory(pinned) => Piece::Shared {
            range: 0..pinned.len(),
            owner: Arc::new(pinned),
        },
        Large::File(FileRange { file, offset, length }) => Piece::File { file, offset, length },
    });
    if line_end {
        out.write(b"\r\n");
    }
}
