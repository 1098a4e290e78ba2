//! The buffers that `append!` and `c!` write to.

use crate::cursor::{Cursor, Lent, Room, bytes_of};
use crate::encoding::{Bytes, Encoding, Output, Text};
use crate::fixed::{Fixed, Full};
use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;

/// A buffer that [`append!`](crate::append) and [`c!`](crate::c) can append to: `Vec<u8>`, `String`, [`Fixed`], or
/// `&mut [u8]`, whose start moves past the written bytes.
///
/// The trait is sealed: this crate ensures that a `String` stays UTF-8.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a buffer that `append!` and `c!` can write to",
    label = "not a buffer",
    note = "the buffers are `Vec<u8>`, `String`, `format::Fixed` and `&mut [u8]`",
    note = "in an implementation of `Display`, and for other writers, use `write!`, or append to a buffer and pass its text on"
)]
pub trait Buffer: sealed::Sealed {
    /// The value of a call: `()` for a buffer that grows, else `Result<(), Full>`.
    type Outcome;
    /// The contents: text or any bytes.
    #[doc(hidden)]
    type Encoding: Encoding;
    #[doc(hidden)]
    type Close<'s>: Close<Outcome = Self::Outcome>
    where
        Self: 's;

    /// Borrows the room.
    #[doc(hidden)]
    fn __lend(&mut self) -> Opened<'_, Self::Close<'_>, Self::Encoding>;
}

/// The first method that a call invokes.
///
/// It is not a method of [`Buffer`], so that the compiler answers a call on any other type with the message of `Buffer`.
pub trait Open: Buffer {
    /// Borrows the room, and returns the arguments, which are evaluated after the buffer.
    fn __open<A>(&mut self, arguments: A) -> (Opened<'_, Self::Close<'_>, Self::Encoding>, A);
}

impl<B: Buffer> Open for B {
    #[inline(always)]
    fn __open<A>(&mut self, arguments: A) -> (Opened<'_, Self::Close<'_>, Self::Encoding>, A) {
        (self.__lend(), arguments)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for alloc::vec::Vec<u8> {}
    impl Sealed for alloc::string::String {}
    impl Sealed for &mut [u8] {}
    impl<S> Sealed for crate::Fixed<S> {}
}

/// A buffer during a call. If it is dropped, because a value's `Display` panics, the call's bytes are not appended.
pub struct Opened<'s, C, E> {
    room: Room<'s>,
    close: C,
    encoding: PhantomData<E>,
}

impl<'s, C: Close, E> Opened<'s, C, E> {
    /// **Invariant:** the room belongs to a buffer with this encoding.
    #[inline(always)]
    fn new(room: Room<'s>, close: C) -> Self {
        Self {
            room,
            close,
            encoding: PhantomData,
        }
    }

    /// Starts to write `about` bytes of text, an estimate.
    #[inline(always)]
    pub fn __cursor(&mut self, about: usize) -> Cursor<'_, 's> {
        self.room.cursor(about)
    }

    /// Starts to write `about` bytes in the buffer's encoding, an estimate.
    #[inline(always)]
    pub fn __output(&mut self, about: usize) -> Output<'_, 's, E> {
        Output::new(self.room.cursor(about))
    }

    /// Adds the written bytes to the buffer.
    #[inline(always)]
    pub fn close(self) -> C::Outcome {
        self.close.close(self.room)
    }
}

/// How the written bytes become part of a buffer.
pub trait Close {
    /// As [`Buffer::Outcome`].
    type Outcome;
    /// Adds the bytes in the room to the buffer.
    fn close(self, room: Room<'_>) -> Self::Outcome;
}

/// Extends a vector.
pub struct Grown;

impl Close for Grown {
    type Outcome = ();

    #[inline(always)]
    fn close(self, room: Room<'_>) {
        room.close_vector();
    }
}

impl Buffer for Vec<u8> {
    type Outcome = ();
    type Encoding = Bytes;
    type Close<'s> = Grown;

    #[inline(always)]
    fn __lend(&mut self) -> Opened<'_, Grown, Bytes> {
        Opened::new(Room::of_vector(self), Grown)
    }
}

impl Buffer for String {
    type Outcome = ();
    type Encoding = Text;
    type Close<'s> = Grown;

    #[inline(always)]
    fn __lend(&mut self) -> Opened<'_, Grown, Text> {
        Opened::new(Room::of_vector(bytes_of(self)), Grown)
    }
}

/// Extends a [`Fixed`]: its length, and the number of free bytes.
pub struct Filled<'s> {
    length: &'s mut usize,
    free: usize,
}

impl Close for Filled<'_> {
    type Outcome = Result<(), Full>;

    #[inline]
    fn close(self, room: Room<'_>) -> Result<(), Full> {
        let free = self.free;
        *self.length += room
            .close_storage()
            .map_err(|needed| Full { needed, room: free })?;
        Ok(())
    }
}

impl<S: AsRef<[u8]> + AsMut<[u8]>> Buffer for Fixed<S> {
    type Outcome = Result<(), Full>;
    type Encoding = Bytes;
    type Close<'s>
        = Filled<'s>
    where
        S: 's;

    #[inline]
    fn __lend(&mut self) -> Opened<'_, Filled<'_>, Bytes> {
        let (storage, length) = self.free();
        let free = storage.len();
        let close = Filled { length, free };
        Opened::new(Room::of_storage(storage), close)
    }
}

impl<'x> Buffer for &'x mut [u8] {
    type Outcome = Result<(), Full>;
    type Encoding = Bytes;
    type Close<'s>
        = Shortened<'s, 'x>
    where
        Self: 's;

    #[inline]
    fn __lend(&mut self) -> Opened<'_, Shortened<'_, 'x>, Bytes> {
        let (room, slice) = Room::of_slice(self);
        Opened::new(room, Shortened(slice))
    }
}

/// Shortens a slice.
pub struct Shortened<'s, 'x>(Lent<'s, 'x>);

impl Close for Shortened<'_, '_> {
    type Outcome = Result<(), Full>;

    #[inline]
    fn close(self, room: Room<'_>) -> Result<(), Full> {
        room.close_slice(self.0)
            .map_err(|(needed, room)| Full { needed, room })
    }
}

#[cfg(test)]
mod tests {
    use super::{Buffer, Opened};
    use crate::Fixed;
    use crate::word::Lead;
    use alloc::vec::Vec;

    const LONG: &str = "longer than the room that there is";

    #[test]
    fn a_cursor_that_is_dropped_leaves_a_room_of_use() {
        let mut out = Vec::with_capacity(4);
        let mut opened: Opened<'_, _, _> = out.__lend();
        opened.__cursor(0).__text(LONG);
        let mut cursor = opened.__cursor(0);
        cursor.__lead(Lead::new(u64::from(b'.'), 1));
        cursor.done();
        opened.close();
        assert_eq!(out.strip_suffix(b"."), Some(LONG.as_bytes()));
    }

    #[test]
    fn a_cursor_that_is_dropped_leaves_storage_that_is_full() {
        let mut out = Fixed::new([0; 20]);
        let mut opened = out.__lend();
        let mut cursor = opened.__cursor(0);
        cursor.__lead(Lead::new(u64::from(b'.'), 1));
        cursor.done();
        opened.__cursor(0).__text(LONG);
        let mut cursor = opened.__cursor(0);
        cursor.__text(LONG);
        cursor.done();
        let full = opened.close().map_err(|full| full.needed);
        assert_eq!(full, Err(1 + 2 * LONG.len()));
        assert!(out.is_empty());
    }
}
