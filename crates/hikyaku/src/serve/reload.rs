//! SIGHUP: configuration, users files and certificates are read again.
//!
//! What clients may notice at once is taken over: who may log in, and which certificate they are shown. Everything else
//! was given to sockets, loops and stores when they were made; a change there is told, and waits for a restart.
//!
//! **Invariant**: a configuration with a fault changes nothing.

use super::certificates::Certificates;
use super::listeners::Open;
use crate::cli::Serve;
use crate::config::{self, Config, files};

/// Takes over what can be taken over.
pub(super) fn run(flags: &Serve, running: &Config, open: &[Open], certificates: &Certificates) {
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
    for open in open {
        refresh_users(open, &fresh);
    }
    if let Err(text) = certificates.reload() {
        tracing::error!("certificates stay as they were: {text}");
    }
    for what in waiting(running, &fresh) {
        tracing::warn!(%what, "changed; this takes effect at the next start");
    }
    tracing::info!("configuration, users and certificates were read again");
}

/// Reads the users of a listener again, from where the fresh configuration has them.
fn refresh_users(open: &Open, fresh: &Config) {
    let address = &open.configured.address;
    let Some(listener) = fresh
        .listeners
        .iter()
        .find(|listener| listener.address == *address)
    else {
        return;
    };
    match listener
        .users
        .as_ref()
        .map(|file| files::users(&file.value))
        .transpose()
    {
        Ok(users) => open.service.set_users(users),
        Err(text) => tracing::error!(%address, "users stay as they were: {text}"),
    }
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
    note(running.user != fresh.user, "user");
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
    for listener in &fresh.listeners {
        let old = running
            .listeners
            .iter()
            .find(|old| old.address == listener.address);
        note(
            !old.is_some_and(|old| old.says_the_same(listener)),
            &format!("listener {}", listener.address),
        );
    }
    for old in &running.listeners {
        note(
            !fresh.listeners.iter().any(|new| new.address == old.address),
            &format!("listener {}", old.address),
        );
    }
    changed
}
