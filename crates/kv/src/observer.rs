//! Observers of the evictions of a store.
//!
//! **Invariant:** without observers, an eviction costs one relaxed load; reading and writing cost nothing, ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::RwLock;

use crate::Entry;

/// An observer of what a store does by itself.
pub trait Observer: Send + Sync {
    /// An item goes to make room. Not called for what has expired or was flushed, nor for what a caller removes.
    ///
    /// Runs under the item's lock, on the thread that needs the room: it should note what it needs and return. It must
    /// neither call the store nor drop an [`Observation`] of it.
    fn evicted(&self, item: &Entry<'_>);
}

/// The observers of one store.
#[derive(Default)]
pub(crate) struct Observers {
    any: AtomicBool,
    list: RwLock<Vec<Arc<dyn Observer>>>,
}

/// As long as this lives, its observer is told. Once it's dropped, no call is under way and none will come.
#[must_use = "dropping an observation ends it"]
pub struct Observation {
    observers: Arc<Observers>,
    observer: Arc<dyn Observer>,
}

impl Observers {
    /// Adds one.
    pub(crate) fn add(self: &Arc<Self>, observer: Arc<dyn Observer>) -> Observation {
        let mut list = self.list.write();
        list.push(observer.clone());
        self.any.store(true, Relaxed);
        Observation {
            observers: self.clone(),
            observer,
        }
    }

    /// Tells everyone of an eviction; `item` is called only if there is an observer.
    #[inline]
    pub(crate) fn evicted<'a>(&self, item: impl FnOnce() -> Entry<'a>) {
        if self.any.load(Relaxed) {
            let item = item();
            self.list
                .read()
                .iter()
                .for_each(|observer| observer.evicted(&item));
        }
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        let mut list = self.observers.list.write();
        // The same observer may have been added twice; each observation ends one of them.
        if let Some(index) = list
            .iter()
            .position(|observer| Arc::ptr_eq(observer, &self.observer))
        {
            list.swap_remove(index);
        }
        self.observers.any.store(!list.is_empty(), Relaxed);
    }
}

impl std::fmt::Debug for Observers {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Observers({})", self.list.read().len())
    }
}

impl std::fmt::Debug for Observation {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Observation")
    }
}
