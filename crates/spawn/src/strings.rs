//! Zero-terminated strings for the kernel, in one allocation.

use std::collections::TryReserveError;
use std::ffi::c_char;

/// Consecutive strings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Strings {
    bytes: Vec<u8>,
    starts: Vec<usize>,
    has_nul: bool,
}

impl Strings {
    /// Appends a string, given in parts.
    pub(crate) fn push(&mut self, parts: &[&[u8]]) {
        self.starts.push(self.bytes.len());
        for part in parts {
            self.has_nul |= part.contains(&0);
            self.bytes.extend_from_slice(part);
        }
        self.bytes.push(0);
    }

    /// Like [`push`](Strings::push), but fails if memory runs out.
    pub(crate) fn try_push(&mut self, parts: &[&[u8]]) -> Result<(), TryReserveError> {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        self.bytes.try_reserve(length + 1)?;
        self.starts.try_reserve(1)?;
        self.push(parts);
        Ok(())
    }

    /// Reserves room for `count` strings of `bytes` bytes in total, final zeroes included.
    pub(crate) fn try_reserve(&mut self, bytes: usize, count: usize) -> Result<(), TryReserveError> {
        self.bytes.try_reserve(bytes)?;
        self.starts.try_reserve(count)
    }

    /// The size of all strings with their final zeroes, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Returns whether any string contains a zero byte.
    pub(crate) fn has_nul(&self) -> bool {
        self.has_nul
    }

    /// The strings, without their final zeroes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let ends = self.starts.iter().skip(1).copied().chain([self.bytes.len()]);
        self.starts
            .iter()
            .zip(ends)
            .map(|(&start, end)| &self.bytes[start..end - 1])
    }

    /// A pointer to each string, valid until the strings are changed or dropped.
    pub(crate) fn pointers(&self) -> impl Iterator<Item = *const c_char> {
        self.starts
            .iter()
            .map(|&start| self.bytes[start..].as_ptr().cast())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_back_as_they_went_in() {
        let mut strings = Strings::default();
        strings.push(&[b"a", b"=", b"b"]);
        strings.push(&[]);
        strings.push(&[b"c"]);
        assert_eq!(strings.iter().collect::<Vec<_>>(), [b"a=b".as_slice(), b"", b"c"]);
        assert_eq!((strings.len(), strings.pointers().count()), (3, 3));
        assert!(!strings.has_nul());
        strings.push(&[b"d\0e"]);
        assert!(strings.has_nul());
    }
}
