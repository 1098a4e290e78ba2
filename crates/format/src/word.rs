//! Up to eight bytes in a register.
//!
//! **Invariant:** the length of a word is at most 8; the stores in `cursor.rs` rely on it.
//! **Invariant:** a [`Lead`] is ASCII, so that it can be appended to a `String`.

/// The first `length` of eight bytes in little-endian order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word {
    bytes: u64,
    length: usize,
}

impl Word {
    pub(crate) const EMPTY: Self = Self { bytes: 0, length: 0 };

    /// # Panics
    /// If `length` exceeds 8.
    #[inline(always)]
    pub(crate) const fn new(bytes: u64, length: usize) -> Self {
        assert!(length <= 8);
        Self { bytes, length }
    }

    /// A constant.
    ///
    /// # Panics
    /// If it has more than eight bytes.
    pub(crate) const fn literal(text: &[u8]) -> Self {
        let mut bytes = 0;
        let mut at = text.len();
        while at > 0 {
            at -= 1;
            bytes = bytes << 8 | text[at] as u64;
        }
        Self::new(bytes, text.len())
    }

    /// All eight.
    #[inline(always)]
    pub(crate) const fn full(bytes: u64) -> Self {
        Self { bytes, length: 8 }
    }

    /// One byte, or none.
    #[inline(always)]
    pub(crate) const fn byte_if(byte: u8, there: bool) -> Self {
        Self {
            bytes: if there { byte as u64 } else { 0 },
            length: there as usize,
        }
    }

    /// Up to eight spaces.
    ///
    /// # Panics
    /// When there are more.
    #[inline(always)]
    pub(crate) const fn spaces(count: usize) -> Self {
        Self::new(0x2020_2020_2020_2020, count)
    }

    /// The sign of a number, or nothing, without a branch that random signs would mispredict.
    #[inline(always)]
    pub(crate) const fn minus_if(negative: bool) -> Self {
        Self::byte_if(b'-', negative)
    }

    /// This word followed by the next. Bytes of this word beyond its length must be zeros.
    ///
    /// # Panics
    /// If they have more than eight bytes together.
    #[inline(always)]
    pub(crate) const fn then(self, next: Self) -> Self {
        match self.length {
            8 => Self::new(self.bytes, 8 + next.length),
            length => Self::new(self.bytes | next.bytes << (8 * length), length + next.length),
        }
    }

    /// Up to eight bytes of a slice.
    ///
    /// # Panics
    /// When there are more.
    #[inline(always)]
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let length = bytes.len();
        let quarter = |at: usize| {
            let mut four = [0; 4];
            four.copy_from_slice(&bytes[at..at + 4]);
            u64::from(u32::from_le_bytes(four))
        };
        let word = match length {
            8 => quarter(0) | quarter(4) << 32,
            // The two halves overlap, and agree where they do.
            4.. => quarter(0) | quarter(length - 4) << (8 * (length - 4)),
            0 => 0,
            _ => {
                let byte = |at: usize| u64::from(bytes[at]) << (8 * at);
                byte(0) | byte(length / 2) | byte(length - 1)
            }
        };
        Self::new(word, length)
    }

    /// The bytes to store; those beyond the length are meaningless.
    #[inline(always)]
    pub(crate) const fn stored(self) -> [u8; 8] {
        self.bytes.to_le_bytes()
    }

    /// The number of bytes, up to 8.
    #[inline(always)]
    pub(crate) const fn length(self) -> usize {
        self.length
    }
}

/// Short text of a format before a value, passed with the value in registers.
#[derive(Debug, Clone, Copy)]
pub struct Lead(Word);

impl Lead {
    /// No text.
    pub(crate) const EMPTY: Self = Self(Word::EMPTY);

    /// Up to eight ASCII characters.
    ///
    /// # Panics
    /// If there are more, or others. The macros generate only constants that meet both conditions.
    #[inline(always)]
    pub const fn new(bytes: u64, length: usize) -> Self {
        assert!(bytes & 0x8080_8080_8080_8080 == 0);
        Self(Word::new(bytes, length))
    }

    /// A constant of up to eight ASCII characters.
    ///
    /// # Panics
    /// If there are more, or others.
    pub(crate) const fn literal(text: &[u8]) -> Self {
        assert!(text.is_ascii());
        Self(Word::literal(text))
    }

    #[inline(always)]
    pub(crate) const fn word(self) -> Word {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Word;

    #[test]
    fn slices_of_every_length() {
        for length in 0..=8 {
            let word = Word::of(&b"abcdefgh"[..length]);
            assert_eq!(&word.stored()[..word.length()], &b"abcdefgh"[..length]);
        }
    }
}
