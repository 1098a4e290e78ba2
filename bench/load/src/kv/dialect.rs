//! Requests and reply heads in the three dialects of the memcached protocol.
//!
//! Only what a load needs: get, get of many keys, set. Values are not parsed but passed by: a head says how long the value
//! is, and the session takes or checks its bytes as they come, so that replies of a megabyte need no buffer.

use super::Protocol;
use super::items::Items;
use memchr::memchr;

/// The start of a reply, as far as it has a meaning of its own.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Head<'a> {
    /// A value follows, with so many bytes behind it that belong to the frame. `last` if it ends the reply.
    Value {
        key: Option<&'a [u8]>,
        length: usize,
        frame: usize,
        last: bool,
    },
    /// The end of the reply to a get.
    End,
    /// The answer to a set.
    Stored,
    /// An error or a refusal in words.
    Failed(&'a [u8]),
}

/// A head with the bytes that it takes.
pub(crate) type Parsed<'a> = Option<(Head<'a>, usize)>;

/// No line of a reply is longer, value lines with the longest key included.
const LINE_MAX: usize = 2048;

/// Appends a get of one item, or of many.
pub(crate) fn get(protocol: Protocol, items: &Items, wanted: &[u64], out: &mut Vec<u8>) {
    match (protocol, wanted) {
        (Protocol::Text, _) => {
            out.extend_from_slice(b"get");
            for item in wanted {
                out.push(b' ');
                items.key(*item, out);
            }
            out.extend_from_slice(b"\r\n");
        }
        (Protocol::Meta, [item]) => meta_get(items, *item, b" v\r\n", out),
        (Protocol::Meta, _) => {
            wanted
                .iter()
                .for_each(|item| meta_get(items, *item, b" k v q\r\n", out));
            out.extend_from_slice(b"mn\r\n");
        }
        (Protocol::Binary, [item]) => binary_get(opcode::GET, items, *item, out),
        (Protocol::Binary, _) => {
            wanted
                .iter()
                .for_each(|item| binary_get(opcode::GETKQ, items, *item, out));
            binary_header(opcode::NOOP, 0, 0, 0, out);
        }
    }
}

/// Appends a set of an item to its value.
pub(crate) fn set(protocol: Protocol, items: &Items, item: u64, out: &mut Vec<u8>) {
    match protocol {
        Protocol::Text => {
            out.extend_from_slice(b"set ");
            items.key(item, out);
            out.extend_from_slice(b" 0 0 ");
        }
        Protocol::Meta => {
            out.extend_from_slice(b"ms ");
            items.key(item, out);
            out.push(b' ');
        }
        Protocol::Binary => {
            const FLAGS_AND_EXPIRY: [u8; 8] = [0; 8];
            binary_header(
                opcode::SET,
                items.key_size(),
                FLAGS_AND_EXPIRY.len(),
                items.value_size(),
                out,
            );
            out.extend_from_slice(&FLAGS_AND_EXPIRY);
            items.key(item, out);
            return items.value(item, out);
        }
    }
    out.extend_from_slice(items.value_size().to_string().as_bytes());
    out.extend_from_slice(b"\r\n");
    items.value(item, out);
    out.extend_from_slice(b"\r\n");
}

/// Reads a head. `None` if there is only a part of it, an error if this is none.
pub(crate) fn head(protocol: Protocol, input: &[u8]) -> Result<Parsed<'_>, String> {
    match protocol {
        Protocol::Text | Protocol::Meta => line(input),
        Protocol::Binary => binary_head(input),
    }
}

fn meta_get(items: &Items, item: u64, flags: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"mg ");
    items.key(item, out);
    out.extend_from_slice(flags);
}

fn line(input: &[u8]) -> Result<Parsed<'_>, String> {
    let Some(end) = memchr(b'\n', &input[..input.len().min(LINE_MAX)]) else {
        return if input.len() < LINE_MAX {
            Ok(None)
        } else {
            Err(crate::tally::printable(input))
        };
    };
    let nonsense = || crate::tally::printable(&input[..=end]);
    let text = input[..end].strip_suffix(b"\r").ok_or_else(nonsense)?;
    let head = match text {
        b"END" | b"EN" | b"MN" => Head::End,
        b"STORED" | b"HD" => Head::Stored,
        [b'V', b'A', b'L', b'U', b'E', b' ', rest @ ..] => text_value(rest).ok_or_else(nonsense)?,
        [b'V', b'A', b' ', rest @ ..] => meta_value(rest).ok_or_else(nonsense)?,
        _ if is_failure(text) => Head::Failed(text),
        _ => return Err(nonsense()),
    };
    Ok(Some((head, end + 1)))
}

fn is_failure(text: &[u8]) -> bool {
    const WORDS: [&[u8]; 6] = [
        b"ERROR",
        b"CLIENT_ERROR",
        b"SERVER_ERROR",
        b"NOT_STORED",
        b"NS",
        b"BUSY",
    ];
    WORDS.iter().any(|word| text.starts_with(word))
}

/// `KEY FLAGS LENGTH`, perhaps with a cas behind.
fn text_value(rest: &[u8]) -> Option<Head<'_>> {
    let (key, rest) = word(rest);
    let (_flags, rest) = word(rest);
    let length = decimal(word(rest).0)?;
    Some(Head::Value {
        key: Some(key),
        length,
        frame: 2,
        last: false,
    })
}

/// `LENGTH` alone ends its request; with ` kKEY` it's one of many, which a no-op ends.
fn meta_value(rest: &[u8]) -> Option<Head<'_>> {
    let (length, rest) = word(rest);
    let length = decimal(length)?;
    let key = rest.strip_prefix(b"k").map(|rest| word(rest).0);
    Some(Head::Value {
        key,
        length,
        frame: 2,
        last: key.is_none(),
    })
}

/// The first word and what is behind the space after it.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    match memchr(b' ', text) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &[]),
    }
}

fn decimal(digits: &[u8]) -> Option<usize> {
    const DIGITS_MAX: usize = 12;
    if digits.is_empty() || digits.len() > DIGITS_MAX {
        return None;
    }
    let next = |number: usize, digit: &u8| {
        digit
            .is_ascii_digit()
            .then(|| number * 10 + usize::from(digit - b'0'))
    };
    digits.iter().try_fold(0, next)
}

/// Opcodes of the binary protocol that a load uses.
mod opcode {
    pub(super) const GET: u8 = 0x00;
    pub(super) const SET: u8 = 0x01;
    pub(super) const NOOP: u8 = 0x0a;
    pub(super) const GETKQ: u8 = 0x0d;
}

const HEADER_SIZE: usize = 24;

fn binary_header(opcode: u8, key: usize, extras: usize, value: usize, out: &mut Vec<u8>) {
    const REQUEST: u8 = 0x80;
    let mut header = [0; HEADER_SIZE];
    header[0] = REQUEST;
    header[1] = opcode;
    header[2..4].copy_from_slice(&(key as u16).to_be_bytes());
    header[4] = extras as u8;
    header[8..12].copy_from_slice(&((key + extras + value) as u32).to_be_bytes());
    out.extend_from_slice(&header);
}

fn binary_get(opcode: u8, items: &Items, item: u64, out: &mut Vec<u8>) {
    binary_header(opcode, items.key_size(), 0, 0, out);
    items.key(item, out);
}

fn binary_head(input: &[u8]) -> Result<Parsed<'_>, String> {
    const RESPONSE: u8 = 0x81;
    const KEY_NOT_FOUND: u16 = 1;
    let Some(header) = input.first_chunk::<HEADER_SIZE>() else {
        let starts_well = input.first().is_none_or(|magic| *magic == RESPONSE);
        return if starts_well {
            Ok(None)
        } else {
            Err(crate::tally::printable(input))
        };
    };
    let key = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let extras = usize::from(header[4]);
    let status = u16::from_be_bytes([header[6], header[7]]);
    let body = u32::from_be_bytes([header[8], header[9], header[10], header[11]]) as usize;
    if header[0] != RESPONSE || body < key + extras {
        return Err(crate::tally::printable(header));
    }
    let is_get = matches!(header[1], opcode::GET | opcode::GETKQ);
    let (framed, whole) = (HEADER_SIZE + extras + key, HEADER_SIZE + body);
    let head = match status {
        0 if is_get && input.len() >= framed => {
            let key = if key > 0 {
                Some(&input[HEADER_SIZE + extras..framed])
            } else {
                None
            };
            let last = header[1] == opcode::GET;
            return Ok(Some((
                Head::Value {
                    key,
                    length: whole - framed,
                    frame: 0,
                    last,
                },
                framed,
            )));
        }
        _ if input.len() < whole => return Ok(None),
        0 if header[1] == opcode::SET => Head::Stored,
        0 if header[1] == opcode::NOOP => Head::End,
        KEY_NOT_FOUND if is_get => Head::End,
        _ => Head::Failed(&input[framed..whole]),
    };
    Ok(Some((head, whole)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Protocol; 3] = [Protocol::Text, Protocol::Meta, Protocol::Binary];

    fn items() -> Items {
        Items::new(100, 12, 5).expect("fits")
    }

    fn requests(protocol: Protocol) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
        let (mut one, mut many, mut store) = (Vec::new(), Vec::new(), Vec::new());
        get(protocol, &items(), &[7], &mut one);
        get(protocol, &items(), &[7, 8], &mut many);
        set(protocol, &items(), 7, &mut store);
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
        let read = |input: &'static str| {
            head(Protocol::Text, input.as_bytes()).map(|parsed| parsed.map(|(head, _)| head))
        };
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
        assert_eq!(read("HD\r\n"), Ok(Some(Head::Stored)));
        assert_eq!(
            read("SERVER_ERROR out of memory\r\n"),
            Ok(Some(Head::Failed(b"SERVER_ERROR out of memory")))
        );
        assert!(read("HTTP/1.1 200 OK\r\n").is_err());
        assert!(read("VALUE abc 0 x\r\n").is_err());
        assert!(read("END\n").is_err());
    }

    #[test]
    fn heads_of_binary_replies_are_understood() {
        let reply = |opcode: u8, status: u8, extras: u8, body: &[u8]| {
            let mut reply = vec![
                0x81,
                opcode,
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
        let value = reply(opcode::GET, 0, 4, b"ffffabc");
        let expected = Head::Value {
            key: None,
            length: 3,
            frame: 0,
            last: true,
        };
        assert_eq!(binary_head(&value), Ok(Some((expected, 28))));
        assert_eq!(
            binary_head(&reply(opcode::GET, 1, 0, b"Not found")),
            Ok(Some((Head::End, 33)))
        );
        assert_eq!(
            binary_head(&reply(opcode::SET, 0, 0, b"")),
            Ok(Some((Head::Stored, 24)))
        );
        assert_eq!(
            binary_head(&reply(opcode::NOOP, 0, 0, b"")),
            Ok(Some((Head::End, 24)))
        );
        assert_eq!(
            binary_head(&reply(opcode::SET, 3, 0, b"Too large")),
            Ok(Some((Head::Failed(b"Too large"), 33)))
        );
        assert!(binary_head(b"ERROR\r\n").is_err());
    }

    #[test]
    fn a_part_of_a_head_is_waited_for() {
        for (protocol, whole) in [
            (Protocol::Text, b"VALUE abc 0 5\r\n".to_vec()),
            (Protocol::Meta, b"VA 5 kabc\r\n".to_vec()),
            (
                Protocol::Binary,
                requests(Protocol::Binary)
                    .0
                    .iter()
                    .enumerate()
                    .map(|(at, byte)| if at == 0 { 0x81 } else { *byte })
                    .collect(),
            ),
        ] {
            for cut in 0..whole.len() {
                assert_eq!(head(protocol, &whole[..cut]), Ok(None), "{protocol:?} {cut}");
            }
            assert!(head(protocol, &whole).expect("a head").is_some());
        }
        assert!(
            ALL.iter()
                .all(|protocol| head(*protocol, &[b'x'; LINE_MAX]).is_err())
        );
    }
}
