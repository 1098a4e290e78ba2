//! Decimal digits, as words.
//!
//! Numbers below 1000 come from a table of four bytes each: three digits and how many of them count. Above, eight digits
//! at a time are made in one 64-bit word: 8 digits are split into 4 + 4, 2 + 2 + 2 + 2 and 1 × 8 by three
//! multiplications that work on all parts at once, so there is no branch on the number of digits to be mispredicted.
//! The constants are reciprocals, exact for the parts' ranges; `tests/exhaustive.rs` checks all 2³² inputs.
//!
//! The C runtime of `tools/qrintf` answers the same question; its `docs/guide/digits.md` has the proofs.

/// Three digits and, in the highest byte, how many of them the number has.
static BELOW_1000: [u32; 1000] = table();

const ZEROS: u64 = 0x3030_3030_3030_3030;

const fn table() -> [u32; 1000] {
    let mut table = [0; 1000];
    let mut number = 0;
    while number < 1000 {
        let (a, b, c) = (
            b'0' + (number / 100) as u8,
            b'0' + (number / 10 % 10) as u8,
            b'0' + (number % 10) as u8,
        );
        table[number] = match number {
            0..10 => u32::from_le_bytes([c, 0, 0, 1]),
            10..100 => u32::from_le_bytes([b, c, 0, 2]),
            _ => u32::from_le_bytes([a, b, c, 3]),
        };
        number += 1;
    }
    table
}

/// The digits of a number below 1000 and their count; the word's highest byte means nothing.
///
/// # Panics
/// When the number is not below 1000.
#[inline(always)]
pub(crate) fn below_1000(number: usize) -> (u64, usize) {
    let entry = BELOW_1000[number];
    (u64::from(entry), (entry >> 24) as usize)
}

/// The digits of a byte.
#[inline(always)]
pub(crate) fn byte(number: u8) -> (u64, usize) {
    below_1000(usize::from(number))
}

/// Each digit of a number below 10⁸ as a byte from 0 to 9, the first in the lowest byte.
#[inline(always)]
fn spread(number: u32) -> u64 {
    debug_assert!(number < 100_000_000);
    let number = u64::from(number);
    // 3518437209 / 2⁴⁵ is 1/10000 for all 32-bit numbers.
    let high = (number * 3_518_437_209) >> 45;
    let fours = high | ((number - high * 10_000) << 32);
    // 5243 / 2¹⁹ is 1/100 below 10000; both halves at once.
    let hundreds = ((fours * 5_243) >> 19) & 0x0000_007f_0000_007f;
    let twos = hundreds | ((fours - hundreds * 100) << 16);
    // 103 / 2¹⁰ is 1/10 below 100; all quarters at once.
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((twos - tens * 10) << 8)
}

/// Eight digits of a number below 10⁸, zeros in front.
#[inline(always)]
pub(crate) fn eight(number: u32) -> u64 {
    spread(number) | ZEROS
}

/// The digits of a number below 10⁸ and their count.
#[inline(always)]
pub(crate) fn up_to_eight(number: u32) -> (u64, usize) {
    let digits = spread(number);
    // The last digit counts, also when all are 0.
    let zeros = (digits | (1 << 63)).trailing_zeros() / 8;
    ((digits | ZEROS) >> (zeros * 8), 8 - zeros as usize)
}
