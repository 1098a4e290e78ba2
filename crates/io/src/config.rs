//! The named limits of a loop, with their defaults.

use crate::clock::Clock;

/// How loops are made.
#[derive(Debug, Clone)]
pub struct Config {
    /// Loops, each on a thread of its own. Default: what affinity and the cgroup's quota allow.
    pub workers: usize,
    /// Processors to pin the loops to, in turn. Default: unpinned.
    pub cpus: Option<Vec<usize>>,
    /// Bytes of a loop's one input buffer: the most that one read takes. Default: 64 KiB.
    pub input_size: usize,
    /// Bytes of output after which [`Output::full`](crate::Output::full) tells a closure to stop. Default: 64 KiB.
    pub output_size: usize,
    /// Bytes that all connections of one loop together may hold for partial requests and unsent replies; the
    /// connection that asks for more is ended with [`Error::HeldLimit`](crate::Error::HeldLimit). Default: 64 MiB.
    pub held_max: usize,
    /// Mails that may wait for one loop; beyond it [`Remote::post`](crate::Remote::post) refuses. Default: 65,536.
    pub mailbox_max: usize,
    /// The source of the time. Default: the system's monotonic clock.
    pub clock: Clock,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            workers: std::thread::available_parallelism().map_or(1, usize::from),
            cpus: None,
            input_size: 64 << 10,
            output_size: 64 << 10,
            held_max: 64 << 20,
            mailbox_max: 1 << 16,
            clock: Clock::default(),
        }
    }
}
