//! `%f %F %e %E %g %G`
//!
//! The digits come from [`float::round`](crate::float::round) and [`scientific::round`](crate::scientific::round) where
//! these can give them, else from `core`, whose digits are exact for every precision. This module puts them in C's form.

use super::layout::Layout;
use crate::cursor::{Bytes, Cursor};
use crate::float::{DECIMALS_MAX, round, zero_padded};
use crate::layout::fill;
use crate::{Buffer, Fixed, digits, scientific};
use alloc::vec::Vec;

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
    let form = match letter.to_ascii_lowercase() {
        'f' => return fixed(out, value, precision, layout),
        'e' => Form::Exponential,
        _ => Form::General,
    };
    let count = if form == Form::General {
        precision.max(1)
    } else {
        precision + 1
    };
    match scientific::round(value.abs(), count) {
        Some((number, exponent)) => {
            let mut digits = Fixed::new([0; 24]);
            // 17 digits fit, and below with a sign, a point, an exponent or zeros before them.
            let _ = digits.__append((), |digits, ()| zero_padded(digits, number, count));
            let decimal = Decimal {
                digits: digits.as_bytes(),
                exponent,
            };
            let mut body = Fixed::new([0; 48]);
            let _ = body.__append((), |body, ()| decimal.write(body, form, layout.alternate, upper));
            layout.number(out, (sign, b""), 0, body.as_bytes(), layout.zero);
        }
        None => {
            let (digits, exponent) = digits_by_core(value.abs(), count);
            let decimal = Decimal {
                digits: &digits,
                exponent,
            };
            let mut body = Vec::new();
            body.__append((), |body, ()| decimal.write(body, form, layout.alternate, upper));
            layout.number(out, (sign, b""), 0, &body, layout.zero);
        }
    }
}

/// `%f` of any number.
fn fixed<E>(out: &mut Cursor<'_, E>, value: f64, precision: usize, layout: &Layout) {
    let computed = precision.min(PRECISION_MAX);
    let mut body = Vec::new();
    crate::append!(body, "{:.computed$}", value.abs());
    body.extend(core::iter::repeat_n(b'0', precision - computed));
    if precision == 0 && layout.alternate {
        body.push(b'.');
    }
    layout.number(
        out,
        (layout.sign(value.is_sign_negative()), b""),
        0,
        &body,
        layout.zero,
    );
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Exponential,
    General,
}

/// A number rounded to so many digits: `d.ddd`·10^`exponent`.
struct Decimal<'a> {
    digits: &'a [u8],
    exponent: i32,
}

fn digits_by_core(value: f64, count: usize) -> (Vec<u8>, i32) {
    let computed = count.min(PRECISION_MAX) - 1;
    let text = alloc::format!("{value:.computed$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mut digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_digit).collect();
    digits.resize(count, b'0');
    (digits, exponent.parse().unwrap_or(0))
}

impl Decimal<'_> {
    fn write(&self, body: &mut Cursor<'_, Bytes>, form: Form, alternate: bool, upper: bool) {
        match form {
            Form::Exponential => self.exponential(body, alternate, upper),
            Form::General => self.general(body, alternate, upper),
        }
    }

    fn exponential(&self, body: &mut Cursor<'_, Bytes>, point: bool, upper: bool) {
        let (first, more) = self.digits.split_at(1);
        body.bytes(first);
        if !more.is_empty() || point {
            body.text(".");
        }
        body.bytes(more);
        body.text(if upper { "E" } else { "e" });
        body.text(if self.exponent < 0 { "-" } else { "+" });
        let exponent = self.exponent.unsigned_abs() as usize;
        let (word, count) = digits::below_1000(exponent, 2);
        body.word(word, count);
    }

    fn general(&self, body: &mut Cursor<'_, Bytes>, alternate: bool, upper: bool) {
        let precision = self.digits.len();
        let kept = match self.digits.iter().rposition(|digit| *digit != b'0') {
            _ if alternate => precision,
            last => last.map_or(1, |last| last + 1),
        };
        let decimal = Decimal {
            digits: &self.digits[..kept],
            exponent: self.exponent,
        };
        if self.exponent < -4 || i64::from(self.exponent) >= precision as i64 {
            decimal.exponential(body, alternate, upper);
        } else {
            decimal.positional(body, alternate);
        }
    }

    /// Without an exponent; `point` asks for a point also where nothing follows it.
    fn positional(&self, body: &mut Cursor<'_, Bytes>, point: bool) {
        let places = self.exponent.unsigned_abs() as usize;
        if self.exponent < 0 {
            body.text("0.");
            fill(body, '0', places - 1);
            return body.bytes(self.digits);
        }
        let (before, behind) = self.digits.split_at(self.digits.len().min(places + 1));
        body.bytes(before);
        fill(body, '0', places + 1 - before.len());
        if point || !behind.is_empty() {
            body.text(".");
        }
        body.bytes(behind);
    }
}
