//! A buffer that doesn't grow.

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
    /// Bytes of the current call that found no room. Once there are some, all that follow are counted too.
    missing: usize,
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
        Self {
            storage,
            length: 0,
            missing: 0,
        }
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

    /// Begins a call, of which nothing is missing yet, and tells how much is written.
    #[inline]
    pub(crate) fn begin(&mut self) -> usize {
        // A call that panicked may have left something.
        self.missing = 0;
        self.length
    }

    /// Ends a call that began when so much was written.
    #[inline]
    pub(crate) fn settle(&mut self, before: usize) -> Result<(), Full> {
        if self.missing == 0 {
            return Ok(());
        }
        let needed = self.length - before + core::mem::take(&mut self.missing);
        self.length = before;
        Err(Full {
            needed,
            room: self.room(),
        })
    }

    /// The storage behind what is written, or nothing of it once something was missing.
    #[inline]
    pub(crate) fn free(&mut self) -> &mut [u8] {
        let from = if self.missing == 0 {
            self.length
        } else {
            self.storage.as_ref().len()
        };
        &mut self.storage.as_mut()[from..]
    }

    /// Takes over bytes that were written to the beginning of [`free`](Self::free).
    #[inline]
    pub(crate) fn advance(&mut self, length: usize) {
        self.length += length;
    }

    /// Appends bytes if they fit and nothing before them was missing.
    pub(crate) fn append_or_count(&mut self, bytes: &[u8]) {
        match self.storage.as_mut()[self.length..].get_mut(..bytes.len()) {
            Some(room) if self.missing == 0 => {
                room.copy_from_slice(bytes);
                self.length += bytes.len();
            }
            _ => self.missing += bytes.len(),
        }
    }
}
