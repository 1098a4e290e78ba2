//! The output of [`Stream::exchange`](crate::Stream::exchange) and the pieces that it consists of.
//!
//! ```text
//!   bytes   | V A L U E … \r\n | E N D \r\n |        one buffer of the loop's, appended to
//!   pieces            ^ at 11: 1 MiB of a segment    what is too large to copy, in order between the bytes
//! ```

use std::ops::Range;

use crate::piece::{Part, Piece};

/// The append target of one exchange.
#[derive(Debug)]
pub struct Output {
    pub(crate) bytes: Vec<u8>,
    /// Where in `bytes` a piece stands, and the piece; in order.
    pub(crate) pieces: Vec<(usize, Piece)>,
    piece_bytes: u64,
    /// Bytes of memory that the pieces keep.
    piece_memory: usize,
    limit: usize,
}

impl Default for Output {
    fn default() -> Output {
        Output::new(64 << 10)
    }
}

impl Output {
    pub(crate) fn new(limit: usize) -> Output {
        Output {
            bytes: Vec::new(),
            pieces: Vec::new(),
            piece_bytes: 0,
            piece_memory: 0,
            limit,
        }
    }

    /// The buffer to append to. Its present content belongs to earlier replies of this exchange.
    #[inline]
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Appends bytes by copy.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Puts a piece after everything written so far.
    pub fn push(&mut self, piece: impl Into<Piece>) {
        let piece = piece.into();
        if piece.len() > 0 {
            self.piece_bytes += piece.len();
            self.piece_memory += piece.held();
            self.pieces.push((self.bytes.len(), piece));
        }
    }

    /// How many bytes wait, pieces included.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len() + self.piece_bytes as usize
    }

    /// True if nothing waits.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.pieces.is_empty()
    }

    /// True if the closure should stop here and let the bytes leave; it is called again with the input that it left.
    #[inline]
    #[must_use]
    pub fn full(&self) -> bool {
        self.len() >= self.limit
    }

    /// Moves everything out of it, for a reply that has to wait: sent [as pieces](Output::into_pieces) later, by
    /// [`Stream::send`](crate::Stream::send). Copies the bytes, since the buffer is the loop's.
    #[must_use]
    pub fn take(&mut self) -> Output {
        let mut taken = Output::new(self.limit);
        taken.append(self);
        taken
    }

    /// Replaces a range of the [buffer](Output::buffer), and the pieces that follow a byte of the range.
    ///
    /// # Panics
    /// If the range exceeds the buffer.
    pub fn replace(&mut self, range: Range<usize>, bytes: &[u8]) {
        let (mut gone_bytes, mut gone_memory) = (0, 0);
        self.pieces.retain_mut(|(at, piece)| {
            if *at > range.end {
                *at = *at - range.len() + bytes.len();
                return true;
            }
            if *at <= range.start {
                return true;
            }
            gone_bytes += piece.len();
            gone_memory += piece.held();
            false
        });
        self.piece_bytes -= gone_bytes;
        self.piece_memory -= gone_memory;
        self.bytes.splice(range, bytes.iter().copied());
    }

    /// Its parts in order, each as a piece.
    pub fn into_pieces(mut self) -> impl Iterator<Item = Piece> {
        let mut pieces = Vec::with_capacity(2 * self.pieces.len() + 1);
        // From the end, so that each cut leaves the earlier positions as they are.
        for (at, piece) in self.pieces.into_iter().rev() {
            pieces.push(Piece::Bytes(self.bytes.split_off(at)));
            pieces.push(piece);
        }
        pieces.push(Piece::Bytes(self.bytes));
        pieces.into_iter().rev().filter(|piece| piece.len() > 0)
    }

    /// Its parts in order.
    pub(crate) fn parts(&self) -> Vec<Part<'_>> {
        let mut parts = Vec::with_capacity(2 * self.pieces.len() + 1);
        let mut from = 0;
        for (at, piece) in &self.pieces {
            if from < *at {
                parts.push(Part::Bytes(&self.bytes[from..*at]));
            }
            parts.push(Part::of(piece, 0));
            from = *at;
        }
        if from < self.bytes.len() {
            parts.push(Part::Bytes(&self.bytes[from..]));
        }
        parts
    }

    /// Moves all of another one to the end of this.
    pub(crate) fn append(&mut self, other: &mut Output) {
        let shift = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        self.pieces
            .extend(other.pieces.drain(..).map(|(at, piece)| (at + shift, piece)));
        self.piece_bytes += other.piece_bytes;
        self.piece_memory += other.piece_memory;
        other.clear();
    }

    /// Bytes of memory that it keeps; shared bytes and files are not its own.
    #[must_use]
    pub fn held(&self) -> usize {
        self.bytes.capacity() + self.piece_memory
    }

    /// Bytes of its content that are in memory of its own: no shared bytes and no files.
    #[inline]
    pub(crate) fn memory(&self) -> usize {
        self.bytes.len() + self.piece_memory
    }

    /// Empties it and gives back memory that an unusually large exchange made it take.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        if !self.pieces.is_empty() {
            self.pieces.clear();
        }
        (self.piece_bytes, self.piece_memory) = (0, 0);
        if self.bytes.capacity() > 4 * self.limit.max(1024) {
            self.bytes = Vec::new();
        }
    }
}

/// The result of a closure of [`Stream::exchange`](crate::Stream::exchange): the input it consumed and the event it waits
/// for.
///
/// A plain number converts to a `Took` that consumed this many bytes and waits for any further input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Took {
    /// Bytes that are done with.
    pub consumed: usize,
    /// Bytes that must lie in the input, not counting the consumed ones, before the closure is called again. More
    /// than the loop's input buffer has makes the connection grow a buffer of its own.
    ///
    /// Whatever it says, a closure that consumed something, or filled the output, and left input beyond `need` is
    /// called again with the rest at once, and one that did neither waits for at least a byte more.
    pub need: usize,
    /// The event besides input.
    pub again: Again,
}

/// The event on which a closure is called again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Again {
    /// Input alone.
    #[default]
    Input,
    /// Room in the output: the closure is called again as soon as the kernel has taken all it wrote, with whatever input
    /// there is then, perhaps none. So a protocol that interleaves several messages writes one frame of each at a time,
    /// and decides late which message is next. A closure that has nothing to write must not ask for room: it would be called
    /// without end.
    Room,
}

impl Took {
    /// Consumes bytes and waits until the input contains `need` others.
    #[inline]
    #[must_use]
    pub fn waiting(consumed: usize, need: usize) -> Took {
        Took {
            consumed,
            need,
            again: Again::Input,
        }
    }
}

impl Default for Took {
    fn default() -> Took {
        Took::from(0)
    }
}

impl From<usize> for Took {
    #[inline]
    fn from(consumed: usize) -> Took {
        Took {
            consumed,
            need: 1,
            again: Again::Input,
        }
    }
}

/// The outcome of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Exchange {
    /// The closure ran; there may be more to come.
    Open,
    /// The closure did not run: the peer has ended its side, or a reply was aborted, and no reply is open any more. A
    /// stream with a [`Notifier`](crate::Notifier) is told so once, and goes on for its notifications.
    Ended {
        /// True if the peer ended between two messages, leaving nothing unconsumed, and under TLS said so. The number
        /// of bytes left is [`Stream::buffered`](crate::Stream::buffered).
        clean: bool,
    },
    /// The closure did not run: the loop is draining, no part of a request is held, no reply is open and nothing more
    /// has come. A stream is told so once; a protocol that has announced the end to its peer may go on until then.
    Draining,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a`, a piece `B`, `c`, a piece `D`, `e`.
    fn output() -> Output {
        let mut output = Output::new(100);
        for (index, byte) in b"aBcDe".iter().enumerate() {
            match index % 2 {
                0 => output.write(&[*byte]),
                _ => output.push(vec![*byte]),
            }
        }
        output
    }

    fn text(output: Output) -> String {
        let bytes = output.into_pieces().flat_map(|piece| match piece {
            Piece::Bytes(bytes) => bytes,
            _ => unreachable!("only bytes were pushed"),
        });
        String::from_utf8(bytes.collect()).expect("ASCII")
    }

    #[test]
    fn a_taken_output_is_whole_and_leaves_an_empty_one() {
        let mut output = output();
        let taken = output.take();
        assert!(output.is_empty() && output.memory() == 0);
        assert_eq!((taken.len(), text(taken)), (5, "aBcDe".to_owned()));
        output.write(b"f");
        assert_eq!(text(output), "f");
    }

    #[test]
    fn a_range_is_replaced_with_the_pieces_that_follow_it() {
        for (range, bytes, expected) in [
            (0..1, "123", "123cDe"),
            (1..2, "", "aBe"),
            (1..2, "12345", "aB12345e"),
            (0..3, "x", "x"),
            (0..0, "x", "xaBcDe"),
            (3..3, "x", "aBcDex"),
            (2..3, "xy", "aBcDxy"),
        ] {
            let mut output = output();
            output.replace(range.clone(), bytes.as_bytes());
            assert_eq!(output.len(), expected.len(), "{range:?}");
            assert_eq!(text(output), expected, "{range:?} {bytes:?}");
        }
    }
}
