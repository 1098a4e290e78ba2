//! How load is applied: to which servers, by how many connections, at which pace, for how long.

use crate::target::Target;
use std::sync::Arc;
use std::time::Duration;

/// A run, whatever is said on its connections.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// The subject first, then its peers.
    pub(crate) servers: Vec<Target>,
    /// Connections to each server.
    pub(crate) connections: usize,
    pub(crate) threads: usize,
    pub(crate) pace: Pace,
    /// Whether there is anything to store before the run.
    pub(crate) fill: bool,
    /// Unmeasured time, each server.
    pub(crate) warmup: Duration,
    /// Measured time, each server.
    pub(crate) duration: Duration,
    pub(crate) phase: Duration,
    /// Poll without sleeping.
    pub(crate) spin: bool,
    /// CPUs for the generator's threads, none for wherever the scheduler likes.
    pub(crate) pin: Vec<usize>,
    pub(crate) tls: Option<Arc<rustls::ClientConfig>>,
    /// A line a second on standard error.
    pub(crate) progress: bool,
}

/// When the next write follows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Pace {
    /// When the last one is answered.
    Closed,
    /// At fixed times, this many writes a second over all connections of a server.
    Open { writes_per_second: f64 },
}

/// Descriptors beside the connections: standard streams, polls, the libraries' own.
const FILES_BESIDE: usize = 64;

impl Plan {
    /// The number of descriptors that all connections of all threads need.
    pub(crate) fn files(&self) -> u64 {
        (self.servers.len() * self.connections + FILES_BESIDE) as u64
    }

    /// The connections of one thread: a range of seats.
    pub(crate) fn seats(&self, thread: usize) -> std::ops::Range<usize> {
        let share = |thread: usize| thread * self.connections / self.threads;
        share(thread)..share(thread + 1)
    }
}
