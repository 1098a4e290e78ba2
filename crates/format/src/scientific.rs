//! Floating-point numbers rounded to a number of significant digits, exactly: what `%e` and `%g` and `{:.3e}` show.
//!
//! For *P* digits of *v*, with 10^*g* ≤ *v* < 10^(*g*+1), the digits are *v*·10^*k* rounded to an integer, *k* = *P*-1-*g*.
//! With *v* = *m*·2^*e*, for *k* from 0 to 27 that is *m*·5^*k*, which fits 128 bits, shifted. Below 0 the integer part is
//! divided, and the fraction only tells whether the remainder is exactly a half. *g* is first taken to be the power of ten
//! of *v*'s power of two, which may be one too small; then there is a digit too many, and *k* is one less. So it is when
//! rounding carries into a new digit.
//!
//! The C runtime, `tools/qrintf/include/qrintf_runtime_scale.h`, goes on where this leaves off.

use crate::cursor::{Cursor, by_core};
use crate::decimals::{POWERS_OF_TEN, zero_padded};
use crate::integer::signed_32;
use crate::word::{Lead, Word};

/// The maximum number of significant digits.
pub(crate) const DIGITS_MAX: usize = 17;

/// 5^27 is the greatest power of 5 whose product with 53 bits fits 128 bits.
const FIVES_MAX: usize = 27;

const fn fives() -> [u64; FIVES_MAX + 1] {
    let mut powers = [1; FIVES_MAX + 1];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 5;
        at += 1;
    }
    powers
}

static POWERS_OF_FIVE: [u64; FIVES_MAX + 1] = fives();

/// `count` digits without leading zeros, and the power of ten of the first, for a finite number from 0 on.
///
/// Returns `None` outside the supported range.
#[inline]
pub(crate) fn round(value: f64, count: usize) -> Option<(u64, i32)> {
    if count > DIGITS_MAX || count == 0 {
        return None;
    }
    let bits = value.to_bits();
    let (mantissa, exponent) = match (bits >> 52) as i32 {
        // Zero, and numbers that would need a larger k.
        0 => return (bits == 0).then_some((0, 0)),
        exponent => (bits & ((1 << 52) - 1) | 1 << 52, exponent - 1075),
    };
    let mut power = power_of_ten(exponent + 52);
    loop {
        let scale = count as i32 - 1 - power;
        let digits = if scale >= 0 {
            multiply(mantissa, exponent, scale as usize)?
        } else {
            divide(mantissa, exponent, scale.unsigned_abs() as usize)?
        };
        if digits < POWERS_OF_TEN[count] {
            return Some((digits, power));
        }
        power += 1;
    }
}

/// The power of ten of a power of two.
#[inline(always)]
const fn power_of_ten(power_of_two: i32) -> i32 {
    // 78913 / 2¹⁸ is log 2 to the base 10, near enough for all that a double has.
    (power_of_two * 78_913) >> 18
}

/// `mantissa`·2^`exponent`·10^`scale`, rounded.
#[inline]
fn multiply(mantissa: u64, exponent: i32, scale: usize) -> Option<u64> {
    let five = *POWERS_OF_FIVE.get(scale)?;
    let product = u128::from(mantissa) * u128::from(five);
    let shift = exponent + scale as i32;
    if shift >= 0 {
        // The result has 18 digits at most, so nothing is shifted out.
        return Some((product << shift) as u64);
    }
    let shift = shift.unsigned_abs();
    let quotient = (product >> shift) as u64;
    let remainder = product & ((1 << shift) - 1);
    let half = 1 << (shift - 1);
    Some(quotient + u64::from(remainder > half || (remainder == half && quotient & 1 != 0)))
}

/// `mantissa`·2^`exponent` / 10^`places`, rounded, for at least one place.
#[inline]
fn divide(mantissa: u64, exponent: i32, places: usize) -> Option<u64> {
    let (integer, exact) = match exponent {
        0..=11 => (mantissa << exponent, true),
        -52..0 => (
            mantissa >> -exponent,
            mantissa.trailing_zeros() as i32 >= -exponent,
        ),
        _ => return None,
    };
    let power = *POWERS_OF_TEN.get(places)?;
    let (quotient, remainder, half) = (integer / power, integer % power, power / 2);
    Some(quotient + u64::from(remainder > half || (remainder == half && (!exact || quotient & 1 != 0))))
}

/// `{:.3e}`, or `{:.3E}` if upper case.
#[inline(never)]
pub(crate) fn write<'r, 's>(
    mut out: Cursor<'r, 's>,
    lead: Lead,
    value: f64,
    precision: u16,
    upper: bool,
) -> Cursor<'r, 's> {
    let count = usize::from(precision);
    // Infinities and NaN are greater than what has digits here.
    let Some((digits, exponent)) = round(value.abs(), count + 1) else {
        return match upper {
            false => by_core(out, lead, format_args!("{value:.count$e}")),
            true => by_core(out, lead, format_args!("{value:.count$E}")),
        };
    };
    let (first, more) = (digits / POWERS_OF_TEN[count], digits % POWERS_OF_TEN[count]);
    out.words([
        lead.word(),
        Word::minus_if(value.is_sign_negative()),
        Word::new(u64::from(b'0') + first, 1),
        Word::byte_if(b'.', count > 0),
    ]);
    zero_padded(&mut out, more, count);
    signed_32(out, letter(upper), exponent)
}

/// The part before the exponent.
#[inline(always)]
pub(crate) fn letter(upper: bool) -> Lead {
    Lead::new(if upper { b'E' } else { b'e' }.into(), 1)
}

#[cfg(test)]
mod tests {
    use super::power_of_ten;

    #[test]
    fn every_power_of_two_has_its_power_of_ten() {
        for exponent in -1022..=1023 {
            // `core` writes the value.
            let text = alloc::format!("{:e}", f64::from_bits(((exponent + 1023) as u64) << 52));
            let power = text
                .split_once('e')
                .and_then(|(_, power)| power.parse::<i32>().ok());
            assert_eq!(Some(power_of_ten(exponent)), power, "2^{exponent}");
        }
    }
}
