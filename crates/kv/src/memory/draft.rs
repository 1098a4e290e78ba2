//! An item that is about to be written, and what its write holds on to between attempts.
//!
//! **Invariant:** what a write was given (a block, a page, pages to grow by) it keeps until it has used it or ends, so that every
//! attempt lacks something that no earlier one lacked.

use std::mem;

use super::item::{CAS, EXPIRY, FLAGS, Facts, Shape, Tail};
use crate::Key;
use crate::budget::Reservation;
use crate::heap::{Block, Holder, Prefix};
use crate::time::{Expiry, Now};

/// The most copies of an old value that one write makes without the bucket's lock. Each is in vain if the value was replaced
/// meanwhile. The next copy is made under the lock, so that a write among many to one key ends.
const COPIES_OUTSIDE_MAX: u32 = 4;

/// An item as it will be, but for key and value.
#[derive(Clone, Copy)]
pub(super) struct Attributes {
    pub(super) flags: u32,
    pub(super) expiry: Expiry,
    /// Named by a client.
    pub(super) cas: Option<u64>,
    /// FETCHED, STALE and WON.
    pub(super) marks: u8,
    pub(super) last_access: u32,
    /// `None` is the next one.
    pub(super) version: Option<u64>,
}

/// Where the value comes from.
#[derive(Clone, Copy)]
pub(super) enum Source<'v> {
    /// New bytes only.
    Parts(&'v [&'v [u8]]),
    /// Old bytes, new ones, old bytes. One side is empty.
    Joined {
        before: &'v [u8],
        new: &'v [&'v [u8]],
        after: &'v [u8],
        /// The block that the old bytes lie in, if they do. Values in blocks are not empty.
        block: Option<&'v Prefix>,
    },
    /// The block of an upload.
    Adopt(&'v Holder),
    /// The block that the old item has.
    Inherit(&'v Prefix),
}

impl<'v> Source<'v> {
    /// Bytes before, parts, and bytes behind.
    #[inline]
    pub(super) fn pieces(self) -> (&'v [u8], &'v [&'v [u8]], &'v [u8]) {
        match self {
            Source::Parts(parts) => (&[], parts, &[]),
            Source::Joined {
                before, new, after, ..
            } => (before, new, after),
            Source::Adopt(pinned) => (pinned.as_ref(), &[], &[]),
            Source::Inherit(prefix) => (prefix.bytes(), &[], &[]),
        }
    }

    #[inline]
    pub(super) fn length(self) -> usize {
        let (before, parts, after) = self.pieces();
        before.len() + length_of(parts) + after.len()
    }

    /// The old value in a block that has to be copied to a new one, and the offset there.
    pub(super) fn copies(self) -> Option<(&'v Prefix, usize)> {
        match self {
            Source::Joined {
                block: Some(block),
                after,
                new,
                ..
            } => Some((block, if after.is_empty() { 0 } else { length_of(new) })),
            _ => None,
        }
    }
}

/// The length of all parts.
#[inline]
pub(super) fn length_of(parts: &[&[u8]]) -> usize {
    parts.iter().map(|part| part.len()).sum()
}

/// An item as it will be, ready to be written.
pub(super) struct Draft<'v> {
    pub(super) wanted: Attributes,
    pub(super) version: u64,
    pub(super) shape: Shape,
    pub(super) source: Source<'v>,
    /// The value of a large item, in a block.
    pub(super) large: Option<Prefix>,
}

impl<'v> Draft<'v> {
    pub(super) fn cas(&self) -> u64 {
        self.wanted.cas.unwrap_or(self.version)
    }

    /// Hands the tail to whatever writes the item. A block is the item's from then on.
    #[inline]
    pub(super) fn write(self, write: impl FnOnce(Tail<'_>)) {
        match self.large {
            Some(large) => write(Tail::Block(large)),
            None => {
                let (before, parts, after) = self.source.pieces();
                write(Tail::Pieces(before, parts, after));
            }
        }
    }
}

/// How the large value of a draft came to be, which tells what becomes of it if its item cannot be written yet.
#[derive(Default)]
pub(super) enum Origin {
    /// It was there before.
    #[default]
    Shared,
    /// A shorter value of this length was continued.
    Lengthened(usize),
    /// It was made for this write, perhaps with an old value copied into it.
    Made(Holder, Option<(Holder, usize)>),
}

/// A block for a value, perhaps with an old value copied into it.
pub(super) struct Prepared {
    pub(super) block: Block,
    /// The copied value, and its offset in the block. Holding it keeps its address from being used again.
    pub(super) copy: Option<(Holder, usize)>,
}

impl Prepared {
    /// True if it is long enough for a value of that length and holds that copy.
    pub(super) fn serves(&self, length: usize, copy: Option<(&Prefix, usize)>) -> bool {
        let copied = match (copy, &self.copy) {
            (None, _) => true,
            (Some((old, offset)), Some((held, at))) => held.is(old) && *at == offset,
            (Some(_), None) => false,
        };
        copied && self.block.fits(length)
    }
}

/// The state of one call that survives its attempts.
pub(super) struct Call<'k> {
    pub(super) key: &'k Key<'k>,
    pub(super) now: Now,
    /// The page that an earlier attempt lacked.
    pub(super) page: Option<Reservation>,
    /// Most writes need none of these, so that a pointer is all that they set up and drop.
    supplies: Option<Box<Supplies>>,
}

/// What writes of large values hold.
#[derive(Default)]
pub(super) struct Supplies {
    /// The block that an earlier attempt lacked.
    pub(super) prepared: Option<Prepared>,
    /// The pages to grow by that an earlier attempt lacked.
    pub(super) growth: Option<Reservation>,
    /// Of the large value that the current attempt writes.
    pub(super) origin: Origin,
    copies: u32,
}

impl Supplies {
    /// True if the next copy is made without the lock.
    pub(super) fn copies_outside(&self) -> bool {
        self.copies < COPIES_OUTSIDE_MAX
    }
}

impl<'k> Call<'k> {
    #[inline]
    pub(super) fn new(key: &'k Key<'k>, now: Now) -> Call<'k> {
        Call {
            key,
            now,
            page: None,
            supplies: None,
        }
    }

    #[inline(never)]
    pub(super) fn supplies(&mut self) -> &mut Supplies {
        self.supplies.get_or_insert_default()
    }

    /// The value in a block that was made for this call.
    pub(super) fn made(&mut self, pinned: Holder, copy: Option<(Holder, usize)>) -> Prefix {
        let prefix = pinned.share();
        self.supplies().origin = Origin::Made(pinned, copy);
        prefix
    }

    /// Lets go of a large value that is its item's from now on.
    #[inline(never)]
    pub(super) fn settle(&mut self) {
        if let Some(supplies) = &mut self.supplies {
            supplies.origin = Origin::Shared;
        }
    }

    /// Keeps what was made for this call, for the next attempt.
    #[cold]
    pub(super) fn keep(&mut self, large: Prefix) {
        let supplies = self.supplies();
        match mem::take(&mut supplies.origin) {
            Origin::Shared => {}
            Origin::Lengthened(before) => large.retract(before),
            Origin::Made(pinned, copy) => {
                drop(large);
                supplies.prepared = pinned.into_block().map(|block| Prepared { block, copy });
            }
        }
    }

    /// Copies an old value into a block that was made for it, without any lock.
    pub(super) fn prepare(&mut self, mut block: Block, length: usize, copy: Option<(Holder, usize)>) {
        if let Some((old, offset)) = &copy {
            let bytes = old.as_ref();
            block.bytes_mut(length)[*offset..*offset + bytes.len()].copy_from_slice(bytes);
            crate::moved::add(bytes.len());
            self.supplies().copies += 1;
        }
        self.supplies().prepared = Some(Prepared { block, copy });
    }
}

impl Attributes {
    /// Option bits that it needs.
    pub(super) fn options(&self) -> u8 {
        let flags = if self.flags == 0 { 0 } else { FLAGS };
        let expiry = if self.expiry == Expiry::Never { 0 } else { EXPIRY };
        let cas = if self.cas.is_none() { 0 } else { CAS };
        flags | expiry | cas
    }

    /// Zero is never.
    pub(super) fn end(&self) -> u32 {
        match self.expiry {
            Expiry::Never => 0,
            // Zero stands for "never", and the first second of 1970 is over either way.
            Expiry::At(second) => second.max(1),
        }
    }

    /// What's written beside key and value, for an arena with this base.
    pub(super) fn facts(&self, version: u64, base: u64) -> Facts {
        debug_assert!(version.wrapping_sub(base) <= u64::from(u32::MAX));
        Facts {
            delta: version.wrapping_sub(base) as u32,
            last_access: self.last_access,
            flags: self.flags,
            expiry: self.end(),
            cas: self.cas.unwrap_or(0),
        }
    }
}
