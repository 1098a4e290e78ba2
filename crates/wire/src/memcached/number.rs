//! Numbers as memcached reads them.
//!
//! Most are strict: digits only, and no more digits than the type needs. memcached reads the flags and the expiry of
//! classic storing commands with C's `strtoul` and `strtol` instead. These skip leading white space, accept a sign, stop
//! at white space, and their 64-bit result is truncated to 32 bits. Clients depend on neither; memcached's tests do.

/// Longest word that is read as a 32-bit number.
const WORD_32_MAX: usize = 11;
/// Longest word that is read as a 64-bit number.
const WORD_64_MAX: usize = 22;

/// Digits only; `None` when empty or past 64 bits.
#[inline]
fn digits(word: &[u8]) -> Option<u64> {
    // Nineteen digits cannot overflow, so the common case needs no check within the loop.
    if word.len() <= 19 {
        let mut sum = 0u64;
        for byte in word {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            sum = sum * 10 + u64::from(digit);
        }
        return Some(sum);
    }
    word.iter().try_fold(0u64, |sum, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        sum.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// An unsigned 32-bit number of at most eleven digits.
#[inline]
pub(crate) fn unsigned_32(word: &[u8]) -> Option<u32> {
    if word.len() > WORD_32_MAX {
        return None;
    }
    u32::try_from(digits(word)?).ok()
}

/// An unsigned 64-bit number of at most 22 digits.
#[inline]
pub(crate) fn unsigned_64(word: &[u8]) -> Option<u64> {
    if word.len() > WORD_64_MAX {
        return None;
    }
    digits(word)
}

/// A signed 32-bit number of at most eleven characters; a lone minus is zero, as in memcached.
#[inline]
pub(crate) fn signed_32(word: &[u8]) -> Option<i32> {
    if word.len() > WORD_32_MAX {
        return None;
    }
    match word.strip_prefix(b"-") {
        // At most ten digits: the sum fits an i64 and so does its negation.
        Some(word) => i32::try_from(-i64::try_from(digits(word)?).ok()?).ok(),
        None => i32::try_from(digits(word)?).ok(),
    }
}

/// The length of a data block, at most `max`. As elsewhere a minus is accepted, so `-0` is zero.
#[inline]
pub(crate) fn length(word: &[u8], max: u64) -> Option<u64> {
    if word.len() > WORD_32_MAX {
        return None;
    }
    let length = match word.strip_prefix(b"-") {
        Some(word) => digits(word).filter(|length| *length == 0),
        None => digits(word),
    };
    length.filter(|length| *length <= max)
}

/// A space and a number of up to nine digits at the head of `text`, and the rest of it.
#[inline]
pub(crate) fn field(text: &[u8]) -> Option<(u64, &[u8])> {
    let [b' ', first, rest @ ..] = text else {
        return None;
    };
    let mut rest = rest;
    let mut sum = u64::from(first.wrapping_sub(b'0'));
    if sum > 9 {
        return None;
    }
    while let [byte, after @ ..] = rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        sum = sum * 10 + u64::from(digit);
        rest = after;
        if text.len() - rest.len() > 10 {
            return None;
        }
    }
    Some((sum, rest))
}

/// C's `isspace`.
#[inline]
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// The sign and magnitude that `strtol` and `strtoul` find at the head of `tail`. `None` without a number, if it exceeds
/// 64 bits, or if anything but white space or the end of the line follows it.
fn scanned(tail: &[u8]) -> Option<(bool, u64)> {
    let start = tail.iter().position(|byte| !is_space(*byte))?;
    let tail = &tail[start..];
    let (negative, tail) = match tail[0] {
        b'-' => (true, &tail[1..]),
        b'+' => (false, &tail[1..]),
        _ => (false, tail),
    };
    let length = tail
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(tail.len());
    if length == 0 || tail.get(length).is_some_and(|byte| !is_space(*byte)) {
        return None;
    }
    Some((negative, digits(&tail[..length])?))
}

/// The flags of a storing command. `word` is the word itself, `tail` the line from there, or from white space before
/// it, to the end.
#[inline]
pub(crate) fn flags(word: &[u8], tail: &[u8]) -> Option<u32> {
    unsigned_32(word).or_else(|| lenient_flags(tail))
}

#[cold]
fn lenient_flags(tail: &[u8]) -> Option<u32> {
    let (negative, magnitude) = scanned(tail)?;
    let value = if negative {
        magnitude.wrapping_neg()
    } else {
        magnitude
    };
    // `strtoul` wraps negative numbers; memcached refuses those that wrap into the upper half and accepts the others.
    if negative && value > i64::MAX as u64 {
        return None;
    }
    Some(value as u32)
}

/// The expiry of a storing command; arguments as for [`flags`].
#[inline]
pub(crate) fn exptime(word: &[u8], tail: &[u8]) -> Option<i32> {
    match word {
        [b'0'] => Some(0),
        // Only the strict reader accepts a lone minus.
        [b'-'] => None,
        _ => signed_32(word).or_else(|| lenient_exptime(tail)),
    }
}

#[cold]
fn lenient_exptime(tail: &[u8]) -> Option<i32> {
    let (negative, magnitude) = scanned(tail)?;
    let value = if negative {
        0i64.checked_sub_unsigned(magnitude)?
    } else {
        i64::try_from(magnitude).ok()?
    };
    Some(value as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strict_numbers_end_where_their_type_does() {
        assert_eq!(unsigned_32(b"4294967295"), Some(u32::MAX));
        assert_eq!(unsigned_32(b"04294967295"), Some(u32::MAX));
        assert_eq!(unsigned_32(b"4294967296"), None);
        assert_eq!(unsigned_32(b"000000000000"), None);
        assert_eq!(unsigned_64(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(unsigned_64(b"18446744073709551616"), None);
        assert_eq!(unsigned_64(b"0018446744073709551615"), Some(u64::MAX));
        assert_eq!(unsigned_64(b"00018446744073709551615"), None);
        assert_eq!(signed_32(b"-2147483648"), Some(i32::MIN));
        assert_eq!(signed_32(b"-2147483649"), None);
        assert_eq!(signed_32(b"2147483648"), None);
        assert_eq!(signed_32(b"-"), Some(0));
        assert_eq!(signed_32(b"+1"), None);
        assert_eq!(signed_32(b"--1"), None);
    }

    #[test]
    fn flags_go_through_strtoul() {
        let read = |text: &[u8]| flags(text, text);
        assert_eq!(read(b"7"), Some(7));
        assert_eq!(read(b"+7"), Some(7));
        assert_eq!(read(b"7\t8"), Some(7));
        assert_eq!(read(b"\t 7 0 1"), Some(7));
        assert_eq!(read(b"4294967296"), Some(0));
        assert_eq!(read(b"-1"), None);
        assert_eq!(read(b"-18446744073709551615"), Some(1));
        assert_eq!(read(b"18446744073709551616"), None);
        assert_eq!(read(b"7x"), None);
        assert_eq!(read(b"-"), None);
    }

    #[test]
    fn expiry_goes_through_strtol() {
        let read = |text: &[u8]| exptime(text, text);
        assert_eq!(read(b"-1"), Some(-1));
        assert_eq!(read(b"4294967301"), Some(5));
        assert_eq!(read(b"-9223372036854775808"), Some(0));
        assert_eq!(read(b"9223372036854775808"), None);
        assert_eq!(read(b"-"), None);
        assert_eq!(read(b"1.5"), None);
    }
}
