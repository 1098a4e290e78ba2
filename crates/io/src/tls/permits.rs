//! The bound on handshakes in flight.
//!
//! A listener takes a [`HandshakePermit`] for each connection that it accepts. The connection returns the permit when its
//! handshake, or the connection itself, ends. When all permits are taken, the next connection displaces the handshake that
//! began first: a client that stalls pays before one that has just come, so half handshakes do not keep others out.
//!
//! **Invariant:** at most [`ServerFiles::handshakes_max`] handshakes have a permit, over all loops; a handshake without one
//! ends in the next turn of its loop.
//!
//! [`ServerFiles::handshakes_max`]: super::ServerFiles::handshakes_max

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::core::{Core, DISPLACED};
use crate::mailbox::Remote;
use crate::readiness;

/// The handshakes of one [`ServerTls`](super::ServerTls).
pub(super) struct Handshakes {
    max: usize,
    in_flight: Mutex<InFlight>,
    displaced: AtomicU64,
    failed: AtomicU64,
}

/// Handshakes by the order in which their connections were accepted.
#[derive(Default)]
struct InFlight {
    next: u64,
    slots: BTreeMap<u64, Slot>,
}

/// The connection of one handshake: its loop and its source there, once it has been placed.
#[derive(Default)]
struct Slot {
    placed: Option<(Remote, u64)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Handshakes {
    pub(super) fn new(max: usize) -> Handshakes {
        Handshakes {
            max: max.max(1),
            in_flight: Mutex::default(),
            displaced: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        }
    }

    pub(super) fn in_flight(&self) -> usize {
        lock(&self.in_flight).slots.len()
    }

    pub(super) fn displaced(&self) -> u64 {
        self.displaced.load(Ordering::Relaxed)
    }

    pub(super) fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    pub(super) fn count_failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }
}

/// The right to have one handshake in flight, returned on drop.
pub(crate) struct HandshakePermit {
    handshakes: Arc<Handshakes>,
    number: u64,
}

impl HandshakePermit {
    /// Takes a permit, from the handshake that began first if none is free.
    pub(super) fn take(handshakes: &Arc<Handshakes>) -> HandshakePermit {
        let mut in_flight = lock(&handshakes.in_flight);
        let full = in_flight.slots.len() >= handshakes.max;
        let oldest = full.then(|| in_flight.slots.pop_first()).flatten();
        let number = in_flight.next;
        in_flight.next += 1;
        in_flight.slots.insert(number, Slot::default());
        drop(in_flight);
        if let Some((_, slot)) = oldest {
            displace(handshakes, slot);
        }
        let handshakes = Arc::clone(handshakes);
        HandshakePermit { handshakes, number }
    }

    /// Tells where the connection has been placed: on this thread's loop, with this token. Returns `false` if the handshake
    /// was displaced on its way there.
    pub(crate) fn place(&self, core: &Core, token: u64) -> bool {
        let mut in_flight = lock(&self.handshakes.in_flight);
        let Some(slot) = in_flight.slots.get_mut(&self.number) else {
            drop(in_flight);
            self.handshakes.count_failed();
            return false;
        };
        slot.placed = Some((Remote::new(Arc::clone(&core.mailbox)), token));
        true
    }

    /// Returns the permit; `false` if it was lost to another handshake.
    pub(crate) fn end(self) -> bool {
        lock(&self.handshakes.in_flight)
            .slots
            .remove(&self.number)
            .is_some()
    }

    /// The bound on handshakes in flight.
    pub(crate) fn max(&self) -> usize {
        self.handshakes.max
    }
}

/// Has a handshake end that has lost its permit.
fn displace(handshakes: &Handshakes, slot: Slot) {
    handshakes.displaced.fetch_add(1, Ordering::Relaxed);
    if let Some((remote, token)) = slot.placed {
        // If its loop has ended, so has the connection.
        remote.post_unbounded(move || {
            Core::with(|core| readiness::signal(core, token, DISPLACED));
        });
    }
}

impl Drop for HandshakePermit {
    fn drop(&mut self) {
        lock(&self.handshakes.in_flight).slots.remove(&self.number);
    }
}
