//! Time as the stores see it: whole seconds since the Unix epoch, given by the caller.

/// The present second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Now(pub u32);

impl Now {
    /// Seconds since the Unix epoch.
    #[inline]
    pub fn seconds(self) -> u32 {
        self.0
    }
}

impl From<std::time::SystemTime> for Now {
    /// Saturates at both ends, so that a clock set before 1970 or after 2106 is harmless.
    fn from(time: std::time::SystemTime) -> Self {
        let seconds = time
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        Now(u32::try_from(seconds).unwrap_or(u32::MAX - 1))
    }
}

/// When an item ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Expiry {
    /// It stays until it's removed or evicted.
    #[default]
    Never,
    /// It's gone from this second on (seconds since the Unix epoch).
    At(u32),
}

impl Expiry {
    /// True if an item with this expiry has expired at `now`.
    #[inline]
    pub fn passed(self, now: Now) -> bool {
        match self {
            Expiry::Never => false,
            Expiry::At(second) => second <= now.0,
        }
    }
}
