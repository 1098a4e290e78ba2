//! Counters: each loop has its own set, and `stats` sums them.
//!
//! **Invariant:** a set is written by one loop only, so that adding is a plain load and store on a line which no other
//! core writes. `stats reset` therefore writes no counter: it remembers the sums and later reports what came after.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A number which one loop adds to and everybody may read.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, amount: u64) {
        self.0.store(
            self.0.load(Ordering::Relaxed).wrapping_add(amount),
            Ordering::Relaxed,
        );
    }

    fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident)*) => {
        /// The counters of one loop, on cache lines of its own.
        #[derive(Debug, Default)]
        #[repr(align(128))]
        pub(crate) struct Counters { $($(#[$doc])* pub(crate) $name: Counter,)* }

        /// Counters of all loops, summed.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Totals { $($(#[$doc])* pub $name: u64,)* }

        impl Totals {
            fn gather(&mut self, counters: &Counters) {
                $(self.$name = self.$name.wrapping_add(counters.$name.value());)*
            }

            fn since(&self, earlier: &Totals) -> Totals {
                Totals { $($name: self.$name.wrapping_sub(earlier.$name),)* }
            }

            /// Every counter with its name, for exporters.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name),)*].into_iter()
            }
        }
    };
}

counters! {
    /// Keys that were looked up and found.
    get_hits
    /// Keys that were looked up in vain.
    get_misses
    /// Storage commands.
    cmd_set
    /// `flush_all` commands.
    cmd_flush
    /// `me` commands.
    cmd_meta
    /// Lookups that change the expiry and found their key.
    touch_hits
    /// Lookups that change the expiry in vain.
    touch_misses
    /// Deletions that found their key.
    delete_hits
    /// Deletions in vain.
    delete_misses
    /// Increments of an existing number.
    incr_hits
    /// Increments in vain.
    incr_misses
    /// Decrements of an existing number.
    decr_hits
    /// Decrements in vain.
    decr_misses
    /// Stores whose cas matched.
    cas_hits
    /// Stores with a cas whose key is absent.
    cas_misses
    /// Stores whose cas differed.
    cas_badval
    /// Stores refused because the item is too large.
    store_too_large
    /// Stores refused because no room could be made.
    store_no_memory
    /// Attempts to authenticate.
    auth_cmds
    /// Failed attempts to authenticate.
    auth_errors
    /// Connections closed because they were idle.
    idle_kicks
    /// Bytes of requests.
    bytes_read
    /// Bytes of replies.
    bytes_written
    /// Times a connection gave way to others before all its requests were answered.
    conn_yields
    /// Connections accepted.
    total_connections
    /// Connections ended.
    closed_connections
}

/// The counters of all loops.
#[derive(Debug)]
pub(crate) struct Loops {
    loops: Box<[Counters]>,
    /// Loops whose end of turn will begin a commit.
    commits_due: Box<[AtomicBool]>,
    reset: Mutex<Totals>,
}

impl Loops {
    pub(crate) fn new(loops: usize) -> Loops {
        Loops {
            loops: (0..loops.max(1)).map(|_| Counters::default()).collect(),
            commits_due: (0..loops.max(1)).map(|_| AtomicBool::new(false)).collect(),
            reset: Mutex::default(),
        }
    }

    /// Whether the end of a loop's turn will begin a commit.
    pub(crate) fn commit_due(&self, index: usize) -> &AtomicBool {
        &self.commits_due[index % self.commits_due.len()]
    }

    /// The counters of a loop. Loops beyond the expected number share a set, and may then lose a count.
    pub(crate) fn of(&self, index: usize) -> &Counters {
        match self.loops.get(index) {
            Some(counters) => counters,
            None => &self.loops[index % self.loops.len()],
        }
    }

    /// Sums since the start, whatever was reset in between.
    pub(crate) fn ever(&self) -> Totals {
        let mut totals = Totals::default();
        self.loops.iter().for_each(|counters| totals.gather(counters));
        totals
    }

    pub(crate) fn since_reset(&self) -> Totals {
        self.ever().since(&self.earlier())
    }

    pub(crate) fn reset(&self) {
        let totals = self.ever();
        *self
            .reset
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner) = totals;
    }

    fn earlier(&self) -> Totals {
        *self
            .reset
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_span_loops_and_start_anew_after_a_reset() {
        let loops = Loops::new(2);
        loops.of(0).get_hits.add(2);
        loops.of(1).get_hits.add(3);
        assert_eq!(loops.since_reset().get_hits, 5);
        loops.reset();
        assert_eq!(loops.since_reset().get_hits, 0);
        loops.of(1).get_hits.add(1);
        assert_eq!((loops.since_reset().get_hits, loops.ever().get_hits), (1, 6));
    }
}
