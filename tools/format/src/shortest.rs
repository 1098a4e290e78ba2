//! Floating-point numbers with as few digits as tell them apart: `{}`, `{:?}` and `{:e}` without a precision.
//!
//! The digits are `zmij`'s. It writes them as `12.5`, `1.0` or `1.5e-7`, its own choice by magnitude; `core` never uses an
//! exponent for `{}`, always for `{:e}`, and for `{:?}` below 10⁻⁴ and from 10¹⁶ on.
//!
//! Where two decimals of the least length are equally near, `zmij` takes the even one and `core` the upper one: see
//! [`rounds_up`].

use crate::cursor::Cursor;
use crate::integer::decimal_32;
use crate::layout::fill;
use crate::scientific;
use crate::specialize::Specialized;
use crate::specialize::kinds::{LowerExp, UpperExp};
use core::fmt::Arguments;

/// A finite number as `zmij` writes it, without its sign.
struct Written<'a> {
    /// `12.5` or `1.5`
    mantissa: &'a str,
    /// What stands behind the `e`.
    exponent: Option<i32>,
}

impl<'a> Written<'a> {
    #[inline]
    fn new(text: &'a str) -> Self {
        // Three digits and a sign are the most that can follow.
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

    /// The digits before and behind the point.
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
    fn decimal<E>(&self, out: &mut Cursor<'_, E>) {
        let Some(exponent) = self.exponent else {
            return out.text(self.mantissa.strip_suffix(".0").unwrap_or(self.mantissa));
        };
        // One digit stands before the point.
        let (first, more) = self.parts();
        let places = exponent.unsigned_abs() as usize;
        if exponent < 0 {
            out.text("0.");
            fill(out, '0', places - 1);
            out.text(first);
            return out.text(more);
        }
        out.text(first);
        if places >= more.len() {
            out.text(more);
            return fill(out, '0', places - more.len());
        }
        out.text(&more[..places]);
        out.text(".");
        out.text(&more[places..]);
    }

    /// Appends it with an exponent.
    #[inline]
    fn exponential<E>(&self, out: &mut Cursor<'_, E>, letter: &str) {
        let (integer, fraction) = self.parts();
        let mut digits = crate::Fixed::new([0; 32]);
        let mut cursor = Cursor::<E>::open(&mut digits);
        cursor.text(integer);
        cursor.text(fraction);
        cursor.close();
        let digits = digits.as_bytes();
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
        out.bytes(&digits[zeros..=zeros]);
        if end > zeros + 1 {
            out.text(".");
            out.bytes(&digits[zeros + 1..end]);
        }
        out.text(letter);
        out.text(if exponent < 0 { "-" } else { "" });
        decimal_32(out, exponent.unsigned_abs());
    }
}

/// Both widths of floating-point numbers.
pub(crate) trait Float: zmij::Float + Into<f64> + Copy {
    fn is_finite(self) -> bool;
    /// Whether `{:?}` has an exponent.
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

        impl Specialized<LowerExp> for $type {
            #[inline(always)]
            fn plain<E>(&self, out: &mut Cursor<'_, E>, core: Arguments<'_>) {
                out.apart(|out| exponential(out, *self, "e", core));
            }

            #[inline(always)]
            fn precise<E>(&self, out: &mut Cursor<'_, E>, precision: u16, core: Arguments<'_>) {
                out.apart(|out| scientific::write(out, (*self).into(), precision, "e", core));
            }

            #[inline(always)]
            fn laid_out<E>(&self, out: &mut Cursor<'_, E>, _: crate::layout::Layout, core: Arguments<'_>) {
                out.arguments(core);
            }
        }

        impl Specialized<UpperExp> for $type {
            #[inline(always)]
            fn plain<E>(&self, out: &mut Cursor<'_, E>, core: Arguments<'_>) {
                out.apart(|out| exponential(out, *self, "E", core));
            }

            #[inline(always)]
            fn precise<E>(&self, out: &mut Cursor<'_, E>, precision: u16, core: Arguments<'_>) {
                out.apart(|out| scientific::write(out, (*self).into(), precision, "E", core));
            }

            #[inline(always)]
            fn laid_out<E>(&self, out: &mut Cursor<'_, E>, _: crate::layout::Layout, core: Arguments<'_>) {
                out.arguments(core);
            }
        }
    )*};
}

float!(f64 f32);

/// Lends the text of a finite number, without its sign, which is appended.
#[inline]
fn write<E, F: Float>(
    out: &mut Cursor<'_, E>,
    value: F,
    write: impl FnOnce(&mut Cursor<'_, E>, Written<'_>),
) {
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(value);
    let magnitude = text.strip_prefix('-');
    out.word(u64::from(b'-'), usize::from(magnitude.is_some()));
    let text = magnitude.unwrap_or(text);
    let written = Written::new(text);
    if !rounds_up(value.into(), &written) {
        return write(out, written);
    }
    // The even digit that the mantissa ends with becomes the next one.
    let mut upper = [0; 32];
    let last = written.mantissa.len() - 1;
    upper[..=last].copy_from_slice(written.mantissa.as_bytes());
    upper[last] += 1;
    let mantissa = core::str::from_utf8(&upper[..=last]).unwrap_or(written.mantissa);
    write(out, Written { mantissa, ..written });
}

/// Whether a number lies in the middle of the even decimal that was written and the one above it.
///
/// A number with *f* bits behind its binary point, the last of them 1, has *f* digits behind its decimal point, the last
/// of them 5. If one digit less was written, that 5 was dropped: it is such a middle. With the number as *m*/2^*f*, the
/// decimal below is (*m*·5^(*f*-1) - 1)/2 units of the last digit. That is even, and so what was written, if *m*·5^(*f*-1)
/// leaves 1 when divided by 4, which is to say, if *m* does.
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

/// `{}`
#[inline(never)]
pub(crate) fn display<E, F: Float>(out: &mut Cursor<'_, E>, value: F, core: Arguments<'_>) {
    if !value.is_finite() {
        return out.arguments(core);
    }
    write(out, value, |out, written| written.decimal(out));
}

/// `{:?}`
#[inline(never)]
pub(crate) fn debug<E, F: Float>(out: &mut Cursor<'_, E>, value: F, core: Arguments<'_>) {
    if !value.is_finite() {
        return out.arguments(core);
    }
    write(out, value, |out, written| {
        match (value.is_far_from_one(), written.exponent) {
            (true, _) => written.exponential(out, "e"),
            (false, None) => out.text(written.mantissa),
            (false, Some(exponent)) => {
                written.decimal(out);
                let integer = exponent >= written.parts().1.len() as i32;
                out.text(if integer { ".0" } else { "" });
            }
        }
    });
}

#[inline(never)]
fn exponential<E, F: Float>(out: &mut Cursor<'_, E>, value: F, letter: &str, core: Arguments<'_>) {
    if !value.is_finite() {
        return out.arguments(core);
    }
    write(out, value, |out, written| written.exponential(out, letter));
}
