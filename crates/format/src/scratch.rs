//! Digits in a scratch buffer, for padding.

use crate::digits;
use crate::hex;

/// The digits of a number in any base, written from the end.
pub(crate) struct Digits {
    bytes: [u8; 64],
    from: usize,
}

impl Digits {
    #[inline]
    pub(crate) fn decimal(mut number: u64) -> Self {
        const EIGHT: u64 = 100_000_000;
        let word = |number: u64| u64::from_le_bytes(digits::eight(number as u32).stored());
        let mut digits = Self::none();
        while number >= EIGHT {
            digits.prepend(word(number % EIGHT), 8);
            number /= EIGHT;
        }
        let count = digits::up_to_eight(number as u32).length();
        digits.prepend(word(number), count);
        digits
    }

    #[inline]
    pub(crate) fn hexadecimal(number: u64, upper: bool) -> Self {
        let mut digits = Self::none();
        let (high, low) = ((number >> 32) as u32, number as u32);
        if high == 0 {
            digits.prepend(hex::eight(low, upper), hex::count(low));
        } else {
            digits.prepend(hex::eight(low, upper), 8);
            digits.prepend(hex::eight(high, upper), hex::count(high));
        }
        digits
    }

    #[inline]
    pub(crate) fn octal(mut number: u64) -> Self {
        let mut digits = Self::none();
        loop {
            digits.from -= 1;
            digits.bytes[digits.from] = b'0' + (number & 7) as u8;
            number >>= 3;
            if number == 0 {
                return digits;
            }
        }
    }

    #[inline]
    pub(crate) fn binary(mut number: u64) -> Self {
        let mut digits = Self::none();
        while number > 0xff {
            digits.prepend(eight_bits(number as u8), 8);
            number >>= 8;
        }
        digits.prepend(
            eight_bits(number as u8),
            8 - (number as u8 | 1).leading_zeros() as usize,
        );
        digits
    }

    #[inline(always)]
    fn none() -> Self {
        Self {
            bytes: [0; 64],
            from: 64,
        }
    }

    /// Prepends the last `count` of eight digits.
    #[inline(always)]
    fn prepend(&mut self, eight: u64, count: usize) {
        self.bytes[self.from - 8..self.from].copy_from_slice(&eight.to_le_bytes());
        self.from -= count;
    }

    #[inline]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.from..]
    }
}

/// The bits of a byte as eight digits, the highest first.
#[inline(always)]
fn eight_bits(byte: u8) -> u64 {
    // Each bit in a byte of its own; adding 127 carries it to the byte's highest bit.
    let bits = (u64::from(byte) * 0x0101_0101_0101_0101) & 0x0102_0408_1020_4080;
    (((bits + 0x7f7f_7f7f_7f7f_7f7f) >> 7) & 0x0101_0101_0101_0101) + 0x3030_3030_3030_3030
}
