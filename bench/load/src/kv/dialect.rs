//! The requests of the load in the dialects of the memcached protocol and in Redis's: get, get of many keys, set.
//!
//! `wire` encodes and parses; this module decides which requests make up one get or set, and what a reply means for it.
//! Values are not buffered: a head has the length of the value, and the client checks or skips its bytes as they
//! arrive, so replies of a megabyte need no buffer.

use super::Protocol;
use super::items::Items;
use super::resp;
use crate::tally::printable;
use wire::Parsed;
use wire::memcached::binary::Opcode;
use wire::memcached::client::text::{Meta, MetaStatus, Reply};
use wire::memcached::client::{binary, meta, text};
use wire::memcached::meta::MetaVerb;
use wire::memcached::text::{GetVerb, Store, StoreVerb};

/// The head of a reply.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Head<'a> {
    /// A value follows, with `frame` bytes after it that belong to its frame. `last` if it ends the reply.
    Value {
        key: Option<&'a [u8]>,
        length: u64,
        frame: usize,
        last: bool,
    },
    /// The end of the reply to a get.
    End,
    /// The answer to a set.
    Stored,
    /// An error or a refusal, with its text.
    Failed(&'a [u8]),
}

/// The line end after a value in the text and meta dialects and in RESP.
pub(super) const LINE_END: &[u8] = b"\r\n";

/// Appends a get of one item or of many. `keys` is a scratch buffer.
pub(crate) fn get(protocol: Protocol, items: &Items, wanted: &[u64], keys: &mut Vec<u8>, out: &mut Vec<u8>) {
    keys.clear();
    wanted.iter().for_each(|item| items.key(*item, keys));
    let keys = keys.chunks_exact(items.key_size());
    match protocol {
        Protocol::Text => text::get(out, GetVerb::Get, keys),
        Protocol::Meta if wanted.len() == 1 => keys.for_each(|key| meta_get(key, b"v", out)),
        Protocol::Meta => {
            keys.for_each(|key| meta_get(key, b"kvq", out));
            meta::no_op(out);
        }
        Protocol::Resp => keys.for_each(|key| resp::get(key, out)),
        Protocol::Binary if wanted.len() == 1 => keys.for_each(|key| binary::key(out, Opcode::GET, 0, key)),
        Protocol::Binary => {
            keys.for_each(|key| binary::key(out, Opcode::GETKQ, 0, key));
            binary::bare(out, Opcode::NOOP, 0);
        }
    }
}

/// Appends a set of an item to its value. `key` is a scratch buffer.
pub(crate) fn set(protocol: Protocol, items: &Items, item: u64, key: &mut Vec<u8>, out: &mut Vec<u8>) {
    key.clear();
    items.key(item, key);
    let length = items.value_size() as u64;
    match protocol {
        Protocol::Text => {
            let (verb, flags, exptime, cas) = (StoreVerb::Set, 0, 0, 0);
            text::store_line(
                out,
                &Store {
                    verb,
                    key,
                    flags,
                    exptime,
                    length,
                    cas,
                    noreply: false,
                },
            );
        }
        Protocol::Meta => {
            meta::begin(out, MetaVerb::Set, key, Some(length));
            meta::end(out);
        }
        Protocol::Resp => return resp::set(items, item, key, out),
        Protocol::Binary => {
            const FLAGS_AND_EXPIRY: [u8; 8] = [0; 8];
            binary::request(out, Opcode::SET, 0, 0, &FLAGS_AND_EXPIRY, key, length as u32);
            return items.value(item, out);
        }
    }
    items.value(item, out);
    out.extend_from_slice(LINE_END);
}

/// Reads a head and returns it with its length. `None` if it is incomplete; an error if it is malformed.
pub(crate) fn head(protocol: Protocol, input: &[u8]) -> Result<Option<(Head<'_>, usize)>, String> {
    match protocol {
        Protocol::Text | Protocol::Meta => line(input),
        Protocol::Binary => binary_head(input),
        Protocol::Resp => resp::head(input),
    }
}

fn meta_get(key: &[u8], flags: &[u8], out: &mut Vec<u8>) {
    meta::begin(out, MetaVerb::Get, key, None);
    flags.iter().for_each(|flag| meta::flag(out, *flag));
    meta::end(out);
}

fn line(input: &[u8]) -> Result<Option<(Head<'_>, usize)>, String> {
    let nonsense = || printable(input);
    let (reply, used) = match text::parse(input) {
        Parsed::Done(reply, used) => (reply.map_err(|error| format!("{error}: {}", nonsense()))?, used),
        Parsed::More(_) => return Ok(None),
    };
    let head = match reply {
        Reply::Value(value) => Head::Value {
            key: Some(value.key),
            length: value.length,
            frame: LINE_END.len(),
            last: false,
        },
        Reply::End => Head::End,
        Reply::Stored => Head::Stored,
        Reply::Error(text) => Head::Failed(text),
        Reply::NotStored => Head::Failed(b"NOT_STORED"),
        Reply::Meta(meta) => meta_head(meta).ok_or_else(nonsense)?,
        _ => return Err(nonsense()),
    };
    Ok(Some((head, used)))
}

fn meta_head(meta: Meta<'_>) -> Option<Head<'_>> {
    match meta.status {
        // A value without its key ends its request. One with its key belongs to a get of many, which a no-op ends.
        MetaStatus::Va => {
            let mut flags = meta.flags;
            let key = flags.find(|flag| flag.name == b'k').map(|flag| &flag.token[1..]);
            Some(Head::Value {
                key,
                length: meta.length,
                frame: LINE_END.len(),
                last: key.is_none(),
            })
        }
        MetaStatus::En | MetaStatus::Mn => Some(Head::End),
        MetaStatus::Hd => Some(Head::Stored),
        MetaStatus::Ns => Some(Head::Failed(b"NS")),
        MetaStatus::Nf | MetaStatus::Ex => None,
    }
}

fn binary_head(input: &[u8]) -> Result<Option<(Head<'_>, usize)>, String> {
    const KEY_NOT_FOUND: u16 = 1;
    let (response, used) = match binary::parse(input) {
        Parsed::Done(response, used) => (response.map_err(|error| error.to_string())?, used),
        Parsed::More(_) => return Ok(None),
    };
    let is_get = matches!(response.opcode, Opcode::GET | Opcode::GETKQ);
    if response.is_success() && is_get {
        let key = (!response.key.is_empty()).then_some(response.key);
        let (length, last) = (u64::from(response.value_length), response.opcode == Opcode::GET);
        return Ok(Some((
            Head::Value {
                key,
                length,
                frame: 0,
                last,
            },
            used,
        )));
    }
    let whole = used + response.value_length as usize;
    let Some(text) = input.get(used..whole) else {
        return Ok(None);
    };
    let head = match (response.status, response.opcode) {
        (0, Opcode::SET) => Head::Stored,
        (0, Opcode::NOOP) => Head::End,
        (KEY_NOT_FOUND, _) if is_get => Head::End,
        _ => Head::Failed(text),
    };
    Ok(Some((head, whole)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER_SIZE: usize = 24;

    fn requests(protocol: Protocol) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
        let items = Items::new(100, 12, 5).expect("fits");
        let (mut one, mut many, mut store, mut scratch) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        get(protocol, &items, &[7], &mut scratch, &mut one);
        get(protocol, &items, &[7, 8], &mut scratch, &mut many);
        set(protocol, &items, 7, &mut scratch, &mut store);
        (one, many, store)
    }

    #[test]
    fn text_requests_are_as_documented() {
        let (one, many, store) = requests(Protocol::Text);
        assert_eq!(one, b"get hi0000000007\r\n");
        assert_eq!(many, b"get hi0000000007 hi0000000008\r\n");
        assert_eq!(store, b"set hi0000000007 0 0 5\r\n00007\r\n");
    }

    #[test]
    fn meta_requests_are_as_documented() {
        let (one, many, store) = requests(Protocol::Meta);
        assert_eq!(one, b"mg hi0000000007 v\r\n");
        assert_eq!(many, b"mg hi0000000007 k v q\r\nmg hi0000000008 k v q\r\nmn\r\n");
        assert_eq!(store, b"ms hi0000000007 5\r\n00007\r\n");
    }

    #[test]
    fn binary_requests_are_as_documented() {
        let (one, many, store) = requests(Protocol::Binary);
        assert_eq!(one[..12], [0x80, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 12]);
        assert_eq!(&one[24..], b"hi0000000007");
        assert_eq!(many.len(), 3 * 24 + 2 * 12);
        assert_eq!(many[2 * 36 + 1], 0x0a);
        assert_eq!(store[..12], [0x80, 1, 0, 12, 8, 0, 0, 0, 0, 0, 0, 25]);
        assert_eq!(&store[32..], b"hi000000000700007");
    }

    #[test]
    fn heads_in_lines_are_understood() {
        let read = |input: &'static str| line(input.as_bytes()).map(|parsed| parsed.map(|(head, _)| head));
        let value = |key: Option<&'static [u8]>, last| {
            Ok(Some(Head::Value {
                key,
                length: 5,
                frame: 2,
                last,
            }))
        };
        assert_eq!(read("VALUE abc 0 5\r\nxx"), value(Some(b"abc"), false));
        assert_eq!(read("VALUE abc 0 5 17\r\n"), value(Some(b"abc"), false));
        assert_eq!(read("VA 5\r\n"), value(None, true));
        assert_eq!(read("VA 5 kabc\r\n"), value(Some(b"abc"), false));
        assert_eq!(read("END\r\n"), Ok(Some(Head::End)));
        assert_eq!(read("EN\r\n"), Ok(Some(Head::End)));
        assert_eq!(read("HD\r\n"), Ok(Some(Head::Stored)));
        assert_eq!(
            read("SERVER_ERROR out of memory\r\n"),
            Ok(Some(Head::Failed(b"SERVER_ERROR out of memory")))
        );
        assert_eq!(read("VALUE abc"), Ok(None));
        assert!(read("HTTP/1.1 200 OK\r\n").is_err());
        assert!(read("VALUE abc 0 x\r\n").is_err());
        assert!(read("VA\r\n").is_err());
    }

    #[test]
    fn heads_of_binary_replies_are_understood() {
        let reply = |opcode: Opcode, status: u8, extras: u8, body: &[u8]| {
            let mut reply = vec![
                0x81,
                opcode.0,
                0,
                0,
                extras,
                0,
                0,
                status,
                0,
                0,
                0,
                body.len() as u8,
            ];
            reply.resize(HEADER_SIZE, 0);
            reply.extend_from_slice(body);
            reply
        };
        let value = reply(Opcode::GET, 0, 4, b"ffffabc");
        let expected = Head::Value {
            key: None,
            length: 3,
            frame: 0,
            last: true,
        };
        assert_eq!(binary_head(&value), Ok(Some((expected, 28))));
        assert_eq!(binary_head(&value[..27]), Ok(None));
        assert_eq!(
            binary_head(&reply(Opcode::GET, 1, 0, b"Not found")),
            Ok(Some((Head::End, 33)))
        );
        assert_eq!(
            binary_head(&reply(Opcode::SET, 0, 0, b"")),
            Ok(Some((Head::Stored, 24)))
        );
        assert_eq!(
            binary_head(&reply(Opcode::NOOP, 0, 0, b"")),
            Ok(Some((Head::End, 24)))
        );
        let refusal = reply(Opcode::SET, 3, 0, b"Too large");
        assert_eq!(binary_head(&refusal), Ok(Some((Head::Failed(b"Too large"), 33))));
        assert_eq!(binary_head(&refusal[..30]), Ok(None));
        assert!(binary_head(b"ERROR\r\n").is_err());
    }
}
