//! From the words after a meta verb to a command.
//!
//! memcached looks at a line three times: first its tokenizer refuses any flag that does not begin like one, then it
//! reads the flags, where a repeated or unknown letter ends the reading but an unreadable number only marks the
//! command as wrong (the last such mistake names the error), and last the command looks at its mode and its opaque
//! token. Which error a client sees depends on that order, so it is kept here.
//!
//! Deliberate differences: an opaque token that is too long is refused before the command has an effect, and `me`
//! decodes its key whenever its first flag is `b`, as the protocol's description says.

use super::command::{Flags, Meta, MetaVerb, Mode, OPAQUE_LENGTH_MAX};
use crate::memcached::base64;
use crate::memcached::line::Words;
use crate::memcached::text::{Cause, Error};
use crate::memcached::{KEY_LENGTH_MAX, number};

/// So many words may a command have, its verb included.
const WORDS_OF_COMMAND_MAX: usize = 20;

/// Reads what follows the verb.
pub(in crate::memcached) fn parse(verb: MetaVerb, rest: &[u8], length_max: u64) -> Result<Meta<'_>, Error> {
    let mut words = Words::after(rest, 1);
    let key = words.next().ok_or(Error::new(Cause::Format))?;
    let length = if verb == MetaVerb::Set {
        words
            .next()
            .and_then(|word| number::length(word, length_max))
            .ok_or(Error::new(Cause::Format))?
    } else {
        0
    };
    flags(Meta {
        length,
        ..Meta::bare(verb, key, Flags { words })
    })
}

/// What memcached's tokenizer lets pass as the first byte of a flag.
#[inline]
fn begins_flag(letter: u8) -> bool {
    matches!(letter, b'A'..=b'z' | b'0'..=b'9')
}

/// Reads the flags.
fn flags(mut meta: Meta<'_>) -> Result<Meta<'_>, Error> {
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
        match read(&mut meta, flag.letter, flag.argument()) {
            Read::Known => {}
            Read::Unknown => stopped = Some(Cause::FlagInvalid),
            Read::Mistake(cause) => mistake = cause.or(mistake).or(Some(Cause::Format)),
        }
    }
    if meta.key_sent.len() > KEY_LENGTH_MAX {
        return Err(wrong_flags(&meta, Cause::Format));
    }
    if meta.verb == MetaVerb::Debug {
        return debug(meta);
    }
    if count > WORDS_OF_COMMAND_MAX {
        return Err(wrong_flags(&meta, Cause::FlagsTooMany));
    }
    match stopped.or(mistake) {
        Some(cause) => Err(wrong_flags(&meta, cause)),
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

#[inline]
fn read(meta: &mut Meta<'_>, letter: u8, argument: &[u8]) -> Read {
    match letter {
        b'v' | b't' | b'f' | b'c' | b'k' | b's' | b'q' | b'h' | b'l' | b'u' | b'x' | b'I' | b'O' | b'P'
        | b'L' | b'M' => Read::Known,
        b'T' => signed(argument, &mut meta.exptime),
        b'N' => signed(argument, &mut meta.vivify),
        b'R' => signed(argument, &mut meta.recache),
        b'C' => unsigned(argument, &mut meta.cas, Cause::FlagToken),
        b'E' => unsigned(argument, &mut meta.cas_new, Cause::FlagToken),
        b'J' => unsigned(argument, &mut meta.initial, Cause::FlagInitial),
        b'D' => unsigned(argument, &mut meta.delta, Cause::FlagDelta),
        b'F' => match number::unsigned_32(argument).filter(|_| !argument.is_empty()) {
            Some(flags) => {
                meta.client_flags = flags;
                Read::Known
            }
            // memcached forgets to name this error: an earlier one stands.
            None => Read::Mistake(None),
        },
        b'b' => match decodes(meta.key_sent) {
            true => Read::Known,
            false => Read::Mistake(Some(Cause::KeyEncoding)),
        },
        _ => Read::Unknown,
    }
}

fn signed(argument: &[u8], field: &mut i64) -> Read {
    match number::signed_32(argument).filter(|_| !argument.is_empty()) {
        Some(number) => {
            *field = i64::from(number);
            Read::Known
        }
        None => Read::Mistake(Some(Cause::FlagToken)),
    }
}

fn unsigned(argument: &[u8], field: &mut u64, cause: Cause) -> Read {
    match number::unsigned_64(argument).filter(|_| !argument.is_empty()) {
        Some(number) => {
            *field = number;
            Read::Known
        }
        None => Read::Mistake(Some(cause)),
    }
}

fn decodes(key: &[u8]) -> bool {
    base64::decode(key, &mut [0; KEY_LENGTH_MAX]).is_some()
}

/// What the command itself looks at: its mode and its opaque token.
#[inline]
fn finish(mut meta: Meta<'_>) -> Result<Meta<'_>, Error> {
    if meta.has(b'M') {
        // The first character after the letter counts, and the line's end is none.
        let mode = meta
            .flags()
            .find(|flag| flag.letter == b'M')
            .and_then(|flag| flag.argument().first().copied());
        match meta.verb {
            MetaVerb::Set => match store_mode(mode) {
                Some(mode) => meta.mode = mode,
                None => return Err(refused(&meta, Cause::ModeStore)),
            },
            MetaVerb::Arithmetic => match decrement(mode) {
                Some(decrement) => meta.decrement = decrement,
                None => return Err(refused(&meta, Cause::ModeArithmetic)),
            },
            _ => {}
        }
    }
    if meta.opaque().is_some_and(|token| token.len() > OPAQUE_LENGTH_MAX) {
        return Err(refused(&meta, Cause::OpaqueTooLong));
    }
    Ok(meta)
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
fn debug(mut meta: Meta<'_>) -> Result<Meta<'_>, Error> {
    if meta.flags().next().is_some_and(|flag| flag.token == b"b") {
        if !decodes(meta.key_sent) {
            return Err(Error::new(Cause::Format));
        }
        meta.letters.insert(b'b');
    }
    Ok(meta)
}
