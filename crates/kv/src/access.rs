//! The circumstances of one call: the time, what the caller needs to see, and the entries that were fetched for it.

use crate::{Now, Warm};

/// What a caller needs to see of an item. Each level includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Nothing: the closure gets `None`, and its decision applies to whatever is there. For blind writes, which then never wait
    /// for a device.
    Nothing,
    /// Whether there is an item, its facts and the length of its value, but not the value.
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
    /// What the caller needs to see.
    pub need: Need,
    /// What was fetched for it. Without it, an engine that would have to wait only says so.
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
