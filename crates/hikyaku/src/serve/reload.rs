//! SIGHUP: configuration, users files and certificates are read again.
//!
//! What clients may notice at once is taken over: who may log in, and which certificate they are shown. Everything else
//! was given to sockets, loops and stores when they were made; a change there is told, and waits for a restart.
//!
//! **Invariant**: a configuration with a fault changes nothing.
//!
//! **Invariant**: no listener gets the users of another one.

use std::path::Path;
use std::sync::Arc;

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
    refresh_users(open, &fresh);
    if let Err(text) = certificates.reload() {
        tracing::error!("certificates stay as they were: {text}");
    }
    for what in waiting(running, &fresh) {
        tracing::warn!(%what, "changed; this takes effect at the next start");
    }
    tracing::info!("configuration, users and certificates were read again");
}

/// Reads the users of every service again, from where the fresh configuration has them.
///
/// Listeners that were written alike are one service. If the file now tells their users apart, one service cannot
/// follow them all, and no listener may be opened to those whom only another one knows: its users stay as they were.
fn refresh_users(open: &[Open], fresh: &Config) {
    for (index, opened) in open.iter().enumerate() {
        let is_same = |other: &Open| Arc::ptr_eq(&other.service, &opened.service);
        if open[..index].iter().any(is_same) {
            continue;
        }
        let address = &opened.configured.address;
        let file = users_file(open, index, fresh);
        let others = (index + 1..open.len()).filter(|other| is_same(&open[*other]));
        if let Some(other) = others
            .into_iter()
            .find(|other| users_file(open, *other, fresh) != file)
        {
            let other = &open[other].configured.address;
            tracing::error!(
                %address, %other,
                "users stay as they were: these listeners began with the same users and now differ; \
                start the daemon anew"
            );
            continue;
        }
        match file.map(files::users).transpose() {
            Ok(users) => opened.service.set_users(users),
            Err(text) => tracing::error!(%address, "users stay as they were: {text}"),
        }
    }
}

/// Where the users of a listener are: as the fresh configuration has it, or as it was if that no longer names it.
fn users_file<'a>(open: &'a [Open], index: usize, fresh: &'a Config) -> Option<&'a Path> {
    let configured = &open[index].configured;
    let address = &configured.address;
    // Port 0 may stand there more than once; these listeners are told apart by their order.
    let earlier = open[..index]
        .iter()
        .filter(|other| other.configured.address == *address);
    let mut named = fresh
        .listeners
        .iter()
        .filter(|listener| listener.address == *address);
    let listener = named.nth(earlier.count()).unwrap_or(configured);
    listener.users.as_ref().map(|file| file.value.as_path())
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
