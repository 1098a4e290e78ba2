//! Sets of signals.

use std::fmt;

/// A set of signals in the kernel's format: bit `n - 1` is signal `n`, from 1 to 64.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SignalSet(u64);

impl SignalSet {
    /// No signal.
    pub const EMPTY: SignalSet = SignalSet(0);
    /// All of them.
    pub const ALL: SignalSet = SignalSet(!0);

    /// The set with one more signal; numbers that are not signals are ignored.
    #[must_use]
    pub const fn with(self, signal: i32) -> SignalSet {
        SignalSet(self.0 | bit(signal))
    }

    /// The set without one.
    #[must_use]
    pub const fn without(self, signal: i32) -> SignalSet {
        SignalSet(self.0 & !bit(signal))
    }

    /// Returns whether the set contains a signal.
    #[must_use]
    pub const fn contains(self, signal: i32) -> bool {
        self.0 & bit(signal) != 0
    }

    /// The bits.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The set with these bits.
    #[must_use]
    pub const fn from_bits(bits: u64) -> SignalSet {
        SignalSet(bits)
    }

    /// The signals in it, ascending.
    pub fn iter(self) -> impl Iterator<Item = i32> {
        (1..=64).filter(move |signal| self.contains(*signal))
    }
}

const fn bit(signal: i32) -> u64 {
    if signal >= 1 && signal <= 64 {
        1 << (signal - 1)
    } else {
        0
    }
}

impl FromIterator<i32> for SignalSet {
    fn from_iter<I: IntoIterator<Item = i32>>(signals: I) -> SignalSet {
        signals.into_iter().fold(SignalSet::EMPTY, SignalSet::with)
    }
}

impl fmt::Debug for SignalSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_the_kernels() {
        let set: SignalSet = [libc::SIGHUP, libc::SIGCHLD, 64].into_iter().collect();
        assert_eq!(set.bits(), 1 | 1 << 16 | 1 << 63);
        assert!(set.contains(64) && !set.contains(2));
        assert_eq!(set.without(libc::SIGHUP).iter().collect::<Vec<_>>(), [17, 64]);
        assert_eq!(SignalSet::EMPTY.with(0).with(65).with(-1), SignalSet::EMPTY);
    }
}
