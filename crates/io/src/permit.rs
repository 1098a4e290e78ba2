//! The bound on a listener's connections, and their drain.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use crate::counters::Counters;
use crate::siblings::Siblings;
use crate::sync::lock;
use crate::tls::HandshakePermit;

/// The connections of one listener, over all loops.
pub(crate) struct Connections {
    max: usize,
    open: AtomicUsize,
    draining: AtomicBool,
    /// True if connections that have received nothing yet drain too.
    drains_new: AtomicBool,
    /// The accepting tasks, woken when a permit is returned or the listener is closed.
    waiting: Mutex<Vec<Waker>>,
    pub(crate) siblings: Arc<Siblings>,
}

impl Connections {
    pub(crate) fn new(max: usize, siblings: Arc<Siblings>) -> Connections {
        let (open, draining, drains_new, waiting) = Default::default();
        Connections {
            max,
            open,
            draining,
            drains_new,
            waiting,
            siblings,
        }
    }

    /// How many there are.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    pub(crate) fn has_room(&self) -> bool {
        self.open.load(Ordering::SeqCst) < self.max
    }

    /// Has the connections end as soon as each is idle, but for those that have received nothing yet.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
    }

    /// Has connections that have received nothing yet end, too.
    pub(crate) fn drain_new(&self) {
        self.drains_new.store(true, Ordering::Relaxed);
    }

    /// Wakes the accepting tasks.
    pub(crate) fn wake(&self) {
        let wakers = std::mem::take(&mut *lock(&self.waiting));
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Has an accepting task woken when there may be room, or the listener is closed.
    pub(crate) fn wait(&self, context: &Context<'_>) {
        let mut waiting = lock(&self.waiting);
        if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            waiting.push(context.waker().clone());
        }
    }
}

/// Counts one connection towards the limits of its listener and the load of its loop, for as long as it lives.
pub(crate) struct Permit {
    connections: Arc<Connections>,
    /// The counters of its loop, once placed.
    counters: Option<Arc<Counters>>,
    /// Held until the TLS handshake has ended.
    pub(crate) handshake: Option<HandshakePermit>,
}

impl Permit {
    /// Takes a permit if the listener has room.
    pub(crate) fn take(connections: &Arc<Connections>) -> Option<Permit> {
        let before = connections.open.fetch_add(1, Ordering::SeqCst);
        if before >= connections.max {
            connections.open.fetch_sub(1, Ordering::SeqCst);
            return None;
        }
        Some(Permit {
            connections: Arc::clone(connections),
            counters: None,
            handshake: None,
        })
    }

    /// True if the listener drains its connections, or those that have not `received` anything yet.
    pub(crate) fn is_draining(&self, received: bool) -> bool {
        let begun = if received {
            &self.connections.draining
        } else {
            &self.connections.drains_new
        };
        begun.load(Ordering::Relaxed)
    }

    /// The connection was placed on the loop of this index.
    pub(crate) fn on_loop(&mut self, index: usize) {
        let counters = &self.connections.siblings.counters[index];
        Counters::add(&counters.connections);
        Counters::add(&counters.accepted);
        self.counters = Some(Arc::clone(counters));
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let before = self.connections.open.fetch_sub(1, Ordering::SeqCst);
        if before >= self.connections.max {
            self.connections.wake();
        }
        if let Some(counters) = &self.counters {
            counters.connections.fetch_sub(1, Ordering::SeqCst);
            self.connections.siblings.connection_ended();
        }
    }
}
