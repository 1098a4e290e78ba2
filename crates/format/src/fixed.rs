//! A buffer that doesn't grow.

use crate::cursor::{Cursor, Room};
use crate::word::Lead;
use core::fmt;

/// Bytes in storage of a fixed size: `Fixed::new([0; 64])` owns it, `Fixed::new(&mut bytes[..])` borrows it.
///
/// What a call appends is appended wholly or not at all: when it doesn't fit, the call evaluates to [`Full`], which says
/// how much room it wants, and the buffer is what it was. The storage behind what is written serves as scratch space.
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

/// What was to be appended doesn't fit.
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

    /// What has been written.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.storage.as_ref()[..self.length]
    }

    /// How many bytes have been written.
    #[inline]
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Whether nothing has been written.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// How many bytes can still be written.
    #[inline]
    pub fn room(&self) -> usize {
        self.storage.as_ref().len() - self.length
    }

    /// Forgets what has been written.
    #[inline]
    pub const fn clear(&mut self) {
        self.length = 0;
    }

    /// Gives the storage back; what was written is at its beginning.
    #[inline]
    pub fn into_storage(self) -> S {
        self.storage
    }

    /// The storage behind what is written, and how much is written.
    #[inline]
    pub(crate) fn free(&mut self) -> (&mut [u8], &mut usize) {
        (&mut self.storage.as_mut()[self.length..], &mut self.length)
    }
}

/// Calls a function that writes to the beginning of some bytes, and tells how many it has written.
///
/// # Panics
/// When they don't suffice.
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

/// Appends what a function writes, of up to 64 bytes, where there may be no room for the words that it is made of.
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
