//! Numbers with units as people write them: `60ms`, `10s`, `64KiB`.

use std::time::Duration;

/// Reads `10s`, `500ms`, `250us`, `2m`; a bare number is seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text);
    let seconds = match unit {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "us" | "µs" => 1e-6,
        "m" => 60.0,
        _ => return Err(format!("unknown unit {unit:?}; use us, ms, s or m")),
    };
    let number: f64 = number
        .parse()
        .map_err(|_| format!("{text:?} is no duration; write it as 500ms or 10s"))?;
    Duration::try_from_secs_f64(number * seconds).map_err(|error| error.to_string())
}

/// Reads `400`, `64KiB`, `1MiB`, `2k` (decimal).
pub fn size(text: &str) -> Result<usize, String> {
    let (number, unit) = split(text);
    let unit = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        other => return Err(format!("unknown unit {other:?}; use KiB, MiB or GiB")),
    };
    let number: f64 = number
        .parse()
        .map_err(|_| format!("{text:?} is no size; write it as 400 or 64KiB"))?;
    Ok((number * unit).round() as usize)
}

/// Reads a count with an optional decimal suffix: `10000`, `50k`, `1M`.
pub fn count(text: &str) -> Result<u64, String> {
    size(text).map(|value| value as u64)
}

fn split(text: &str) -> (&str, &str) {
    let at = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    (&text[..at], text[at..].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("10"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("25ms"), Ok(Duration::from_millis(25)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert!(duration("2h").is_err());
        assert!(duration("-1s").is_err());
        assert!(duration("").is_err());
    }

    #[test]
    fn sizes_and_counts_have_units() {
        assert_eq!(size("400"), Ok(400));
        assert_eq!(size("64KiB"), Ok(65_536));
        assert_eq!(size("1MiB"), Ok(1 << 20));
        assert_eq!(count("50k"), Ok(50_000));
        assert_eq!(count("1M"), Ok(1_000_000));
        assert!(size("12parsec").is_err());
    }
}
