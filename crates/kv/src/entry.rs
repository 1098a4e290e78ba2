//! An item as a closure sees it, and its value.

use crate::Expiry;

/// What an item carries beside value, flags, expiry and CAS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Somebody read it since it was stored.
    pub fetched: bool,
    /// A client declared it stale.
    pub stale: bool,
    /// A client holds the right to recache it.
    pub won: bool,
}

/// A stored item, as it is for the time of a closure.
#[derive(Debug)]
pub struct Entry<'a> {
    key: &'a [u8],
    value: &'a [u8],
    flags: u32,
    cas: u64,
    expiry: Expiry,
    last_access: u32,
    marks: Marks,
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
    /// The second of its last access, or of its storing.
    #[inline]
    pub fn last_access(&self) -> u32 {
        self.last_access
    }
    /// Whether somebody read it before.
    #[inline]
    pub fn fetched(&self) -> bool {
        self.marks.fetched
    }
    /// Whether a client declared it stale.
    #[inline]
    pub fn stale(&self) -> bool {
        self.marks.stale
    }
    /// Whether a client holds the right to recache it.
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
        self.value.len() as u64
    }
    /// The value.
    #[inline]
    pub fn value(&self) -> Value<'_> {
        Value::Bytes(self.value)
    }
}

/// A value.
#[derive(Debug)]
pub enum Value<'a> {
    /// To be copied at once.
    Bytes(&'a [u8]),
    /// A large one, which may be kept.
    Shared(Pinned),
}

/// A large value that stays alive and unchanged as long as a clone of this exists, whatever happens to its item.
#[derive(Clone)]
pub struct Pinned {
    _inner: std::sync::Arc<[u8]>,
}

impl Pinned {
    /// Length in bytes.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "large values are never empty")]
    pub fn len(&self) -> usize {
        self.as_ref().len()
    }
}

impl AsRef<[u8]> for Pinned {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        &self._inner
    }
}

impl std::fmt::Debug for Pinned {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Pinned({} bytes)", self.len())
    }
}

/// Memory for one large value that is being received.
#[derive(Debug)]
pub struct Extent {
    _inner: Vec<u8>,
}

impl Extent {
    /// The bytes to fill. They start as zeros or as leftovers of freed values of the same store, so fill all of them.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        unimplemented!()
    }

    /// Ends the filling: the bytes can now be stored with [`Payload::Pinned`](crate::Payload::Pinned).
    pub fn freeze(self) -> Pinned {
        unimplemented!()
    }
}
