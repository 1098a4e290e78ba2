//! The settings of a service.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use io::tls::ServerTls;

use crate::clock::Clock;

/// The version that clients read: that of the memcached whose behaviour this is, and nothing else.
///
/// Clients compare it before they use `touch`, `gat` or the meta commands, and some take the last number of the line for
/// the version. Our own version is `hikyaku_version` in `stats`.
pub const VERSION: &str = "1.6.45";

/// Which protocols a listener answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialects {
    /// Both; the first byte of a connection tells.
    #[default]
    Auto,
    /// Text and meta commands only.
    Text,
    /// The binary protocol only.
    Binary,
}

/// How a client asked for the end of the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shutdown {
    /// `shutdown`
    Now,
    /// `shutdown graceful`: answer what was asked, then end.
    Graceful,
}

/// Called for the `shutdown` command.
pub type OnShutdown = Arc<dyn Fn(Shutdown) + Send + Sync>;

/// Called for `refresh_certs`; an error is told to the client.
pub type OnRefresh = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;

/// Everything that can be chosen for a [`Service`](crate::Service).
#[derive(Clone)]
pub struct ServiceConfig {
    /// The protocols that are answered.
    pub dialects: Dialects,
    /// Closes connections without a request for this long; zero: never.
    pub idle_timeout: Duration,
    /// What `shutdown` does; absent: it is refused.
    pub on_shutdown: Option<OnShutdown>,
    /// What `refresh_certs` does; absent: TLS is not enabled.
    pub on_refresh: Option<OnRefresh>,
    /// Allows `flush_all`.
    pub flush: bool,
    /// Allows `watch`.
    pub watch: bool,
    /// Allows commands that list keys: `stats cachedump`, `stats detail`, `lru_crawler metadump`.
    pub dump: bool,
    /// Lets `debugtime` move the service's clock. For test suites, never for a server that others reach.
    pub debug: bool,
    /// The clock, which the housekeeping of the store must share: what has expired for the one must have for the other.
    pub clock: Arc<Clock>,
    /// The version that clients are told.
    pub version: String,
    /// The version of the program, for `stats`.
    pub program_version: String,
    /// How many loops serve it; each has counters of its own.
    pub loops: usize,
    /// The TLS of its listeners, for `stats`.
    pub tls: Vec<Arc<ServerTls>>,
    /// The most connections a listener accepts, for `stats`.
    pub connections_max: usize,
    /// Connections that may wait in the kernel, for `stats settings`.
    pub backlog: u32,
    /// Bytes a `watch`er may be behind before it misses lines.
    pub watch_buffer_size: usize,
}

impl Default for ServiceConfig {
    fn default() -> ServiceConfig {
        ServiceConfig {
            dialects: Dialects::Auto,
            idle_timeout: Duration::ZERO,
            on_shutdown: None,
            on_refresh: None,
            flush: true,
            watch: true,
            dump: true,
            debug: false,
            clock: Arc::new(Clock::start()),
            version: VERSION.to_owned(),
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            loops: 1,
            tls: Vec::new(),
            connections_max: 1024,
            backlog: 4096,
            watch_buffer_size: 256 * 1024,
        }
    }
}

impl fmt::Debug for ServiceConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceConfig")
            .field("dialects", &self.dialects)
            .field("idle_timeout", &self.idle_timeout)
            .field("shutdown", &self.on_shutdown.is_some())
            .field("flush", &self.flush)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}
