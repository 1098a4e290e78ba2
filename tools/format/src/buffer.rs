//! What `append!` and `c!` write to.

use crate::cursor::{Bytes, Cursor, Encoding, Text, bytes_of};
use crate::fixed::{Fixed, Full};
use alloc::string::String;
use alloc::vec::Vec;

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
    fn __append<A>(
        &mut self,
        arguments: A,
        write: impl FnOnce(&mut Cursor<'_, Self::Encoding>, A),
    ) -> Self::Outcome;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for alloc::vec::Vec<u8> {}
    impl Sealed for alloc::string::String {}
    impl Sealed for &mut [u8] {}
    impl<S> Sealed for crate::Fixed<S> {}
}

impl Buffer for Vec<u8> {
    type Outcome = ();
    type Encoding = Bytes;

    #[inline(always)]
    fn __append<A>(&mut self, arguments: A, write: impl FnOnce(&mut Cursor<'_, Bytes>, A)) {
        let mut cursor = Cursor::open(self);
        write(&mut cursor, arguments);
        cursor.close();
    }
}

impl Buffer for String {
    type Outcome = ();
    type Encoding = Text;

    #[inline(always)]
    fn __append<A>(&mut self, arguments: A, write: impl FnOnce(&mut Cursor<'_, Text>, A)) {
        let mut cursor = Cursor::open(bytes_of(self));
        write(&mut cursor, arguments);
        cursor.close();
    }
}

impl<S: AsRef<[u8]> + AsMut<[u8]>> Buffer for Fixed<S> {
    type Outcome = Result<(), Full>;
    type Encoding = Bytes;

    #[inline(always)]
    fn __append<A>(
        &mut self,
        arguments: A,
        write: impl FnOnce(&mut Cursor<'_, Bytes>, A),
    ) -> Result<(), Full> {
        let before = self.begin();
        let mut cursor = Cursor::open(self);
        write(&mut cursor, arguments);
        cursor.close();
        self.settle(before)
    }
}

impl Buffer for &mut [u8] {
    type Outcome = Result<(), Full>;
    type Encoding = Bytes;

    #[inline]
    fn __append<A>(
        &mut self,
        arguments: A,
        write: impl FnOnce(&mut Cursor<'_, Bytes>, A),
    ) -> Result<(), Full> {
        let mut fixed = Fixed::new(&mut **self);
        fixed.__append(arguments, write)?;
        let written = fixed.len();
        *self = &mut core::mem::take(self)[written..];
        Ok(())
    }
}
