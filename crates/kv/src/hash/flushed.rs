//! Keys that a flush has removed, for the figure of reads that meet one.
//!
//! A flush empties the index, so the index cannot tell a flushed key from one that never was. Clients of memcached watch
//! `get_flushed`, so the hashes of some flushed keys are remembered for some time.
//!
//! **Invariant:** what is remembered is bounded, and only a figure depends on it.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::Now;

/// Keys of a flush that are remembered at most.
const KEYS_MAX: usize = 1 << 16;
/// How long they are remembered, in seconds.
const SECONDS: u32 = 60;

/// The flushed keys.
#[derive(Debug, Default)]
pub(super) struct Flushed {
    any: AtomicBool,
    keys: Mutex<Keys>,
}

#[derive(Debug, Default)]
struct Keys {
    hashes: HashSet<u64>,
    until: u32,
}

impl Flushed {
    /// Remembers the keys of a flush by what the index knows of their hashes.
    pub(super) fn remember(&self, hashes: impl Iterator<Item = u64>, now: Now) {
        let hashes: HashSet<u64> = hashes.take(KEYS_MAX).collect();
        let mut keys = self.keys.lock();
        self.any.store(!hashes.is_empty(), Relaxed);
        keys.hashes = hashes;
        keys.until = now.0.saturating_add(SECONDS);
    }

    /// Returns true if the key was flushed and no read has met it since.
    #[inline]
    pub(super) fn take(&self, hash: u64) -> bool {
        self.any.load(Relaxed) && self.take_remembered(hash)
    }

    #[cold]
    fn take_remembered(&self, hash: u64) -> bool {
        self.keys.lock().hashes.remove(&hash)
    }

    /// Forgets keys that were flushed long ago.
    pub(super) fn forget(&self, now: Now) {
        if self.any.load(Relaxed) {
            let mut keys = self.keys.lock();
            if now.0 >= keys.until {
                keys.hashes = HashSet::new();
                self.any.store(false, Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flushed_key_counts_once_and_not_for_ever() {
        let flushed = Flushed::default();
        assert!(!flushed.take(1));
        flushed.remember([1, 2].into_iter(), Now(100));
        assert!(flushed.take(1) && !flushed.take(1) && !flushed.take(3));
        flushed.forget(Now(100 + SECONDS - 1));
        assert!(flushed.take(2));
        flushed.remember([1].into_iter(), Now(100));
        flushed.forget(Now(100 + SECONDS));
        assert!(!flushed.take(1));
    }

    #[test]
    fn a_large_flush_is_remembered_in_part() {
        let flushed = Flushed::default();
        flushed.remember(0.., Now(0));
        assert_eq!(flushed.keys.lock().hashes.len(), KEYS_MAX);
    }
}
