//! What `append!` and `c!` write to.

use crate::cursor::{Cursor, Lent, Room, bytes_of};
use crate::encoding::{Bytes, Encoding, Output, Text};
use crate::fixed::{Fixed, Full};
use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;

/// Something that [`append!`](crate::append) and [`c!`](crate::c) can append to: `Vec<u8>`, `String`, [`Fixed`], and a
/// `&mut [u8]`, which then begins behind what was written.
///
/// It can't be implemented elsewhere, since a `String` stays UTF-8 only by care taken here.
pub trait Buffer: sealed::Sealed {
    /// What a call evaluates to: `()` if there is always room, else `Result<(), Full>`.
    type Outcome;
    /// Whether it holds text or any bytes.
    #[doc(hidden)]
    type Encoding: Encoding;
    #[doc(hidden)]
    type Close<'s>: Close<Outcome = Self::Outcome>
    where
        Self: 's;

    /// Lends the room. The arguments are handed through: they are evaluated after the buffer.
    #[doc(hidden)]
    fn __open<A>(&mut self, arguments: A) -> (Opened<'_, Self::Close<'_>, Self::Encoding>, A);
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
    /// **Invariant:** the room is of a buffer with this encoding.
    #[inline(always)]
    fn new(room: Room<'s>, close: C) -> Self {
        Self {
            room,
            close,
            encoding: PhantomData,
        }
    }

    /// Begins to write about so many bytes of text.
    #[inline(always)]
    pub fn __cursor(&mut self, about: usize) -> Cursor<'_, 's> {
        self.room.cursor(about)
    }

    /// Begins to write about so many bytes of what the buffer holds.
    #[inline(always)]
    pub fn __output(&mut self, about: usize) -> Output<'_, 's, E> {
        Output::new(self.room.cursor(about))
    }

    /// Gives the buffer what has been written.
    #[inline(always)]
    pub fn close(self) -> C::Outcome {
        self.close.close(self.room)
    }
}

/// How a buffer takes over what has been written.
pub trait Close {
    /// As [`Buffer::Outcome`].
    type Outcome;
    /// Takes it over.
    fn close(self, room: Room<'_>) -> Self::Outcome;
}

/// What a vector does.
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
    fn __open<A>(&mut self, arguments: A) -> (Opened<'_, Grown, Bytes>, A) {
        (Opened::new(Room::of_vector(self), Grown), arguments)
    }
}

impl Buffer for String {
    type Outcome = ();
    type Encoding = Text;
    type Close<'s> = Grown;

    #[inline(always)]
    fn __open<A>(&mut self, arguments: A) -> (Opened<'_, Grown, Text>, A) {
        (Opened::new(Room::of_vector(bytes_of(self)), Grown), arguments)
    }
}

/// What a [`Fixed`] does: its length, and how many bytes are free.
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
    fn __open<A>(&mut self, arguments: A) -> (Opened<'_, Filled<'_>, Bytes>, A) {
        let (storage, length) = self.free();
        let free = storage.len();
        let close = Filled { length, free };
        (Opened::new(Room::of_storage(storage), close), arguments)
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
    fn __open<A>(&mut self, arguments: A) -> (Opened<'_, Shortened<'_, 'x>, Bytes>, A) {
        let (room, slice) = Room::of_slice(self);
        (Opened::new(room, Shortened(slice)), arguments)
    }
}

/// What a slice does.
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
        let (mut opened, ()): (Opened<'_, _, _>, ()) = out.__open(());
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
        let (mut opened, ()) = out.__open(());
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
