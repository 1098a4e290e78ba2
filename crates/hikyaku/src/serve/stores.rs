//! The stores of the daemon, and their housekeeping.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use kv::{Engine, Now, Store};

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
}

impl Stores {
    /// Builds what the configuration describes, and says once what its names had to say.
    pub(super) fn open(config: &Config) -> Result<Stores, Error> {
        let mut by_name = BTreeMap::new();
        for (name, configured) in &config.stores {
            for notice in configured.specification.notices() {
                tracing::warn!(store = %name, "{notice}");
            }
            let opened = configured.specification.open();
            let store = opened.map_err(|source| Error::Store {
                name: name.clone(),
                source,
            })?;
            by_name.insert(name.clone(), Arc::new(store));
        }
        Ok(Stores { by_name })
    }

    /// The store of that name, which a checked configuration has.
    pub(super) fn named(&self, name: &str) -> Arc<Store> {
        self.by_name[name].clone()
    }

    /// Keeps house in all stores once a second, for as long as the loop lives.
    pub(super) async fn keep(self) {
        loop {
            io::sleep(TICK).await;
            for store in self.by_name.values() {
                while store.tick(Now::from(SystemTime::now()), STEPS) {
                    io::yield_now().await;
                }
            }
        }
    }
}
