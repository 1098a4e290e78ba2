//! State shared by the loops of one process: handles, load, and the request to end.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use crate::counters::Counters;
use crate::mailbox::Remote;
use crate::sync::lock;

/// State shared by the loops and their listeners.
pub(crate) struct Siblings {
    pub(crate) remotes: Vec<Remote>,
    pub(crate) counters: Vec<Arc<Counters>>,
    /// Where the last connection was placed, so that equally loaded loops have their turns.
    last: AtomicUsize,
    stop: Stop,
}

/// How threads learn that it is over.
#[derive(Default)]
struct Stop {
    requested: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
    draining: AtomicBool,
    quiet: Mutex<()>,
    quieter: Condvar,
}

impl Siblings {
    pub(crate) fn new(remotes: Vec<Remote>, counters: Vec<Arc<Counters>>) -> Siblings {
        Siblings {
            remotes,
            counters,
            last: AtomicUsize::new(0),
            stop: Stop::default(),
        }
    }

    /// The loop with the fewest connections; among equals the next after the last one chosen.
    pub(crate) fn least_loaded(&self, here: usize) -> usize {
        let count = self.counters.len();
        if count == 1 {
            return here;
        }
        let start = self.last.load(Ordering::Relaxed) + 1;
        let candidates = (0..count).map(|step| (start + step) % count);
        let least = candidates.min_by_key(|&index| self.counters[index].connections.load(Ordering::Relaxed));
        let least = least.unwrap_or(here);
        self.last.store(least, Ordering::Relaxed);
        least
    }

    fn connections(&self) -> u64 {
        self.counters
            .iter()
            .map(|counters| counters.connections.load(Ordering::SeqCst))
            .sum()
    }

    /// Tells who waits for the last connection that it was perhaps this one.
    pub(crate) fn connection_ended(&self) {
        if self.stop.draining.load(Ordering::SeqCst) && self.connections() == 0 {
            drop(lock(&self.stop.quiet));
            self.stop.quieter.notify_all();
        }
    }

    /// From now on [`connection_ended`](Siblings::connection_ended) tells of the last connection.
    pub(crate) fn begin_drain(&self) {
        self.stop.draining.store(true, Ordering::SeqCst);
    }

    /// Blocks until all connections have ended or the time is over.
    pub(crate) fn wait_for_quiet(&self, timeout: Duration) {
        let deadline = Instant::now() + timeout;
        let mut quiet = lock(&self.stop.quiet);
        while self.connections() > 0 {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else {
                break;
            };
            let waited = self.stop.quieter.wait_timeout(quiet, left);
            quiet = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Has all loops end.
    pub(crate) fn stop(&self) {
        self.stop.requested.store(true, Ordering::SeqCst);
        let wakers = std::mem::take(&mut *lock(&self.stop.wakers));
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Waits until the loops are to end.
    pub(crate) fn poll_stopped(&self, waker: &Waker) -> Poll<()> {
        lock(&self.stop.wakers).push(waker.clone());
        if self.stop.requested.load(Ordering::SeqCst) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}
