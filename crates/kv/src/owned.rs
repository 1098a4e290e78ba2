//! Items outside of an engine's own memory: fetched for a caller, or on their way to another machine.

#![cfg_attr(
    not(feature = "simulated"),
    allow(dead_code, reason = "only tests share values that were fetched")
)]

use crate::entry::Stored;
use crate::{Entry, Expiry, FileRange, Marks, Pinned};

/// An item with everything that a closure may look at.
#[derive(Clone, Debug)]
pub(crate) struct OwnedEntry {
    pub(crate) key: Box<[u8]>,
    pub(crate) value: OwnedValue,
    pub(crate) flags: u32,
    pub(crate) cas: u64,
    pub(crate) expiry: Expiry,
    pub(crate) last_access: u32,
    pub(crate) marks: Marks,
}

/// Its value.
#[derive(Clone, Debug)]
pub(crate) enum OwnedValue {
    Bytes(Box<[u8]>),
    Shared(Pinned),
    File(FileRange),
    /// It was not fetched.
    Length(u64),
}

impl OwnedEntry {
    /// The item as a closure sees it. Without its value, only the value's length can be asked for.
    pub(crate) fn entry(&self, with_value: bool) -> Entry<'_> {
        Entry {
            key: &self.key,
            stored: match &self.value {
                value if !with_value => Stored::Length(value.len()),
                OwnedValue::Bytes(bytes) => Stored::Bytes(bytes),
                OwnedValue::Shared(pinned) => Stored::Pinned(pinned),
                OwnedValue::File(range) => Stored::File(range),
                OwnedValue::Length(length) => Stored::Length(*length),
            },
            flags: self.flags,
            cas: self.cas,
            expiry: self.expiry,
            last_access: self.last_access,
            marks: self.marks,
        }
    }
}

impl OwnedValue {
    /// A copy of these bytes. From `large` bytes on they can be handed out without another copy.
    pub(crate) fn new(bytes: &[u8], large: u64) -> OwnedValue {
        match bytes.len() as u64 >= large {
            true => OwnedValue::Shared(Pinned::from(bytes.to_vec())),
            false => OwnedValue::Bytes(bytes.into()),
        }
    }

    /// Its bytes, if they are in memory; a value in a file has none.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            OwnedValue::Bytes(bytes) => bytes,
            OwnedValue::Shared(pinned) => pinned.as_ref(),
            OwnedValue::File(_) | OwnedValue::Length(_) => &[],
        }
    }

    /// Its length in bytes.
    pub(crate) fn len(&self) -> u64 {
        match self {
            OwnedValue::Bytes(bytes) => bytes.len() as u64,
            OwnedValue::Shared(pinned) => pinned.len() as u64,
            OwnedValue::File(range) => range.length,
            OwnedValue::Length(length) => *length,
        }
    }
}
