//! The circumstances of one call: the time, what the caller needs to see, and the entries that were fetched for it.

use crate::{Now, Warm};

/// The part of an item that a caller needs. Each level includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Nothing: the closure gets `None`, and its decision applies whether or not there is an item. For blind writes, which then
    /// never wait for a device.
    Nothing,
    /// The item's existence, its facts and the length of its value, but not the value.
    Facts,
    /// All of it.
    #[default]
    Value,
}

/// The circumstances of one call. A plain [`Now`] converts to one that needs the value and has nothing fetched.
#[derive(Clone, Copy, Debug)]
pub struct Access<'w> {
    /// The present second.
    pub now: Now,
    /// The part of the item that the caller needs.
    pub need: Need,
    /// The entries that were fetched for the caller. Without a set, an engine that would have to wait returns
    /// [`Cold`](crate::Answer::Cold) and notes nothing.
    pub warm: Option<&'w Warm>,
}

impl From<Now> for Access<'_> {
    #[inline]
    fn from(now: Now) -> Self {
        Access {
            now,
            need: Need::Value,
            warm: None,
        }
    }
}
