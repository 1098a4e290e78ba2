//! Integers in decimal.

use crate::cursor::Cursor;
use crate::digits;
use crate::digits::Fill;
use crate::layout::{self, Layout};
use crate::scratch::Digits;
use crate::specialize::Specialized;
use crate::specialize::kinds::{Debug, Display};
use core::fmt::Arguments;

/// Numbers from here on have more than eight digits.
const EIGHT: u64 = 100_000_000;

/// Appends a number in decimal.
#[inline(always)]
pub(crate) fn decimal_32<E>(out: &mut Cursor<'_, E>, number: u32) {
    if number < 1000 {
        let (word, count) = digits::below_1000(number as usize, 1);
        out.word(word, count);
    } else if number < 100_000_000 {
        let (word, count) = digits::up_to_eight(number);
        out.word(word, count);
    } else {
        out.apart(|out| large(out, u64::from(number)));
    }
}

/// Appends a number in decimal.
#[inline(always)]
pub(crate) fn decimal_64<E>(out: &mut Cursor<'_, E>, number: u64) {
    match u32::try_from(number) {
        Ok(number) => decimal_32(out, number),
        Err(_) => out.apart(|out| large(out, number)),
    }
}

/// Appends a number of more than eight digits. A call is shorter than what it does.
#[inline(never)]
fn large<E>(out: &mut Cursor<'_, E>, number: u64) {
    let (high, low) = (number / EIGHT, (number % EIGHT) as u32);
    if high < 1000 {
        let (word, count) = digits::below_1000(high as usize, 1);
        out.word(word, count);
    } else if high < EIGHT {
        let (word, count) = digits::up_to_eight(high as u32);
        out.word(word, count);
    } else {
        let (word, count) = digits::up_to_eight((high / EIGHT) as u32);
        out.word(word, count);
        out.word(digits::eight((high % EIGHT) as u32), 8);
    }
    out.word(digits::eight(low), 8);
}

/// Appends a number below 10⁸ to the right of a width.
#[inline(always)]
fn right<E>(out: &mut Cursor<'_, E>, number: u32, width: u16, fill: Fill) {
    let width = usize::from(width);
    if width > 8 {
        layout::fill(out, if fill == Fill::Zeros { '0' } else { ' ' }, width - 8);
    }
    let (word, count) = digits::right(number, width.min(8), fill);
    out.word(word, count);
}

/// The absolute value, also of the smallest number.
macro_rules! magnitude {
    ($value:expr, $type:ty) => {
        if <$type>::MIN == 0 {
            *$value as u64
        } else {
            (*$value as i64).unsigned_abs()
        }
    };
}

/// Decimal numbers, which have a sign.
macro_rules! decimal {
    ($($kind:ty: $($type:ty)*;)*) => {$($(
        impl Specialized<$kind> for $type {
            #[inline(always)]
            fn plain<E>(&self, out: &mut Cursor<'_, E>, _: Arguments<'_>) {
                #[allow(unused_comparisons)]
                let negative = *self < 0;
                if <$type>::MIN != 0 {
                    // A sign or nothing: no branch that random signs would mispredict.
                    out.word(u64::from(b'-'), usize::from(negative));
                }
                #[allow(clippy::unnecessary_cast)]
                match size_of::<$type>() {
                    1 => {
                        let (word, count) = digits::below_1000(usize::from(magnitude!(self, $type) as u8), 1);
                        out.word(word, count);
                    }
                    2 | 4 => decimal_32(out, magnitude!(self, $type) as u32),
                    _ => decimal_64(out, magnitude!(self, $type) as u64),
                }
            }

            #[inline(always)]
            fn laid_out<E>(&self, out: &mut Cursor<'_, E>, layout: Layout, _: Arguments<'_>) {
                #[allow(unused_comparisons)]
                let negative = *self < 0;
                #[allow(clippy::unnecessary_cast)]
                let number = magnitude!(self, $type) as u64;
                match layout.fill_on_the_left() {
                    Some(Fill::Zeros) if layout.width <= 3 && !negative && number < 1000 => {
                        let (word, count) = digits::below_1000(number as usize, usize::from(layout.width));
                        out.word(word, count);
                    }
                    Some(fill) if !negative && number < EIGHT => right(out, number as u32, layout.width, fill),
                    _ => layout.number(out, layout.sign(negative), Digits::decimal(number).as_bytes()),
                }
            }
        }
    )*)*};
}

decimal! {
    Display: u8 u16 u32 u64 usize i8 i16 i32 i64 isize;
    Debug: u8 u16 u32 u64 usize i8 i16 i32 i64 isize;
}
