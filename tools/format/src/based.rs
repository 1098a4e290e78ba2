//! Integers in bases that are powers of two, where a negative number is its two's complement.

use crate::cursor::Cursor;
use crate::digits::Fill;
use crate::hex;
use crate::layout::Layout;
use crate::scratch::Digits;
use crate::specialize::Specialized;
use crate::specialize::kinds::{Binary, LowerHex, Octal, UpperHex};
use core::fmt::Arguments;

#[derive(Clone, Copy)]
enum Base {
    Hexadecimal { upper: bool },
    Octal,
    Binary,
}

impl Base {
    #[inline(always)]
    fn prefix(self) -> &'static [u8] {
        match self {
            Self::Hexadecimal { .. } => b"0x",
            Self::Octal => b"0o",
            Self::Binary => b"0b",
        }
    }

    #[inline(always)]
    fn digits(self, number: u64) -> Digits {
        match self {
            Self::Hexadecimal { upper } => Digits::hexadecimal(number, upper),
            Self::Octal => Digits::octal(number),
            Self::Binary => Digits::binary(number),
        }
    }
}

#[inline(always)]
fn plain<E>(out: &mut Cursor<'_, E>, number: u64, base: Base) {
    match base {
        Base::Hexadecimal { upper } => hexadecimal(out, number, upper),
        _ => out.bytes(base.digits(number).as_bytes()),
    }
}

/// Appends a number in hexadecimal.
#[inline(always)]
pub(crate) fn hexadecimal<E>(out: &mut Cursor<'_, E>, number: u64, upper: bool) {
    let (high, low) = ((number >> 32) as u32, number as u32);
    if high == 0 {
        let count = hex::count(low);
        out.word(hex::last(low, count, upper), count);
    } else {
        let count = hex::count(high);
        out.word(hex::last(high, count, upper), count);
        out.word(hex::eight(low, upper), 8);
    }
}

/// Appends a number in hexadecimal with zeros before it, for a width of up to 8.
#[inline(always)]
pub(crate) fn zero_filled_hexadecimal<E>(out: &mut Cursor<'_, E>, number: u32, width: usize, upper: bool) {
    let count = hex::count(number).max(width);
    out.word(hex::last(number, count, upper), count);
}

#[inline(always)]
fn laid_out<E>(out: &mut Cursor<'_, E>, number: u64, layout: &Layout, base: Base) {
    if let (Base::Hexadecimal { upper }, Some(Fill::Zeros)) = (base, layout.fill_on_the_left())
        && let (0..=8, Ok(number)) = (layout.width, u32::try_from(number))
    {
        return zero_filled_hexadecimal(out, number, usize::from(layout.width), upper);
    }
    let sign = layout.sign(false);
    let prefix = if layout.alternate { base.prefix() } else { b"" };
    let mut start = [0; 3];
    start[..sign.len()].copy_from_slice(sign);
    let length = sign.len() + prefix.len();
    start[sign.len()..length].copy_from_slice(prefix);
    layout.number(out, &start[..length], base.digits(number).as_bytes());
}

macro_rules! based {
    ($($kind:ty, $base:expr, $($type:ty as $unsigned:ty),*;)*) => {$($(
        impl Specialized<$kind> for $type {
            #[inline(always)]
            fn plain<E>(&self, out: &mut Cursor<'_, E>, _: Arguments<'_>) {
                plain(out, *self as $unsigned as u64, $base);
            }

            #[inline(always)]
            fn laid_out<E>(&self, out: &mut Cursor<'_, E>, layout: Layout, _: Arguments<'_>) {
                laid_out(out, *self as $unsigned as u64, &layout, $base);
            }
        }
    )*)*};
    ($($kind:ty, $base:expr;)*) => {
        based! {$(
            $kind, $base, u8 as u8, u16 as u16, u32 as u32, u64 as u64, usize as usize,
            i8 as u8, i16 as u16, i32 as u32, i64 as u64, isize as usize;
        )*}
    };
}

based! {
    LowerHex, Base::Hexadecimal { upper: false };
    UpperHex, Base::Hexadecimal { upper: true };
    Octal, Base::Octal;
    Binary, Base::Binary;
}
