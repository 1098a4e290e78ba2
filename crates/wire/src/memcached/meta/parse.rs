//! The parser of everything that follows a meta verb.
//!
//! memcached makes three passes over a line. Its tokenizer refuses a flag with an invalid first character. The flag
//! parser stops at a repeated or unknown flag, but continues after a malformed number and reports the last one. The
//! command checks its mode and its opaque token. The order decides which error a client sees, so this parser keeps it.

use super::command::{Flag, Flags, Meta, MetaVerb, Mode, OPAQUE_LENGTH_MAX};
use crate::memcached::base64;
use crate::memcached::error::{Cause, Error};
use crate::memcached::line::Words;
use crate::memcached::{KEY_LENGTH_MAX, number};

/// The largest number of words in a command, including its verb.
const WORDS_OF_COMMAND_MAX: usize = 20;

/// Reads a command from its key and the rest of the line.
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

/// Whether memcached's tokenizer accepts this as the first byte of a flag.
#[inline]
fn begins_flag(byte: u8) -> bool {
    matches!(byte, b'A'..=b'z' | b'0'..=b'9')
}

/// Reads the flags.
fn flags(meta: &mut Meta<'_>) -> Result<(), Error> {
    let mut count = if meta.verb == MetaVerb::Set { 3 } else { 2 };
    let mut stopped = None;
    let mut mistake = None;
    for flag in meta.flags() {
        count += 1;
        if !begins_flag(flag.name) {
            // memcached then finds no words in the line, and so no length of a data block to skip.
            return Err(Error::new(Cause::Format));
        }
        if stopped.is_some() || meta.verb == MetaVerb::Debug {
            continue;
        }
        // The only characters below `A` are digits, which no flag uses.
        if flag.name >= b'A' && !meta.flag_set.insert(flag.name) {
            stopped = Some(Cause::FlagDuplicate);
            continue;
        }
        match check(meta.key_sent, flag) {
            Checked::Known => {}
            Checked::Unknown => stopped = Some(Cause::FlagInvalid),
            Checked::Mistake(cause) => mistake = cause.or(mistake).or(Some(Cause::Format)),
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

/// `ma` has one reply for all errors in its flags.
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

/// The data block of `ms` follows its line even if the line is refused.
#[cold]
fn refused(meta: &Meta<'_>, cause: Cause) -> Error {
    match meta.verb {
        MetaVerb::Set => Error::new(cause).before_block(meta.length),
        _ => Error::new(cause),
    }
}

/// The result of checking one flag.
enum Checked {
    Known,
    Unknown,
    /// The argument is malformed. Without a cause, an earlier one stays.
    Mistake(Option<Cause>),
}

fn check(key: &[u8], flag: Flag<'_>) -> Checked {
    let argument = flag.argument();
    let checked = |readable: bool, cause| match readable && !argument.is_empty() {
        true => Checked::Known,
        false => Checked::Mistake(cause),
    };
    match flag.name {
        b'v' | b't' | b'f' | b'c' | b'k' | b's' | b'q' | b'h' | b'l' | b'u' | b'x' => Checked::Known,
        b'I' | b'O' | b'P' | b'L' | b'M' => Checked::Known,
        b'T' | b'N' | b'R' => checked(number::signed_32(argument).is_some(), Some(Cause::FlagToken)),
        b'C' | b'E' => checked(number::unsigned_64(argument).is_some(), Some(Cause::FlagToken)),
        b'J' => checked(number::unsigned_64(argument).is_some(), Some(Cause::FlagInitial)),
        b'D' => checked(number::unsigned_64(argument).is_some(), Some(Cause::FlagDelta)),
        // memcached does not set a cause for this error, so an earlier one stays.
        b'F' => checked(number::unsigned_32(argument).is_some(), None),
        b'b' if decodes(key) => Checked::Known,
        b'b' => Checked::Mistake(Some(Cause::KeyEncoding)),
        _ => Checked::Unknown,
    }
}

fn decodes(key: &[u8]) -> bool {
    base64::decode(key, &mut [0; KEY_LENGTH_MAX]).is_some()
}

/// Checks the command's mode and its opaque token.
#[inline]
fn finish(meta: &mut Meta<'_>) -> Result<(), Error> {
    if meta.has(b'M') {
        // Only the first character of the argument counts.
        let mode = meta
            .flags()
            .find(|flag| flag.name == b'M')
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

fn store_mode(mode: Option<u8>) -> Option<Mode> {
    match mode? {
        b'S' => Some(Mode::Set),
        b'E' => Some(Mode::Add),
        b'A' => Some(Mode::Append),
        b'P' => Some(Mode::Prepend),
        b'R' => Some(Mode::Replace),
        _ => None,
    }
}

fn decrement(mode: Option<u8>) -> Option<bool> {
    match mode? {
        b'I' | b'+' => Some(false),
        b'D' | b'-' => Some(true),
        _ => None,
    }
}

/// `me` ignores its flags, except for a leading `b`.
fn debug(meta: &mut Meta<'_>) -> Result<(), Error> {
    if meta.flags().next().is_some_and(|flag| flag.token == b"b") {
        if !decodes(meta.key_sent) {
            return Err(Error::new(Cause::Format));
        }
        meta.flag_set.insert(b'b');
    }
    Ok(())
}
