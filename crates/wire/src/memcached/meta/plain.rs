//! The fast path for the lines that clients usually send.
//!
//! A line is plain if single spaces separate its words, its flags differ, and each takes no argument, a number of few
//! digits, or an opaque token of permitted length. Such a line has no error, so one pass suffices.
//! [`parse`](super::parse) reads all other lines and reports the errors.
//!
//! **Invariant:** for a plain line this parser and `parse` return the same; the tests compare them.

use memchr::memchr2;

use super::command::{FlagSet, Flags, Meta, MetaVerb, OPAQUE_LENGTH_MAX};
use crate::memcached::KEY_LENGTH_MAX;
use crate::memcached::line::{Words, line_end};
use crate::memcached::number::field;

/// Flags without an argument.
const WITHOUT_ARGUMENT: FlagSet = FlagSet::of(b"vtfckshlquxI");
/// Flags with a number.
const WITH_NUMBER: FlagSet = FlagSet::of(b"TNRFCEJD");
/// A number of this many digits fits the type of every flag.
const DIGITS_MAX: usize = 9;
/// A command of any verb may have this many flags.
const FLAGS_MAX: u32 = 17;

/// Reads a plain line from its key on. Returns the number of bytes used, including the line end.
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
    let (flag_set, end, used) = flags(rest)?;
    let flags = Flags {
        words: Words::after(&rest[..end], taken),
    };
    let meta = Meta {
        length,
        flag_set,
        ..Meta::bare(verb, key, flags)
    };
    Some((meta, text.len() - rest.len() + used))
}

/// The flags, the offset at which they end, and the offset at which the line ends.
#[inline]
fn flags(text: &[u8]) -> Option<(FlagSet, usize, usize)> {
    let mut flag_set = FlagSet::default();
    let mut rest = text;
    while let [b' ', name, after @ ..] = rest {
        if !flag_set.insert(*name) {
            return None;
        }
        let argument = if WITHOUT_ARGUMENT.has(*name) {
            0
        } else {
            argument(*name, after)?
        };
        rest = &after[argument..];
    }
    let end = line_end(rest)?;
    let at = text.len() - rest.len();
    if flag_set.count() <= FLAGS_MAX {
        Some((flag_set, at, at + end))
    } else {
        None
    }
}

/// The length of a flag's argument.
fn argument(name: u8, text: &[u8]) -> Option<usize> {
    let (length, allowed) = if WITH_NUMBER.has(name) {
        let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (length, 1..=DIGITS_MAX)
    } else if name == b'O' {
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
