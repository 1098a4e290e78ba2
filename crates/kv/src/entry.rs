//! An item as a closure sees it, and its value.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use crate::Expiry;
use crate::memory::Block;

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

/// Where the value of an entry lies.
#[derive(Debug)]
pub(crate) enum Stored<'a> {
    Bytes(&'a [u8]),
    /// Borrowed from the item, which keeps its own count.
    Pinned(ManuallyDrop<Pinned>),
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

    /// What else is known of it.
    #[inline]
    pub fn marks(&self) -> Marks {
        self.marks
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
        match &self.stored {
            Stored::Bytes(bytes) => bytes.len() as u64,
            Stored::Pinned(pinned) => pinned.len() as u64,
        }
    }

    /// The value.
    #[inline]
    pub fn value(&self) -> Value<'_> {
        match &self.stored {
            Stored::Bytes(bytes) => Value::Bytes(bytes),
            Stored::Pinned(pinned) => Value::Shared(Pinned::clone(pinned)),
        }
    }

    /// The value's bytes, wherever they lie, for as long as the closure runs.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        match &self.stored {
            Stored::Bytes(bytes) => bytes,
            Stored::Pinned(pinned) => (**pinned).as_ref(),
        }
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
/// Its memory counts against the store's capacity until the last clone is gone.
#[derive(Clone)]
pub struct Pinned {
    block: Arc<Block>,
}

impl Pinned {
    #[inline]
    pub(crate) fn from_block(block: Arc<Block>) -> Self {
        Pinned { block }
    }

    #[inline]
    pub(crate) fn into_block(self) -> Arc<Block> {
        self.block
    }

    #[inline]
    pub(crate) fn block(&self) -> &Arc<Block> {
        &self.block
    }

    /// Length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.block.bytes().len()
    }

    /// Whether it has no byte.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl AsRef<[u8]> for Pinned {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self.block.bytes()
    }
}

impl From<Pinned> for Arc<dyn AsRef<[u8]> + Send + Sync> {
    /// Costs no allocation: the count is shared.
    fn from(pinned: Pinned) -> Self {
        pinned.block
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
    block: Option<Block>,
}

impl Extent {
    /// The block was noted as an upload of its length.
    pub(crate) fn new(block: Block) -> Self {
        Extent { block: Some(block) }
    }

    /// The bytes to fill. They start as zeros or as leftovers of freed values of the same store, so fill all of them.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        self.block.as_mut().map_or(&mut [], Block::bytes_mut)
    }

    /// Ends the filling: the bytes can now be stored with [`Payload::Pinned`](crate::Payload::Pinned).
    pub fn freeze(mut self) -> Pinned {
        let block = self
            .block
            .take()
            .expect("only freezing and dropping take the block, and both end the extent");
        block.end_upload();
        Pinned::from_block(Arc::new(block))
    }
}

impl Drop for Extent {
    fn drop(&mut self) {
        if let Some(block) = &self.block {
            block.end_upload();
        }
    }
}
