//! `%c %s %p`

use super::integer::address;
use super::layout::Layout;
use crate::cursor::{Bytes, Cursor, Encoding};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::ffi::CString;
use alloc::string::String;
use alloc::vec::Vec;
use core::ffi::CStr;
use core::ptr::NonNull;

mod sealed {
    /// Only this crate has one, and so only it can implement a method that takes one: what goes into a `String` has to
    /// be UTF-8.
    #[derive(Debug, Clone, Copy)]
    pub struct Seal;
}
use sealed::Seal;

/// A value that `%s` takes. A `String` takes only text, a buffer of bytes any.
#[diagnostic::on_unimplemented(
    message = "`%s` can't write `{Self}` to this buffer",
    label = "no string for this buffer",
    note = "`%s` takes str and String, and if the buffer holds bytes also [u8], Vec<u8> and CStr; None is \"(null)\""
)]
pub trait Str<E> {
    /// Its bytes; `None` is C's null pointer.
    fn bytes(&self, seal: Seal) -> Option<&[u8]>;
}

/// A value that `%c` takes. A `String` takes only a `char`, a buffer of bytes any byte.
#[diagnostic::on_unimplemented(
    message = "`%c` can't write `{Self}` to this buffer",
    label = "no character for this buffer",
    note = "`%c` takes char, and if the buffer holds bytes also u8, i8 and i32, of which C takes the lowest byte"
)]
pub trait Character<E> {
    /// Its bytes, at the beginning of four.
    fn bytes(&self, seal: Seal) -> ([u8; 4], usize);
}

/// A value that `%p` takes.
#[diagnostic::on_unimplemented(
    message = "`%p` can't take `{Self}`",
    label = "no pointer",
    note = "`%p` takes pointers and references"
)]
pub trait Pointer {
    /// Where it points.
    fn address(&self) -> usize;
}

macro_rules! strings {
    ($($encoding:ident { $($type:ty, |$value:ident| $bytes:expr;)* })*) => {$($(
        strings!(@ $encoding, $type, |$value| $bytes);
    )*)*};
    (@ Any, $type:ty, |$value:ident| $bytes:expr) => {
        impl<E: Encoding> Str<E> for $type {
            #[inline(always)]
            fn bytes(&self, _: Seal) -> Option<&[u8]> {
                let $value = self;
                Some($bytes)
            }
        }
    };
    (@ Bytes, $type:ty, |$value:ident| $bytes:expr) => {
        impl Str<Bytes> for $type {
            #[inline(always)]
            fn bytes(&self, _: Seal) -> Option<&[u8]> {
                let $value = self;
                Some($bytes)
            }
        }
    };
}

strings! {
    Any {
        str, |text| text.as_bytes();
        String, |text| text.as_bytes();
        Box<str>, |text| text.as_bytes();
        Cow<'_, str>, |text| text.as_bytes();
    }
    Bytes {
        [u8], |bytes| bytes;
        Vec<u8>, |bytes| bytes;
        Box<[u8]>, |bytes| bytes;
        CStr, |text| text.to_bytes();
        CString, |text| text.to_bytes();
    }
}

impl<const N: usize> Str<Bytes> for [u8; N] {
    #[inline(always)]
    fn bytes(&self, _: Seal) -> Option<&[u8]> {
        Some(self)
    }
}

impl<E, T: Str<E> + ?Sized> Str<E> for &T {
    #[inline(always)]
    fn bytes(&self, seal: Seal) -> Option<&[u8]> {
        (**self).bytes(seal)
    }
}

impl<E, T: Str<E>> Str<E> for Option<T> {
    #[inline(always)]
    fn bytes(&self, seal: Seal) -> Option<&[u8]> {
        self.as_ref()?.bytes(seal)
    }
}

impl<E: Encoding> Character<E> for char {
    #[inline(always)]
    fn bytes(&self, _: Seal) -> ([u8; 4], usize) {
        let mut bytes = [0; 4];
        let length = self.encode_utf8(&mut bytes).len();
        (bytes, length)
    }
}

macro_rules! characters {
    ($($type:ty)*) => {$(
        impl Character<Bytes> for $type {
            #[inline(always)]
            fn bytes(&self, _: Seal) -> ([u8; 4], usize) {
                ([*self as u8, 0, 0, 0], 1)
            }
        }
    )*};
}

characters!(u8 i8 i32);

impl<E, T: Character<E>> Character<E> for &T {
    #[inline(always)]
    fn bytes(&self, seal: Seal) -> ([u8; 4], usize) {
        (**self).bytes(seal)
    }
}

macro_rules! pointers {
    ($($type:ty, |$value:ident| $address:expr;)*) => {$(
        impl<T: ?Sized> Pointer for $type {
            #[inline(always)]
            fn address(&self) -> usize {
                let $value = self;
                $address
            }
        }
    )*};
}

pointers! {
    *const T, |pointer| pointer.cast::<u8>().addr();
    *mut T, |pointer| pointer.cast::<u8>().addr();
    &T, |reference| core::ptr::from_ref(*reference).cast::<u8>().addr();
    &mut T, |reference| core::ptr::from_ref(&**reference).cast::<u8>().addr();
    NonNull<T>, |pointer| pointer.as_ptr().cast::<u8>().addr();
}

/// `%s`
#[inline(always)]
pub fn string<T: Str<E> + ?Sized, E: Encoding>(out: &mut Cursor<'_, E>, value: &T, layout: Layout) {
    let mut bytes = match (value.bytes(Seal), layout.precision) {
        (Some(bytes), _) => bytes,
        // As the GNU C library has it: all of it or nothing.
        (None, Some(0..6)) => b"",
        (None, _) => b"(null)",
    };
    if let Some(precision) = layout.precision
        && precision < bytes.len()
    {
        bytes = &bytes[..E::boundary(bytes, precision)];
    }
    layout.text(out, bytes);
}

/// `%c`
#[inline(always)]
pub fn character<T: Character<E> + ?Sized, E>(out: &mut Cursor<'_, E>, value: &T, layout: Layout) {
    let (bytes, length) = value.bytes(Seal);
    if layout.width == 0 {
        return out.word(u64::from(u32::from_le_bytes(bytes)), length);
    }
    layout.text(out, &bytes[..length]);
}

/// `%p`
#[inline]
pub fn pointer<T: Pointer, E>(out: &mut Cursor<'_, E>, value: &T, layout: Layout) {
    match value.address() {
        0 => layout.text(out, b"(nil)"),
        at => address(out, at, &layout),
    }
}
