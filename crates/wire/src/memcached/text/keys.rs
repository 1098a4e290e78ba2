//! The keys of a reading command, and lines of them that are longer than any buffer.

use memchr::{memchr, memrchr};

use super::{Cause, Error, KeyRun};
use crate::Parsed;
use crate::memcached::KEY_LENGTH_MAX;
use crate::memcached::line::{cut_key, trim};

/// The keys of a reading command, one after the other.
///
/// **Invariant:** each was measured by the parser, none is empty or longer than [`KEY_LENGTH_MAX`].
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

    /// The keys in a part of a line, or an error if one is too long.
    pub(crate) fn measured(text: &'a [u8]) -> Result<Self, Error> {
        // A key is too long where a window of its largest size and one has no space: from the last space of one window
        // it's a jump over several keys to the next.
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

    /// Whether all were handed out.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// The key, if it is the only one left: most commands have one.
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

/// Reads more keys of a line whose [`Get`](super::Get) was not complete.
///
/// Takes all keys that are in view; asks for more only while not one is. An error skips the line, if need be by
/// [`skip_line`].
pub fn parse_keys(input: &[u8]) -> Parsed<Result<KeyRun<'_>, Error>> {
    match memchr(b'\n', input) {
        Some(end) => {
            let keys = Keys::measured(trim(&input[..end]));
            Parsed::Done(keys.map(|keys| KeyRun { keys, complete: true }), end + 1)
        }
        None => parse_open(input),
    }
}

/// Reads the keys of a line whose end is not in view: those that a space follows.
pub(super) fn parse_open(input: &[u8]) -> Parsed<Result<KeyRun<'_>, Error>> {
    let used = input
        .iter()
        .rposition(|byte| *byte == b' ')
        .map_or(0, |at| at + 1);
    // One byte more than a key may be the carriage return of the line's end.
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

/// Finds the end of a refused line: how many bytes to throw away, and whether the end was among them.
pub fn skip_line(input: &[u8]) -> (usize, bool) {
    match memchr(b'\n', input) {
        Some(end) => (end + 1, true),
        None => (input.len(), false),
    }
}
