//! SIGHUP: configuration, users files and certificates are read again.
//!
//! A reload replaces users and certificates, and resizes stores. Everything else was given to sockets, loops and stores when
//! they were made; a change there is logged, and waits for a restart. Connections of users who may no longer log in are closed.
//!
//! **Invariant**: a configuration with a fault changes nothing.
//!
//! **Invariant**: no listener gets the users of another one.

use std::path::Path;

use kv::Engine;

use super::certificates::Certificates;
use super::listeners::Open;
use super::stores::Stores;
use crate::cli::Serve;
use crate::config::listen::Listener;
use crate::config::{self, Config, files};

/// Takes over what can be taken over.
pub(super) fn run(
    flags: &Serve,
    running: &Config,
    open: &[Open],
    stores: &Stores,
    certificates: &Certificates,
) {
    let fresh = match config::load(flags.config.as_deref(), &flags.flags) {
        Ok(fresh) => fresh,
        Err(faults) => {
            for fault in faults.to_string().lines() {
                tracing::error!("{fault}");
            }
            tracing::error!("the configuration has faults; everything stays as it was");
            return;
        }
    };
    refresh_users(open, &fresh);
    resize_stores(stores, running, &fresh);
    if let Err(text) = certificates.reload() {
        tracing::error!("certificates stay as they were: {text}");
    }
    for what in waiting(running, &fresh) {
        tracing::warn!(%what, "changed; this takes effect at the next start");
    }
    tracing::info!("configuration, users and certificates were read again");
}

/// Reads the users of every listener again, from where the fresh configuration has them.
fn refresh_users(open: &[Open], fresh: &Config) {
    for (index, opened) in open.iter().enumerate() {
        let address = &opened.configured.address;
        match users_file(open, index, fresh).map(files::users).transpose() {
            Ok(users) => {
                let closed = opened.endpoint.set_users(users);
                if closed > 0 {
                    tracing::info!(%address, closed, "closed connections of users who may no longer log in");
                }
            }
            Err(text) => tracing::error!(%address, "users stay as they were: {text}"),
        }
    }
}

/// Gives stores the capacity that the fresh configuration has for them.
fn resize_stores(stores: &Stores, running: &Config, fresh: &Config) {
    for (name, store) in &fresh.stores {
        let Some(old) = running.stores.get(name) else {
            continue;
        };
        let capacity = store.specification.capacity();
        if !old.says_the_same(store) || stores.named(name).statistics().capacity == capacity {
            continue;
        }
        match stores.named(name).resize(capacity) {
            Ok(()) => tracing::info!(store = %name, capacity, "the capacity was changed"),
            Err(error) => tracing::error!(store = %name, "the capacity stays as it was: {error}"),
        }
    }
}

/// Where the users of a listener are: as the fresh configuration has it, or as it was if that no longer names it.
fn users_file<'a>(open: &'a [Open], index: usize, fresh: &'a Config) -> Option<&'a Path> {
    let configured = &open[index].configured;
    let earlier = open[..index].iter().map(|other| &other.configured);
    let listener = counterpart(configured, earlier, &fresh.listeners).unwrap_or(configured);
    listener.users.as_ref().map(|file| file.value.as_path())
}

/// The listener in another configuration that has the same address. Several listeners may have the same one, with port 0;
/// these correspond in their order, so it takes the listeners that stand before this one.
fn counterpart<'a>(
    listener: &Listener,
    earlier: impl IntoIterator<Item = &'a Listener>,
    others: &'a [Listener],
) -> Option<&'a Listener> {
    let same = |other: &&Listener| other.address == listener.address;
    let before = earlier.into_iter().filter(same).count();
    others.iter().filter(same).nth(before)
}

/// The names of what differs and cannot change at run time.
fn waiting(running: &Config, fresh: &Config) -> Vec<String> {
    let mut changed = Vec::new();
    let mut note = |differs: bool, name: &str| {
        if differs {
            changed.push(name.to_owned());
        }
    };
    note(running.workers != fresh.workers, "workers");
    note(running.data != fresh.data, "data");
    let user = |config: &Config| config.user.as_ref().map(|user| user.value.clone());
    note(user(running) != user(fresh), "user");
    for (name, store) in &fresh.stores {
        note(
            !running
                .stores
                .get(name)
                .is_some_and(|old| old.says_the_same(store)),
            &format!("store {name:?}"),
        );
    }
    for name in running
        .stores
        .keys()
        .filter(|name| !fresh.stores.contains_key(*name))
    {
        note(true, &format!("store {name:?}"));
    }
    for (index, listener) in fresh.listeners.iter().enumerate() {
        let old = counterpart(listener, &fresh.listeners[..index], &running.listeners);
        note(
            !old.is_some_and(|old| old.says_the_same(listener)),
            &format!("listener {}", listener.address),
        );
    }
    for (index, old) in running.listeners.iter().enumerate() {
        let new = counterpart(old, &running.listeners[..index], &fresh.listeners);
        note(new.is_none(), &format!("listener {}", old.address));
    }
    changed
}
