//! An event that tasks on any loop can wait for: a number that only grows.
//!
//! ```text
//!   writers   append …, then signal.at_least(42).await          epoch 41 ── advance_to(45) ──> 45
//!   committer fsync, then signal.advance_to(45)                 waiting: 42 44 | 50 51
//!                                                               woken: 42 44
//! ```
//!
//! **Invariant:** no wake-up is lost. A waiter publishes its target before it checks the epoch, and an advance publishes the
//! epoch before it looks for targets, with a fence in between on both sides: one of them sees the other.
//!
//! **Invariant:** an advance takes the lock only if a waiter is due.

use std::collections::BTreeMap;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::sync::{AtomicU64, Mutex, Ordering, fence, lock};

/// A monotone counter, such as the offset up to which a log is on its device. Tasks wait until it reaches the value they need;
/// any thread may advance it.
///
/// Writes of a thread before it advanced the signal are visible to the tasks that the advance wakes.
pub struct Signal {
    epoch: AtomicU64,
    /// The least epoch that a task waits for; [`u64::MAX`] if none waits.
    earliest: AtomicU64,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    /// By the epoch waited for, and a number that tells waiters for one epoch apart.
    wakers: BTreeMap<(u64, u64), Waker>,
    next: u64,
}

impl Signal {
    /// A signal that begins at `epoch`.
    #[must_use]
    pub fn new(epoch: u64) -> Signal {
        Signal {
            epoch: AtomicU64::new(epoch),
            earliest: AtomicU64::new(u64::MAX),
            waiting: Mutex::new(Waiting::default()),
        }
    }

    /// The present epoch.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Adds one and returns the new epoch.
    pub fn advance(&self) -> u64 {
        let epoch = self.epoch.fetch_add(1, Ordering::AcqRel) + 1;
        self.wake_due(epoch);
        epoch
    }

    /// Raises the epoch to `epoch`; a lower one than the present changes nothing.
    pub fn advance_to(&self, epoch: u64) {
        if self.epoch.fetch_max(epoch, Ordering::AcqRel) < epoch {
            self.wake_due(epoch);
        }
    }

    /// Waits until the epoch is `epoch` or greater, and returns it.
    pub fn at_least(&self, epoch: u64) -> AtLeast<'_> {
        AtLeast {
            signal: self,
            target: epoch,
            key: None,
        }
    }

    fn wake_due(&self, epoch: u64) {
        fence(Ordering::SeqCst);
        if self.earliest.load(Ordering::Relaxed) <= epoch {
            self.take_due().into_values().for_each(Waker::wake);
        }
    }

    /// Removes the waiters that need not wait any longer. The caller wakes them without the lock.
    #[cold]
    fn take_due(&self) -> BTreeMap<(u64, u64), Waker> {
        let mut waiting = lock(&self.waiting);
        let later = match self.epoch().checked_add(1) {
            Some(next) => waiting.wakers.split_off(&(next, 0)),
            None => BTreeMap::new(),
        };
        let due = mem::replace(&mut waiting.wakers, later);
        self.publish_earliest(&waiting);
        due
    }

    fn publish_earliest(&self, waiting: &Waiting) {
        let earliest = waiting.wakers.keys().next().map_or(u64::MAX, |&(epoch, _)| epoch);
        self.earliest.store(earliest, Ordering::Relaxed);
    }

    fn register(&self, target: u64, key: &mut Option<u64>, waker: &Waker) {
        let mut waiting = lock(&self.waiting);
        let number = *key.get_or_insert_with(|| {
            waiting.next += 1;
            waiting.next
        });
        waiting
            .wakers
            .entry((target, number))
            .or_insert_with(|| waker.clone())
            .clone_from(waker);
        self.publish_earliest(&waiting);
    }

    fn deregister(&self, target: u64, number: u64) {
        let mut waiting = lock(&self.waiting);
        let waker = waiting.wakers.remove(&(target, number));
        self.publish_earliest(&waiting);
        drop(waiting);
        drop(waker);
    }
}

impl Default for Signal {
    /// A signal that begins at 0.
    fn default() -> Signal {
        Signal::new(0)
    }
}

impl std::fmt::Debug for Signal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signal")
            .field("epoch", &self.epoch())
            .finish_non_exhaustive()
    }
}

/// The future of [`Signal::at_least`]. It may be dropped at any time.
#[must_use = "futures do nothing unless awaited"]
pub struct AtLeast<'a> {
    signal: &'a Signal,
    target: u64,
    /// Its number among the waiters, once it has waited.
    key: Option<u64>,
}

impl AtLeast<'_> {
    fn reached(&self) -> Option<u64> {
        Some(self.signal.epoch()).filter(|&epoch| epoch >= self.target)
    }
}

impl Future for AtLeast<'_> {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u64> {
        if let Some(epoch) = self.reached() {
            return Poll::Ready(epoch);
        }
        let this = &mut *self;
        this.signal.register(this.target, &mut this.key, context.waker());
        fence(Ordering::SeqCst);
        this.reached().map_or(Poll::Pending, Poll::Ready)
    }
}

impl Drop for AtLeast<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.key {
            self.signal.deregister(self.target, number);
        }
    }
}

impl std::fmt::Debug for AtLeast<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AtLeast")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}
