//! Classic requests, and the replies to classic and meta requests.

use format::{append, c};
use memchr::memchr;

use super::{Error, block};
use crate::Parsed;
use crate::memcached::line::{Words, trim};
use crate::memcached::meta::Flags;
use crate::memcached::number;
use crate::memcached::text::{Arithmetic, Delete, GetVerb, Store, StoreVerb, Touch};

/// The longest reply line.
pub const LINE_LENGTH_MAX: usize = 8192;

const NOREPLY: &[u8] = b" noreply";

/// Appends `get` or `gets` for these keys. For `gat` and `gats` see [`get_and_touch`].
#[inline]
pub fn get<'k>(out: &mut Vec<u8>, verb: GetVerb, keys: impl IntoIterator<Item = &'k [u8]>) {
    out.extend_from_slice(if verb.with_cas() { b"gets" } else { b"get" });
    words(out, keys);
}

/// Appends `gat` or `gats` for these keys.
pub fn get_and_touch<'k>(
    out: &mut Vec<u8>,
    verb: GetVerb,
    exptime: i64,
    keys: impl IntoIterator<Item = &'k [u8]>,
) {
    out.extend_from_slice(if verb.with_cas() { b"gats " } else { b"gat " });
    append!(out, "{exptime}");
    words(out, keys);
}

/// Appends a storing command with its value.
#[inline]
pub fn store(out: &mut Vec<u8>, store: &Store<'_>, value: &[u8]) {
    debug_assert_eq!(store.length, value.len() as u64);
    out.reserve(store.key.len() + value.len() + 80);
    store_line(out, store);
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// Appends the line of a storing command. The caller appends `length` bytes and a line end.
#[inline]
pub fn store_line(out: &mut Vec<u8>, store: &Store<'_>) {
    out.extend_from_slice(match store.verb {
        StoreVerb::Set => b"set ",
        StoreVerb::Add => b"add ",
        StoreVerb::Replace => b"replace ",
        StoreVerb::Append => b"append ",
        StoreVerb::Prepend => b"prepend ",
        StoreVerb::Cas => b"cas ",
    });
    c!(
        out,
        "%s %u %lld %llu",
        store.key,
        store.flags,
        store.exptime,
        store.length
    );
    if store.verb == StoreVerb::Cas {
        append!(out, " {}", store.cas);
    }
    end(out, store.noreply);
}

/// Appends `delete`.
pub fn delete(out: &mut Vec<u8>, delete: &Delete<'_>) {
    out.extend_from_slice(b"delete ");
    out.extend_from_slice(delete.key);
    end(out, delete.noreply);
}

/// Appends `incr` or `decr`.
pub fn arithmetic(out: &mut Vec<u8>, arithmetic: &Arithmetic<'_>) {
    out.extend_from_slice(if arithmetic.increment { b"incr " } else { b"decr " });
    c!(out, "%s %llu", arithmetic.key, arithmetic.delta);
    end(out, arithmetic.noreply);
}

/// Appends `touch`.
pub fn touch(out: &mut Vec<u8>, touch: &Touch<'_>) {
    c!(out, "touch %s %lld", touch.key, touch.exptime);
    end(out, touch.noreply);
}

/// Appends `flush_all`, with a delay in seconds or without.
pub fn flush_all(out: &mut Vec<u8>, delay: Option<i64>, noreply: bool) {
    out.extend_from_slice(b"flush_all");
    if let Some(delay) = delay {
        append!(out, " {delay}");
    }
    end(out, noreply);
}

/// Appends any other command: `version`, `stats settings`, `verbosity 1`.
pub fn command<'w>(out: &mut Vec<u8>, verb: &[u8], arguments: impl IntoIterator<Item = &'w [u8]>) {
    out.extend_from_slice(verb);
    words(out, arguments);
}

#[inline]
fn words<'w>(out: &mut Vec<u8>, words: impl IntoIterator<Item = &'w [u8]>) {
    for word in words {
        out.push(b' ');
        out.extend_from_slice(word);
    }
    out.extend_from_slice(b"\r\n");
}

#[inline]
fn end(out: &mut Vec<u8>, noreply: bool) {
    if noreply {
        out.extend_from_slice(NOREPLY);
    }
    out.extend_from_slice(b"\r\n");
}

/// A reply line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply<'a> {
    /// `VALUE`: the value follows.
    Value(Value<'a>),
    /// `END` of values or statistics.
    End,
    /// `STORED`.
    Stored,
    /// `NOT_STORED`.
    NotStored,
    /// `EXISTS`.
    Exists,
    /// `NOT_FOUND`.
    NotFound,
    /// `DELETED`.
    Deleted,
    /// `TOUCHED`.
    Touched,
    /// `OK`.
    Ok,
    /// `RESET`.
    Reset,
    /// The result of `incr` or `decr`.
    Number(u64),
    /// `VERSION`.
    Version(&'a [u8]),
    /// `STAT`.
    Stat {
        /// Its name.
        name: &'a [u8],
        /// Its value, possibly empty.
        value: &'a [u8],
    },
    /// The reply to a meta command; the value of a `VA` follows.
    Meta(Meta<'a>),
    /// `ME`: the rest of the line.
    Debug(&'a [u8]),
    /// `ERROR`, `CLIENT_ERROR`, `SERVER_ERROR`: the whole line.
    Error(&'a [u8]),
    /// Any other line.
    Other(&'a [u8]),
}

impl Reply<'_> {
    /// The length of the value that follows the line, without the line end after it.
    #[inline]
    pub fn value_length(&self) -> Option<u64> {
        match self {
            Reply::Value(value) => Some(value.length),
            Reply::Meta(Meta {
                status: MetaStatus::Va,
                length,
                ..
            }) => Some(*length),
            _ => None,
        }
    }
}

/// `VALUE <key> <flags> <length> [cas]`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The client's flags.
    pub flags: u32,
    /// The length of the value in bytes.
    pub length: u64,
    /// The cas of a reply to `gets` and `gats`.
    pub cas: Option<u64>,
}

/// The status of a reply to a meta command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetaStatus {
    /// Success, without a value.
    Hd,
    /// Success, with a value.
    Va,
    /// `mg` or `me` found nothing.
    En,
    /// Not found.
    Nf,
    /// Not stored.
    Ns,
    /// The cas differs.
    Ex,
    /// The reply to `mn`.
    Mn,
}

/// The reply to a meta command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta<'a> {
    /// The status.
    pub status: MetaStatus,
    /// The length of the value of a `VA`; 0 for the others.
    pub length: u64,
    /// The flags that the request selected.
    pub flags: Flags<'a>,
}

/// Reads a reply line. The value, if there is one, follows the used bytes.
#[inline]
pub fn parse(input: &[u8]) -> Parsed<Result<Reply<'_>, Error>> {
    match memchr(b'\n', input) {
        Some(end) => Parsed::Done(reply(trim(&input[..end])), end + 1),
        None if input.len() > LINE_LENGTH_MAX => {
            Parsed::Done(Err(Error::LineTooLong { max: LINE_LENGTH_MAX }), input.len())
        }
        None => Parsed::More(input.len() + 1),
    }
}

/// Reads a reply with its value, which is empty for a reply without one.
#[inline]
pub fn parse_whole(input: &[u8]) -> Parsed<Result<(Reply<'_>, &[u8]), Error>> {
    let (reply, line) = match parse(input) {
        Parsed::Done(Ok(reply), line) => (reply, line),
        Parsed::Done(Err(error), used) => return Parsed::Done(Err(error), used),
        Parsed::More(least) => return Parsed::More(least),
    };
    let Some(length) = reply.value_length() else {
        return Parsed::Done(Ok((reply, &[])), line);
    };
    match block::parse(&input[line..], length) {
        Parsed::Done(value, used) => Parsed::Done(value.map(|value| (reply, value)), line + used),
        Parsed::More(least) => Parsed::More(line.saturating_add(least)),
    }
}

/// Reads the value after a reply line.
pub fn parse_value(input: &[u8], length: u64) -> Parsed<Result<&[u8], Error>> {
    block::parse(input, length)
}

#[inline]
fn reply(line: &[u8]) -> Result<Reply<'_>, Error> {
    if let Some(rest) = line.strip_prefix(b"VALUE ") {
        return value(rest).map(Reply::Value).ok_or(Error::ValueLine);
    }
    if let [a, b] | [a, b, b' ', ..] = line
        && let Some(reply) = meta([*a, *b], &line[2..])
    {
        return reply;
    }
    Ok(match line {
        b"END" => Reply::End,
        b"STORED" => Reply::Stored,
        b"NOT_STORED" => Reply::NotStored,
        b"EXISTS" => Reply::Exists,
        b"NOT_FOUND" => Reply::NotFound,
        b"DELETED" => Reply::Deleted,
        b"TOUCHED" => Reply::Touched,
        b"OK" => Reply::Ok,
        b"RESET" => Reply::Reset,
        _ => rare(line),
    })
}

fn value(rest: &[u8]) -> Option<Value<'_>> {
    let mut words = Words::after(rest, 1);
    let key = words.next()?;
    let flags = number::unsigned_32(words.next()?)?;
    let length = number::unsigned_64(words.next()?)?;
    let cas = words.next();
    let cas = cas.map(number::unsigned_64);
    // The cas is optional, but it must parse.
    if cas == Some(None) {
        None
    } else {
        Some(Value {
            key,
            flags,
            length,
            cas: cas.flatten(),
        })
    }
}

fn meta<'a>(status: [u8; 2], rest: &'a [u8]) -> Option<Result<Reply<'a>, Error>> {
    let status = match &status {
        b"HD" => MetaStatus::Hd,
        b"VA" => MetaStatus::Va,
        b"EN" => MetaStatus::En,
        b"NF" => MetaStatus::Nf,
        b"NS" => MetaStatus::Ns,
        b"EX" => MetaStatus::Ex,
        b"MN" => MetaStatus::Mn,
        b"ME" => return Some(Ok(Reply::Debug(rest.get(1..).unwrap_or_default()))),
        _ => return None,
    };
    let mut words = Words::after(rest, 1);
    let length = match status {
        MetaStatus::Va => match words.next().and_then(number::unsigned_64) {
            Some(length) => length,
            None => return Some(Err(Error::MetaLine)),
        },
        _ => 0,
    };
    Some(Ok(Reply::Meta(Meta {
        status,
        length,
        flags: Flags { words },
    })))
}

fn rare(line: &[u8]) -> Reply<'_> {
    if let Some(rest) = line.strip_prefix(b"STAT ") {
        return match memchr(b' ', rest) {
            Some(at) => Reply::Stat {
                name: &rest[..at],
                value: &rest[at + 1..],
            },
            None => Reply::Stat {
                name: rest,
                value: &[],
            },
        };
    }
    if let Some(version) = line.strip_prefix(b"VERSION ") {
        return Reply::Version(version);
    }
    let is_error = [b"ERROR".as_slice(), b"CLIENT_ERROR", b"SERVER_ERROR"]
        .iter()
        .any(|head| line.starts_with(head));
    if is_error {
        return Reply::Error(line);
    }
    match line {
        // A result of `incr` or `decr`, unless it is malformed.
        [b'0'..=b'9', ..] => number::unsigned_64(line).map_or(Reply::Other(line), Reply::Number),
        _ => Reply::Other(line),
    }
}
