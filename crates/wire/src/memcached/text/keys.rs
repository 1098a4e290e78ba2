//! The keys of a get command, whose line may be longer than any buffer.

use memchr::{memchr, memrchr};

use super::{Cause, Error};
use crate::Parsed;
use crate::memcached::KEY_LENGTH_MAX;
use crate::memcached::line::{cut_key, trim};

/// The keys of a get command, in order.
///
/// **Invariant:** the parser has checked that every key has 1 to [`KEY_LENGTH_MAX`] bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keys<'a> {
    first: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Keys<'a> {
    /// The only key of a command.
    #[inline]
    pub(crate) fn one(key: &'a [u8]) -> Self {
        Keys {
            first: key,
            rest: &[],
        }
    }

    /// The keys in a part of a line. An error if a key is too long.
    pub(crate) fn measured(text: &'a [u8]) -> Result<Self, Error> {
        // A key is too long if a window of one byte more than its maximum has no space in it. The next window begins
        // after the last space of this one, which skips several keys at a time.
        let mut unseen = text;
        while let Some(window) = unseen.get(..=KEY_LENGTH_MAX) {
            let space = memrchr(b' ', window).ok_or(Error::new(Cause::Format))?;
            unseen = &unseen[space + 1..];
        }
        let mut keys = Keys {
            first: &[],
            rest: text,
        };
        keys.advance();
        Ok(keys)
    }

    /// Returns true if no key is left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// The key, if exactly one is left. Most commands have one.
    #[inline]
    pub fn single(&self) -> Option<&'a [u8]> {
        if self.rest.is_empty() && !self.first.is_empty() {
            Some(self.first)
        } else {
            None
        }
    }

    #[inline]
    fn advance(&mut self) {
        let (first, mut rest) = cut_key(self.rest);
        while let [b' ', after @ ..] = rest {
            rest = after;
        }
        (self.first, self.rest) = (first, rest);
    }
}

impl<'a> Iterator for Keys<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let key = self.first;
        if key.is_empty() {
            return None;
        }
        if self.rest.is_empty() {
            self.first = &[];
        } else {
            self.advance();
        }
        Some(key)
    }
}

/// More keys of a long line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRun<'a> {
    /// The keys.
    pub keys: Keys<'a>,
    /// True if the line ends with them.
    pub complete: bool,
}

/// Reads more keys of a line whose [`Get`](super::Get) was not complete.
///
/// Returns all keys that the input has; asks for more input only without a complete key. An error skips the line: the
/// caller finds its end by [`skip_line`] if [`Error::skip_line`] says so.
pub fn parse_keys(input: &[u8]) -> Parsed<Result<KeyRun<'_>, Error>> {
    match memchr(b'\n', input) {
        Some(end) => {
            let keys = Keys::measured(trim(&input[..end]));
            Parsed::Done(keys.map(|keys| KeyRun { keys, complete: true }), end + 1)
        }
        None => parse_open(input),
    }
}

/// Reads the complete keys of a line whose end the input has not reached: those that a space follows.
pub(super) fn parse_open(input: &[u8]) -> Parsed<Result<KeyRun<'_>, Error>> {
    let used = input
        .iter()
        .rposition(|byte| *byte == b' ')
        .map_or(0, |at| at + 1);
    // One byte beyond the longest key may be the carriage return of the line end.
    if input.len() - used > KEY_LENGTH_MAX + 1 {
        let error = Error::new(Cause::Format).in_open_line(true);
        return Parsed::Done(Err(error), input.len());
    }
    if used == 0 {
        return Parsed::More(input.len() + 1);
    }
    match Keys::measured(&input[..used]) {
        Ok(keys) => Parsed::Done(
            Ok(KeyRun {
                keys,
                complete: false,
            }),
            used,
        ),
        Err(error) => Parsed::Done(Err(error.in_open_line(true)), input.len()),
    }
}

/// Finds the end of a refused line. Returns the number of bytes to discard, and whether they include the end.
pub fn skip_line(input: &[u8]) -> (usize, bool) {
    match memchr(b'\n', input) {
        Some(end) => (end + 1, true),
        None => (input.len(), false),
    }
}
