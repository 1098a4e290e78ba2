//! An item that is about to be written, and what its write holds on to between attempts.
//!
//! **Invariant:** what a write was given (a block, a page, pages to grow by) it keeps until it has used it or ends, so that every
//! attempt lacks something that no earlier one lacked.

use super::item::{CAS, EXPIRY, FLAGS, Facts, Shape, Tail};
use crate::Key;
use crate::budget::Reservation;
use crate::heap::{Block, Pinned, Prefix};
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
    /// Old bytes and new ones, behind or before them.
    Joined {
        old: &'v [u8],
        /// The block that the old bytes lie in, if they do.
        block: Option<&'v Prefix>,
        new: &'v [&'v [u8]],
        behind: bool,
    },
    /// The block of an upload.
    Adopt(&'v Pinned),
    /// The block that the old item has.
    Inherit(&'v Prefix),
}

impl<'v> Source<'v> {
    /// Bytes before, parts, and bytes behind.
    pub(super) fn pieces(self) -> (&'v [u8], &'v [&'v [u8]], &'v [u8]) {
        match self {
            Source::Parts(parts) => (&[], parts, &[]),
            Source::Joined {
                old,
                new,
                behind: true,
                ..
            } => (old, new, &[]),
            Source::Joined {
                old,
                new,
                behind: false,
                ..
            } => (&[], new, old),
            Source::Adopt(pinned) => (pinned.as_ref(), &[], &[]),
            Source::Inherit(prefix) => (prefix.bytes(), &[], &[]),
        }
    }

    pub(super) fn length(self) -> usize {
        let (before, parts, after) = self.pieces();
        before.len() + parts.iter().map(|part| part.len()).sum::<usize>() + after.len()
    }

    /// The old value in a block that has to be copied to a new one, and the offset there.
    pub(super) fn copies(self) -> Option<(&'v Prefix, usize)> {
        match self {
            Source::Joined {
                block: Some(block),
                behind: true,
                ..
            } => Some((block, 0)),
            Source::Joined {
                block: Some(block),
                new,
                behind: false,
                ..
            } => Some((block, new.iter().map(|part| part.len()).sum())),
            _ => None,
        }
    }
}

/// An item as it will be, ready to be written.
pub(super) struct Draft<'v> {
    pub(super) wanted: Attributes,
    pub(super) version: u64,
    pub(super) shape: Shape,
    pub(super) source: Source<'v>,
    pub(super) large: Option<Large>,
}

impl<'v> Draft<'v> {
    pub(super) fn cas(&self) -> u64 {
        self.wanted.cas.unwrap_or(self.version)
    }

    /// Hands the tail to whatever writes the item. A block is the item's from then on.
    #[inline]
    pub(super) fn write(self, write: impl FnOnce(Tail<'_>)) {
        match self.large {
            Some(large) => write(Tail::Block(large.prefix)),
            None => {
                let (before, parts, after) = self.source.pieces();
                write(Tail::Pieces(before, parts, after));
            }
        }
    }
}

/// The value of a large item that is about to be written.
pub(super) struct Large {
    pub(super) prefix: Prefix,
    origin: Origin,
}

/// How a large value came to be, which tells what becomes of it if its item cannot be written yet.
enum Origin {
    /// It was there before.
    Shared,
    /// A shorter value of this length was continued.
    Lengthened(usize),
    /// It was made for this write, perhaps with an old value copied into it.
    Made(Pinned, Option<(Pinned, usize)>),
}

impl Large {
    pub(super) fn shared(prefix: Prefix) -> Large {
        Large {
            prefix,
            origin: Origin::Shared,
        }
    }

    pub(super) fn longer(prefix: Prefix, before: usize) -> Large {
        Large {
            prefix,
            origin: Origin::Lengthened(before),
        }
    }

    pub(super) fn made(pinned: Pinned, copy: Option<(Pinned, usize)>) -> Large {
        Large {
            prefix: pinned.share(),
            origin: Origin::Made(pinned, copy),
        }
    }
}

/// A block for a value, perhaps with an old value copied into it.
pub(super) struct Prepared {
    pub(super) block: Block,
    /// The copied value, and its offset in the block. Holding it keeps its address from being used again.
    pub(super) copy: Option<(Pinned, usize)>,
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
    /// The block that an earlier attempt lacked.
    pub(super) prepared: Option<Prepared>,
    /// The page that an earlier attempt lacked.
    pub(super) page: Option<Reservation>,
    /// The pages to grow by that an earlier attempt lacked.
    pub(super) growth: Option<Reservation>,
    copies: u32,
}

impl<'k> Call<'k> {
    #[inline]
    pub(super) fn new(key: &'k Key<'k>, now: Now) -> Call<'k> {
        Call {
            key,
            now,
            prepared: None,
            page: None,
            growth: None,
            copies: 0,
        }
    }

    /// Keeps what was made for this call, for the next attempt.
    pub(super) fn keep(&mut self, draft: Draft<'_>) {
        let Some(Large { prefix, origin }) = draft.large else {
            return;
        };
        match origin {
            Origin::Shared => {}
            Origin::Lengthened(before) => prefix.retract(before),
            Origin::Made(pinned, copy) => {
                drop(prefix);
                self.prepared = pinned.into_block().map(|block| Prepared { block, copy });
            }
        }
    }

    /// True if the next copy is made without the lock.
    pub(super) fn copies_outside(&self) -> bool {
        self.copies < COPIES_OUTSIDE_MAX
    }

    /// Copies an old value into a block that was made for it, without any lock.
    pub(super) fn prepare(&mut self, mut block: Block, length: usize, copy: Option<(Pinned, usize)>) {
        if let Some((old, offset)) = &copy {
            let bytes = old.as_ref();
            block.bytes_mut(length)[*offset..*offset + bytes.len()].copy_from_slice(bytes);
            crate::moved::add(bytes.len());
            self.copies += 1;
        }
        self.prepared = Some(Prepared { block, copy });
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
