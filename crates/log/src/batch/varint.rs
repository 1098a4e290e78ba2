//! Variable-length integers of records: zigzag, then seven bits per byte with the lowest first, as in Protocol Buffers.

/// The most bytes that a 64-bit number takes.
pub(super) const LENGTH_MAX: usize = 10;

/// Appends a number.
#[inline]
pub(super) fn push(out: &mut Vec<u8>, number: i64) {
    let mut rest = zigzag(number);
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// The bytes that `push` appends for a number.
#[inline]
pub(super) fn length(number: i64) -> usize {
    let bits = u64::BITS - zigzag(number).leading_zeros();
    (bits.max(1) as usize).div_ceil(7)
}

/// Reads a number at the start of `bytes` and returns it with the bytes after it; `None` if it is cut short, or longer than
/// 64 bits.
#[inline]
pub(super) fn take(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let mut value = 0u64;
    for (index, byte) in bytes.iter().take(LENGTH_MAX).enumerate() {
        let bits = u64::from(byte & 0x7f);
        if index == LENGTH_MAX - 1 && bits > 1 {
            return None;
        }
        value |= bits << (7 * index);
        if byte & 0x80 == 0 {
            let number = (value >> 1) as i64 ^ -((value & 1) as i64);
            return Some((number, &bytes[index + 1..]));
        }
    }
    None
}

fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive() {
        let edges = [
            0,
            -1,
            1,
            63,
            -64,
            64,
            -65,
            8191,
            8192,
            i64::from(i32::MAX),
            i64::MAX,
            i64::MIN,
        ];
        for number in edges {
            let mut out = Vec::new();
            push(&mut out, number);
            assert_eq!(out.len(), length(number), "{number}");
            assert_eq!(take(&out), Some((number, &[][..])), "{number}");
            assert_eq!(take(&out[..out.len() - 1]), None, "{number}");
        }
    }

    #[test]
    fn known_encodings() {
        for (number, bytes) in [(0, &[0][..]), (-1, &[1]), (1, &[2]), (300, &[0xd8, 0x04])] {
            let mut out = Vec::new();
            push(&mut out, number);
            assert_eq!(out, bytes);
        }
    }

    #[test]
    fn more_than_64_bits_are_refused() {
        assert_eq!(take(&[0xff; 11]), None);
        assert_eq!(
            take(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]),
            None
        );
    }
}
