//! The contents of a buffer: text or any bytes.
//!
//! **Invariant:** each piece that is appended to an [`Output`] of [`Text`] is UTF-8.

use crate::cursor::Cursor;
use crate::word::Lead;
use core::marker::PhantomData;

/// Marks a buffer that holds UTF-8.
#[derive(Debug)]
pub struct Text;

/// Marks a buffer that holds any bytes.
#[derive(Debug)]
pub struct Bytes;

/// The kind of bytes that a buffer accepts.
pub trait Encoding {
    /// The longest beginning of at most `length` bytes that may stand alone.
    fn boundary(bytes: &[u8], length: usize) -> usize;
}

impl Encoding for Text {
    #[inline]
    fn boundary(bytes: &[u8], length: usize) -> usize {
        // A byte that continues a character has the bits 10 in front.
        (0..=length)
            .rev()
            .find(|at| bytes.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80))
            .unwrap_or(0)
    }
}

impl Encoding for Bytes {
    #[inline(always)]
    fn boundary(_: &[u8], length: usize) -> usize {
        length
    }
}

/// A cursor with the encoding of its buffer.
pub struct Output<'r, 's, E> {
    cursor: Cursor<'r, 's>,
    encoding: PhantomData<E>,
}

impl<'r, 's, E> Output<'r, 's, E> {
    /// **Invariant:** the cursor's room belongs to a buffer with this encoding.
    #[inline(always)]
    pub(crate) fn new(cursor: Cursor<'r, 's>) -> Self {
        Self {
            cursor,
            encoding: PhantomData,
        }
    }

    #[inline(always)]
    pub(crate) fn hand(&mut self, write: impl for<'x> FnOnce(Cursor<'x, 's>) -> Cursor<'x, 's>) {
        self.cursor.hand(write);
    }

    /// As for a [`Cursor`].
    #[inline(always)]
    pub fn __text(&mut self, text: &str) {
        self.cursor.__text(text);
    }

    /// As for a [`Cursor`].
    #[inline(always)]
    pub fn __lead(&mut self, lead: Lead) {
        self.cursor.__lead(lead);
    }

    /// As for a [`Cursor`].
    #[inline(always)]
    pub fn done(self) {
        self.cursor.done();
    }
}
