//! From the words after a meta verb to a command.
//!
//! memcached looks at a line three times: first its tokenizer refuses any flag that does not begin like one, then it
//! reads the flags, where a repeated or unknown letter ends the reading but an unreadable number only marks the
//! command as wrong (the last such mistake names the error), and last the command looks at its mode and its opaque
//! token. Which error a client sees depends on that order, so it is kept here.

use super::command::{Flag, Flags, Meta, MetaVerb, Mode, OPAQUE_LENGTH_MAX};
use crate::memcached::base64;
use crate::memcached::line::Words;
use crate::memcached::text::{Cause, Error};
use crate::memcached::{KEY_LENGTH_MAX, number};

/// So many words may a command have, its verb included.
const WORDS_OF_COMMAND_MAX: usize = 20;

/// Reads what follows the verb: the key and the rest of the line.
#[inline]
pub(in crate::memcached) fn parse<'a>(
    verb: MetaVerb,
    key: &'a [u8],
    rest: &'a [u8],
    length_max: u64,
) -> Result<Meta<'a>, Error> {
    let mut meta = Meta::bare(
        verb,
        key,
        Flags {
            words: Words::after(rest, 2),
        },
    );
    if verb == MetaVerb::Set {
        let length = meta
            .flags
            .words
            .next()
            .and_then(|word| number::length(word, length_max));
        meta.length = length.ok_or(Error::new(Cause::Format))?;
    }
    flags(&mut meta)?;
    Ok(meta)
}

/// What memcached's tokenizer lets pass as the first byte of a flag.
#[inline]
fn begins_flag(letter: u8) -> bool {
    matches!(letter, b'A'..=b'z' | b'0'..=b'9')
}

/// Reads the flags.
fn flags(meta: &mut Meta<'_>) -> Result<(), Error> {
    let mut count = if meta.verb == MetaVerb::Set { 3 } else { 2 };
    let mut stopped = None;
    let mut mistake = None;
    for flag in meta.flags() {
        count += 1;
        if !begins_flag(flag.letter) {
            // To memcached the line has no words then, and so no length of a data block that could be swallowed.
            return Err(Error::new(Cause::Format));
        }
        if stopped.is_some() || meta.verb == MetaVerb::Debug {
            continue;
        }
        // Letters beyond the set's reach are digits, which no flag is.
        if flag.letter >= b'A' && !meta.letters.insert(flag.letter) {
            stopped = Some(Cause::FlagDuplicate);
            continue;
        }
        match read(meta.key_sent, flag) {
            Read::Known => {}
            Read::Unknown => stopped = Some(Cause::FlagInvalid),
            Read::Mistake(cause) => mistake = cause.or(mistake).or(Some(Cause::Format)),
        }
    }
    if meta.key_sent.len() > KEY_LENGTH_MAX {
        return Err(wrong_flags(meta, Cause::Format));
    }
    if meta.verb == MetaVerb::Debug {
        return debug(meta);
    }
    if count > WORDS_OF_COMMAND_MAX {
        return Err(wrong_flags(meta, Cause::FlagsTooMany));
    }
    match stopped.or(mistake) {
        Some(cause) => Err(wrong_flags(meta, cause)),
        None => finish(meta),
    }
}

/// `ma` has one text for all mistakes in its flags.
#[cold]
fn wrong_flags(meta: &Meta<'_>, cause: Cause) -> Error {
    refused(
        meta,
        if meta.verb == MetaVerb::Arithmetic {
            Cause::FlagInvalidOrDuplicate
        } else {
            cause
        },
    )
}

/// The data block of `ms` follows its line even if that is wrong.
#[cold]
fn refused(meta: &Meta<'_>, cause: Cause) -> Error {
    match meta.verb {
        MetaVerb::Set => Error::new(cause).before_block(meta.length),
        _ => Error::new(cause),
    }
}

/// What became of a flag.
enum Read {
    Known,
    Unknown,
    /// The command is wrong; names the error unless an earlier one stands.
    Mistake(Option<Cause>),
}

fn read(key: &[u8], flag: Flag<'_>) -> Read {
    let argument = flag.argument();
    let checked = |readable: bool, cause| match readable && !argument.is_empty() {
        true => Read::Known,
        false => Read::Mistake(cause),
    };
    match flag.letter {
        b'v' | b't' | b'f' | b'c' | b'k' | b's' | b'q' | b'h' | b'l' | b'u' | b'x' => Read::Known,
        b'I' | b'O' | b'P' | b'L' | b'M' => Read::Known,
        b'T' | b'N' | b'R' => checked(number::signed_32(argument).is_some(), Some(Cause::FlagToken)),
        b'C' | b'E' => checked(number::unsigned_64(argument).is_some(), Some(Cause::FlagToken)),
        b'J' => checked(number::unsigned_64(argument).is_some(), Some(Cause::FlagInitial)),
        b'D' => checked(number::unsigned_64(argument).is_some(), Some(Cause::FlagDelta)),
        // memcached forgets to name this error: an earlier one stands.
        b'F' => checked(number::unsigned_32(argument).is_some(), None),
        b'b' if decodes(key) => Read::Known,
        b'b' => Read::Mistake(Some(Cause::KeyEncoding)),
        _ => Read::Unknown,
    }
}

fn decodes(key: &[u8]) -> bool {
    base64::decode(key, &mut [0; KEY_LENGTH_MAX]).is_some()
}

/// What the command itself looks at: its mode and its opaque token.
#[inline]
fn finish(meta: &mut Meta<'_>) -> Result<(), Error> {
    if meta.has(b'M') {
        // The first character after the letter counts, and the line's end is none.
        let mode = meta
            .flags()
            .find(|flag| flag.letter == b'M')
            .and_then(|flag| flag.argument().first().copied());
        match meta.verb {
            MetaVerb::Set => match store_mode(mode) {
                Some(mode) => meta.mode = mode,
                None => return Err(refused(meta, Cause::ModeStore)),
            },
            MetaVerb::Arithmetic => match decrement(mode) {
                Some(decrement) => meta.decrement = decrement,
                None => return Err(refused(meta, Cause::ModeArithmetic)),
            },
            _ => {}
        }
    }
    if meta.opaque().is_some_and(|token| token.len() > OPAQUE_LENGTH_MAX) {
        return Err(refused(meta, Cause::OpaqueTooLong));
    }
    Ok(())
}

fn store_mode(letter: Option<u8>) -> Option<Mode> {
    match letter? {
        b'S' => Some(Mode::Set),
        b'E' => Some(Mode::Add),
        b'A' => Some(Mode::Append),
        b'P' => Some(Mode::Prepend),
        b'R' => Some(Mode::Replace),
        _ => None,
    }
}

fn decrement(letter: Option<u8>) -> Option<bool> {
    match letter? {
        b'I' | b'+' => Some(false),
        b'D' | b'-' => Some(true),
        _ => None,
    }
}

/// `me` takes no notice of its flags but for a leading `b`.
fn debug(meta: &mut Meta<'_>) -> Result<(), Error> {
    if meta.flags().next().is_some_and(|flag| flag.token == b"b") {
        if !decodes(meta.key_sent) {
            return Err(Error::new(Cause::Format));
        }
        meta.letters.insert(b'b');
    }
    Ok(())
}
