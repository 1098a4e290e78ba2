//! Decimals of floating-point numbers: the powers of ten that they are counted in, and their digits.

use crate::cursor::Cursor;
use crate::digits;

/// The maximum number of decimals.
pub(crate) const DECIMALS_MAX: u16 = 19;

const fn powers() -> [u64; DECIMALS_MAX as usize + 1] {
    let mut powers = [1; DECIMALS_MAX as usize + 1];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
}

/// The powers of ten up to the maximum number of decimals.
pub(crate) static POWERS_OF_TEN: [u64; DECIMALS_MAX as usize + 1] = powers();

/// Appends exactly `count` digits, up to 20, of a number that has no more.
#[inline]
pub(crate) fn zero_padded(out: &mut Cursor<'_, '_>, number: u64, count: usize) {
    const EIGHT: u64 = 100_000_000;
    let (high, low) = (number / EIGHT, (number % EIGHT) as u32);
    match count {
        0..=8 => out.word(digits::last(low, count)),
        9..=16 => out.words([digits::last(high as u32, count - 8), digits::eight(low)]),
        _ => {
            let (first, second) = ((high / EIGHT) as u32, (high % EIGHT) as u32);
            out.words([
                digits::last(first, count - 16),
                digits::eight(second),
                digits::eight(low),
            ]);
        }
    }
}
