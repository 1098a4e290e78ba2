//! An item as a closure sees it, and its value.

use std::mem::ManuallyDrop;

use crate::heap::{Holder, Prefix};
use crate::time::Expiry;
use crate::{FileRange, Pinned};

/// The marks of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// A client has read it since it was stored.
    pub fetched: bool,
    /// A client declared it stale.
    pub stale: bool,
    /// A client holds the right to recache it.
    pub won: bool,
}

/// Where the value of an entry lies.
#[derive(Debug)]
pub(crate) enum Stored<'a> {
    Bytes(&'a [u8]),
    /// Borrowed from the item, which keeps its own count.
    Block(ManuallyDrop<Prefix>),
    Pinned(&'a Pinned),
    File(&'a FileRange),
    /// Not here: the caller asked for the facts only.
    Length(u64),
}

/// A stored item, as it is for the time of a closure.
#[derive(Debug)]
pub struct Entry<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) stored: Stored<'a>,
    pub(crate) flags: u32,
    pub(crate) cas: u64,
    pub(crate) expiry: Expiry,
    pub(crate) last_access: u32,
    pub(crate) marks: Marks,
}

impl Entry<'_> {
    /// The key.
    #[inline]
    pub fn key(&self) -> &[u8] {
        self.key
    }

    /// The client's flags.
    #[inline]
    pub fn flags(&self) -> u32 {
        self.flags
    }

    /// The number that changes whenever the item does.
    #[inline]
    pub fn cas(&self) -> u64 {
        self.cas
    }

    /// When it ends.
    #[inline]
    pub fn expiry(&self) -> Expiry {
        self.expiry
    }

    /// The second of its last access before this one, or of its storing.
    #[inline]
    pub fn last_access(&self) -> u32 {
        self.last_access
    }

    /// Its marks.
    #[inline]
    pub fn marks(&self) -> Marks {
        self.marks
    }

    /// True if a client has read it.
    #[inline]
    pub fn fetched(&self) -> bool {
        self.marks.fetched
    }

    /// True if a client declared it stale.
    #[inline]
    pub fn stale(&self) -> bool {
        self.marks.stale
    }

    /// True if a client holds the right to recache it.
    #[inline]
    pub fn won(&self) -> bool {
        self.marks.won
    }

    /// Length of the value.
    #[inline]
    #[expect(
        clippy::len_without_is_empty,
        reason = "it's the value's length; an entry is never empty"
    )]
    pub fn len(&self) -> u64 {
        match &self.stored {
            Stored::Bytes(bytes) => bytes.len() as u64,
            Stored::Block(prefix) => prefix.len() as u64,
            Stored::Pinned(pinned) => pinned.len() as u64,
            Stored::File(range) => range.length,
            Stored::Length(length) => *length,
        }
    }

    /// The value.
    ///
    /// # Panics
    /// If the caller said that it does not need the value ([`Need`](crate::Need)), and the engine does not have it at hand.
    #[inline]
    pub fn value(&self) -> Value<'_> {
        match &self.stored {
            Stored::Bytes(bytes) => Value::Bytes(bytes),
            Stored::Block(prefix) => Value::Shared(Pinned::from(Holder::hold(prefix))),
            Stored::Pinned(pinned) => Value::Shared((*pinned).clone()),
            Stored::File(range) => Value::File((*range).clone()),
            Stored::Length(_) => absent(),
        }
    }

    /// The value's bytes, wherever in memory they lie, for as long as the closure runs.
    ///
    /// # Panics
    /// As [`value`](Entry::value), and if the value lies in a file.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match &self.stored {
            Stored::Bytes(bytes) => bytes,
            Stored::Block(prefix) => prefix.bytes(),
            Stored::Pinned(pinned) => pinned.as_ref(),
            Stored::File(_) => panic!("a value in a file has no bytes in memory"),
            Stored::Length(_) => absent(),
        }
    }
}

#[cold]
fn absent() -> ! {
    panic!("the closure looks at a value that its caller did not need")
}

/// A value.
#[derive(Debug)]
pub enum Value<'a> {
    /// To be copied at once.
    Bytes(&'a [u8]),
    /// A large one in memory, which may be kept.
    Shared(Pinned),
    /// A large one in a file, which may be kept.
    File(FileRange),
}
