//! Numbers in values, as `incr` and `decr` read and write them.

use std::cell::OnceCell;

use format::{Fixed, append};

/// Room for the digits of a 64-bit number, of which there are 20 at most: `append!` is fastest where it may store whole words.
const DIGITS_ROOM: usize = 32;

/// Values longer than this are no numbers, whatever they hold.
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

/// Room for numbers that a closure computes and a store then reads, for as long as both need them.
///
/// A store may ask the closure again after it made room, so that there is a sheet for each time.
#[derive(Default)]
pub(crate) struct Sheets([OnceCell<Decimal>; Sheets::COUNT]);

impl Sheets {
    const COUNT: usize = 4;

    /// Writes a number on the next sheet; none is left after four.
    pub(crate) fn write(&self, number: u64) -> Option<&Decimal> {
        let sheet = self.0.iter().find(|sheet| sheet.get().is_none())?;
        Some(sheet.get_or_init(|| Decimal::new(number)))
    }
}

/// Room for the parts of a value on a sheet.
#[derive(Default)]
pub(crate) struct Joints<'v>([OnceCell<[&'v [u8]; 2]>; Sheets::COUNT]);

impl<'v> Joints<'v> {
    /// The number, padded with spaces to the width of what was there.
    pub(crate) fn pad(&'v self, number: &'v Decimal, width: u64) -> Option<&'v [&'v [u8]]> {
        let joint = self.0.iter().find(|joint| joint.get().is_none())?;
        let digits = number.bytes();
        let missing = (width.min(NUMBER_LENGTH_MAX) as usize).saturating_sub(digits.len());
        Some(joint.get_or_init(|| [digits, &SPACES[..missing]]).as_slice())
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
        let sheets = Sheets::default();
        let joints = Joints::default();
        let parts = joints.pad(sheets.write(9).unwrap(), 3).unwrap();
        assert_eq!(parts.concat(), b"9  ");
        let parts = joints.pad(sheets.write(1234).unwrap(), 3).unwrap();
        assert_eq!(parts.concat(), b"1234");
    }
}
