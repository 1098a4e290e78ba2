//! What `watch evictions` needs of the store: to be told which items go.
//!
//! **Invariant:** the store is observed only while somebody watches evictions; else evicting costs what it always does.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use kv::{Engine, Entry, Observation, Observer};

use super::{Kinds, line};
use crate::clock::seconds_left;
use crate::service::Service;

/// The one observation that all watchers of evictions share.
#[derive(Debug, Default)]
pub(crate) struct Evictions(Mutex<Weak<Observation>>);

/// Passes evictions on to watchers.
struct Teller(Arc<Service>);

impl Observer for Teller {
    fn evicted(&self, item: &Entry<'_>) {
        let Teller(service) = self;
        let now = service.clock.now(Instant::now());
        let eviction = line::Eviction {
            fetched: item.fetched(),
            seconds: seconds_left(item.expiry(), now),
            idle: now.0.saturating_sub(item.last_access()),
            length: item.len(),
        };
        service.hub.publish(Kinds::EVICTIONS, |out, id| {
            line::evicted(out, id, item.key(), &eviction)
        });
    }
}

impl Evictions {
    /// Observes the service's store for as long as any of the answered handles lives, if these kinds need that.
    pub(crate) fn observe(service: &Arc<Service>, kinds: Kinds) -> Option<Arc<Observation>> {
        if !kinds.has(Kinds::EVICTIONS) {
            return None;
        }
        let mut shared = service.evictions.0.lock().unwrap_or_else(PoisonError::into_inner);
        Some(shared.upgrade().unwrap_or_else(|| {
            let observation = Arc::new(service.store.observe(Arc::new(Teller(service.clone()))));
            *shared = Arc::downgrade(&observation);
            observation
        }))
    }
}
