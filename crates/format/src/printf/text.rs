//! `%c %s %p`

use super::integer::address;
use super::layout::Layout;
use crate::cursor::{Cursor, append};
use crate::encoding::{Bytes, Encoding, Output};
use crate::word::Lead;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::ffi::CString;
use alloc::string::String;
use alloc::vec::Vec;
use core::ffi::CStr;
use core::ptr::NonNull;

mod sealed {
    /// Only this crate can name this type, so only it can implement a method that takes it: bytes for a `String` must be
    /// UTF-8.
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
    /// Its address.
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

/// `%s` without flags, width or precision.
#[inline(always)]
pub fn string<T: Str<E> + ?Sized, E>(out: &mut Output<'_, '_, E>, lead: Lead, value: &T) {
    let bytes = value.bytes(Seal).unwrap_or(b"(null)");
    out.hand(|out| append(out, lead, bytes));
}

/// `%s`
#[inline(always)]
pub fn string_laid_out<T: Str<E> + ?Sized, E: Encoding>(
    out: &mut Output<'_, '_, E>,
    lead: Lead,
    value: &T,
    layout: &Layout,
) {
    let bytes = value.bytes(Seal);
    out.hand(|out| any_string(out, lead, bytes, layout, E::boundary));
}

#[inline(never)]
fn any_string<'r, 's>(
    out: Cursor<'r, 's>,
    lead: Lead,
    bytes: Option<&[u8]>,
    layout: &Layout,
    boundary: fn(&[u8], usize) -> usize,
) -> Cursor<'r, 's> {
    let mut bytes = match (bytes, layout.precision) {
        (Some(bytes), _) => bytes,
        // All of it or nothing, as in the GNU C library.
        (None, Some(0..6)) => b"",
        (None, _) => b"(null)",
    };
    if let Some(precision) = layout.precision
        && precision < bytes.len()
    {
        bytes = &bytes[..boundary(bytes, precision)];
    }
    layout.text(out, lead, bytes)
}

/// `%c` without flags or width.
#[inline(always)]
pub fn character<T: Character<E> + ?Sized, E>(out: &mut Output<'_, '_, E>, lead: Lead, value: &T) {
    let (bytes, length) = value.bytes(Seal);
    out.hand(|out| append(out, lead, &bytes[..length]));
}

/// `%c`
#[inline(always)]
pub fn character_laid_out<T: Character<E> + ?Sized, E>(
    out: &mut Output<'_, '_, E>,
    lead: Lead,
    value: &T,
    layout: &Layout,
) {
    let (bytes, length) = value.bytes(Seal);
    out.hand(|out| any_text(out, lead, &bytes[..length], layout));
}

#[inline(never)]
fn any_text<'r, 's>(out: Cursor<'r, 's>, lead: Lead, bytes: &[u8], layout: &Layout) -> Cursor<'r, 's> {
    layout.text(out, lead, bytes)
}

/// `%p`
#[inline(always)]
pub fn pointer<T: Pointer, E>(out: &mut Output<'_, '_, E>, lead: Lead, value: &T, layout: &Layout) {
    let address = value.address();
    out.hand(|out| any_pointer(out, lead, address, layout));
}

#[inline(never)]
fn any_pointer<'r, 's>(out: Cursor<'r, 's>, lead: Lead, at: usize, layout: &Layout) -> Cursor<'r, 's> {
    match at {
        0 => layout.text(out, lead, b"(nil)"),
        at => address(out, lead, at, layout),
    }
}
