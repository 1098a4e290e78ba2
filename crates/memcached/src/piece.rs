//! Large values in an output.

use std::sync::Arc;

use io::{Output, Piece};
use kv::Pinned;

/// Puts a large value into the output without copying it.
#[cold]
pub(crate) fn push(out: &mut Output, pinned: Pinned, line_end: bool) {
    let range = 0..pinned.len();
    out.push(Piece::Shared {
        owner: Arc::new(pinned),
        range,
    });
    if line_end {
        out.write(b"\r\n");
    }
}
