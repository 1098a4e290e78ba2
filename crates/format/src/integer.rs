//! Integers in decimal.

use crate::cursor::Cursor;
use crate::digits;
use crate::digits::Fill;
use crate::fixed::in_little_room;
use crate::layout::Layout;
use crate::scratch::Digits;
use crate::specialize::Specialized;
use crate::specialize::kinds::{Debug, Display};
use crate::word::{Lead, Word};
use core::fmt::Arguments;

/// Numbers from here on have more than eight digits.
const EIGHT: u64 = 100_000_000;

/// Appends a number.
#[inline(never)]
pub(crate) fn unsigned_32<'r, 's>(out: Cursor<'r, 's>, lead: Lead, number: u32) -> Cursor<'r, 's> {
    let digits = if number < 1000 {
        digits::below_1000(number as usize, 1)
    } else if number < 100_000_000 {
        digits::up_to_eight(number)
    } else {
        return large(out, lead, u64::from(number));
    };
    out.words_or([lead.word(), digits], |out| {
        unsigned_in_little_room(out, lead, number.into())
    })
}

/// Appends a number.
#[inline(never)]
pub(crate) fn unsigned_64<'r, 's>(out: Cursor<'r, 's>, lead: Lead, number: u64) -> Cursor<'r, 's> {
    let digits = if number < 1000 {
        digits::below_1000(number as usize, 1)
    } else if number < EIGHT {
        digits::up_to_eight(number as u32)
    } else {
        return large(out, lead, number);
    };
    out.words_or([lead.word(), digits], |out| {
        unsigned_in_little_room(out, lead, number)
    })
}

/// Appends a number of more than eight digits.
#[inline(never)]
fn large<'r, 's>(out: Cursor<'r, 's>, lead: Lead, number: u64) -> Cursor<'r, 's> {
    let (high, low) = (number / EIGHT, digits::eight((number % EIGHT) as u32));
    let little = |out| unsigned_in_little_room(out, lead, number);
    if high < EIGHT {
        let high = if high < 1000 {
            digits::below_1000(high as usize, 1)
        } else {
            digits::up_to_eight(high as u32)
        };
        return out.words_or([lead.word(), high, low], little);
    }
    let first = digits::up_to_eight((high / EIGHT) as u32);
    let second = digits::eight((high % EIGHT) as u32);
    out.words_or([lead.word(), first, second, low], little)
}

#[cold]
#[inline(never)]
fn unsigned_in_little_room<'r, 's>(out: Cursor<'r, 's>, lead: Lead, number: u64) -> Cursor<'r, 's> {
    in_little_room(out, lead, |out| unsigned_64(out, Lead::EMPTY, number))
}

/// Appends a number.
#[inline(never)]
pub(crate) fn signed_32<'r, 's>(out: Cursor<'r, 's>, lead: Lead, number: i32) -> Cursor<'r, 's> {
    let magnitude = number.unsigned_abs();
    let digits = if magnitude < 1000 {
        digits::below_1000(magnitude as usize, 1)
    } else if magnitude < 100_000_000 {
        digits::up_to_eight(magnitude)
    } else {
        return signed_large(out, lead, number.into());
    };
    out.words_or([lead.word(), Word::minus_if(number < 0), digits], |out| {
        signed_in_little_room(out, lead, number.into())
    })
}

/// Appends a number.
#[inline(never)]
pub(crate) fn signed_64<'r, 's>(out: Cursor<'r, 's>, lead: Lead, number: i64) -> Cursor<'r, 's> {
    match i32::try_from(number) {
        Ok(number) => signed_32(out, lead, number),
        Err(_) => signed_large(out, lead, number),
    }
}

#[inline(never)]
fn signed_large<'r, 's>(out: Cursor<'r, 's>, lead: Lead, number: i64) -> Cursor<'r, 's> {
    let out = out.words_or([lead.word(), Word::minus_if(number < 0)], |mut out| {
        out.words([lead.word(), Word::minus_if(number < 0)]);
        out
    });
    large(out, Lead::EMPTY, number.unsigned_abs())
}

#[cold]
#[inline(never)]
fn signed_in_little_room<'r, 's>(out: Cursor<'r, 's>, lead: Lead, number: i64) -> Cursor<'r, 's> {
    in_little_room(out, lead, |out| signed_64(out, Lead::EMPTY, number))
}

/// Appends a number with leading zeros up to a width.
#[inline(never)]
pub(crate) fn unsigned_with_zeros<'r, 's>(
    out: Cursor<'r, 's>,
    lead: Lead,
    number: u64,
    width: u16,
) -> Cursor<'r, 's> {
    let digits = if number < 1000 && width <= 3 {
        digits::below_1000(number as usize, width.into())
    } else if number < EIGHT && width <= 8 {
        digits::right(number as u32, width.into(), Fill::Zeros)
    } else {
        let digits = Digits::decimal(number);
        return Layout::zeros(width).number(out, lead, Word::EMPTY, digits.as_bytes());
    };
    out.words_or([lead.word(), digits], |out| {
        unsigned_with_zeros_in_little_room(out, lead, number, width)
    })
}

#[cold]
#[inline(never)]
fn unsigned_with_zeros_in_little_room<'r, 's>(
    out: Cursor<'r, 's>,
    lead: Lead,
    number: u64,
    width: u16,
) -> Cursor<'r, 's> {
    // It is at most 8, where this is called.
    in_little_room(out, lead, |out| {
        unsigned_with_zeros(out, Lead::EMPTY, number, width)
    })
}

/// Appends a number with zeros after its sign up to a width.
#[inline(never)]
pub(crate) fn signed_with_zeros<'r, 's>(
    mut out: Cursor<'r, 's>,
    lead: Lead,
    number: i64,
    width: u16,
) -> Cursor<'r, 's> {
    if number >= 0 {
        return unsigned_with_zeros(out, lead, number.unsigned_abs(), width);
    }
    out.words([lead.word(), Word::minus_if(true)]);
    let width = width.saturating_sub(1);
    unsigned_with_zeros(out, Lead::EMPTY, number.unsigned_abs(), width)
}

/// Appends a number with any layout.
#[inline(never)]
pub(crate) fn unsigned_laid_out<'r, 's>(
    out: Cursor<'r, 's>,
    lead: Lead,
    number: u64,
    layout: &Layout,
) -> Cursor<'r, 's> {
    laid_out(out, lead, false, number, layout)
}

/// Appends a number with any layout.
#[inline(never)]
pub(crate) fn signed_laid_out<'r, 's>(
    out: Cursor<'r, 's>,
    lead: Lead,
    number: i64,
    layout: &Layout,
) -> Cursor<'r, 's> {
    laid_out(out, lead, number < 0, number.unsigned_abs(), layout)
}

#[inline(always)]
fn laid_out<'r, 's>(
    mut out: Cursor<'r, 's>,
    lead: Lead,
    negative: bool,
    number: u64,
    layout: &Layout,
) -> Cursor<'r, 's> {
    let width = usize::from(layout.width);
    match layout.fill_on_the_left() {
        // Zeros have a function of their own, except for a width that an argument gives.
        Some(Fill::Spaces) if !negative && number < EIGHT && width <= 16 => {
            out.words([
                lead.word(),
                Word::spaces(width.saturating_sub(8)),
                digits::right(number as u32, width.min(8), Fill::Spaces),
            ]);
            out
        }
        _ => layout.number(
            out,
            lead,
            layout.sign(negative),
            Digits::decimal(number).as_bytes(),
        ),
    }
}

/// Implements decimal numbers by the functions for their size.
macro_rules! decimal {
    ($($type:ty as $narrow:ty, $plain:ident, $wide:ty, $zeros:ident, $laid_out:ident;)*) => {$(
        decimal!(@ Display, $type as $narrow, $plain, $wide, $zeros, $laid_out);
        decimal!(@ Debug, $type as $narrow, $plain, $wide, $zeros, $laid_out);
    )*};
    (@ $kind:ty, $type:ty as $narrow:ty, $plain:ident, $wide:ty, $zeros:ident, $laid_out:ident) => {
        impl Specialized<$kind> for $type {
            #[inline(always)]
            fn plain(&self, out: &mut Cursor<'_, '_>, lead: Lead) {
                out.hand(|out| $plain(out, lead, *self as $narrow));
            }

            #[inline(always)]
            fn with_zeros(&self, out: &mut Cursor<'_, '_>, lead: Lead, width: u16) {
                out.hand(|out| $zeros(out, lead, *self as $wide, width));
            }

            #[inline(always)]
            fn laid_out(&self, out: &mut Cursor<'_, '_>, lead: Lead, layout: &Layout, _: Arguments<'_>) {
                out.hand(|out| $laid_out(out, lead, *self as $wide, layout));
            }
        }
    };
}

decimal! {
    u8 as u32, unsigned_32, u64, unsigned_with_zeros, unsigned_laid_out;
    u16 as u32, unsigned_32, u64, unsigned_with_zeros, unsigned_laid_out;
    u32 as u32, unsigned_32, u64, unsigned_with_zeros, unsigned_laid_out;
    u64 as u64, unsigned_64, u64, unsigned_with_zeros, unsigned_laid_out;
    usize as u64, unsigned_64, u64, unsigned_with_zeros, unsigned_laid_out;
    i8 as i32, signed_32, i64, signed_with_zeros, signed_laid_out;
    i16 as i32, signed_32, i64, signed_with_zeros, signed_laid_out;
    i32 as i32, signed_32, i64, signed_with_zeros, signed_laid_out;
    i64 as i64, signed_64, i64, signed_with_zeros, signed_laid_out;
    isize as i64, signed_64, i64, signed_with_zeros, signed_laid_out;
}
