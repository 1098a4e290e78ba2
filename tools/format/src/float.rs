//! Floating-point numbers with a fixed number of decimals, exactly.
//!
//! A finite number is *m*·2^*e* with *m* < 2⁵³. Below 2⁶⁴ its integer part fits a word. The fraction is *f*/2^*s* with
//! *f* < 2⁵³, so *f*·10^*n* fits 128 bits for every *n* up to 19. The bits from 2^*s* on are the digits, those below
//! are compared with half to round to the nearest, ties to even, which is what `core` and C do. For *s* up to 64 the
//! fraction is first brought to *s* = 64, and one multiplication yields digits and remainder in a word each. Whatever is
//! larger or longer, or no number, is left to `core`.
//!
//! The C runtime, `tools/qrintf/include/qrintf_runtime_float.h`, does the same for numbers from 1 on and goes further below
//! and above; `docs/guide/digits.md` has the proof. `tests/exhaustive.rs` compares both writers' formats with `core`.

use crate::cursor::Cursor;
use crate::digits;
use crate::integer::decimal_64;
use crate::layout::Layout;
use crate::shortest;
use crate::specialize::Specialized;
use crate::specialize::kinds::{Debug, Display};
use core::fmt::Arguments;

/// The most decimals that are computed here.
pub(crate) const DECIMALS_MAX: u16 = 19;

/// A number rounded to so many decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rounded {
    /// Whether it has a sign, as -0.0 does too.
    pub(crate) negative: bool,
    /// What stands before the point.
    pub(crate) integer: u64,
    /// What stands behind it, below 10^decimals.
    pub(crate) fraction: u64,
}

const fn powers() -> [u64; DECIMALS_MAX as usize + 1] {
    let mut powers = [1; DECIMALS_MAX as usize + 1];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
}

pub(crate) static POWERS_OF_TEN: [u64; DECIMALS_MAX as usize + 1] = powers();

/// Rounds to `decimals` decimals; `None` outside of what can be computed here.
#[inline(always)]
pub(crate) fn round(value: f64, decimals: u16) -> Option<Rounded> {
    if decimals > DECIMALS_MAX {
        return None;
    }
    let bits = value.to_bits();
    let negative = bits >> 63 != 0;
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let stored = bits & ((1 << 52) - 1);
    let (mantissa, exponent) = match exponent {
        0 => (stored, -1074),
        _ => (stored | 1 << 52, exponent - 1075),
    };
    if exponent >= 0 {
        // Up to 2⁶⁴; infinities and NaN have the largest exponent of all.
        let integer = (exponent <= 11).then(|| mantissa << exponent)?;
        return Some(Rounded {
            negative,
            integer,
            fraction: 0,
        });
    }
    let shift = exponent.unsigned_abs();
    let (integer, fraction) = match shift {
        0..64 => (mantissa >> shift, mantissa & ((1 << shift) - 1)),
        _ => (0, mantissa),
    };
    let power = POWERS_OF_TEN[usize::from(decimals)];
    // Without decimals, it is the integer part that becomes even.
    let odd = decimals == 0 && integer & 1 != 0;
    let fraction = match shift {
        0..=64 => scale(fraction << (64 - shift), power, odd),
        _ => scale_small(fraction, shift, power, odd),
    };
    Some(if fraction == power {
        Rounded {
            negative,
            integer: integer + 1,
            fraction: 0,
        }
    } else {
        Rounded {
            negative,
            integer,
            fraction,
        }
    })
}

/// Rounds `fraction`/2⁶⁴ · `power` to the nearest; of two, to the even one, or up if `odd`.
#[inline(always)]
fn scale(fraction: u64, power: u64, odd: bool) -> u64 {
    const HALF: u64 = 1 << 63;
    let product = u128::from(fraction) * u128::from(power);
    let (quotient, remainder) = ((product >> 64) as u64, product as u64);
    let odd = odd || quotient & 1 != 0;
    quotient + u64::from(remainder > HALF || (remainder == HALF && odd))
}

/// As [`scale`], for `fraction`/2^`shift` where the shift exceeds 64.
#[inline(never)]
fn scale_small(fraction: u64, shift: u32, power: u64, odd: bool) -> u64 {
    if shift >= 128 {
        // The product is below 2¹¹⁷, which is less than half.
        return 0;
    }
    let product = u128::from(fraction) * u128::from(power);
    let quotient = (product >> shift) as u64;
    let remainder = product & ((1 << shift) - 1);
    let half = 1 << (shift - 1);
    let odd = odd || quotient & 1 != 0;
    quotient + u64::from(remainder > half || (remainder == half && odd))
}

impl Rounded {
    /// Appends it without its sign.
    #[inline(always)]
    pub(crate) fn write<E>(self, out: &mut Cursor<'_, E>, decimals: u16) {
        decimal_64(out, self.integer);
        match decimals {
            0 => (),
            1..=3 => {
                let (digits, count) = digits::below_1000(self.fraction as usize, usize::from(decimals));
                out.word(digits << 8 | u64::from(b'.'), 1 + count);
            }
            4..8 => {
                let digits = digits::eight(self.fraction as u32) >> (64 - 8 * decimals);
                out.word(digits << 8 | u64::from(b'.'), 1 + usize::from(decimals));
            }
            _ => {
                out.word(u64::from(b'.'), 1);
                zero_padded(out, self.fraction, usize::from(decimals));
            }
        }
    }
}

/// Appends exactly `count` digits, up to 20, of a number that has no more.
#[inline(always)]
pub(crate) fn zero_padded<E>(out: &mut Cursor<'_, E>, number: u64, count: usize) {
    const EIGHT: u64 = 100_000_000;
    let (number, count) = if count > 8 {
        zero_padded_high(out, number / EIGHT, count - 8);
        (number % EIGHT, 8)
    } else {
        (number, count)
    };
    if count > 0 {
        out.word(digits::eight(number as u32) >> (64 - 8 * count), count);
    }
}

#[inline(always)]
fn zero_padded_high<E>(out: &mut Cursor<'_, E>, number: u64, count: usize) {
    const EIGHT: u64 = 100_000_000;
    if count > 8 {
        out.word(
            digits::eight((number / EIGHT) as u32) >> (64 - 8 * (count - 8)),
            count - 8,
        );
        out.word(digits::eight((number % EIGHT) as u32), 8);
    } else {
        out.word(digits::eight(number as u32) >> (64 - 8 * count), count);
    }
}

#[inline(always)]
fn precise<E>(out: &mut Cursor<'_, E>, value: f64, precision: u16, core: Arguments<'_>) {
    match round(value, precision) {
        Some(rounded) => {
            out.word(u64::from(b'-'), usize::from(rounded.negative));
            rounded.write(out, precision);
        }
        None => out.arguments(core),
    }
}

#[inline]
fn laid_out<E>(out: &mut Cursor<'_, E>, value: f64, layout: Layout, core: Arguments<'_>) {
    let rounded = layout
        .precision
        .and_then(|precision| Some((precision, round(value, precision)?)));
    let Some((precision, rounded)) = rounded else {
        return out.arguments(core);
    };
    // 20 digits, the point, and the decimals.
    let mut bytes = crate::Fixed::new([0; 21 + DECIMALS_MAX as usize]);
    let mut cursor = Cursor::<E>::open(&mut bytes);
    rounded.write(&mut cursor, precision);
    cursor.close();
    layout.number(out, layout.sign(rounded.negative), bytes.as_bytes());
}

macro_rules! floats {
    ($($type:ty, $kind:ty, $plain:path;)*) => {$(
        impl Specialized<$kind> for $type {
            #[inline(always)]
            fn plain<E>(&self, out: &mut Cursor<'_, E>, core: Arguments<'_>) {
                out.apart(|out| $plain(out, *self, core));
            }

            #[inline(always)]
            fn precise<E>(&self, out: &mut Cursor<'_, E>, precision: u16, core: Arguments<'_>) {
                precise(out, f64::from(*self), precision, core);
            }

            #[inline]
            fn laid_out<E>(&self, out: &mut Cursor<'_, E>, layout: Layout, core: Arguments<'_>) {
                laid_out(out, f64::from(*self), layout, core);
            }
        }
    )*};
}

// With a precision, `{:?}` is `{}`.
floats! {
    f64, Display, shortest::display;
    f32, Display, shortest::display;
    f64, Debug, shortest::debug;
    f32, Debug, shortest::debug;
}
