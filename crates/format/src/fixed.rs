//! A buffer that doesn't grow.

use crate::cursor::{Cursor, Room};
use crate::word::Lead;
use core::fmt;

/// Bytes in storage of a fixed size: `Fixed::new([0; 64])` owns it, `Fixed::new(&mut bytes[..])` borrows it.
///
/// A call appends all of its bytes or none: if they do not fit, the call evaluates to [`Full`], which holds the room that
/// it needs, and the contents are unchanged. Calls use the storage behind the contents as scratch space.
///
/// ```
/// use format::{Fixed, Full, append};
///
/// let mut line = Fixed::new([0; 16]);
/// append!(line, "{}:{:02}", 12, 5)?;
/// assert_eq!(line.as_bytes(), b"12:05");
/// assert_eq!(append!(line, " and {}", "too much"), Err(Full { needed: 13, room: 11 }));
/// assert_eq!(line.as_bytes(), b"12:05");
/// # Ok::<(), Full>(())
/// ```
#[derive(Debug, Clone)]
pub struct Fixed<S> {
    storage: S,
    length: usize,
}

/// The bytes of a call do not fit into the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full {
    /// Bytes that the call would have appended.
    pub needed: usize,
    /// Bytes that were free.
    pub room: usize,
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { needed, room } = self;
        write!(
            f,
            "the buffer has room for {room} bytes of {needed}; make it larger or clear it"
        )
    }
}

impl core::error::Error for Full {}

impl<S: AsRef<[u8]> + AsMut<[u8]>> Fixed<S> {
    /// An empty buffer.
    #[inline]
    pub const fn new(storage: S) -> Self {
        Self { storage, length: 0 }
    }

    /// The contents.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.storage.as_ref()[..self.length]
    }

    /// The length of the contents in bytes.
    #[inline]
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Returns true if the buffer has no contents.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The number of free bytes.
    #[inline]
    pub fn room(&self) -> usize {
        self.storage.as_ref().len() - self.length
    }

    /// Removes the contents.
    #[inline]
    pub const fn clear(&mut self) {
        self.length = 0;
    }

    /// Returns the storage, which starts with the contents.
    #[inline]
    pub fn into_storage(self) -> S {
        self.storage
    }

    /// The free storage, and the length of the contents.
    #[inline]
    pub(crate) fn free(&mut self) -> (&mut [u8], &mut usize) {
        (&mut self.storage.as_mut()[self.length..], &mut self.length)
    }
}

/// Calls a function that writes to `bytes`, and returns the number of bytes that it wrote.
///
/// # Panics
/// If they do not fit.
#[inline(always)]
pub(crate) fn written(
    bytes: &mut [u8],
    write: impl for<'x, 's> FnOnce(Cursor<'x, 's>) -> Cursor<'x, 's>,
) -> usize {
    let mut room = Room::of_storage(bytes);
    write(room.cursor(0)).done();
    match room.close_storage() {
        Ok(written) => written,
        Err(needed) => panic!("{needed} bytes where fewer were thought to be enough"),
    }
}

/// Appends the output of a function, up to 64 bytes, to a room that may be too small for whole words.
#[inline(always)]
pub(crate) fn in_little_room<'r, 's>(
    mut out: Cursor<'r, 's>,
    lead: Lead,
    write: impl for<'x, 'y> FnOnce(Cursor<'x, 'y>) -> Cursor<'x, 'y>,
) -> Cursor<'r, 's> {
    let mut bytes = [0; 64];
    let length = written(&mut bytes, write);
    out.word(lead.word());
    out.bytes(&bytes[..length]);
    out
}
