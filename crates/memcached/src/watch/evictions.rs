//! Evictions, as the store reports them to `watch evictions`.
//!
//! **Invariant:** the store is observed only while a client watches evictions; otherwise they cost nothing extra.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use kv::{Engine, Entry, Observation, Observer, Store};

use super::{Hub, Kinds, line};
use crate::clock::{Clock, seconds_left};

/// The one observation that all watchers of evictions share.
#[derive(Debug)]
pub(crate) struct Evictions {
    hub: Arc<Hub>,
    clock: Arc<Clock>,
    shared: Mutex<Weak<Observation>>,
}

/// Passes evictions on to watchers.
struct Reporter {
    hub: Arc<Hub>,
    clock: Arc<Clock>,
}

impl Observer for Reporter {
    fn evicted(&self, item: &Entry<'_>) {
        let now = self.clock.now(Instant::now());
        let eviction = line::Eviction {
            fetched: item.fetched(),
            seconds: seconds_left(item.expiry(), now),
            idle: now.0.saturating_sub(item.last_access()),
            length: item.len(),
        };
        self.hub.publish(Kinds::EVICTIONS, |out, id| {
            line::evicted(out, id, item.key(), &eviction)
        });
    }
}

impl Evictions {
    pub(crate) fn new(hub: &Arc<Hub>, clock: &Arc<Clock>) -> Evictions {
        Evictions {
            hub: hub.clone(),
            clock: clock.clone(),
            shared: Mutex::default(),
        }
    }

    /// Observes the store for as long as any of the answered handles lives, if these kinds need that.
    pub(crate) fn observe(&self, store: &Store, kinds: Kinds) -> Option<Arc<Observation>> {
        if !kinds.has(Kinds::EVICTIONS) {
            return None;
        }
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        Some(shared.upgrade().unwrap_or_else(|| {
            let reporter = Reporter {
                hub: self.hub.clone(),
                clock: self.clock.clone(),
            };
            let observation = Arc::new(store.observe(Arc::new(reporter)));
            *shared = Arc::downgrade(&observation);
            observation
        }))
    }
}
