//! Durations: `500ms`, `5s`, `1h30m`; `0s` switches a timeout off.

use std::time::Duration;

const UNITS: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];
const RIGHT: &str = "write a number and a unit, such as \"500ms\", \"30s\", \"10m\", \"1h\" or \"7d\"";

/// Reads a duration, such as `500ms` or `1h30m`. The error names the remedy.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let mut rest = text;
    let mut total_ms: u64 = 0;
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at(digits);
        let letters = tail.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, tail) = tail.split_at(letters);
        let Some((_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(format!("{text:?} is not a duration; {RIGHT}"));
        };
        let Ok(number) = number.parse::<u64>() else {
            return Err(format!("{text:?} is not a duration; {RIGHT}"));
        };
        let sum = number.checked_mul(*scale).and_then(|ms| total_ms.checked_add(ms));
        total_ms = sum
            .ok_or_else(|| format!("{text:?} is longer than can be waited for; write a shorter duration"))?;
        if tail.is_empty() {
            return Ok(Duration::from_millis(total_ms));
        }
        rest = tail;
    }
}

#[cfg(test)]
mod tests {
    use super::parse_duration as parse;
    use std::time::Duration;

    #[test]
    fn units_add_up() {
        assert_eq!(parse("0s"), Ok(Duration::ZERO));
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("10m"), Ok(Duration::from_secs(600)));
        assert_eq!(parse("1h30m"), Ok(Duration::from_secs(5_400)));
        assert_eq!(parse("7d"), Ok(Duration::from_secs(604_800)));
    }

    #[test]
    fn what_is_no_duration_is_told() {
        for wrong in [
            "",
            "5",
            "s",
            "5 s",
            "-1s",
            "1.5s",
            "5sec",
            "1h 30m",
            "99999999999999999999s",
            "999999999999999999d",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
