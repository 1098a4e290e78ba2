//! Amounts of memory on the command line: `0`, `200MiB`, `2GiB`.

use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

const UNITS: [(&str, u32); 4] = [("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)];

/// An amount of memory in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (digits, shift) = UNITS
            .iter()
            .find_map(|(unit, shift)| text.strip_suffix(unit).map(|digits| (digits, *shift)))
            .unwrap_or((text, 0));
        digits
            .parse::<u64>()
            .ok()
            .and_then(|count| count.checked_mul(1 << shift))
            .map(Size)
            .ok_or_else(|| format!("{text} is no size; 0, 200MiB and 2GiB are"))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let even = |shift: u32| self.0 != 0 && self.0.is_multiple_of(1 << shift);
        match UNITS.iter().find(|(_, shift)| *shift > 0 && even(*shift)) {
            Some((unit, shift)) => write!(out, "{} {unit}", self.0 >> shift),
            None => write!(out, "{}", self.0),
        }
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn sizes_are_read_and_shown() {
        for (text, bytes, shown) in [
            ("0", 0, "0"),
            ("1", 1, "1"),
            ("4096B", 4096, "4 KiB"),
            ("200MiB", 200 << 20, "200 MiB"),
            ("2GiB", 2 << 30, "2 GiB"),
            ("1536MiB", 1536 << 20, "1536 MiB"),
        ] {
            let size: Size = text.parse().unwrap();
            assert_eq!((size.0, size.to_string().as_str()), (bytes, shown), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "GiB", "-1", "2 GB", "99999999999GiB", "1.5GiB"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }
}
