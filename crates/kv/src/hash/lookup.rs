//! Finding an item and reading its record, without waiting for the device.
//!
//! ```text
//!   slot ──▶ is its window known? ──yes──▶ copy the key and what follows ──▶ the key asked for: the item
//!                    │ no                           │ another key, or no copy: are the bytes what they were?
//!                    ▼                              ▼
//!            was the record fetched? ◀──────────────┘
//!                    ├─ yes, and it is still the one that the slot points to: it is used
//!                    └─ no: Cold
//! ```
//!
//! A record is checked each time that it is read: it has a checksum of its own. So even bytes that were changed in the page cache, or
//! that the kernel has read again since they were checked, are noticed. Of a large value, which is sent without being looked at, only
//! the fetch checks the bytes.
//!
//! **Invariant:** whatever does not agree with its checksum, or with the index, is fetched, and what the fetch finds to be damaged is
//! an error.

use std::cell::Cell;

use super::LARGE;
use super::cold::Located;
use super::index::{Found, Guard, Slot};
use super::maps::Map;

use crate::entry::Stored;
use crate::owned::{OwnedEntry, OwnedValue};
use crate::record::{Facts, Head, LENGTH_BYTES_MAX};
use crate::{Answer, FileRange, Need, StoreError, Warm};

/// Bytes of the headers that this program writes behind a value.
pub(super) const HEADERS_BYTES: u64 = 36;
/// The most bytes of all headers, which other producers may have written.
pub(super) const HEADERS_BYTES_MAX: u64 = 64 << 10;
/// The largest buffer that a thread keeps for its next call.
const KEPT_BYTES_MAX: usize = 64 << 10;

/// The part of a record that a caller needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All but the value.
    Facts,
    /// All of it; a large value as a range of its file.
    Value,
    /// All of it, in memory.
    Bytes,
}

impl From<Need> for Part {
    #[inline]
    fn from(need: Need) -> Part {
        match need {
            Need::Nothing | Need::Facts => Part::Facts,
            Need::Value => Part::Value,
        }
    }
}

/// The memory that a record is copied to.
pub(super) struct Buffer {
    bytes: Vec<u8>,
    /// The record, if it was fetched.
    fetched: Option<Located>,
}

thread_local! {
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl Buffer {
    #[inline]
    pub(super) fn take() -> Buffer {
        Buffer {
            bytes: SPARE.try_with(Cell::take).unwrap_or_default(),
            fetched: None,
        }
    }

    #[inline]
    fn clear(&mut self) {
        self.bytes.clear();
        self.fetched = None;
    }
}

impl Drop for Buffer {
    #[inline]
    fn drop(&mut self) {
        if self.bytes.capacity() <= KEPT_BYTES_MAX {
            let bytes = std::mem::take(&mut self.bytes);
            // A thread that ends keeps nothing.
            let _ = SPARE.try_with(|spare| spare.set(bytes));
        }
    }
}

/// A record.
#[derive(Debug)]
pub(super) struct Item<'b> {
    pub(super) key: &'b [u8],
    pub(super) value: Value<'b>,
    pub(super) facts: Facts,
}

impl Item<'_> {
    /// The item, to be kept.
    pub(super) fn owned(&self, slot: Slot) -> OwnedEntry {
        OwnedEntry {
            key: self.key.into(),
            value: match &self.value {
                Value::Bytes(bytes) => OwnedValue::Bytes((*bytes).into()),
                Value::File(range) => OwnedValue::File(range.clone()),
                Value::Length(length) => OwnedValue::Length(*length),
            },
            flags: self.facts.flags,
            cas: self.facts.cas,
            expiry: self.facts.expiry,
            last_access: slot.last_access,
            marks: slot.entry_marks(self.facts.stale),
        }
    }
}

/// A record's value.
#[derive(Debug)]
pub(super) enum Value<'b> {
    Bytes(&'b [u8]),
    File(FileRange),
    /// It was not asked for, and has this length.
    Length(u64),
}

impl Value<'_> {
    /// The bytes of a value that was [loaded](Part::Bytes) into memory; of another one none.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Value::Bytes(bytes) => bytes,
            Value::File(_) | Value::Length(_) => &[],
        }
    }

    /// The value as an entry has it.
    #[inline]
    pub(super) fn stored(&self) -> Stored<'_> {
        match self {
            Value::Bytes(bytes) => Stored::Bytes(bytes),
            Value::File(range) => Stored::File(range),
            Value::Length(length) => Stored::Length(*length),
        }
    }
}

impl Guard<'_> {
    /// Finds the slot of a key. The buffer then has the head of its record, for [`load`](Guard::load).
    ///
    /// # Errors
    /// The key's record was fetched, and could not be read.
    #[inline(always)]
    pub(super) fn find(
        &self,
        key: &[u8],
        fingerprint: impl Fn() -> u64,
        warm: Option<&Warm>,
        buffer: &mut Buffer,
    ) -> Result<Answer<Option<Found>>, StoreError> {
        for found in self.candidates(key.len()) {
            let Some((map, from)) = self.record_of(found.slot) else {
                continue;
            };
            if copy_head(map, from, key.len(), buffer) && buffer.bytes.starts_with(key) {
                return Ok(Answer::Ready(Some(found)));
            }
            // Either the bytes are not known, or they are not the key: it is another one's slot, or they were changed.
            if found.slot.has_fingerprint(fingerprint()) {
                let is_there = find_fetched(map, from, key, warm, buffer)?;
                return Ok(match is_there {
                    true => Answer::Ready(Some(found)),
                    false => doubt(map, from),
                });
            }
        }
        Ok(Answer::Ready(None))
    }

    /// Copies the head of the record of any item to the buffer, and returns its key.
    pub(super) fn head<'b>(&self, found: Found, buffer: &'b mut Buffer) -> Option<&'b [u8]> {
        let length = found.slot.key_length();
        let (map, from) = self.record_of(found.slot)?;
        let is_there = copy_head(map, from, length, buffer);
        if !is_there {
            map.forget(from..from + 1);
        }
        is_there.then(|| &buffer.bytes[..length])
    }

    /// Reads the record of the item that was just found with this buffer.
    ///
    /// # Errors
    /// The record was fetched, and could not be read.
    #[inline(always)]
    pub(super) fn load<'b>(
        &self,
        found: Found,
        part: Part,
        buffer: &'b mut Buffer,
    ) -> Result<Answer<Item<'b>>, StoreError> {
        let Some((map, from)) = self.record_of(found.slot) else {
            return Ok(Answer::Cold);
        };
        if buffer.fetched.is_some() {
            return load_fetched(map, part, buffer);
        }
        let key_length = found.slot.key_length();
        let Some(head) = Head::parse(&buffer.bytes, key_length) else {
            return Ok(doubt(map, from));
        };
        let is_whole = match part {
            _ if head.value_length < LARGE => copy_rest(map, from, head, buffer),
            Part::Bytes => copy_rest(map, from, head, buffer),
            Part::Value => {
                // Its bytes are not looked at, but have to have been checked.
                map.knows(from..from.saturating_add(head.value_end()))
                    .then(|| copy_behind(map, from, head, buffer))
                    .flatten()
            }
            Part::Facts => copy_behind(map, from, head, buffer),
        };
        let Some(facts) = is_whole else {
            return Ok(doubt(map, from));
        };
        let value = match part {
            _ if head.value_length < LARGE || part == Part::Bytes => {
                Value::Bytes(&buffer.bytes[head.value_at..head.value_end() as usize])
            }
            Part::Value => Value::File(map.file_range(from + head.value_at as u64, head.value_length)),
            _ => Value::Length(head.value_length),
        };
        Ok(Answer::Ready(Item {
            key: &buffer.bytes[..key_length],
            value,
            facts,
        }))
    }

    /// The map of a slot's record, and the position of its key.
    #[inline]
    pub(super) fn record_of(&self, slot: Slot) -> Option<(&Map, u64)> {
        let location = slot.location();
        Some((self.map(location)?, u64::from(location.position)))
    }
}

/// Copies the key and the length of the value, if they are known.
#[inline(always)]
fn copy_head(map: &Map, from: u64, key_length: usize, buffer: &mut Buffer) -> bool {
    buffer.clear();
    let until = (from + (key_length + LENGTH_BYTES_MAX) as u64).min(map.end());
    map.knows(from..until) && map.copy(from..until, &mut buffer.bytes) && buffer.bytes.len() >= key_length
}

/// Copies the value and what is behind it, reads that, and compares the checksum. Without one, only the checksum of the whole
/// batch can tell whether the record is what was written.
#[inline(always)]
fn copy_rest(map: &Map, from: u64, head: Head, buffer: &mut Buffer) -> Option<Facts> {
    let value_end = usize::try_from(head.value_end()).ok()?;
    let mut most = HEADERS_BYTES;
    loop {
        let until = (from + value_end as u64).saturating_add(most).min(map.end());
        let copied = from + buffer.bytes.len() as u64;
        if copied < until && !(map.knows(copied..until) && map.copy(copied..until, &mut buffer.bytes)) {
            return None;
        }
        if let Some((facts, check)) = buffer.bytes.get(value_end..).and_then(Facts::parse) {
            return check?.agrees(&buffer.bytes, value_end).then_some(facts);
        }
        if most >= HEADERS_BYTES_MAX {
            return None;
        }
        most = HEADERS_BYTES_MAX;
    }
}

/// Copies what is behind the value, and reads it.
#[cold]
fn copy_behind(map: &Map, from: u64, head: Head, buffer: &mut Buffer) -> Option<Facts> {
    let begin = from.checked_add(head.value_end())?;
    for most in [HEADERS_BYTES, HEADERS_BYTES_MAX] {
        let range = begin..begin.saturating_add(most).min(map.end());
        let kept = buffer.bytes.len();
        let is_there =
            range.start < range.end && map.knows(range.clone()) && map.copy(range, &mut buffer.bytes);
        let facts = is_there.then(|| Facts::parse(&buffer.bytes[kept..])).flatten();
        buffer.bytes.truncate(kept);
        if let Some((facts, _)) = facts {
            return Some(facts);
        }
    }
    None
}

/// Has a record fetched, and checked.
#[cold]
fn doubt<R>(map: &Map, from: u64) -> Answer<R> {
    map.forget(from..from + 1);
    Answer::Cold
}

/// Puts the record at a position into the buffer, if it was fetched for the key.
#[cold]
fn find_fetched(
    map: &Map,
    position: u64,
    key: &[u8],
    warm: Option<&Warm>,
    buffer: &mut Buffer,
) -> Result<bool, StoreError> {
    buffer.clear();
    let Some(record) = warm.and_then(|warm| warm.record(key)) else {
        return Ok(false);
    };
    let record = record?;
    if !record.is_at(map, position) {
        return Ok(false);
    }
    if *record.item()?.key != *key {
        // The batch is whole, and the index points to another record of it.
        return Err(StoreError::Damaged);
    }
    buffer.fetched = Some(record);
    Ok(true)
}

#[cold]
fn load_fetched<'b>(map: &Map, part: Part, buffer: &'b mut Buffer) -> Result<Answer<Item<'b>>, StoreError> {
    let Buffer { bytes, fetched } = buffer;
    let Some(record) = fetched else {
        return Ok(Answer::Cold);
    };
    let item = record.item()?;
    let value = match (&item.value, part) {
        (value, Part::Facts) => Value::Length(value.len()),
        _ if !record.has_value() => return Ok(Answer::Cold),
        (OwnedValue::Bytes(bytes), _) => Value::Bytes(bytes),
        (OwnedValue::File(range), Part::Value) => Value::File(range.clone()),
        (OwnedValue::File(range), _) => {
            let range = range.offset..range.offset + range.length;
            bytes.clear();
            if !(map.knows(range.clone()) && map.copy(range, bytes)) {
                return Ok(Answer::Cold);
            }
            Value::Bytes(bytes)
        }
        (OwnedValue::Shared(pinned), _) => Value::Bytes(pinned.as_ref()),
        (OwnedValue::Length(_), _) => return Ok(Answer::Cold),
    };
    let facts = Facts {
        flags: item.flags,
        expiry: item.expiry,
        cas: item.cas,
        stale: item.marks.stale,
    };
    Ok(Answer::Ready(Item {
        key: &item.key,
        value,
        facts,
    }))
}
