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

use crate::cursor::{Cursor, by_core};
use crate::decimals::{DECIMALS_MAX, POWERS_OF_TEN, zero_padded};
use crate::digits::{self, Fill};
use crate::fixed;
use crate::integer::unsigned_64;
use crate::layout::Layout;
use crate::shortest;
use crate::specialize::Specialized;
use crate::specialize::kinds::{Debug, Display};
use crate::word::{Lead, Word};
use core::fmt::Arguments;

/// A number rounded to a number of decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rounded {
    /// True for numbers with a minus sign, -0.0 included.
    pub(crate) negative: bool,
    /// The integer part.
    pub(crate) integer: u64,
    /// The fraction in units of the last decimal, below 10^decimals.
    pub(crate) fraction: u64,
}

/// Rounds to `decimals` decimals. Returns `None` outside the supported range.
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
    /// Appends it with its sign.
    #[inline(always)]
    pub(crate) fn write<'r, 's>(self, out: Cursor<'r, 's>, lead: Lead, decimals: u16) -> Cursor<'r, 's> {
        self.behind(out, lead.word(), Word::minus_if(self.negative), decimals)
    }

    /// Appends it after a sign.
    #[inline(always)]
    pub(crate) fn behind<'r, 's>(
        self,
        mut out: Cursor<'r, 's>,
        lead: Word,
        sign: Word,
        decimals: u16,
    ) -> Cursor<'r, 's> {
        out.words([lead, sign]);
        out.hand(|out| unsigned_64(out, Lead::EMPTY, self.integer));
        out.word(Word::byte_if(b'.', decimals > 0));
        zero_padded(&mut out, self.fraction, usize::from(decimals));
        out
    }
}

/// `{:.3}`
#[inline(never)]
pub(crate) fn precise<'r, 's>(out: Cursor<'r, 's>, lead: Lead, value: f64, precision: u16) -> Cursor<'r, 's> {
    match usual(value, precision) {
        Some([minus, integer, decimals]) => out.words_or([lead.word(), minus, integer, decimals], |out| {
            any_precise(out, lead, value, precision)
        }),
        None => any_precise(out, lead, value, precision),
    }
}

/// Sign, integer part, and point with decimals, for numbers from 2⁻¹² to 10⁸ with 1 to 7 decimals: the usual case.
#[inline(always)]
fn usual(value: f64, precision: u16) -> Option<[Word; 3]> {
    let bits = value.to_bits();
    let shift = 1075_u64.wrapping_sub(bits >> 52 & 0x7ff);
    if !(1..=64).contains(&shift) || !(1..=7).contains(&precision) {
        return None;
    }
    let (decimals, shift) = (usize::from(precision), shift as u32);
    let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
    let integer = mantissa.checked_shr(shift).unwrap_or(0);
    let power = POWERS_OF_TEN[decimals];
    let fraction = scale(mantissa << (64 - shift), power, false);
    let (integer, fraction) = if fraction == power {
        (integer + 1, 0)
    } else {
        (integer, fraction)
    };
    let digits = if integer < 1000 {
        digits::below_1000(integer as usize, 1)
    } else if integer < 100_000_000 {
        digits::up_to_eight(integer as u32)
    } else {
        return None;
    };
    let decimals = Word::byte_if(b'.', true).then(digits::last(fraction as u32, decimals));
    Some([Word::minus_if(value.is_sign_negative()), digits, decimals])
}

/// The same after up to eight spaces of padding.
#[inline(always)]
pub(crate) fn usual_behind_spaces(value: f64, width: usize, precision: u16) -> Option<[Word; 4]> {
    let [minus, integer, decimals] = usual(value, precision)?;
    let length = minus.length() + integer.length() + decimals.length();
    let missing = width.saturating_sub(length);
    (missing <= 8).then(|| [Word::spaces(missing), minus, integer, decimals])
}

#[inline(never)]
fn any_precise<'r, 's>(out: Cursor<'r, 's>, lead: Lead, value: f64, precision: u16) -> Cursor<'r, 's> {
    match round(value, precision) {
        Some(rounded) => rounded.write(out, lead, precision),
        None => precise_by_core(out, lead, value, precision),
    }
}

#[cold]
#[inline(never)]
fn precise_by_core<'r, 's>(out: Cursor<'r, 's>, lead: Lead, value: f64, precision: u16) -> Cursor<'r, 's> {
    let precision = usize::from(precision);
    by_core(out, lead, format_args!("{value:.precision$}"))
}

#[inline(never)]
fn laid_out<'r, 's>(
    mut out: Cursor<'r, 's>,
    lead: Lead,
    value: f64,
    layout: &Layout,
    core: Arguments<'_>,
) -> Cursor<'r, 's> {
    if let (Some(precision), Some(Fill::Spaces)) = (layout.precision, layout.fill_on_the_left())
        && let Some(words) = usual_behind_spaces(value, layout.width.into(), precision)
    {
        let [spaces, minus, integer, decimals] = words;
        out.words([lead.word(), spaces, minus, integer, decimals]);
        return out;
    }
    let rounded = layout
        .precision
        .and_then(|precision| Some((precision, round(value, precision)?)));
    let Some((precision, rounded)) = rounded else {
        return by_core(out, lead, core);
    };
    // 20 digits, the point, and the decimals.
    let mut bytes = [0; 21 + DECIMALS_MAX as usize];
    let length = fixed::written(&mut bytes, |out| {
        rounded.behind(out, Word::EMPTY, Word::EMPTY, precision)
    });
    layout.number(out, lead, layout.sign(rounded.negative), &bytes[..length])
}

macro_rules! floats {
    ($($type:ty, $kind:ty, $plain:path, $zeros:literal;)*) => {$(
        impl Specialized<$kind> for $type {
            #[inline(always)]
            fn plain(&self, out: &mut Cursor<'_, '_>, lead: Lead) {
                out.hand(|out| $plain(out, lead, *self));
            }

            #[inline(always)]
            fn precise(&self, out: &mut Cursor<'_, '_>, lead: Lead, precision: u16) {
                out.hand(|out| precise(out, lead, f64::from(*self), precision));
            }

            #[inline]
            fn with_zeros(&self, out: &mut Cursor<'_, '_>, lead: Lead, width: u16) {
                out.__arguments(lead, format_args!($zeros, self, usize::from(width)));
            }

            #[inline(always)]
            fn laid_out(&self, out: &mut Cursor<'_, '_>, lead: Lead, layout: &Layout, core: Arguments<'_>) {
                out.hand(|out| laid_out(out, lead, f64::from(*self), layout, core));
            }
        }
    )*};
}

// With a precision, `{:?}` is `{}`.
floats! {
    f64, Display, shortest::display_64, "{:01$}";
    f32, Display, shortest::display_32, "{:01$}";
    f64, Debug, shortest::debug_64, "{:01$?}";
    f32, Debug, shortest::debug_32, "{:01$?}";
}
