//! Decisions: what a caller of [`update`](crate::Engine::update) wants done with an item.
//!
//! **Invariant:** a decision borrows its bytes for longer than the call, so that an engine can make room and ask again.

use crate::Pinned;
use crate::time::Expiry;

/// The outcome of looking at an item: what becomes of it.
///
/// Decisions that need an item (all but `Keep` and `Put`) do nothing when there is none.
#[derive(Clone, Copy, Debug)]
pub enum Decision<'v> {
    /// Nothing changes.
    Keep,
    /// The value stays; expiry, marks, the access time or the CAS change.
    Change(Change),
    /// The item is created or wholly replaced.
    Put(New<'v>),
    /// Bytes go behind the value; flags, expiry and marks stay.
    Append(Edit<'v>),
    /// Bytes go before the value; flags, expiry and marks stay.
    Prepend(Edit<'v>),
    /// The value is replaced; flags, expiry, marks and access times stay (arithmetic).
    Rewrite(Edit<'v>),
    /// The item goes.
    Remove,
}

impl Decision<'_> {
    /// Changes the expiry and counts as an access (touch, get-and-touch).
    pub fn touch(expiry: Expiry) -> Self {
        Decision::Change(Change {
            expiry: Some(expiry),
            accessed: true,
            ..Change::default()
        })
    }
}

/// The change of the CAS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cas {
    /// It stays as it is.
    #[default]
    Same,
    /// The next one of the store's counter.
    Next,
    /// One that the client names.
    Exactly(u64),
}

/// Changes beside the value. The default changes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Change {
    /// A new expiry.
    pub expiry: Option<Expiry>,
    /// Counts as an access: marks the item fetched, notes the time, raises its worth.
    pub accessed: bool,
    /// Sets or clears the stale mark.
    pub stale: Option<bool>,
    /// Sets or clears the mark that a client holds the right to recache.
    pub won: Option<bool>,
    /// The change of the CAS.
    pub cas: Cas,
}

/// Where the bytes of a value come from.
#[derive(Clone, Copy, Debug)]
pub enum Payload<'v> {
    /// Pieces in memory, joined by the engine.
    Parts(&'v [&'v [u8]]),
    /// A value that was received into an [`Extent`](crate::Extent) of the same store; it's adopted without a copy.
    Pinned(&'v Pinned),
}

impl Payload<'_> {
    /// How many bytes it has.
    #[inline]
    pub fn len(&self) -> u64 {
        match self {
            Payload::Parts(parts) => parts.iter().map(|part| part.len() as u64).sum(),
            Payload::Pinned(pinned) => pinned.len() as u64,
        }
    }

    /// True if it has no byte.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A new item.
#[derive(Clone, Copy, Debug)]
pub struct New<'v> {
    /// Its value.
    pub value: Payload<'v>,
    /// The client's flags.
    pub flags: u32,
    /// When it ends.
    pub expiry: Expiry,
    /// A CAS that the client names; else the next one of the store's counter.
    pub cas: Option<u64>,
    /// True if it's born stale.
    pub stale: bool,
    /// True if a client holds the right to recache it.
    pub won: bool,
}

impl<'v> New<'v> {
    /// An item that never expires, without flags and marks.
    #[inline]
    #[expect(
        clippy::self_named_constructors,
        reason = "it's a new item, however the type is called"
    )]
    pub fn new(parts: &'v [&'v [u8]]) -> Self {
        New {
            value: Payload::Parts(parts),
            flags: 0,
            expiry: Expiry::Never,
            cas: None,
            stale: false,
            won: false,
        }
    }
}

/// New bytes for an existing item.
#[derive(Clone, Copy, Debug)]
pub struct Edit<'v> {
    /// The bytes.
    pub value: Payload<'v>,
    /// A CAS that the client names; else the next one of the store's counter.
    pub cas: Option<u64>,
}
