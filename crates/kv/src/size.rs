//! Sizes as people write them: `1GiB`, `512MB`, `64m`, plain bytes, `25%` of the memory there is.

/// A size, absolute or relative to the memory that this process may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// So many bytes.
    Bytes(u64),
    /// So many percent of the memory that the control group or the machine allows.
    Percent(f64),
}

/// Units and what they stand for, without regard to case: decimal with `B`, binary with `iB` or alone, as Tokyo Cabinet and
/// memcached have them.
const UNITS: [(&str, u64); 15] = [
    ("", 1),
    ("b", 1),
    ("k", 1 << 10),
    ("kib", 1 << 10),
    ("kb", 1000),
    ("m", 1 << 20),
    ("mib", 1 << 20),
    ("mb", 1_000_000),
    ("g", 1 << 30),
    ("gib", 1 << 30),
    ("gb", 1_000_000_000),
    ("t", 1 << 40),
    ("tib", 1 << 40),
    ("tb", 1_000_000_000_000),
    ("p", 1 << 50),
];

const EXPECTED: &str = "a size is a number and a unit, like 1GiB, 512MB, 64m, 65536 or 25%";

/// Reads a size. A unit is decimal with `B` (`kB`, `MB`, …), binary with `iB` or alone (`KiB`, `k`, `m`).
/// The error says what would be right.
///
/// ```
/// assert_eq!(kv::parse_size("1.5GiB"), Ok(kv::Size::Bytes(3 << 29)));
/// assert_eq!(kv::parse_size("25%"), Ok(kv::Size::Percent(25.0)));
/// ```
pub fn parse_size(text: &str) -> Result<Size, &'static str> {
    let text = text.trim();
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (digits, unit) = (&text[..split], text[split..].trim().to_ascii_lowercase());
    if unit == "%" {
        let percent: f64 = digits.parse().map_err(|_| EXPECTED)?;
        let sensible = percent > 0.0 && percent <= 100.0;
        return sensible
            .then_some(Size::Percent(percent))
            .ok_or("a percentage is above 0% and at most 100%");
    }
    let &(_, factor) = UNITS.iter().find(|(name, _)| *name == unit).ok_or(EXPECTED)?;
    if let Ok(whole) = digits.parse::<u64>() {
        return whole
            .checked_mul(factor)
            .map(Size::Bytes)
            .ok_or("a size is less than 16 EiB");
    }
    let number: f64 = digits.parse().map_err(|_| EXPECTED)?;
    let bytes = number * factor as f64;
    if bytes < u64::MAX as f64 {
        Ok(Size::Bytes(bytes as u64))
    } else {
        Err("a size is less than 16 EiB")
    }
}

impl Size {
    /// In bytes, `total` being all of the memory.
    pub fn of(self, total: u64) -> u64 {
        match self {
            Size::Bytes(bytes) => bytes,
            Size::Percent(percent) => (total as f64 * percent / 100.0) as u64,
        }
    }

    /// In bytes, of the memory that this process may use.
    pub fn bytes(self) -> u64 {
        match self {
            Size::Bytes(bytes) => bytes,
            Size::Percent(_) => self.of(crate::machine::memory_allowed()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_people_write_them() {
        for (text, bytes) in [
            ("65536", 65536),
            ("1024m", 1 << 30),
            ("1GiB", 1 << 30),
            ("1 gib", 1 << 30),
            ("512MB", 512_000_000),
            ("2k", 2048),
            ("0.5KiB", 512),
            ("3B", 3),
        ] {
            assert_eq!(parse_size(text), Ok(Size::Bytes(bytes)), "{text}");
        }
        assert_eq!(parse_size("12.5%"), Ok(Size::Percent(12.5)));
        assert_eq!(Size::Percent(25.0).of(4 << 30), 1 << 30);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "GiB",
            "-1",
            "1x",
            "1..2m",
            "101%",
            "0%",
            "nan",
            "99999999999999999999",
            "20000000t",
            "1e9",
        ] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
