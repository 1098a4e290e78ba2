//! Hexadecimal digits, as words: the code spreads the nibbles of a number to bytes and converts all of them at once.

use crate::word::Word;

/// Eight digits of a number, with leading zeros.
#[inline(always)]
pub(crate) fn eight(number: u32, upper: bool) -> u64 {
    let mut word = u64::from(number);
    word = (word | (word << 16)) & 0x0000_ffff_0000_ffff;
    word = (word | (word << 8)) & 0x00ff_00ff_00ff_00ff;
    word = (word | (word << 4)) & 0x0f0f_0f0f_0f0f_0f0f;
    // 1 in each byte from 10 to 15, which becomes one of a to f: adding 6 carries into the fifth bit.
    let letters = ((word + 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101;
    let distance = if upper { b'A' - b'0' - 10 } else { b'a' - b'0' - 10 };
    // The highest nibble is the first digit.
    (word + 0x3030_3030_3030_3030 + letters * u64::from(distance)).swap_bytes()
}

/// The number of digits of a number.
#[inline(always)]
pub(crate) fn count(number: u32) -> usize {
    (35 - (number | 1).leading_zeros() as usize) / 4
}

/// The last `count` digits, from 1 to 8, of a number.
#[inline(always)]
pub(crate) fn last(number: u32, count: usize, upper: bool) -> Word {
    Word::new(eight(number, upper) >> (64 - 8 * count), count)
}
