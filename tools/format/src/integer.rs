//! Integers.

use crate::cursor::Cursor;
use crate::layout::Layout;
use crate::specialize::Specialized;
use crate::specialize::kinds::{Binary, Debug, Display, LowerHex, Octal, UpperHex};
use crate::{digits, hex};
use core::fmt::Arguments;

/// Appends a number in decimal.
#[inline]
pub(crate) fn decimal_32<E>(out: &mut Cursor<'_, E>, number: u32) {
    if number < 1000 {
        let (word, count) = digits::below_1000(number as usize);
        out.word(word, count);
    } else if number < 100_000_000 {
        let (word, count) = digits::up_to_eight(number);
        out.word(word, count);
    } else {
        let (word, count) = digits::byte((number / 100_000_000) as u8);
        out.word(word, count);
        out.word(digits::eight(number % 100_000_000), 8);
    }
}

/// Appends a number in decimal.
#[inline]
pub(crate) fn decimal_64<E>(out: &mut Cursor<'_, E>, number: u64) {
    match u32::try_from(number) {
        Ok(number) => decimal_32(out, number),
        Err(_) => large(out, number),
    }
}

#[inline]
fn large<E>(out: &mut Cursor<'_, E>, number: u64) {
    const EIGHT: u64 = 100_000_000;
    let (high, low) = (number / EIGHT, (number % EIGHT) as u32);
    if high < EIGHT {
        let (word, count) = digits::up_to_eight(high as u32);
        out.word(word, count);
    } else {
        let (word, count) = digits::up_to_eight((high / EIGHT) as u32);
        out.word(word, count);
        out.word(digits::eight((high % EIGHT) as u32), 8);
    }
    out.word(digits::eight(low), 8);
}

/// A number on its way to be padded: the digits of any base, written from the end.
struct Digits {
    bytes: [u8; 64],
    from: usize,
}

impl Digits {
    #[inline]
    fn decimal(mut number: u64) -> Self {
        let mut digits = Self {
            bytes: [0; 64],
            from: 64,
        };
        while number >= 100_000_000 {
            digits.prepend(digits::eight((number % 100_000_000) as u32).to_le_bytes(), 8);
            number /= 100_000_000;
        }
        let (word, count) = digits::up_to_eight(number as u32);
        digits.prepend((word << (64 - 8 * count)).to_le_bytes(), count);
        digits
    }

    #[inline]
    fn hex(number: u64, upper: bool) -> Self {
        let mut digits = Self {
            bytes: [0; 64],
            from: 64,
        };
        let (high, low) = ((number >> 32) as u32, number as u32);
        if high == 0 {
            digits.prepend(hex::eight(low, upper).to_le_bytes(), hex::count(low));
        } else {
            digits.prepend(hex::eight(low, upper).to_le_bytes(), 8);
            digits.prepend(hex::eight(high, upper).to_le_bytes(), hex::count(high));
        }
        digits
    }

    /// Digits of `bits` bits each.
    #[inline]
    fn shifted(mut number: u64, bits: u32) -> Self {
        let mut digits = Self {
            bytes: [0; 64],
            from: 64,
        };
        loop {
            digits.from -= 1;
            digits.bytes[digits.from] = b'0' + (number & ((1 << bits) - 1)) as u8;
            number >>= bits;
            if number == 0 {
                return digits;
            }
        }
    }

    /// Puts the last `count` of eight bytes in front.
    #[inline(always)]
    fn prepend(&mut self, word: [u8; 8], count: usize) {
        self.bytes[self.from - 8..self.from].copy_from_slice(&word);
        self.from -= count;
    }

    #[inline]
    fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.from..]
    }
}

/// Appends a number in hexadecimal.
#[inline]
fn hexadecimal<E>(out: &mut Cursor<'_, E>, number: u64, upper: bool) {
    let (high, low) = ((number >> 32) as u32, number as u32);
    if high == 0 {
        let count = hex::count(low);
        out.word(hex::last(low, count, upper), count);
    } else {
        let count = hex::count(high);
        out.word(hex::last(high, count, upper), count);
        out.word(hex::eight(low, upper), 8);
    }
}

/// Appends a number with sign, prefix and width.
#[inline]
fn padded<E>(out: &mut Cursor<'_, E>, layout: &Layout, negative: bool, prefix: &str, digits: &Digits) {
    let mut start = [0; 3];
    let sign = match (negative, layout.plus) {
        (true, _) => "-",
        (false, true) => "+",
        _ => "",
    };
    start[..sign.len()].copy_from_slice(sign.as_bytes());
    let prefix = if layout.alternate { prefix } else { "" };
    let length = sign.len() + prefix.len();
    start[sign.len()..length].copy_from_slice(prefix.as_bytes());
    layout.number(out, &start[..length], digits.as_bytes());
}

/// The absolute value, also of the smallest number.
macro_rules! magnitude {
    ($value:expr, $type:ty) => {
        if <$type>::MIN == 0 {
            *$value as u64
        } else {
            (*$value as i64).unsigned_abs()
        }
    };
}

/// Decimal numbers, which have a sign.
macro_rules! decimal {
    ($($kind:ty: $($type:ty)*;)*) => {$($(
        impl Specialized<$kind> for $type {
            #[inline(always)]
            fn plain<E>(&self, out: &mut Cursor<'_, E>, _: Arguments<'_>) {
                #[allow(unused_comparisons)]
                let negative = *self < 0;
                if <$type>::MIN != 0 {
                    // A sign or nothing: no branch that random signs would mispredict.
                    out.word(u64::from(b'-'), usize::from(negative));
                }
                #[allow(clippy::unnecessary_cast)]
                match size_of::<$type>() {
                    1 => {
                        let (word, count) = digits::byte(magnitude!(self, $type) as u8);
                        out.word(word, count);
                    }
                    2 | 4 => decimal_32(out, magnitude!(self, $type) as u32),
                    _ => decimal_64(out, magnitude!(self, $type) as u64),
                }
            }

            #[inline(always)]
            fn laid_out<E>(&self, out: &mut Cursor<'_, E>, layout: Layout, _: Arguments<'_>) {
                #[allow(unused_comparisons)]
                let negative = *self < 0;
                #[allow(clippy::unnecessary_cast)]
                let digits = Digits::decimal(magnitude!(self, $type) as u64);
                padded(out, &layout, negative, "", &digits);
            }
        }
    )*)*};
}

decimal! {
    Display: u8 u16 u32 u64 usize i8 i16 i32 i64 isize;
    Debug: u8 u16 u32 u64 usize i8 i16 i32 i64 isize;
}

/// Other bases, in which a negative number is its two's complement.
macro_rules! based {
    ($($type:ty as $unsigned:ty),*) => {$(
        based!(@ LowerHex, $type, $unsigned, "0x", |number, out| hexadecimal(out, number, false), |number| Digits::hex(number, false));
        based!(@ UpperHex, $type, $unsigned, "0x", |number, out| hexadecimal(out, number, true), |number| Digits::hex(number, true));
        based!(@ Octal, $type, $unsigned, "0o", |number, out| out.bytes(Digits::shifted(number, 3).as_bytes()), |number| Digits::shifted(number, 3));
        based!(@ Binary, $type, $unsigned, "0b", |number, out| out.bytes(Digits::shifted(number, 1).as_bytes()), |number| Digits::shifted(number, 1));
    )*};
    (@ $kind:ty, $type:ty, $unsigned:ty, $prefix:expr, |$number:ident, $out:ident| $plain:expr, |$same:ident| $digits:expr) => {
        impl Specialized<$kind> for $type {
            #[inline(always)]
            #[allow(clippy::unnecessary_cast)]
            fn plain<E>(&self, $out: &mut Cursor<'_, E>, _: Arguments<'_>) {
                let $number = *self as $unsigned as u64;
                $plain;
            }

            #[inline(always)]
            #[allow(clippy::unnecessary_cast)]
            fn laid_out<E>(&self, out: &mut Cursor<'_, E>, layout: Layout, _: Arguments<'_>) {
                let $same = *self as $unsigned as u64;
                padded(out, &layout, false, $prefix, &$digits);
            }
        }
    };
}

based!(
    u8 as u8,
    u16 as u16,
    u32 as u32,
    u64 as u64,
    usize as usize,
    i8 as u8,
    i16 as u16,
    i32 as u32,
    i64 as u64,
    isize as usize
);
