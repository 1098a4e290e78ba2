//! The short way for the lines that clients send all day.
//!
//! A line is plain if single spaces part its words, its flags are all different, and each is one that takes no argument,
//! or a number of few digits, or an opaque token of allowed length. Such a line cannot be wrong, so that one pass over it
//! is enough. Everything else goes through [`parse`](super::parse), which alone knows what is an error.
//!
//! **Invariant:** a plain line means the same to `parse`; the tests compare both.

use memchr::memchr2;

use super::command::{Flags, Letters, Meta, MetaVerb, OPAQUE_LENGTH_MAX};
use crate::memcached::KEY_LENGTH_MAX;
use crate::memcached::line::{Words, line_end};
use crate::memcached::number::field;

/// Flags without an argument.
const ASKING: Letters = Letters::of(b"vtfckshlquxI");
/// Flags with a number.
const NUMBERED: Letters = Letters::of(b"TNRFCEJD");
/// So many digits fit any of the numbers.
const DIGITS_MAX: usize = 9;
/// So many flags may a command have whatever its verb.
const FLAGS_MAX: u32 = 17;

/// Reads a plain line from its key on, and says how many bytes it took with its end.
#[inline]
pub(in crate::memcached) fn parse_plain(
    verb: MetaVerb,
    text: &[u8],
    length_max: u64,
) -> Option<(Meta<'_>, usize)> {
    let at = memchr2(b' ', b'\n', text)?;
    if text[at] == b'\n' || at == 0 || at > KEY_LENGTH_MAX {
        return None;
    }
    let (key, mut rest) = text.split_at(at);
    let mut length = 0;
    let mut taken = 2;
    if verb == MetaVerb::Set {
        (length, rest) = field(rest)?;
        taken = 3;
        if length > length_max {
            return None;
        }
    }
    let (letters, end, used) = flags(rest)?;
    let flags = Flags {
        words: Words::after(&rest[..end], taken),
    };
    let meta = Meta {
        length,
        letters,
        ..Meta::bare(verb, key, flags)
    };
    Some((meta, text.len() - rest.len() + used))
}

/// The flags' letters, where they end, and where the line does.
#[inline]
fn flags(text: &[u8]) -> Option<(Letters, usize, usize)> {
    let mut letters = Letters::default();
    let mut rest = text;
    while let [b' ', letter, after @ ..] = rest {
        if !letters.insert(*letter) {
            return None;
        }
        let argument = if ASKING.has(*letter) {
            0
        } else {
            argument(*letter, after)?
        };
        rest = &after[argument..];
    }
    let end = line_end(rest)?;
    let at = text.len() - rest.len();
    if letters.count() <= FLAGS_MAX {
        Some((letters, at, at + end))
    } else {
        None
    }
}

/// How long a flag's argument is.
fn argument(letter: u8, text: &[u8]) -> Option<usize> {
    let (length, allowed) = if NUMBERED.has(letter) {
        let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (length, 1..=DIGITS_MAX)
    } else if letter == b'O' {
        let length = text.iter().take_while(|byte| **byte > b' ').count();
        (length, 0..=OPAQUE_LENGTH_MAX - 1)
    } else {
        return None;
    };
    if allowed.contains(&length) {
        Some(length)
    } else {
        None
    }
}
