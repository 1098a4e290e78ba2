//! The items of a run: the key and the value of item number n.
//!
//! ```text
//!   key    k i k y a k u - h i k 0 0 0 0 0 1 7      the number in the last digits, padded in front
//!   value  0 0 0 0 0 0 0 0 1 7 q w e r t …          the number, then a part of one pool, whose start depends on the number
//! ```
//!
//! A key determines its value, so replies are checked without storing anything.

use crate::random::mix;
use std::ops::Range;

/// Digits of an item's number in its key and at the start of its value.
const DIGITS: usize = 10;
/// The number of offsets of the pool at which values begin.
const SHIFTS: usize = 4096;

/// Keys and values by number.
#[derive(Debug, Clone)]
pub(crate) struct Items {
    count: u64,
    /// A key with all digits 0.
    template: Vec<u8>,
    digits: usize,
    value_size: usize,
    pool: Vec<u8>,
}

impl Items {
    /// Items with keys and values of fixed sizes. The error names the permitted sizes.
    pub(crate) fn new(count: u64, key_size: usize, value_size: usize) -> Result<Items, String> {
        let digits = DIGITS.min(key_size);
        if count == 0 || key_size == 0 {
            return Err("there must be at least one key of at least one byte".into());
        }
        if count > 10u64.pow(digits as u32) {
            return Err(format!("{count} different keys do not fit in {digits} digits"));
        }
        let filler = b"hikyaku-".iter().cycle();
        let mut template: Vec<u8> = filler.take(key_size - digits).copied().collect();
        template.resize(key_size, b'0');
        let letter = |at: usize| b'a' + (mix(at as u64) % 26) as u8;
        let pool = (0..value_size + SHIFTS).map(letter).collect();
        Ok(Items {
            count,
            template,
            digits,
            value_size,
            pool,
        })
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn key_size(&self) -> usize {
        self.template.len()
    }

    pub(crate) fn value_size(&self) -> usize {
        self.value_size
    }

    /// Appends the key of an item.
    pub(crate) fn key(&self, item: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.template);
        let end = out.len();
        write_digits(&mut out[end - self.digits..], item);
    }

    /// The item whose key this is.
    pub(crate) fn of_key(&self, key: &[u8]) -> Option<u64> {
        let (front, digits) = key.split_at_checked(key.len().checked_sub(self.digits)?)?;
        if key.len() != self.template.len() || !self.template.starts_with(front) {
            return None;
        }
        std::str::from_utf8(digits).ok()?.parse().ok()
    }

    /// Appends the value of an item.
    pub(crate) fn value(&self, item: u64, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.pool[self.place(item)]);
        let digits = DIGITS.min(self.value_size);
        write_digits(&mut out[start..start + digits], item);
    }

    /// Returns true if the value of the item has `piece` at `offset`.
    pub(crate) fn is_value(&self, item: u64, offset: usize, piece: &[u8]) -> bool {
        if offset + piece.len() > self.value_size {
            return false;
        }
        let mut head = [0; DIGITS];
        let head = &mut head[..DIGITS.min(self.value_size)];
        write_digits(head, item);
        let in_head = head.len().saturating_sub(offset).min(piece.len());
        let (front, rest) = piece.split_at(in_head);
        let pool = &self.pool[self.place(item)];
        front == &head[offset.min(head.len())..][..in_head] && rest == &pool[offset + in_head..][..rest.len()]
    }

    fn place(&self, item: u64) -> Range<usize> {
        let shift = (mix(item) % SHIFTS as u64) as usize;
        shift..shift + self.value_size
    }
}

/// Writes the last digits of a number, as many as fit.
fn write_digits(room: &mut [u8], mut number: u64) {
    for digit in room.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(items: &Items, item: u64) -> Vec<u8> {
        let mut out = b"get ".to_vec();
        items.key(item, &mut out);
        out.split_off(4)
    }

    #[test]
    fn keys_name_their_items() {
        for size in [4, 10, 20, 100, 250] {
            let items = Items::new(10_000, size, 0).expect("fits");
            for item in [0, 1, 17, 9_999] {
                let key = key(&items, item);
                assert_eq!(key.len(), size);
                assert!(key.iter().all(u8::is_ascii_graphic));
                assert_eq!(items.of_key(&key), Some(item));
            }
            assert_eq!(items.of_key(b"x"), None);
        }
    }

    #[test]
    fn too_many_keys_for_their_length_are_refused() {
        assert!(Items::new(1000, 3, 1).is_ok());
        assert!(Items::new(1001, 3, 1).is_err());
        assert!(Items::new(0, 3, 1).is_err());
        assert!(Items::new(1, 0, 1).is_err());
    }

    #[test]
    fn a_value_is_told_from_every_other_in_any_pieces() {
        for size in [0, 1, 4, 10, 11, 400] {
            let items = Items::new(1_000, 20, size).expect("fits");
            let mut value = Vec::new();
            items.value(7, &mut value);
            assert_eq!(value.len(), size);
            for cut in 0..=size {
                assert!(
                    items.is_value(7, 0, &value[..cut]) && items.is_value(7, cut, &value[cut..]),
                    "{size} {cut}"
                );
            }
            for at in 0..size {
                let mut bad = value.clone();
                bad[at] ^= 1;
                assert!(!items.is_value(7, 0, &bad));
            }
            assert!(size == 0 || !items.is_value(8, 0, &value));
            value.push(0);
            assert!(!items.is_value(7, 0, &value), "longer than it should be");
        }
    }
}
