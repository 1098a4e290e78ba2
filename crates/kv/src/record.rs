//! Items as records of the log: key and value are those of the record, the facts are its headers.
//!
//! `docs/formats/store.md` draws them.

use log::batch::{BatchError, Builder, NewHeader, NewRecord};

use crate::Expiry;

/// Names of headers.
const CAS: &[u8] = b"c";
const EXPIRY: &[u8] = b"e";
const FLAGS: &[u8] = b"f";
const STALE: &[u8] = b"s";
const CHECK: &[u8] = b"x";
/// Bytes of the header with the checksum: its name and its value, each after its length.
const CHECK_BYTES: usize = 7;

/// The most bytes of a record beside its key and its value, and of the batch around it.
pub(crate) const OVERHEAD_MAX: u64 = 256;

/// The facts about an item, stored beside its key and its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) flags: u32,
    pub(crate) expiry: Expiry,
    pub(crate) cas: u64,
    pub(crate) stale: bool,
}

/// Adds a tombstone to a batch.
pub(crate) fn push_tombstone(builder: &mut Builder, timestamp: i64, key: &[u8]) -> Result<(), BatchError> {
    let record = NewRecord {
        timestamp,
        key: Some(key),
        ..NewRecord::default()
    };
    builder.push(&record).map(drop)
}

/// Adds an item to a batch, and returns the position of its key in it.
pub(crate) fn push(
    builder: &mut Builder,
    timestamp: i64,
    key: &[u8],
    value: &[u8],
    facts: Facts,
) -> Result<usize, BatchError> {
    let cas = facts.cas.to_be_bytes();
    let flags = facts.flags.to_be_bytes();
    let expiry = match facts.expiry {
        Expiry::Never => 0,
        Expiry::At(second) => second,
    }
    .to_be_bytes();
    let mut headers = [NewHeader {
        key: CAS,
        value: Some(&cas),
    }; 5];
    let mut count = 1;
    let mut add = |key, value| {
        headers[count] = NewHeader { key, value };
        count += 1;
    };
    if facts.flags != 0 {
        add(FLAGS, Some(&flags[..]));
    }
    if facts.expiry != Expiry::Never {
        add(EXPIRY, Some(&expiry[..]));
    }
    if facts.stale {
        add(STALE, None);
    }
    add(CHECK, Some(&[0; 4]));
    let record = NewRecord {
        timestamp,
        key: Some(key),
        value: Some(value),
        headers: &headers[..count],
    };
    let range = builder.push(&record)?;
    let key_at = range.start - number_bytes(value.len()) - key.len();
    let bytes = builder.bytes_mut(key_at);
    let (checked, check) = bytes.split_at_mut(bytes.len() - CHECK_BYTES);
    check[CHECK_BYTES - 4..].copy_from_slice(&log::crc32c(checked).to_be_bytes());
    Ok(key_at)
}

/// The bytes of a length as [`take_number`] reads it.
pub(crate) fn number_bytes(length: usize) -> usize {
    let bits = usize::BITS - (length << 1 | 1).leading_zeros();
    (bits as usize).div_ceil(7)
}

/// The part of a record before its value, read in place from the key on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Where the value begins, in bytes from the beginning of the key.
    pub(crate) value_at: usize,
    pub(crate) value_length: u64,
}

/// The checksum of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    /// Where its header begins, in bytes from the value's end.
    begin: usize,
    crc: u32,
}

impl Check {
    /// True if the bytes from the key on are those that were written; the value ends at `value_end`.
    #[inline(always)]
    pub(crate) fn agrees(self, bytes: &[u8], value_end: usize) -> bool {
        let checked = bytes.get(..value_end + self.begin);
        checked.is_some_and(|checked| log::crc32c(checked) == self.crc)
    }
}

/// The most bytes of the length of a value.
pub(crate) const LENGTH_BYTES_MAX: usize = 10;

impl Head {
    /// Reads the head of a record whose key has this length and begins `bytes`. `None` if the bytes are too few, or no head.
    #[inline(always)]
    pub(crate) fn parse(bytes: &[u8], key_length: usize) -> Option<Head> {
        let (length, rest) = take_number(bytes.get(key_length..)?)?;
        Some(Head {
            value_at: bytes.len() - rest.len(),
            value_length: u64::try_from(length).ok()?,
        })
    }

    /// Where the value ends, in bytes from the beginning of the key.
    #[inline]
    pub(crate) fn value_end(self) -> u64 {
        (self.value_at as u64).saturating_add(self.value_length)
    }
}

impl Facts {
    /// Reads the part of a record behind its value. Other bytes may follow. `None` if the bytes are too few, or no headers.
    #[inline(always)]
    pub(crate) fn parse(bytes: &[u8]) -> Option<(Facts, Option<Check>)> {
        let (count, mut rest) = take_number(bytes)?;
        let (mut facts, mut check) = (Facts::default(), None);
        for _ in 0..count {
            let begin = bytes.len() - rest.len();
            let (name, behind) = take_bytes(rest)?;
            let (content, behind) = match take_number(behind)? {
                (-1, behind) => (&[][..], behind),
                _ => take_bytes(behind)?,
            };
            match content.try_into() {
                Ok(crc) if name == CHECK => {
                    let crc = u32::from_be_bytes(crc);
                    check = Some(Check { begin, crc });
                }
                _ => facts.note(name, content),
            }
            rest = behind;
        }
        Some((facts, check))
    }

    #[inline(always)]
    fn note(&mut self, name: &[u8], value: &[u8]) {
        match name {
            CAS => self.cas = value.try_into().map_or(self.cas, u64::from_be_bytes),
            FLAGS => self.flags = value.try_into().map_or(self.flags, u32::from_be_bytes),
            EXPIRY => {
                if let Ok(second) = value.try_into() {
                    self.expiry = Expiry::At(u32::from_be_bytes(second));
                }
            }
            STALE => self.stale = true,
            _ => {}
        }
    }

    /// True if the item has no expiry.
    pub(crate) fn endless(&self) -> bool {
        self.expiry == Expiry::Never
    }

    /// The facts that the headers of a record tell. Unknown headers mean nothing, so that records of Kafka's producers are
    /// items, too.
    pub(crate) fn of(record: &log::batch::Record<'_>) -> Facts {
        let mut facts = Facts::default();
        for header in record.headers() {
            facts.note(header.key, header.value.unwrap_or_default());
        }
        facts
    }
}

/// Bytes after their length.
#[inline(always)]
fn take_bytes(from: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = take_number(from)?;
    rest.split_at_checked(usize::try_from(length).ok()?)
}

/// A number in zigzag form, seven bits per byte with the lowest first.
#[inline(always)]
fn take_number(from: &[u8]) -> Option<(i64, &[u8])> {
    let (first, rest) = from.split_first()?;
    if *first < 0x80 {
        return Some((unzigzag(u64::from(*first)), rest));
    }
    let mut value = u64::from(*first & 0x7f);
    for (index, byte) in rest.iter().take(9).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * (index + 1));
        if *byte < 0x80 {
            return Some((unzigzag(value), &rest[index + 1..]));
        }
    }
    None
}

#[inline]
fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// The type of the control record that says that everything is flushed. Kafka's own types are below 10.
const FLUSH: i16 = 0x4846;

/// A flush, as the log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Flush {
    /// It will be done at this second.
    At(u32),
    /// The records before these offsets are flushed, per partition.
    Before(Vec<u64>),
}

impl Flush {
    /// The key and the value of the control record.
    pub(crate) fn encode(&self) -> (Vec<u8>, Vec<u8>) {
        let key = [0_i16.to_be_bytes(), FLUSH.to_be_bytes()].concat();
        let mut value = Vec::new();
        match self {
            Flush::At(second) => value.extend_from_slice(&second.to_be_bytes()),
            Flush::Before(offsets) => offsets
                .iter()
                .for_each(|offset| value.extend_from_slice(&offset.to_be_bytes())),
        }
        (key, value)
    }

    /// Reads the record of a control batch; `None` if it is not a flush.
    pub(crate) fn decode(key: &[u8], value: &[u8]) -> Option<Flush> {
        let kind = key.strip_prefix(&0_i16.to_be_bytes())?;
        if kind != FLUSH.to_be_bytes() {
            return None;
        }
        if let Ok(second) = value.try_into() {
            return Some(Flush::At(u32::from_be_bytes(second)));
        }
        let (offsets, rest) = value.as_chunks::<8>();
        let offsets = offsets.iter().map(|offset| u64::from_be_bytes(*offset));
        rest.is_empty().then(|| Flush::Before(offsets.collect()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn samples() -> Vec<Facts> {
        let mut samples = Vec::new();
        for flags in [0, 1, u32::MAX] {
            for expiry in [Expiry::Never, Expiry::At(0), Expiry::At(u32::MAX)] {
                for stale in [false, true] {
                    samples.push(Facts {
                        flags,
                        expiry,
                        cas: 1 << 44 | u64::from(flags),
                        stale,
                    });
                }
            }
        }
        samples
    }

    #[test]
    fn items_are_read_back_from_their_key_on() {
        let long = vec![b'v'; 70_000];
        for facts in samples() {
            for (key, value) in [(&b"k"[..], &b""[..]), (&[7; 255], b"value"), (b"key", &long)] {
                let mut builder = Builder::new();
                let at = push(&mut builder, 5, key, value, facts).unwrap();
                let batch = builder.finish();
                let record = batch.records().unwrap().next().unwrap().unwrap();
                assert_eq!(Facts::of(&record), facts);
                let key_at = record.key.unwrap().as_ptr() as usize - batch.bytes().as_ptr() as usize;
                assert_eq!(at, key_at);
                let bytes = &batch.bytes()[at..];
                let head = Head::parse(bytes, key.len()).unwrap();
                let end = head.value_end() as usize;
                assert_eq!((&bytes[..key.len()], &bytes[head.value_at..end]), (key, value));
                let (read, check) = Facts::parse(&bytes[end..]).unwrap();
                assert_eq!(read, facts);
                assert!(check.unwrap().agrees(bytes, end));
                let overhead = batch.bytes().len() - key.len() - value.len();
                assert!(overhead as u64 <= OVERHEAD_MAX);
            }
        }
    }

    #[test]
    fn a_record_that_is_cut_short_is_noticed() {
        let mut builder = Builder::new();
        push(&mut builder, 5, b"key", b"value", samples()[17]).unwrap();
        let bytes = builder.finish().bytes().to_vec();
        let at = bytes.windows(3).position(|window| window == b"key").unwrap();
        for end in at..=bytes.len() {
            let head = Head::parse(&bytes[at..end], 3);
            assert_eq!(head.is_some(), end > at + 3);
            let behind = head.and_then(|head| bytes[at..end].get(head.value_end() as usize..));
            assert_eq!(behind.and_then(Facts::parse).is_some(), end == bytes.len());
        }
    }

    /// The example of `docs/formats/store.md`.
    #[test]
    fn the_documented_bytes() {
        let mut builder = Builder::new();
        let facts = Facts {
            flags: 1,
            cas: 0x1000_0000_0001,
            ..Facts::default()
        };
        let at = push(&mut builder, 5, b"k", b"hi", facts).unwrap();
        let page = include_str!("../../../docs/formats/store.md");
        let example = page.split("length of the record").nth(1).unwrap();
        let example = example.split("```").next().unwrap();
        let bytes = example.lines().skip(2).flat_map(|line| {
            let line = line.trim();
            let end = line.find("  ").unwrap_or(line.len());
            let digits = line[..end].split(' ');
            digits
                .map_while(|pair| u8::from_str_radix(pair, 16).ok())
                .collect::<Vec<_>>()
        });
        let documented: Vec<u8> = bytes.skip(1).collect();
        assert_eq!(builder.finish().bytes()[at..], documented);
    }

    #[test]
    fn headers_of_others_mean_nothing() {
        let headers = [
            NewHeader {
                key: b"c",
                value: Some(b"short"),
            },
            NewHeader {
                key: b"trace",
                value: None,
            },
            NewHeader {
                key: b"f",
                value: Some(&[0, 0, 0, 9]),
            },
        ];
        let mut builder = Builder::new();
        let record = NewRecord {
            key: Some(b"k"),
            value: Some(b"v"),
            headers: &headers,
            timestamp: 0,
        };
        builder.push(&record).unwrap();
        let batch = builder.finish();
        let record = batch.records().unwrap().next().unwrap().unwrap();
        assert_eq!(
            Facts::of(&record),
            Facts {
                flags: 9,
                ..Facts::default()
            }
        );
    }

    #[test]
    fn flushes_are_read_back() {
        for flush in [
            Flush::At(7),
            Flush::Before(vec![1, 2, u64::MAX]),
            Flush::Before(vec![9]),
        ] {
            let (key, value) = flush.encode();
            assert_eq!(Flush::decode(&key, &value), Some(flush));
        }
        assert_eq!(
            Flush::decode(&[0, 0, 0, 1], &[0; 4]),
            None,
            "a commit of a transaction"
        );
        assert_eq!(Flush::decode(&[0, 0, 0x48, 0x46], &[0; 5]), None);
    }
}
