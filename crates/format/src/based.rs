//! Integers in bases that are powers of two, where a negative number is its two's complement.

use crate::cursor::{Cursor, append};
use crate::fixed::in_little_room;
use crate::hex;
use crate::layout::Layout;
use crate::scratch::Digits;
use crate::specialize::Specialized;
use crate::specialize::kinds::{Binary, LowerHex, Octal, UpperHex};
use crate::word::{Lead, Word};
use core::fmt::Arguments;

#[derive(Clone, Copy)]
enum Base {
    Hexadecimal { upper: bool },
    Octal,
    Binary,
}

impl Base {
    #[inline(always)]
    fn prefix(self, alternate: bool) -> Word {
        let letter = match self {
            Self::Hexadecimal { .. } => b'x',
            Self::Octal => b'o',
            Self::Binary => b'b',
        };
        Word::byte_if(b'0', alternate).then(Word::byte_if(letter, alternate))
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

#[inline(never)]
fn plain<'r, 's>(out: Cursor<'r, 's>, lead: Lead, number: u64, base: Base) -> Cursor<'r, 's> {
    append(out, lead, base.digits(number).as_bytes())
}

/// Appends a number in hexadecimal with leading zeros up to a width.
#[inline(never)]
pub(crate) fn hexadecimal<'r, 's>(
    out: Cursor<'r, 's>,
    lead: Lead,
    number: u64,
    width: u16,
    upper: bool,
) -> Cursor<'r, 's> {
    let (high, low) = ((number >> 32) as u32, number as u32);
    if width > 8 {
        return wide(out, lead, number, width, upper);
    }
    let little = |out| hexadecimal_in_little_room(out, lead, number, width, upper);
    if high == 0 {
        let count = hex::count(low).max(usize::from(width));
        return out.words_or([lead.word(), hex::last(low, count, upper)], little);
    }
    let (high, low) = (hex::last(high, hex::count(high), upper), hex::last(low, 8, upper));
    out.words_or([lead.word(), high, low], little)
}

/// Appends eight hexadecimal digits without a branch on the number, for the common `{:08x}`.
#[inline(never)]
pub(crate) fn eight_digits<'r, 's>(
    out: Cursor<'r, 's>,
    lead: Lead,
    number: u32,
    upper: bool,
) -> Cursor<'r, 's> {
    out.words_or([lead.word(), Word::full(hex::eight(number, upper))], |out| {
        hexadecimal_in_little_room(out, lead, number.into(), 8, upper)
    })
}

#[cold]
#[inline(never)]
fn hexadecimal_in_little_room<'r, 's>(
    out: Cursor<'r, 's>,
    lead: Lead,
    number: u64,
    width: u16,
    upper: bool,
) -> Cursor<'r, 's> {
    in_little_room(out, lead, |out| {
        hexadecimal(out, Lead::EMPTY, number, width, upper)
    })
}

/// As [`hexadecimal`], for a width above 8.
#[inline(never)]
fn wide<'r, 's>(out: Cursor<'r, 's>, lead: Lead, number: u64, width: u16, upper: bool) -> Cursor<'r, 's> {
    let digits = Digits::hexadecimal(number, upper);
    Layout::zeros(width).number(out, lead, Word::EMPTY, digits.as_bytes())
}

#[inline(never)]
fn laid_out<'r, 's>(
    out: Cursor<'r, 's>,
    lead: Lead,
    number: u64,
    layout: &Layout,
    base: Base,
) -> Cursor<'r, 's> {
    let prefix = layout.sign(false).then(base.prefix(layout.alternate));
    layout.number(out, lead, prefix, base.digits(number).as_bytes())
}

macro_rules! based {
    ($($kind:ty, $base:expr, $($type:ty as $unsigned:ty),*;)*) => {$($(
        impl Specialized<$kind> for $type {
            #[inline(always)]
            fn plain(&self, out: &mut Cursor<'_, '_>, lead: Lead) {
                let number = *self as $unsigned as u64;
                match $base {
                    Base::Hexadecimal { upper } => out.hand(|out| hexadecimal(out, lead, number, 0, upper)),
                    base => out.hand(|out| plain(out, lead, number, base)),
                }
            }

            #[inline(always)]
            fn with_zeros(&self, out: &mut Cursor<'_, '_>, lead: Lead, width: u16) {
                let number = *self as $unsigned as u64;
                match $base {
                    Base::Hexadecimal { upper } if width == 8 && <$unsigned>::BITS <= 32 => {
                        out.hand(|out| eight_digits(out, lead, number as u32, upper));
                    }
                    Base::Hexadecimal { upper } => out.hand(|out| hexadecimal(out, lead, number, width, upper)),
                    base => out.hand(|out| laid_out(out, lead, number, &Layout::zeros(width), base)),
                }
            }

            #[inline(always)]
            fn laid_out(&self, out: &mut Cursor<'_, '_>, lead: Lead, layout: &Layout, _: Arguments<'_>) {
                out.hand(|out| laid_out(out, lead, *self as $unsigned as u64, layout, $base));
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
