//! A bounded list that many threads add to and one loop empties, and how the loop learns of it while it sleeps.
//!
//! **Invariant:** no item is overlooked. The loop announces that it parks before it checks for items a last time, and a
//! sender adds its item before it checks whether the loop is parked, with a fence in between on both sides: one of them sees
//! the other.

use std::mem;

use crate::sync::{AtomicBool, Mutex, Ordering, fence, lock};

/// The items for one loop.
pub(crate) struct Inbox<T> {
    queue: Mutex<Queue<T>>,
    /// True if there may be items; it spares an idle loop the lock.
    pending: AtomicBool,
    /// True while the loop sleeps or is about to.
    parked: AtomicBool,
    max: usize,
}

struct Queue<T> {
    items: Vec<T>,
    closed: bool,
}

impl<T> Inbox<T> {
    pub(crate) fn new(max: usize) -> Inbox<T> {
        Inbox {
            queue: Mutex::new(Queue {
                items: Vec::new(),
                closed: false,
            }),
            pending: AtomicBool::new(false),
            parked: AtomicBool::new(false),
            max,
        }
    }

    /// Adds an item. `Ok(true)` obliges the caller to wake the loop from its sleep. Returns the item if the loop has ended
    /// or, if `bounded`, the list is full.
    pub(crate) fn put(&self, item: T, bounded: bool) -> Result<bool, T> {
        let mut queue = lock(&self.queue);
        if queue.closed || (bounded && queue.items.len() >= self.max) {
            return Err(item);
        }
        queue.items.push(item);
        drop(queue);
        self.pending.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
        // Most senders find the loop awake and need no exclusive access to its cache line.
        Ok(self.parked.load(Ordering::Relaxed) && self.parked.swap(false, Ordering::AcqRel))
    }

    /// Moves all items to `items`, which must be empty.
    pub(crate) fn take(&self, items: &mut Vec<T>) {
        if self.pending.load(Ordering::Relaxed) && self.pending.swap(false, Ordering::AcqRel) {
            mem::swap(&mut lock(&self.queue).items, items);
        }
    }

    /// Announces that the loop is about to sleep; `false` if there are items, so that it must not.
    pub(crate) fn park(&self) -> bool {
        self.parked.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let may_sleep = !self.pending.load(Ordering::Relaxed);
        if !may_sleep {
            self.unpark();
        }
        may_sleep
    }

    /// The loop is awake.
    pub(crate) fn unpark(&self) {
        self.parked.store(false, Ordering::Relaxed);
    }

    /// Refuses items from now on and returns those that are left.
    pub(crate) fn close(&self) -> Vec<T> {
        let mut queue = lock(&self.queue);
        queue.closed = true;
        mem::take(&mut queue.items)
    }
}
