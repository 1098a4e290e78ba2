//! Decimal digits, as words.
//!
//! Numbers below 1000 come from a table with four bytes per number: three digits and their count. Larger numbers become
//! eight digits at a time in one 64-bit word: three divisions split 8 digits into 4 + 4, 2 + 2 + 2 + 2 and 1 × 8, and each
//! division works on all parts at once. The code has no branch on the number of digits that could be mispredicted.
//!
//! The C runtime, `tools/qrintf/include/qrintf_runtime_integer.h`, has the same steps and constants, and
//! `docs/guide/digits.md` proves them for both. `tests/exhaustive.rs` tests all 2³² numbers.

use crate::word::Word;

/// Three digits with leading zeros, and in the highest byte the number of digits without them.
static BELOW_1000: [u32; 1000] = table();

const ZEROS: u64 = 0x3030_3030_3030_3030;
const SPACES: u64 = 0x2020_2020_2020_2020;

const fn table() -> [u32; 1000] {
    let mut table = [0; 1000];
    let mut number = 0;
    while number < 1000 {
        let (a, b, c) = (
            b'0' + (number / 100) as u8,
            b'0' + (number / 10 % 10) as u8,
            b'0' + (number % 10) as u8,
        );
        let count = if number < 10 {
            1
        } else if number < 100 {
            2
        } else {
            3
        };
        table[number] = u32::from_le_bytes([a, b, c, count]);
        number += 1;
    }
    table
}

/// The digits of a number below 1000, at least `least`, from 1 to 3, with leading zeros.
///
/// # Panics
/// If the number is not below 1000.
#[inline(always)]
pub(crate) fn below_1000(number: usize, least: usize) -> Word {
    let entry = BELOW_1000[number];
    // It is at most 3; this tells the compiler.
    let count = ((entry >> 24) as usize & 3).max(least);
    Word::new(u64::from(entry >> (24 - 8 * count)), count)
}

/// Each digit of a number below 10⁸ as a byte from 0 to 9, the first in the lowest byte.
#[inline(always)]
fn spread(number: u32) -> u64 {
    debug_assert!(number < 100_000_000);
    let high = number / 10_000;
    let fours = u64::from(high) | (u64::from(number - high * 10_000) << 32);
    // 10486 / 2²⁰ is 1/100 below 10000; both halves at once.
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = hundreds | ((fours - hundreds * 100) << 16);
    // 103 / 2¹⁰ is 1/10 below 100; all quarters at once.
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((twos - tens * 10) << 8)
}

/// Eight digits of a number below 10⁸, with leading zeros.
#[inline(always)]
pub(crate) fn eight(number: u32) -> Word {
    Word::full(spread(number) | ZEROS)
}

/// The last `count` of eight digits of a number below 10⁸ whose other digits are zeros.
#[inline(always)]
pub(crate) fn last(number: u32, count: usize) -> Word {
    match count {
        0 => Word::EMPTY,
        _ => Word::new((spread(number) | ZEROS) >> (64 - 8 * count), count),
    }
}

/// A number below 10⁸ to the right of a width of up to 8.
///
/// Zeros or spaces pad it on the left.
#[inline(always)]
pub(crate) fn right(number: u32, width: usize, fill: Fill) -> Word {
    let digits = spread(number);
    let zeros = leading(digits);
    // '0' has the bits of ' ' and one more.
    let characters = match fill {
        Fill::Zeros => digits | ZEROS,
        Fill::Spaces => digits | SPACES | ((ZEROS ^ SPACES) << (zeros * 8)),
    };
    let count = width.max(8 - zeros as usize);
    Word::new(characters >> (64 - count * 8), count)
}

/// The padding before a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    Zeros,
    Spaces,
}

/// The number of leading zeros of eight digits, at most seven.
#[inline(always)]
fn leading(digits: u64) -> u32 {
    (digits | (1 << 63)).trailing_zeros() / 8
}

/// The digits of a number below 10⁸.
#[inline(always)]
pub(crate) fn up_to_eight(number: u32) -> Word {
    let digits = spread(number);
    let zeros = leading(digits);
    Word::new((digits | ZEROS) >> (zeros * 8), 8 - zeros as usize)
}
