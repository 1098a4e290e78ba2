//! The two kinds of reference to a large value: an item's, and a reader's or writer's.

use std::sync::Arc;

use super::block::{Block, Growth};
use crate::budget::Reservation;

/// The first bytes of a block, as an item owns them. Says nothing about who else uses the block.
#[derive(Clone, Debug)]
pub(crate) struct Prefix {
    pub(crate) block: Arc<Block>,
    pub(crate) length: usize,
}

impl Prefix {
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.block.bytes(self.length)
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// The cost of the block.
    #[inline]
    pub(crate) fn cost(&self) -> usize {
        self.block.cost()
    }

    /// What `more` bytes behind these would take.
    pub(crate) fn room(&self, more: usize) -> Growth {
        self.block.room(self.length, more)
    }

    /// Adds pages to the block, as [`room`](Prefix::room) asked for.
    pub(crate) fn grow(&self, bytes: usize, reservation: &mut Reservation) {
        self.block.grow(bytes, reservation);
    }

    /// These bytes and more behind them, in the same block; `None` if that is not possible (any more).
    pub(crate) fn append(&self, parts: &[&[u8]]) -> Option<Prefix> {
        let length = self.block.append(self.length, parts)?;
        Some(Prefix {
            block: self.block.clone(),
            length,
        })
    }

    /// Takes back an append to a value of `length` bytes that was not published.
    pub(crate) fn retract(&self, length: usize) {
        self.block.retract(self.length, length);
    }
}

/// A large value that stays alive and unchanged as long as a clone of this exists, whatever happens to its item.
/// Its memory counts against the store's capacity until the last clone is gone.
pub(crate) struct Holder {
    prefix: Prefix,
}

impl Holder {
    /// A block that was filled to `length`. It counts as held from its making.
    pub(crate) fn new(mut block: Block, length: usize) -> Self {
        block.set_end(length);
        let block = Arc::new(block);
        Holder {
            prefix: Prefix { block, length },
        }
    }

    /// Holds the value of an item.
    #[inline]
    pub(crate) fn hold(prefix: &Prefix) -> Self {
        prefix.block.hold();
        Holder {
            prefix: prefix.clone(),
        }
    }

    /// The value as an item owns it.
    #[inline]
    pub(crate) fn share(&self) -> Prefix {
        self.prefix.clone()
    }

    /// The block, if this is its only reference.
    pub(crate) fn into_block(self) -> Option<Block> {
        let prefix = self.share();
        drop(self);
        let block = Arc::into_inner(prefix.block)?;
        block.hold();
        Some(block)
    }

    /// True if this is that value.
    pub(crate) fn is(&self, prefix: &Prefix) -> bool {
        Arc::ptr_eq(&self.prefix.block, &prefix.block) && self.prefix.length == prefix.length
    }

    #[inline]
    pub(crate) fn block(&self) -> &Arc<Block> {
        &self.prefix.block
    }

    /// Length in bytes.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.prefix.length
    }
}

impl Clone for Holder {
    #[inline]
    fn clone(&self) -> Self {
        Holder::hold(&self.prefix)
    }
}

impl Drop for Holder {
    #[inline]
    fn drop(&mut self) {
        self.prefix.block.release();
    }
}

impl AsRef<[u8]> for Holder {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self.prefix.bytes()
    }
}

impl std::fmt::Debug for Holder {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Holder({} bytes)", self.len())
    }
}
