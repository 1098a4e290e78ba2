//! Counters of a loop, readable from any thread.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Connections placed on the loop, some of them perhaps still in its mailbox.
    pub(crate) connections: AtomicU64,
    pub(crate) accepted: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) held: AtomicU64,
    pub(crate) held_refused: AtomicU64,
    pub(crate) idle_ended: AtomicU64,
    pub(crate) panics: AtomicU64,
    pub(crate) cold_reads: AtomicU64,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}
