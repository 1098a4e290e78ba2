//! Base64 as memcached reads and writes it for binary keys.
//!
//! Its reader skips every character outside the alphabet, reads `=` as zero bits, and checks the padding only at the end
//! of a group of four. The result for a malformed key is part of the protocol, because it names an item.

use super::KEY_LENGTH_MAX;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const FOREIGN: u8 = 0x80;

/// The value of each character; `=` counts as zero.
const VALUES: [u8; 256] = {
    let mut values = [FOREIGN; 256];
    let mut at = 0;
    while at < ALPHABET.len() {
        values[ALPHABET[at] as usize] = at as u8;
        at += 1;
    }
    values[b'=' as usize] = 0;
    values
};

/// Space for a decoded key.
pub(crate) type Buffer = [u8; KEY_LENGTH_MAX];

/// Decodes a key of at most [`KEY_LENGTH_MAX`] characters; `None` if even memcached refuses it.
pub(crate) fn decode(text: &[u8], buffer: &mut Buffer) -> Option<usize> {
    let count = text
        .iter()
        .filter(|byte| VALUES[usize::from(**byte)] != FOREIGN)
        .count();
    if count == 0 || count % 4 != 0 || text.len() > KEY_LENGTH_MAX {
        return None;
    }
    let mut group = [0u8; 4];
    let (mut filled, mut padding, mut length) = (0, 0usize, 0);
    for byte in text {
        let value = VALUES[usize::from(*byte)];
        if value == FOREIGN {
            continue;
        }
        padding += usize::from(*byte == b'=');
        group[filled] = value;
        filled += 1;
        if filled < 4 {
            continue;
        }
        filled = 0;
        buffer[length] = group[0] << 2 | group[1] >> 4;
        buffer[length + 1] = group[1] << 4 | group[2] >> 2;
        buffer[length + 2] = group[2] << 6 | group[3];
        length += 3;
        if padding > 0 {
            return if padding <= 2 {
                Some(length - padding)
            } else {
                None
            };
        }
    }
    Some(length)
}

/// Appends `bytes` as base64 with padding.
pub(crate) fn encode(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let (a, b, c) = (group[0], group.get(1).copied(), group.get(2).copied());
        let bits = u32::from(a) << 16 | u32::from(b.unwrap_or(0)) << 8 | u32::from(c.unwrap_or(0));
        let character = |shift: u32| ALPHABET[(bits >> shift & 63) as usize];
        out.extend_from_slice(&[
            character(18),
            character(12),
            if b.is_some() { character(6) } else { b'=' },
            if c.is_some() { character(0) } else { b'=' },
        ]);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn decoded(text: &[u8]) -> Option<Vec<u8>> {
        let mut buffer = [0; KEY_LENGTH_MAX];
        decode(text, &mut buffer).map(|length| buffer[..length].to_vec())
    }

    #[test]
    fn what_is_encoded_decodes() {
        for length in 1..=186 {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 37 % 256) as u8).collect();
            let mut text = Vec::new();
            encode(&mut text, &bytes);
            assert_eq!(decoded(&text).unwrap(), bytes);
        }
    }

    #[test]
    fn malformed_keys_decode_as_in_memcached() {
        assert_eq!(decoded(b"Zm9v"), Some(b"foo".to_vec()));
        assert_eq!(decoded(b"Z!m9\x01v"), Some(b"foo".to_vec()));
        assert_eq!(decoded(b"Zg==Zm9v"), Some(b"f".to_vec()));
        assert_eq!(decoded(b"=AAA"), Some(vec![0, 0]));
        assert_eq!(decoded(b"===="), None);
        assert_eq!(decoded(b"Zm9"), None);
        assert_eq!(decoded(b"!!!!"), None);
    }
}
