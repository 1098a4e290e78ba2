//! The parser of command lines.

use memchr::{memchr, memchr2};

use super::command::{
    Admin, AdminVerb, Arithmetic, CacheMemlimit, Command, Delete, FlushAll, Get, GetVerb, Shutdown, Store,
    StoreVerb, Touch, Verbosity,
};
use super::keys::parse_open;
use super::{Cause, Error, Keys, LENGTH_MAX, LINE_LENGTH_MAX, Words};
use crate::Parsed;
use crate::memcached::line::{cut, cut_key, line_end, trim};
use crate::memcached::meta::{self, MetaVerb};
use crate::memcached::{KEY_LENGTH_MAX, VALUE_LENGTH_MAX, number};

/// memcached refuses a shorter line, including its end, without looking at it.
const LINE_LENGTH_MIN: usize = 4;

/// Reads the command line at the head of the input.
///
/// The bytes used are those of the line. The data block of a storing command follows them.
#[inline]
pub fn parse(input: &[u8]) -> Parsed<Result<Command<'_>, Error>> {
    parse_within(input, LENGTH_MAX)
}

/// [`parse`] for a server whose items may be larger than memcached's: data blocks may have `length_max` bytes, but never
/// more than [`VALUE_LENGTH_MAX`](crate::memcached::VALUE_LENGTH_MAX).
#[inline]
pub fn parse_within(input: &[u8], length_max: u64) -> Parsed<Result<Command<'_>, Error>> {
    if let Some(rest) = input.strip_prefix(b"get ")
        && let Some(at) = memchr2(b' ', b'\n', rest)
        && rest[at] == b'\n'
    {
        // The most frequent command: one search finds the end of its only key.
        let key = trim(&rest[..at]);
        if !key.is_empty() && key.len() <= KEY_LENGTH_MAX {
            let get = Get {
                verb: GetVerb::Get,
                exptime: 0,
                keys: Keys::one(key),
                complete: true,
            };
            return Parsed::Done(Ok(Command::Get(get)), at + 5);
        }
    }
    parse_keyed(input, length_max.min(VALUE_LENGTH_MAX))
}

/// Fast paths for the other frequent commands. [`parse_line`] reads every unusual line.
#[inline(never)]
fn parse_keyed(input: &[u8], length_max: u64) -> Parsed<Result<Command<'_>, Error>> {
    match input {
        [b'm', letter @ (b'g' | b's' | b'd' | b'a'), b' ', text @ ..] => {
            let verb = match letter {
                b'g' => MetaVerb::Get,
                b's' => MetaVerb::Set,
                b'd' => MetaVerb::Delete,
                _ => MetaVerb::Arithmetic,
            };
            if let Some((meta, used)) = meta::parse_plain(verb, text, length_max) {
                return Parsed::Done(Ok(Command::Meta(meta)), 3 + used);
            }
        }
        [b's', b'e', b't', b' ', text @ ..] => {
            if let Some((store, used)) = plain_set(text, length_max) {
                return Parsed::Done(Ok(Command::Store(store)), 4 + used);
            }
        }
        _ => {}
    }
    parse_line(input, length_max)
}

/// A plain `set` from its key on, and the number of bytes to the end of its line.
#[inline]
fn plain_set(text: &[u8], length_max: u64) -> Option<(Store<'_>, usize)> {
    let at = memchr2(b' ', b'\n', text)?;
    let (key, rest) = text.split_at(at);
    let (flags, rest) = number::field(rest)?;
    let (exptime, rest) = number::field(rest)?;
    let (length, rest) = number::field(rest)?;
    let end = line_end(rest)?;
    if key.is_empty() || key.len() > KEY_LENGTH_MAX || length > length_max {
        return None;
    }
    // `field` reads at most nine digits, which fit both types.
    let (flags, exptime) = (flags as u32, exptime as i64);
    let store = Store {
        verb: StoreVerb::Set,
        key,
        flags,
        exptime,
        length,
        cas: 0,
        noreply: false,
    };
    Some((store, text.len() - rest.len() + end))
}

#[inline(never)]
fn parse_line(input: &[u8], length_max: u64) -> Parsed<Result<Command<'_>, Error>> {
    match memchr(b'\n', input) {
        Some(end) if end + 1 < LINE_LENGTH_MIN => Parsed::Done(Err(Error::new(Cause::Format)), end + 1),
        Some(end) => Parsed::Done(command(trim(&input[..end]), length_max), end + 1),
        None if input.len() > LINE_LENGTH_MAX => long_line(input),
        None => Parsed::More(input.len() + 1),
    }
}

/// Parses a line without its end.
fn command(line: &[u8], length_max: u64) -> Result<Command<'_>, Error> {
    // A line that begins with a space has an empty verb, as in memcached.
    let (verb, rest) = cut(line);
    match verb {
        b"get" => get(GetVerb::Get, rest),
        b"set" => keyed_store(StoreVerb::Set, rest, length_max),
        b"mg" => keyed_meta(MetaVerb::Get, rest, length_max),
        b"ms" => keyed_meta(MetaVerb::Set, rest, length_max),
        b"md" => keyed_meta(MetaVerb::Delete, rest, length_max),
        b"ma" => keyed_meta(MetaVerb::Arithmetic, rest, length_max),
        b"me" => keyed_meta(MetaVerb::Debug, rest, length_max),
        b"mn" => Ok(Command::Meta(meta::Meta::no_op())),
        b"gets" => get(GetVerb::Gets, rest),
        b"gat" => get_and_touch(GetVerb::Gat, rest),
        b"gats" => get_and_touch(GetVerb::Gats, rest),
        b"add" => keyed_store(StoreVerb::Add, rest, length_max),
        b"cas" => keyed_store(StoreVerb::Cas, rest, length_max),
        b"append" => keyed_store(StoreVerb::Append, rest, length_max),
        b"prepend" => keyed_store(StoreVerb::Prepend, rest, length_max),
        b"replace" => keyed_store(StoreVerb::Replace, rest, length_max),
        b"delete" => delete(rest),
        b"incr" => arithmetic(true, rest),
        b"decr" => arithmetic(false, rest),
        b"touch" => touch(rest),
        b"quit" => Ok(Command::Quit),
        b"version" => Ok(Command::Version),
        b"stats" => Ok(Command::Stats(Words::after(rest, 1))),
        b"watch" => Ok(Command::Watch(Words::after(rest, 1))),
        _ => rare(line),
    }
}

fn format_error() -> Error {
    Error::new(Cause::Format)
}

/// The key, or an error if it is too long.
#[inline]
fn measured(key: &[u8], noreply: bool) -> Result<&[u8], Error> {
    if key.len() > KEY_LENGTH_MAX {
        Err(format_error().silent_if(noreply))
    } else {
        Ok(key)
    }
}

fn get(verb: GetVerb, rest: &[u8]) -> Result<Command<'_>, Error> {
    let keys = Keys::measured(rest)?;
    if keys.is_empty() {
        return Err(format_error());
    }
    Ok(Command::Get(Get {
        verb,
        exptime: 0,
        keys,
        complete: true,
    }))
}

fn get_and_touch(verb: GetVerb, rest: &[u8]) -> Result<Command<'_>, Error> {
    let mut words = Words::after(rest, 1);
    let exptime = words.next().ok_or_else(format_error)?;
    let keys = Keys::measured(words.rest());
    if keys.is_ok_and(|keys| keys.is_empty()) {
        return Err(format_error());
    }
    let exptime = i64::from(number::signed_32(exptime).ok_or(Error::new(Cause::Exptime))?);
    Ok(Command::Get(Get {
        verb,
        exptime,
        keys: keys?,
        complete: true,
    }))
}

/// An unfinished line that is longer than the limit: only get commands may have one.
#[cold]
fn long_line(input: &[u8]) -> Parsed<Result<Command<'_>, Error>> {
    let (verb, start) = match cut(input) {
        (b"get", _) => (GetVerb::Get, 4),
        (b"gets", _) => (GetVerb::Gets, 5),
        (b"gat", _) => (GetVerb::Gat, 4),
        (b"gats", _) => (GetVerb::Gats, 5),
        _ => return Parsed::Done(Err(Error::new(Cause::LineTooLong)), input.len()),
    };
    let (exptime, start) = if verb.touches() {
        let mut words = Words::after(&input[start..], 1);
        let Some(exptime) = words.next().and_then(number::signed_32) else {
            return Parsed::Done(Err(Error::new(Cause::Exptime).in_open_line(true)), input.len());
        };
        (i64::from(exptime), input.len() - words.rest().len())
    } else {
        (0, start)
    };
    match parse_open(&input[start..]) {
        Parsed::Done(run, used) => {
            let get = run.map(|run| Get {
                verb,
                exptime,
                keys: run.keys,
                complete: false,
            });
            Parsed::Done(get.map(Command::Get), start + used)
        }
        // The line has no key yet.
        Parsed::More(more) => Parsed::More(start + more),
    }
}

fn keyed_meta(verb: MetaVerb, rest: &[u8], length_max: u64) -> Result<Command<'_>, Error> {
    match cut_key(rest) {
        ([], _) => Err(format_error()),
        (key, rest) => meta::parse(verb, key, rest, length_max).map(Command::Meta),
    }
}

fn keyed_store(verb: StoreVerb, rest: &[u8], length_max: u64) -> Result<Command<'_>, Error> {
    match cut_key(rest) {
        ([], _) => Err(format_error()),
        (key, rest) => store(verb, key, rest, length_max),
    }
}

/// `<flags> <exptime> <length> [cas] [noreply]`
fn store<'a>(verb: StoreVerb, key: &'a [u8], rest: &[u8], length_max: u64) -> Result<Command<'a>, Error> {
    let mut words = Words::after(rest, 2);
    let flags_tail = words.rest();
    let flags = words.next().ok_or_else(format_error)?;
    let exptime_tail = words.rest();
    let exptime = words.next().ok_or_else(format_error)?;
    let length = words.next().ok_or_else(format_error)?;
    // Without a length the end of the data block is unknown. Like memcached, we read its lines as commands.
    let length = number::length(length, length_max).ok_or_else(format_error)?;
    let cas = words.clone().next();
    let noreply = words.ends_with_noreply();
    let refused = || format_error().silent_if(noreply).before_block(length);
    if key.len() > KEY_LENGTH_MAX {
        return Err(refused());
    }
    let flags = number::flags(flags, flags_tail).ok_or_else(refused)?;
    let exptime = i64::from(number::exptime(exptime, exptime_tail).ok_or_else(refused)?);
    let cas = match verb {
        StoreVerb::Cas => cas.and_then(number::unsigned_64).ok_or_else(refused)?,
        _ => 0,
    };
    Ok(Command::Store(Store {
        verb,
        key,
        flags,
        exptime,
        length,
        cas,
        noreply,
    }))
}

/// `<key> [0] [noreply]`
///
/// memcached 1.6 ignores words after the key; libmemcached's conformance test expects an error, as older versions
/// returned. Accepting `noreply` and a lone `0`, and refusing everything else, satisfies both.
fn delete(rest: &[u8]) -> Result<Command<'_>, Error> {
    let mut words = Words::after(rest, 1);
    let key = words.next().ok_or_else(format_error)?;
    let noreply = words.clone().ends_with_noreply();
    let key = measured(key, noreply)?;
    let lenient = noreply || matches!((words.next(), words.next()), (None | Some(b"0"), None));
    if !lenient {
        return Err(Error::new(Cause::DeleteUsage));
    }
    Ok(Command::Delete(Delete { key, noreply }))
}

/// `<key> <delta> [noreply]`
fn arithmetic(increment: bool, rest: &[u8]) -> Result<Command<'_>, Error> {
    let mut words = Words::after(rest, 1);
    let key = words.next().ok_or_else(format_error)?;
    let noreply = words.clone().ends_with_noreply();
    let delta = words.next().ok_or_else(format_error)?;
    let key = measured(key, noreply)?;
    let delta = number::unsigned_64(delta).ok_or(Error::new(Cause::Delta).silent_if(noreply))?;
    Ok(Command::Arithmetic(Arithmetic {
        increment,
        key,
        delta,
        noreply,
    }))
}

/// `<key> <exptime> [noreply]`
fn touch(rest: &[u8]) -> Result<Command<'_>, Error> {
    let mut words = Words::after(rest, 1);
    let key = words.next().ok_or_else(format_error)?;
    let noreply = words.clone().ends_with_noreply();
    let exptime = words.next().ok_or_else(format_error)?;
    let key = measured(key, noreply)?;
    let exptime = number::signed_32(exptime).ok_or(Error::new(Cause::Exptime).silent_if(noreply))?;
    Ok(Command::Touch(Touch {
        key,
        exptime: i64::from(exptime),
        noreply,
    }))
}

/// The commands that memcached looks up last. They may have leading spaces, and all accept `noreply`.
#[cold]
fn rare(line: &[u8]) -> Result<Command<'_>, Error> {
    let all = Words::of_line(line);
    let noreply = all.clone().ends_with_noreply();
    let mut words = all.clone();
    let verb = words.next().unwrap_or_default();
    let argument = words.clone().next();
    let admin = |verb| {
        Ok(Command::Admin(Admin {
            verb,
            words: words.clone(),
            noreply,
        }))
    };
    match verb {
        b"flush_all" => {
            let bare = all.count() == if noreply { 2 } else { 1 };
            let delay = if bare {
                Some(0)
            } else {
                argument.and_then(number::signed_32)
            };
            let delay = delay
                .map(i64::from)
                .ok_or(Error::new(Cause::Exptime).silent_if(noreply));
            Ok(Command::FlushAll(FlushAll { delay, noreply }))
        }
        b"verbosity" => match argument.and_then(number::unsigned_32) {
            Some(level) => Ok(Command::Verbosity(Verbosity { level, noreply })),
            None => Err(format_error().silent_if(noreply)),
        },
        b"cache_memlimit" => match argument.and_then(number::unsigned_32) {
            Some(megabytes) => Ok(Command::CacheMemlimit(CacheMemlimit { megabytes, noreply })),
            None => Err(Error::new(Cause::Unknown).silent_if(noreply)),
        },
        b"shutdown" => {
            let graceful = match (argument, words.clone().count()) {
                (None, _) => Ok(false),
                (Some(b"graceful"), 1) => Ok(true),
                _ => Err(Error::new(Cause::ShutdownMode).silent_if(noreply)),
            };
            Ok(Command::Shutdown(Shutdown { graceful, noreply }))
        }
        b"lru" => admin(AdminVerb::Lru),
        b"lru_crawler" => admin(AdminVerb::LruCrawler),
        b"slabs" => admin(AdminVerb::Slabs),
        b"extstore" => admin(AdminVerb::Extstore),
        b"refresh_certs" => admin(AdminVerb::RefreshCertificates),
        _ if argument.is_some() && all.last().is_some_and(|word| word.starts_with(b"HTTP/")) => {
            Err(Error::new(Cause::Http))
        }
        _ => Err(Error::new(Cause::Unknown).silent_if(noreply)),
    }
}
