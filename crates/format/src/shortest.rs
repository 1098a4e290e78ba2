//! Floating-point numbers with the fewest digits that identify them: `{}`, `{:?}` and `{:e}` without a precision.
//!
//! `zmij` computes the digits. It writes `12.5`, `1.0` or `1.5e-7`, depending on the magnitude; `core` never uses an
//! exponent for `{}`, always for `{:e}`, and for `{:?}` below 10⁻⁴ and from 10¹⁶ on.
//!
//! If two shortest decimals are equally near, `zmij` chooses the even one and `core` the upper one: see [`rounds_up`].

use crate::cursor::{Cursor, by_core};
use crate::fixed;
use crate::integer::signed_32;
use crate::layout::{Layout, fill};
use crate::scientific;
use crate::specialize::Specialized;
use crate::specialize::kinds;
use crate::word::{Lead, Word};
use core::fmt::Debug;
use core::fmt::{Arguments, Display, LowerExp, UpperExp};

/// A finite number as `zmij` writes it, without its sign.
struct Written<'a> {
    /// `12.5` or `1.5`
    mantissa: &'a str,
    /// The exponent after the `e`.
    exponent: Option<i32>,
}

impl<'a> Written<'a> {
    #[inline]
    fn new(text: &'a str) -> Self {
        // At most a sign and three digits follow.
        match text.bytes().rev().take(5).position(|byte| byte == b'e') {
            Some(behind) => Self {
                mantissa: &text[..text.len() - 1 - behind],
                exponent: text[text.len() - behind..].parse().ok(),
            },
            None => Self {
                mantissa: text,
                exponent: None,
            },
        }
    }

    /// The digits before and after the point.
    #[inline]
    fn parts(&self) -> (&'a str, &'a str) {
        match self.mantissa.split_once('.') {
            Some((integer, "0")) => (integer, ""),
            Some(parts) => parts,
            None => (self.mantissa, ""),
        }
    }

    /// Appends it without an exponent.
    #[inline]
    fn decimal(&self, out: &mut Cursor<'_, '_>) {
        let Some(exponent) = self.exponent else {
            return out.str(self.mantissa.strip_suffix(".0").unwrap_or(self.mantissa));
        };
        // One digit precedes the point.
        let (first, more) = self.parts();
        let places = exponent.unsigned_abs() as usize;
        if exponent < 0 {
            out.str("0.");
            fill(out, '0', places - 1);
            out.str(first);
            return out.str(more);
        }
        out.str(first);
        if places >= more.len() {
            out.str(more);
            return fill(out, '0', places - more.len());
        }
        out.str(&more[..places]);
        out.str(".");
        out.str(&more[places..]);
    }

    /// Appends it with an exponent.
    #[inline]
    fn exponential(&self, out: &mut Cursor<'_, '_>, upper: bool) {
        let (integer, fraction) = self.parts();
        let mut digits = [0; 32];
        let length = fixed::written(&mut digits, |mut out| {
            out.str(integer);
            out.str(fraction);
            out
        });
        let digits = &digits[..length];
        let zeros = digits
            .iter()
            .take_while(|digit| **digit == b'0')
            .count()
            .min(digits.len() - 1);
        let end = digits
            .iter()
            .rposition(|digit| *digit != b'0')
            .map_or(zeros + 1, |last| last + 1);
        let exponent = match digits[zeros] {
            b'0' => 0,
            _ => self.exponent.unwrap_or(0) + integer.len() as i32 - 1 - zeros as i32,
        };
        out.words([
            Word::of(&digits[zeros..=zeros]),
            Word::byte_if(b'.', end > zeros + 1),
        ]);
        out.bytes(&digits[zeros + 1..end.max(zeros + 1)]);
        out.hand(|out| signed_32(out, scientific::letter(upper), exponent));
    }
}

/// Both widths of floating-point numbers.
trait Float: zmij::Float + Into<f64> + Copy + Display + Debug + LowerExp + UpperExp {
    fn is_finite(self) -> bool;
    /// Returns true if `{:?}` has an exponent.
    fn is_far_from_one(self) -> bool;
}

macro_rules! float {
    ($($type:ty)*) => {$(
        impl Float for $type {
            #[inline(always)]
            fn is_finite(self) -> bool {
                <$type>::is_finite(self)
            }

            #[inline(always)]
            fn is_far_from_one(self) -> bool {
                self != 0.0 && !(1e-4..1e16).contains(&self.abs())
            }
        }
    )*};
}

float!(f64 f32);

/// Implements the formats without a precision for `f32` or `f64`.
macro_rules! formats {
    ($($type:ty: $display:ident $debug:ident $exponential:ident;)*) => {$(
        /// `{}`
        #[inline(never)]
        pub(crate) fn $display<'r, 's>(out: Cursor<'r, 's>, lead: Lead, value: $type) -> Cursor<'r, 's> {
            display(out, lead, value)
        }

        /// `{:?}`
        #[inline(never)]
        pub(crate) fn $debug<'r, 's>(out: Cursor<'r, 's>, lead: Lead, value: $type) -> Cursor<'r, 's> {
            debug(out, lead, value)
        }

        /// `{:e}`, or `{:E}` if upper case.
        #[inline(never)]
        fn $exponential<'r, 's>(out: Cursor<'r, 's>, lead: Lead, value: $type, upper: bool) -> Cursor<'r, 's> {
            exponential(out, lead, value, upper)
        }

        formats!(@ $type, $exponential, LowerExp, false);
        formats!(@ $type, $exponential, UpperExp, true);
    )*};
    (@ $type:ty, $exponential:ident, $kind:ident, $upper:literal) => {
        impl Specialized<kinds::$kind> for $type {
            #[inline(always)]
            fn plain(&self, out: &mut Cursor<'_, '_>, lead: Lead) {
                out.hand(|out| $exponential(out, lead, *self, $upper));
            }

            #[inline(always)]
            fn precise(&self, out: &mut Cursor<'_, '_>, lead: Lead, precision: u16) {
                out.hand(|out| scientific::write(out, lead, (*self).into(), precision, $upper));
            }

            #[inline]
            fn with_zeros(&self, out: &mut Cursor<'_, '_>, lead: Lead, width: u16) {
                let width = usize::from(width);
                match $upper {
                    false => out.__arguments(lead, format_args!("{self:0width$e}")),
                    true => out.__arguments(lead, format_args!("{self:0width$E}")),
                }
            }

            #[inline(always)]
            fn laid_out(&self, out: &mut Cursor<'_, '_>, lead: Lead, _: &Layout, core: Arguments<'_>) {
                out.__arguments(lead, core);
            }
        }
    };
}

formats! {
    f64: display_64 debug_64 exponential_64;
    f32: display_32 debug_32 exponential_32;
}

/// Appends the sign of a finite number, and passes the digits on.
#[inline]
fn write<'r, 's, F: Float>(
    mut out: Cursor<'r, 's>,
    lead: Lead,
    value: F,
    write: impl FnOnce(&mut Cursor<'r, 's>, Written<'_>),
) -> Cursor<'r, 's> {
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(value);
    let magnitude = text.strip_prefix('-');
    out.words([lead.word(), Word::minus_if(magnitude.is_some())]);
    let text = magnitude.unwrap_or(text);
    let written = Written::new(text);
    if !rounds_up(value.into(), &written) {
        write(&mut out, written);
        return out;
    }
    // The even digit that the mantissa ends with becomes the next one.
    let mut upper = [0; 32];
    let last = written.mantissa.len() - 1;
    upper[..=last].copy_from_slice(written.mantissa.as_bytes());
    upper[last] += 1;
    let mantissa = core::str::from_utf8(&upper[..=last]).unwrap_or(written.mantissa);
    write(&mut out, Written { mantissa, ..written });
    out
}

/// Returns true if a number lies halfway between the even decimal that was written and the one above it.
///
/// A number with *f* bits after its binary point, the last of them 1, has *f* digits after its decimal point, the last of
/// them 5. If one digit less was written, that 5 was dropped, so the number lies halfway. With the number as *m*/2^*f*, the
/// decimal below is (*m*·5^(*f*-1) - 1)/2 units of the last digit. It is even, and therefore was written, if
/// *m*·5^(*f*-1) mod 4 is 1, which is the case if *m* mod 4 is 1.
#[inline]
fn rounds_up(value: f64, written: &Written<'_>) -> bool {
    let bits = value.to_bits();
    let stored = bits & ((1 << 52) - 1);
    let (mantissa, exponent) = match (bits >> 52 & 0x7ff) as i32 {
        0 => (stored, -1074),
        exponent => (stored | 1 << 52, exponent - 1075),
    };
    let zeros = mantissa.trailing_zeros();
    let bits_behind = -(exponent + zeros as i32);
    // For powers of two, zmij may have taken the odd decimal above.
    let even = written
        .mantissa
        .bytes()
        .last()
        .is_some_and(|digit| digit & 1 == 0);
    if mantissa == 0 || bits_behind <= 0 || !even || (mantissa >> zeros) & 3 != 1 {
        return false;
    }
    let digits_behind = written.parts().1.len() as i32 - written.exponent.unwrap_or(0);
    bits_behind == digits_behind + 1
}

#[inline(always)]
fn display<'r, 's>(out: Cursor<'r, 's>, lead: Lead, value: impl Float) -> Cursor<'r, 's> {
    if !value.is_finite() {
        return by_core(out, lead, format_args!("{value}"));
    }
    write(out, lead, value, |out, written| written.decimal(out))
}

#[inline(always)]
fn debug<'r, 's>(out: Cursor<'r, 's>, lead: Lead, value: impl Float) -> Cursor<'r, 's> {
    if !value.is_finite() {
        return by_core(out, lead, format_args!("{value:?}"));
    }
    write(out, lead, value, |out, written| {
        match (value.is_far_from_one(), written.exponent) {
            (true, _) => written.exponential(out, false),
            (false, None) => out.str(written.mantissa),
            (false, Some(exponent)) => {
                written.decimal(out);
                let integer = exponent >= written.parts().1.len() as i32;
                out.str(if integer { ".0" } else { "" });
            }
        }
    })
}

#[inline(always)]
fn exponential<'r, 's>(out: Cursor<'r, 's>, lead: Lead, value: impl Float, upper: bool) -> Cursor<'r, 's> {
    if !value.is_finite() {
        return by_core(out, lead, format_args!("{value}"));
    }
    write(out, lead, value, |out, written| written.exponential(out, upper))
}
