//! `%f %F %e %E %g %G`
//!
//! The digits come from [`float::round`](crate::float::round) and [`scientific::round`](crate::scientific::round) where
//! possible, else from `core`, whose digits are exact for every precision. This module writes them in C's form.

use super::layout::Layout;
use crate::cursor::{Cursor, Room};
use crate::decimals::{DECIMALS_MAX, zero_padded};
use crate::encoding::Output;
use crate::fixed::written;
use crate::float::{precise, round, usual_behind_spaces};
use crate::layout::fill;
use crate::word::{Lead, Word};
use crate::{digits, scientific};
use alloc::vec::Vec;

/// A double has at most 1074 digits after the point; further digits are zeros.
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

/// `%f` without flags or width, with a precision.
#[inline(always)]
pub fn fixed<T: Double, E>(out: &mut Output<'_, '_, E>, lead: Lead, value: &T, decimals: u16) {
    let value = value.value();
    out.hand(|out| plain_fixed(out, lead, value, decimals));
}

/// `%f` and its relatives.
#[inline(always)]
pub fn float<T: Double, E>(
    letter: char,
    out: &mut Output<'_, '_, E>,
    lead: Lead,
    value: &T,
    layout: &Layout,
) {
    let value = value.value();
    out.hand(|out| any(out, lead, value, layout, letter));
}

#[inline(never)]
fn plain_fixed<'r, 's>(out: Cursor<'r, 's>, lead: Lead, value: f64, decimals: u16) -> Cursor<'r, 's> {
    if value.is_finite() && decimals <= DECIMALS_MAX {
        return precise(out, lead, value, decimals);
    }
    let layout = Layout {
        precision: Some(decimals.into()),
        ..Layout::default()
    };
    any(out, lead, value, &layout, 'f')
}

/// Every conversion of every number.
#[inline(never)]
fn any<'r, 's>(
    mut out: Cursor<'r, 's>,
    lead: Lead,
    value: f64,
    layout: &Layout,
    letter: char,
) -> Cursor<'r, 's> {
    out.word(lead.word());
    let sign = layout.sign(value.is_sign_negative());
    let upper = letter.is_ascii_uppercase();
    if !value.is_finite() {
        let name: &[u8] = match (value.is_nan(), upper) {
            (true, false) => b"nan",
            (true, true) => b"NAN",
            (false, false) => b"inf",
            (false, true) => b"INF",
        };
        layout.number(&mut out, sign, 0, name, false);
        return out;
    }
    let precision = layout.precision.unwrap_or(6);
    if letter == 'f'
        && !(layout.minus || layout.plus || layout.space || layout.alternate || layout.zero)
        && let Some(words) = usual_behind_spaces(value, layout.width, precision.min(99) as u16)
    {
        out.words(words);
        return out;
    }
    let (form, count) = match letter.to_ascii_lowercase() {
        'f' => {
            with_decimals(&mut out, value, precision, layout, sign);
            return out;
        }
        'e' => (Form::Exponential, precision + 1),
        _ => (Form::General, precision.max(1)),
    };
    match scientific::round(value.abs(), count) {
        Some((number, exponent)) => {
            let mut digits = [0; 24];
            // 17 digits fit with a sign, a point, and an exponent or leading zeros.
            let length = written(&mut digits, |mut out| {
                zero_padded(&mut out, number, count);
                out
            });
            let decimal = Decimal {
                digits: &digits[..length],
                exponent,
            };
            let mut body = [0; 48];
            let length = written(&mut body, |mut out| {
                decimal.write(&mut out, form, layout.alternate, upper);
                out
            });
            layout.number(&mut out, sign, 0, &body[..length], layout.zero);
        }
        None => {
            let (digits, exponent) = digits_by_core(value.abs(), count);
            let decimal = Decimal {
                digits: &digits,
                exponent,
            };
            let mut body = Vec::new();
            let mut room = Room::of_vector(&mut body);
            let mut cursor = room.cursor(count);
            decimal.write(&mut cursor, form, layout.alternate, upper);
            cursor.done();
            room.close_vector();
            layout.number(&mut out, sign, 0, &body, layout.zero);
        }
    }
    out
}

/// `%f`
fn with_decimals(out: &mut Cursor<'_, '_>, value: f64, precision: usize, layout: &Layout, sign: Word) {
    let point = layout.alternate && precision == 0;
    if let Some((decimals, rounded)) = u16::try_from(precision)
        .ok()
        .and_then(|decimals| Some((decimals, round(value, decimals)?)))
    {
        // 20 digits, the point and 19 decimals fit.
        let mut body = [0; 48];
        let length = written(&mut body, |out| {
            let mut out = rounded.behind(out, Word::EMPTY, Word::EMPTY, decimals);
            out.word(Word::byte_if(b'.', point));
            out
        });
        return layout.number(out, sign, 0, &body[..length], layout.zero);
    }
    let computed = precision.min(PRECISION_MAX);
    let mut body = alloc::format!("{:.computed$}", value.abs()).into_bytes();
    body.extend(core::iter::repeat_n(b'0', precision - computed));
    body.extend(point.then_some(b'.'));
    layout.number(out, sign, 0, &body, layout.zero);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Exponential,
    General,
}

/// A number rounded to a number of digits: `d.ddd`·10^`exponent`.
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
    fn write(&self, body: &mut Cursor<'_, '_>, form: Form, alternate: bool, upper: bool) {
        match form {
            Form::Exponential => self.exponential(body, alternate, upper),
            Form::General => self.general(body, alternate, upper),
        }
    }

    fn exponential(&self, body: &mut Cursor<'_, '_>, point: bool, upper: bool) {
        let (first, more) = self.digits.split_at(1);
        body.bytes(first);
        if !more.is_empty() || point {
            body.str(".");
        }
        body.bytes(more);
        body.str(if upper { "E" } else { "e" });
        body.str(if self.exponent < 0 { "-" } else { "+" });
        let exponent = self.exponent.unsigned_abs() as usize;
        body.word(digits::below_1000(exponent, 2));
    }

    fn general(&self, body: &mut Cursor<'_, '_>, alternate: bool, upper: bool) {
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

    /// Appends it without an exponent. `point` writes a point even if no digit follows.
    fn positional(&self, body: &mut Cursor<'_, '_>, point: bool) {
        let places = self.exponent.unsigned_abs() as usize;
        if self.exponent < 0 {
            body.str("0.");
            fill(body, '0', places - 1);
            return body.bytes(self.digits);
        }
        let (before, behind) = self.digits.split_at(self.digits.len().min(places + 1));
        body.bytes(before);
        fill(body, '0', places + 1 - before.len());
        if point || !behind.is_empty() {
            body.str(".");
        }
        body.bytes(behind);
    }
}
