//! Numbers in values, as `incr` and `decr` read and write them.

use std::cell::OnceCell;

use format::{Fixed, append};

/// Room for the 20 digits of a 64-bit number, in whole words, which `append!` stores fastest.
const DIGITS_ROOM: usize = 32;

/// The longest value that is read as a number.
pub(crate) const NUMBER_LENGTH_MAX: u64 = 256;

const SPACES: [u8; NUMBER_LENGTH_MAX as usize] = [b' '; NUMBER_LENGTH_MAX as usize];

/// Reads an unsigned 64-bit number: white space, an optional plus, digits, then the end or white space and whatever.
pub(crate) fn parse(value: &[u8]) -> Option<u64> {
    let space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c);
    let start = value.iter().position(|byte| !space(byte))?;
    let digits = value[start..].strip_prefix(b"+").unwrap_or(&value[start..]);
    let end = digits
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(digits.len());
    let ends_well = digits.get(end).is_none_or(space);
    if end == 0 || !ends_well {
        return None;
    }
    digits[..end].iter().try_fold(0_u64, |number, digit| {
        number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })
}

/// A number in decimal.
#[derive(Clone, Debug)]
pub(crate) struct Decimal(Fixed<[u8; DIGITS_ROOM]>);

impl Decimal {
    #[inline]
    pub(crate) fn new(number: u64) -> Decimal {
        let mut digits = Fixed::new([0; DIGITS_ROOM]);
        let written = append!(digits, "{number}");
        debug_assert!(written.is_ok(), "a number has 20 digits at most");
        Decimal(digits)
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// Numbers that a closure computes and its store then reads. A store calls the closure again after it has made room, and
/// each call takes a slot of its own.
#[derive(Default)]
pub(crate) struct Numbers([OnceCell<Decimal>; Numbers::COUNT]);

impl Numbers {
    const COUNT: usize = 4;

    /// Writes a number into the next free slot; `None` if all four are taken.
    pub(crate) fn write(&self, number: u64) -> Option<&Decimal> {
        let slot = self.0.iter().find(|slot| slot.get().is_none())?;
        Some(slot.get_or_init(|| Decimal::new(number)))
    }
}

/// The parts of padded numbers, a slot per call of the closure.
#[derive(Default)]
pub(crate) struct Parts<'v>([OnceCell<[&'v [u8]; 2]>; Numbers::COUNT]);

impl<'v> Parts<'v> {
    /// The number, padded with spaces to the width of what was there.
    pub(crate) fn pad(&'v self, number: &'v Decimal, width: u64) -> Option<&'v [&'v [u8]]> {
        let slot = self.0.iter().find(|slot| slot.get().is_none())?;
        let digits = number.bytes();
        let missing = (width.min(NUMBER_LENGTH_MAX) as usize).saturating_sub(digits.len());
        Some(slot.get_or_init(|| [digits, &SPACES[..missing]]).as_slice())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn numbers_are_read_as_strtoull_does() {
        for (text, number) in [
            ("0", 0),
            ("12", 12),
            ("9   ", 9),
            (" 7", 7),
            ("+5", 5),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse(text.as_bytes()), Some(number), "{text:?}");
        }
        assert_eq!(parse(b"3 apples"), Some(3));
        for text in ["", " ", "x", "-1", "1x", "+", "18446744073709551616", "0x10"] {
            assert_eq!(parse(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn numbers_are_written_in_decimal() {
        for number in [0, 9, 10, 12345, u64::MAX] {
            assert_eq!(Decimal::new(number).bytes(), number.to_string().as_bytes());
        }
    }

    #[test]
    fn a_shorter_number_keeps_the_width() {
        let numbers = Numbers::default();
        let parts = Parts::default();
        let padded = parts.pad(numbers.write(9).unwrap(), 3).unwrap();
        assert_eq!(padded.concat(), b"9  ");
        let padded = parts.pad(numbers.write(1234).unwrap(), 3).unwrap();
        assert_eq!(padded.concat(), b"1234");
    }
}
