//! Output that a connection could not send yet, in order.

use std::collections::VecDeque;
use std::mem;

use crate::output::Output;
use crate::piece::{Part, Piece};
use crate::sys::VECTORS_MAX;

/// Pieces that wait for the kernel. Each is dropped as soon as its last byte was taken.
#[derive(Default)]
pub(crate) struct Queue {
    pieces: VecDeque<Piece>,
    /// Bytes of the first piece that were taken.
    start: u64,
    held: usize,
}

impl Queue {
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Bytes of memory that the pieces keep.
    pub(crate) fn held(&self) -> usize {
        self.held + self.pieces.capacity() * size_of::<Piece>()
    }

    pub(crate) fn push(&mut self, piece: Piece) {
        if piece.len() > 0 {
            self.held += piece.held();
            self.pieces.push_back(piece);
        }
    }

    /// Takes over what is left of an output after its first `taken` bytes, and empties it.
    pub(crate) fn push_rest(&mut self, output: &mut Output, taken: u64) {
        let mut skip = taken;
        let mut from = 0;
        for (at, piece) in output.pieces.drain(..) {
            self.push_bytes_after(&mut skip, &output.bytes[from..at]);
            self.push_piece_after(&mut skip, piece);
            from = at;
        }
        self.push_bytes_after(&mut skip, &output.bytes[from..]);
        output.clear();
    }

    fn push_bytes_after(&mut self, skip: &mut u64, bytes: &[u8]) {
        let skipped = (*skip).min(bytes.len() as u64);
        *skip -= skipped;
        self.push(Piece::from(&bytes[skipped as usize..]));
    }

    /// Only the first piece that is pushed can be taken in part: what comes before it was taken whole.
    fn push_piece_after(&mut self, skip: &mut u64, piece: Piece) {
        if *skip >= piece.len() {
            *skip -= piece.len();
        } else {
            self.start = self.start.max(mem::take(skip));
            self.push(piece);
        }
    }

    /// The parts to write next.
    pub(crate) fn parts(&self) -> Vec<Part<'_>> {
        let start = |index| if index == 0 { self.start } else { 0 };
        let parts = self.pieces.iter().take(VECTORS_MAX).enumerate();
        parts
            .map(|(index, piece)| Part::of(piece, start(index)))
            .collect()
    }

    /// So many more bytes were taken.
    pub(crate) fn taken(&mut self, count: u64) {
        self.start += count;
        while let Some(first) = self.pieces.front() {
            if self.start < first.len() {
                break;
            }
            self.start -= first.len();
            self.held -= first.held();
            self.pieces.pop_front();
        }
    }
}
