//! The flags of `serve` that speak of the configuration, and how they win over the file.
//!
//! A listener flag replaces all the file's listeners; every other flag replaces the one value that it names.

use std::path::PathBuf;

use clap::Args;

use super::fault::{Faults, Origin};
use super::listen::{self, DEFAULT_STORE, Listener};
use super::reader::Located;
use super::store::Store;
use super::{Config, bounded};

/// The flags that override the configuration.
#[derive(Args, Debug, Default)]
pub(crate) struct Flags {
    /// Listen for memcached clients on HOST:PORT or unix:/PATH; may be repeated. Port 0 picks a free one
    #[arg(long, value_name = "ADDRESS")]
    memcached: Vec<String>,
    /// Open a store, such as default=memory:?capacity=1GiB; may be repeated
    #[arg(long, value_name = "NAME=URI")]
    store: Vec<String>,
    /// Capacity of the default store, such as 1GiB or 25%; overrides --store
    #[arg(long, value_name = "SIZE")]
    capacity: Option<String>,
    /// Folder of durable data
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Number of worker threads; auto: one per core that affinity and cgroup allow
    #[arg(long, value_name = "N|auto")]
    workers: Option<String>,
    /// Switch to this user after binding
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    #[arg(long, value_name = "ADDRESS", hide = true)]
    http: Vec<String>,
    #[arg(long, value_name = "ADDRESS", hide = true)]
    kafka: Vec<String>,
    #[arg(long, value_name = "DIR", hide = true)]
    files: Option<PathBuf>,
}

impl Flags {
    /// Writes the flags over the file's values.
    pub(super) fn apply(&self, config: &mut Config, faults: &mut Faults) {
        self.refuse_later(faults);
        if !self.memcached.is_empty() {
            config.listeners = self.listeners(faults);
        }
        for named in &self.store {
            self.add_store(named, config, faults);
        }
        if let Some(workers) = &self.workers {
            match workers_of(workers) {
                Ok(workers) => config.workers = workers,
                Err(text) => faults.add(Origin::Flag("--workers"), text),
            }
        }
        config.data = self.data.clone().unwrap_or(std::mem::take(&mut config.data));
        if let Some(user) = &self.user {
            config.user = Some(Located {
                value: user.clone(),
                origin: Origin::Flag("--user"),
            });
        }
    }

    /// Writes `--capacity` over that of the default store, or of the only one.
    pub(super) fn apply_capacity(&self, config: &mut Config, faults: &mut Faults) {
        let Some(capacity) = &self.capacity else { return };
        let origin = Origin::Flag("--capacity");
        let only = (config.stores.len() == 1).then(|| config.stores.keys().next().cloned());
        let name = only.flatten().unwrap_or_else(|| DEFAULT_STORE.to_owned());
        let Some(store) = config.stores.get_mut(&name) else {
            let text = "there is no default store; write --store NAME=URI with a capacity";
            faults.add(origin, text);
            return;
        };
        if let Err(text) = store.set_capacity(capacity, origin.clone()) {
            faults.add(origin, text);
        }
    }

    /// Notes flags of later versions.
    fn refuse_later(&self, faults: &mut Faults) {
        let asked = [
            ("--http", !self.http.is_empty()),
            ("--kafka", !self.kafka.is_empty()),
            ("--files", self.files.is_some()),
        ];
        for (flag, _) in asked.into_iter().filter(|(_, asked)| *asked) {
            faults.add(
                Origin::Flag(flag),
                "is not in this version, which speaks memcached; leave it out",
            );
        }
    }

    fn listeners(&self, faults: &mut Faults) -> Vec<Listener> {
        let origin = Origin::Flag("--memcached");
        let mut listeners = Vec::new();
        for address in &self.memcached {
            match listen::addresses(address) {
                Ok(addresses) => {
                    let unnamed = Listener::at(listen::default_address(), origin.clone());
                    listeners.extend(listen::named(&addresses, &unnamed));
                }
                Err(text) => faults.add(origin.clone(), text),
            }
        }
        listeners
    }

    fn add_store(&self, named: &str, config: &mut Config, faults: &mut Faults) {
        let origin = Origin::Flag("--store");
        // The first `=` that is not inside a URI separates the name: a URI's own come after its `:` or `#`.
        let split = named
            .split_once('=')
            .filter(|(name, _)| !name.is_empty() && !name.contains([':', '#', '?']));
        let Some((name, uri)) = split else {
            faults.add(
                origin,
                format!("{named:?} has no name; write NAME=URI, such as default=memory:?capacity=1GiB"),
            );
            return;
        };
        match Store::named(uri, origin.clone()) {
            Ok(store) => {
                config.stores.insert(name.to_owned(), store);
            }
            Err(text) => faults.add(origin, text),
        }
    }
}

fn workers_of(text: &str) -> Result<Option<usize>, String> {
    if text == "auto" {
        return Ok(None);
    }
    let count: Option<usize> = text.parse().ok().filter(|count| *count > 0);
    let count = count.map(|count| bounded(Some(count))).transpose()?.flatten();
    count
        .map(Some)
        .ok_or_else(|| format!("{text:?} is not a count; write auto or a whole number above 0"))
}
