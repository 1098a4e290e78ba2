//! `%f %F %e %E %g %G`
//!
//! The digits come from [`float::round`](crate::float::round) where it can give them, else from `core`, whose digits are
//! exact for every precision. This module puts them in C's form.

use super::layout::Layout;
use crate::cursor::{Bytes, Cursor};
use crate::float::{DECIMALS_MAX, round};
use crate::{Buffer, Fixed};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

/// No double has more digits behind the point than 1074; what is asked for beyond are zeros.
const PRECISION_MAX: usize = 1100;

/// A value that the conversions for floating-point numbers take.
#[diagnostic::on_unimplemented(
    message = "a conversion for `double` can't take `{Self}`",
    label = "no floating-point number",
    note = "it takes f64 and f32; C doesn't convert integers here"
)]
pub trait Double {
    /// Its value.
    fn value(&self) -> f64;
}

impl Double for f64 {
    #[inline(always)]
    fn value(&self) -> f64 {
        *self
    }
}

impl Double for f32 {
    #[inline(always)]
    fn value(&self) -> f64 {
        f64::from(*self)
    }
}

impl<T: Double> Double for &T {
    #[inline(always)]
    fn value(&self) -> f64 {
        (**self).value()
    }
}

/// `%f` and its relatives.
#[inline(always)]
pub fn float<T: Double, E>(letter: char, out: &mut Cursor<'_, E>, value: &T, layout: Layout) {
    let value = value.value();
    let decimals = layout.precision.unwrap_or(6);
    if matches!(letter, 'f' | 'F')
        && decimals <= usize::from(DECIMALS_MAX)
        && let Some(rounded) = round(value, decimals as u16)
    {
        if layout.width == 0 && !layout.alternate {
            out.bytes(layout.sign(rounded.negative));
            return rounded.write(out, decimals as u16);
        }
        return out.apart(|out| {
            let mut body = Fixed::new([0; 48]);
            // 20 digits, the point and 19 decimals fit.
            let _ = body.__append((), |body, ()| rounded.write::<Bytes>(body, decimals as u16));
            let point: &[u8] = if layout.alternate && decimals == 0 {
                b"."
            } else {
                b""
            };
            let _ = body.__append((), |body, ()| body.bytes(point));
            layout.number(
                out,
                (layout.sign(rounded.negative), b""),
                0,
                body.as_bytes(),
                layout.zero,
            );
        });
    }
    out.apart(|out| any(out, value, &layout, letter));
}

/// Every conversion of every number.
#[inline(never)]
fn any<E>(out: &mut Cursor<'_, E>, value: f64, layout: &Layout, letter: char) {
    let sign = layout.sign(value.is_sign_negative());
    let upper = letter.is_ascii_uppercase();
    if !value.is_finite() {
        let name: &[u8] = match (value.is_nan(), upper) {
            (true, false) => b"nan",
            (true, true) => b"NAN",
            (false, false) => b"inf",
            (false, true) => b"INF",
        };
        return layout.number(out, (sign, b""), 0, name, false);
    }
    let precision = layout.precision.unwrap_or(6);
    let mut body = Vec::new();
    match letter.to_ascii_lowercase() {
        'f' => fixed(&mut body, value.abs(), precision, layout.alternate),
        'e' => exponential(
            &mut body,
            &Decimal::new(value.abs(), precision + 1),
            precision,
            layout.alternate,
        ),
        _ => general(&mut body, value.abs(), precision.max(1), layout.alternate),
    }
    if upper {
        body.make_ascii_uppercase();
    }
    layout.number(out, (sign, b""), 0, &body, layout.zero);
}

fn fixed(body: &mut Vec<u8>, value: f64, precision: usize, point: bool) {
    let mut text = String::new();
    let computed = precision.min(PRECISION_MAX);
    // Writing to a string can't fail.
    let _ = write!(text, "{value:.computed$}");
    body.extend_from_slice(text.as_bytes());
    body.extend(core::iter::repeat_n(b'0', precision - computed));
    if precision == 0 && point {
        body.push(b'.');
    }
}

/// A number rounded to so many digits: `d.ddd`·10^`exponent`.
struct Decimal {
    digits: Vec<u8>,
    exponent: i32,
}

impl Decimal {
    fn new(value: f64, count: usize) -> Self {
        let computed = count.min(PRECISION_MAX) - 1;
        let mut text = String::new();
        // Writing to a string can't fail.
        let _ = write!(text, "{value:.computed$e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let mut digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_digit).collect();
        digits.resize(count, b'0');
        Self {
            digits,
            exponent: exponent.parse().unwrap_or(0),
        }
    }
}

fn exponential(body: &mut Vec<u8>, decimal: &Decimal, precision: usize, point: bool) {
    body.push(decimal.digits[0]);
    if precision > 0 || point {
        body.push(b'.');
    }
    body.extend_from_slice(&decimal.digits[1..=precision]);
    let sign = if decimal.exponent < 0 { '-' } else { '+' };
    crate::append!(body, "e{}{:02}", sign, decimal.exponent.unsigned_abs());
}

fn general(body: &mut Vec<u8>, value: f64, precision: usize, alternate: bool) {
    let mut decimal = Decimal::new(value, precision);
    let exponent = decimal.exponent;
    if !alternate {
        let kept = decimal
            .digits
            .iter()
            .rposition(|digit| *digit != b'0')
            .map_or(1, |last| last + 1);
        decimal.digits.truncate(kept);
    }
    let digits = &decimal.digits;
    if exponent < -4 || i64::from(exponent) >= precision as i64 {
        return exponential(body, &decimal, digits.len() - 1, alternate);
    }
    if exponent < 0 {
        body.extend_from_slice(b"0.");
        body.extend(core::iter::repeat_n(b'0', exponent.unsigned_abs() as usize - 1));
        body.extend_from_slice(digits);
        return;
    }
    let before = exponent as usize + 1;
    if digits.len() <= before {
        body.extend_from_slice(digits);
        body.extend(core::iter::repeat_n(b'0', before - digits.len()));
        body.extend_from_slice(if alternate { b"." } else { b"" });
    } else {
        body.extend_from_slice(&digits[..before]);
        body.push(b'.');
        body.extend_from_slice(&digits[before..]);
    }
}
