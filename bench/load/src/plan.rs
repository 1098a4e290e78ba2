//! The plan of a run: servers, connections, pace, duration.

use crate::target::Target;
use std::sync::Arc;
use std::time::Duration;

/// The plan of a run, without its workload.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The subject first, then its peers.
    pub(crate) servers: Vec<Target>,
    /// Connections to each server.
    pub(crate) connections: usize,
    pub(crate) threads: usize,
    pub(crate) pace: Pace,
    /// True to store all keys before the run.
    pub(crate) fill: bool,
    /// Unmeasured time per server.
    pub(crate) warmup: Duration,
    /// Measured time per server.
    pub(crate) duration: Duration,
    /// Measure until every server has answered this many requests, instead of for `duration`.
    pub(crate) requests: Option<u64>,
    /// Charge the CPU time between a server's phases to its requests too.
    pub(crate) background: bool,
    pub(crate) phase: Duration,
    /// Poll without sleeping.
    pub(crate) spin: bool,
    /// CPUs for the generator's threads; empty to leave them to the scheduler.
    pub(crate) pin: Vec<usize>,
    pub(crate) tls: Option<Arc<rustls::ClientConfig>>,
    /// Print a line per second on standard error even if it is not a terminal.
    pub(crate) progress: bool,
}

/// The times of writes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Pace {
    /// A write follows the last reply to the one before.
    Closed,
    /// At fixed times: this many writes per second over all connections of a server.
    Open { writes_per_second: f64 },
}

/// Descriptors beside the connections: standard streams, polls, the libraries' own.
const FILES_BESIDE: usize = 64;

impl Plan {
    /// The number of descriptors that all connections of all threads need.
    pub(crate) fn files(&self) -> u64 {
        (self.servers.len() * self.connections + FILES_BESIDE) as u64
    }

    /// The connections of one thread, as a range of indices.
    pub(crate) fn indices(&self, thread: usize) -> std::ops::Range<usize> {
        let share = |thread: usize| thread * self.connections / self.threads;
        share(thread)..share(thread + 1)
    }
}
