//! The stores of the daemon, and their housekeeping.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kv::{Engine, Notice, Store};
use memcached::Clock;

use super::error::Error;
use crate::config::Config;

/// How often every store's housekeeping is called.
const TICK: Duration = Duration::from_secs(1);

/// Steps of housekeeping in one go; between two of them other work of the loop has its turn.
const STEPS: usize = 256;

/// Every store by its name.
#[derive(Clone)]
pub(super) struct Stores {
    by_name: BTreeMap<String, Arc<Store>>,
    clock: Arc<Clock>,
}

impl Stores {
    /// Builds what the configuration describes, and says once what its names had to say.
    pub(super) fn open(config: &Config) -> Result<Stores, Error> {
        let mut by_name = BTreeMap::new();
        for (name, configured) in &config.stores {
            for notice in configured.specification.notices() {
                tracing::warn!(store = %name, "{notice}");
            }
            let opened = configured.specification.open_under(&config.data);
            let (store, notices) = opened.map_err(|source| Error::Store {
                name: name.clone(),
                source,
            })?;
            for notice in notices {
                tracing::warn!(store = %name, "{notice}");
            }
            tracing::info!(store = %name, "opened the store");
            by_name.insert(name.clone(), Arc::new(store));
        }
        Ok(Stores {
            by_name,
            clock: Arc::new(Clock::start()),
        })
    }

    /// The store of that name, which a checked configuration has.
    pub(super) fn named(&self, name: &str) -> Arc<Store> {
        self.by_name[name].clone()
    }

    /// Closes every store; false if one could not commit everything.
    pub(super) fn close(&self) -> bool {
        let close = |(name, store): (&String, &Arc<Store>)| {
            let closed = store.close();
            log_notices(name, store);
            match &closed {
                Ok(()) => tracing::info!(store = %name, "closed the store"),
                Err(error) => tracing::error!(store = %name, "the last writes may be lost: {error}"),
            }
            closed.is_ok()
        };
        // Every store is closed, also after one that failed.
        self.by_name
            .iter()
            .map(close)
            .fold(true, |all, closed| all & closed)
    }

    /// The daemon's one clock: services and housekeeping go by it.
    pub(super) fn clock(&self) -> &Arc<Clock> {
        &self.clock
    }

    /// Keeps house in all stores once a second, for as long as the loop lives.
    pub(super) async fn keep(self) {
        loop {
            io::sleep(TICK).await;
            for (name, store) in &self.by_name {
                while self.tick(store) {
                    io::yield_now().await;
                }
                log_notices(name, store);
            }
        }
    }

    /// Does some housekeeping; returns true if there is more to do.
    fn tick(&self, store: &Store) -> bool {
        store.tick(self.clock.now(io::now()), STEPS)
    }
}

/// Logs what happened in the background.
fn log_notices(name: &str, store: &Store) {
    for notice in store.notices() {
        match notice {
            Notice::Succeeded { .. } => tracing::info!(store = %name, "{notice}"),
            Notice::WritesRefused { .. } => tracing::error!(store = %name, "{notice}"),
            notice => tracing::warn!(store = %name, "{notice}"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::{SystemTime, UNIX_EPOCH};

    use kv::{Decision, Expiry, New, Now};

    use super::*;

    /// Housekeeping once went by the wall clock and the service by another: a step of an hour emptied the cache.
    #[test]
    fn a_step_of_the_wall_clock_drops_nothing() {
        static SECOND: AtomicU64 = AtomicU64::new(1_800_000_000);
        fn wall() -> SystemTime {
            UNIX_EPOCH + Duration::from_secs(SECOND.load(Ordering::Relaxed))
        }
        let store = Arc::new(Store::open("memory:?capacity=16MiB").unwrap().0);
        let stores = Stores {
            by_name: BTreeMap::from([("default".to_owned(), store.clone())]),
            clock: Arc::new(Clock::with_wall(wall)),
        };
        let now = |stores: &Stores| stores.clock.now(std::time::Instant::now());
        let set = |number: u32, now: Now| {
            let new = New {
                expiry: Expiry::At(now.0 + 600),
                ..New::new(&[b"value"])
            };
            let done = store.update(&store.key(&number.to_le_bytes()), now, |_| {
                (Decision::Put(new), ())
            });
            assert!(done.unwrap().ready().is_some());
        };
        let mut main = io::Loop::new(io::Config::default()).unwrap();
        main.run(async {
            (0..20_000).for_each(|number| set(number, now(&stores)));
            for step in [3600, -3600, 86_400] {
                SECOND.store(1_800_000_000_u64.saturating_add_signed(step), Ordering::Relaxed);
                while stores.tick(&store) {}
                assert_eq!(store.statistics().items, 20_000, "a step of {step} s");
            }
        });
    }
}
