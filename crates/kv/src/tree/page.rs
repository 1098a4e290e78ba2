//! Pages: the items of a range of keys, compressed together.
//!
//! ```text
//!   page   checksum 4 │ version 1 │ compression 1 │ first expiry 4 │ length 4 │ compressed content
//!   content                                 lower bound │ upper bound │ item │ item │ …
//! ```
//!
//! `docs/formats/tree.md` draws every field.
//!
//! **Invariant:** the keys of a page are in order, and within its bounds. A page that is found for a key outside of its bounds is
//! reported as damage, so a fault of the library or the device is never taken for a missing key.

use super::compression::Compression;
use super::{DAMAGED, ITEM_OVERHEAD_MAX};
use crate::owned::{OwnedEntry, OwnedValue};
use crate::{Expiry, Marks, StoreError};

const VERSION: u8 = 1;
/// Bytes before the content.
const HEAD: usize = 14;
/// No item of the page expires.
const NEVER: u32 = u32::MAX;

const FLAGS: u8 = 1;
const EXPIRY: u8 = 2;
const STALE: u8 = 4;
const WON: u8 = 8;

/// The range of keys that a page is responsible for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) lower: Box<[u8]>,
    /// The lower bound of the next page; `None` for the last page.
    pub(super) upper: Option<Box<[u8]>>,
}

impl Bounds {
    fn contains(&self, key: &[u8]) -> bool {
        *key >= *self.lower && self.upper.as_ref().is_none_or(|upper| *key < **upper)
    }
}

/// A page that was read.
#[derive(Debug)]
pub(super) struct Page {
    content: Vec<u8>,
    pub(super) bounds: Bounds,
    /// Where the items begin in the content.
    items_at: usize,
}

/// An item within a page, with the bytes that stand for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed<'p> {
    pub(super) key: &'p [u8],
    pub(super) expiry: Expiry,
    /// All bytes of the item.
    pub(super) bytes: &'p [u8],
    facts: Facts,
    value: &'p [u8],
}

#[derive(Clone, Copy, Debug, Default)]
struct Facts {
    flags: u32,
    cas: u64,
    stored: u32,
    marks: u8,
}

impl Page {
    /// The page that a new tree has: no items, all keys.
    pub(super) fn empty() -> Page {
        Page {
            content: Vec::new(),
            bounds: Bounds::default(),
            items_at: 0,
        }
    }

    /// Reads a page.
    ///
    /// # Errors
    /// It is damaged, or of a newer version.
    pub(super) fn decode(bytes: &[u8]) -> Result<Page, StoreError> {
        let (head, compressed) = bytes.split_at_checked(HEAD).ok_or(DAMAGED)?;
        if number(&head[..4]) != log::crc32c(&bytes[4..]) || head[4] != VERSION {
            return Err(DAMAGED);
        }
        let kind = Compression::of_code(head[5]).ok_or(DAMAGED)?;
        let content = kind.decompress(compressed, number(&head[10..]) as usize)?;
        let mut rest = &content[..];
        let lower = take_key(&mut rest).ok_or(DAMAGED)?.into();
        let upper = match take(&mut rest, 1).ok_or(DAMAGED)? {
            [0] => None,
            _ => Some(take_key(&mut rest).ok_or(DAMAGED)?.into()),
        };
        let items_at = content.len() - rest.len();
        Ok(Page {
            bounds: Bounds { lower, upper },
            items_at,
            content,
        })
    }

    /// # Errors
    /// The page is not responsible for the key.
    pub(super) fn check_bounds(&self, key: &[u8]) -> Result<(), StoreError> {
        if self.bounds.contains(key) {
            return Ok(());
        }
        Err(DAMAGED)
    }

    /// The items in order. A fault ends them.
    pub(super) fn items(&self) -> impl Iterator<Item = Result<Packed<'_>, StoreError>> {
        let mut rest = &self.content[self.items_at..];
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let item = unpack(&mut rest);
            if item.is_none() {
                rest = &[];
            }
            Some(item.ok_or(DAMAGED))
        })
    }

    /// Finds the item of a key.
    ///
    /// # Errors
    /// The page is damaged, or not responsible for the key.
    pub(super) fn find(&self, key: &[u8]) -> Result<Option<Packed<'_>>, StoreError> {
        self.check_bounds(key)?;
        for item in self.items() {
            let item = item?;
            if item.key >= key {
                return Ok((item.key == key).then_some(item));
            }
        }
        Ok(None)
    }
}

impl Packed<'_> {
    /// The item outside of the page.
    pub(super) fn to_owned(self, large: u64) -> OwnedEntry {
        OwnedEntry {
            key: self.key.into(),
            value: OwnedValue::new(self.value, large),
            flags: self.facts.flags,
            cas: self.facts.cas,
            expiry: self.expiry,
            last_access: self.facts.stored,
            marks: Marks {
                fetched: false,
                stale: self.facts.marks & STALE != 0,
                won: self.facts.marks & WON != 0,
            },
        }
    }
}

/// Appends the bytes of an item.
pub(super) fn pack(item: &OwnedEntry, out: &mut Vec<u8>) {
    let value = item.value.bytes();
    let mut marks = 0;
    let mut mark = |bit, is_set| marks |= if is_set { bit } else { 0 };
    mark(FLAGS, item.flags != 0);
    mark(EXPIRY, item.expiry != Expiry::Never);
    mark(STALE, item.marks.stale);
    mark(WON, item.marks.won);
    out.reserve(item.key.len() + value.len() + ITEM_OVERHEAD_MAX as usize);
    push_key(out, &item.key);
    out.push(marks);
    out.extend_from_slice(&item.cas.to_be_bytes());
    out.extend_from_slice(&item.last_access.to_be_bytes());
    if item.flags != 0 {
        out.extend_from_slice(&item.flags.to_be_bytes());
    }
    if let Expiry::At(second) = item.expiry {
        out.extend_from_slice(&second.to_be_bytes());
    }
    // A log's batch bounds values to less than 2 GiB.
    out.extend_from_slice(&(value.len() as u32).to_be_bytes());
    out.extend_from_slice(value);
}

fn unpack<'p>(rest: &mut &'p [u8]) -> Option<Packed<'p>> {
    let begin = *rest;
    let key = take_key(rest)?;
    let marks = take(rest, 1)?[0];
    let cas = u64::from_be_bytes(take(rest, 8)?.try_into().ok()?);
    let stored = number(take(rest, 4)?);
    let flags = match marks & FLAGS {
        0 => 0,
        _ => number(take(rest, 4)?),
    };
    let expiry = match marks & EXPIRY {
        0 => Expiry::Never,
        _ => Expiry::At(number(take(rest, 4)?)),
    };
    let length = number(take(rest, 4)?) as usize;
    let value = take(rest, length)?;
    Some(Packed {
        key,
        expiry,
        bytes: &begin[..begin.len() - rest.len()],
        facts: Facts {
            flags,
            cas,
            stored,
            marks,
        },
        value,
    })
}

/// The bytes of a page: its bounds, and items that were packed in order.
pub(super) fn encode(bounds: &Bounds, items: &[u8], first_expiry: Option<u32>, kind: Compression) -> Vec<u8> {
    let mut content = Vec::with_capacity(items.len() + 600);
    push_key(&mut content, &bounds.lower);
    match &bounds.upper {
        None => content.push(0),
        Some(upper) => {
            content.push(1);
            push_key(&mut content, upper);
        }
    }
    content.extend_from_slice(items);
    let (kind, compressed) = match kind.compress(&content) {
        Some(compressed) => (kind, compressed),
        None => (Compression::None, Vec::new()),
    };
    let stored = if kind == Compression::None {
        &content
    } else {
        &compressed
    };
    let mut page = Vec::with_capacity(HEAD + stored.len());
    page.extend_from_slice(&[0, 0, 0, 0, VERSION, kind.code()]);
    page.extend_from_slice(&first_expiry.unwrap_or(NEVER).to_be_bytes());
    page.extend_from_slice(&(content.len() as u32).to_be_bytes());
    page.extend_from_slice(stored);
    let checksum = log::crc32c(&page[4..]);
    page[..4].copy_from_slice(&checksum.to_be_bytes());
    page
}

/// The first second at which an item of a page expires, without reading the whole page.
pub(super) fn first_expiry(page: &[u8]) -> Option<u32> {
    let second = number(page.get(6..10)?);
    (second != NEVER).then_some(second)
}

/// Returns the earlier of two optional seconds.
pub(super) fn earlier(one: Option<u32>, other: Expiry) -> Option<u32> {
    match (one, other) {
        (Some(one), Expiry::At(other)) => Some(one.min(other)),
        (None, Expiry::At(other)) => Some(other),
        (one, Expiry::Never) => one,
    }
}

fn push_key(out: &mut Vec<u8>, key: &[u8]) {
    // `KEY_LENGTH_MAX` is 255.
    out.push(key.len() as u8);
    out.extend_from_slice(key);
}

fn take_key<'p>(rest: &mut &'p [u8]) -> Option<&'p [u8]> {
    let length = take(rest, 1)?[0];
    take(rest, usize::from(length))
}

fn take<'p>(rest: &mut &'p [u8], length: usize) -> Option<&'p [u8]> {
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}

/// A number of four bytes.
fn number(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    pub(super) fn item(key: &[u8], value: &[u8]) -> OwnedEntry {
        OwnedEntry {
            key: key.into(),
            value: OwnedValue::Bytes(value.into()),
            flags: 7,
            cas: 1 << 44 | 3,
            expiry: Expiry::At(9),
            last_access: 5,
            marks: Marks {
                fetched: false,
                stale: true,
                won: true,
            },
        }
    }

    fn sample(kind: Compression) -> Vec<u8> {
        let mut items = Vec::new();
        for key in [&b"b"[..], b"c", b"d"] {
            pack(&item(key, &b"value ".repeat(20)), &mut items);
        }
        let plain = OwnedEntry {
            flags: 0,
            expiry: Expiry::Never,
            marks: Marks::default(),
            ..item(b"e", b"")
        };
        pack(&plain, &mut items);
        let bounds = Bounds {
            lower: b"b".as_slice().into(),
            upper: Some(b"f".as_slice().into()),
        };
        encode(&bounds, &items, Some(9), kind)
    }

    #[test]
    fn a_page_has_the_items_that_it_was_made_of() {
        for kind in [
            Compression::None,
            Compression::Lz4,
            Compression::Zstd,
            Compression::Deflate,
        ] {
            let bytes = sample(kind);
            assert_eq!(first_expiry(&bytes), Some(9));
            let page = Page::decode(&bytes).unwrap();
            assert_eq!(page.items().count(), 4);
            let found = page.find(b"c").unwrap().unwrap().to_owned(1 << 20);
            let expected = item(b"c", &b"value ".repeat(20));
            assert_eq!(format!("{found:?}"), format!("{expected:?}"));
            let plain = page.find(b"e").unwrap().unwrap().to_owned(1 << 20);
            assert_eq!(
                (plain.flags, plain.expiry, plain.value.len()),
                (0, Expiry::Never, 0)
            );
            assert!(page.find(b"cc").unwrap().is_none());
            for outside in [&b"a"[..], b"f", b"z"] {
                assert_eq!(page.find(outside).unwrap_err(), DAMAGED, "{outside:?}");
            }
        }
    }

    #[test]
    fn every_change_of_a_bit_is_noticed() {
        let bytes = sample(Compression::Lz4);
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                assert_eq!(Page::decode(&changed).unwrap_err(), DAMAGED, "{at}");
            }
            assert!(Page::decode(&bytes[..at]).is_err(), "{at}");
        }
    }
}
