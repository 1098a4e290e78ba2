//! The end: answer what was asked, close, leave.

use std::process::ExitCode;
use std::time::Duration;

use io::{Loops, Signals};
use nix::libc::{SIGHUP, SIGINT, SIGTERM};

use super::listeners::Open;
use super::stores::Stores;

/// The signals that the daemon handles.
pub(super) const SIGNALS: [i32; 3] = [SIGTERM, SIGINT, SIGHUP];

/// The one of them that does not end it.
pub(super) const RELOAD: i32 = SIGHUP;

/// Drains every connection, for at most the longest drain timeout; a second signal to end does so at once.
/// Closes the stores after the last reply.
pub(super) async fn run(loops: Loops, open: &[Open], stores: Stores, mut signals: Signals) -> ExitCode {
    let patience = open
        .iter()
        .map(|open| open.configured.drain_timeout)
        .max()
        .unwrap_or(Duration::ZERO);
    let connections: usize = open.iter().map(|open| open.bound.connections()).sum();
    tracing::info!(connections, ?patience, "draining");
    io::spawn(async move {
        while signals.next().await == RELOAD {}
        tracing::warn!("ended at once by a second signal");
        std::process::exit(1);
    })
    .detach();
    io::offload(move || loops.stop(patience)).await;
    tracing::info!("drained");
    match io::offload(move || stores.close()).await {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
