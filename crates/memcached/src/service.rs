//! The service: everything that its connections share.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use io::Address;
use kv::{Engine, Statistics, Store};
use wire::memcached::{binary, text};

use crate::clock::Clock;
use crate::config::ServiceConfig;
use crate::counters::{Loops, Totals};
use crate::detail::Detail;
use crate::registry::Registry;
use crate::watch::Hub;
use crate::watch::evictions::Evictions;

/// A memcached server over a store. An [`Endpoint`](crate::Endpoint) of it serves streams.
pub struct Service {
    pub(crate) config: ServiceConfig,
    pub(crate) store: Arc<Store>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) loops: Loops,
    pub(crate) registry: Registry,
    pub(crate) hub: Arc<Hub>,
    pub(crate) evictions: Evictions,
    pub(crate) detail: Detail,
    /// The store's figures when `stats reset` was last asked for.
    pub(crate) earlier: Mutex<Statistics>,
    pub(crate) verbosity: AtomicU32,
    /// Allows dumps by the "crawler"; enabling it has no other effect here.
    pub(crate) crawler: AtomicBool,
    rejected: AtomicU64,
    /// The second of the last warning about a client.
    warned: AtomicU32,
    /// Data blocks that text clients may announce: what memcached reads, and more where the store takes more.
    pub(crate) text_length_max: u64,
    /// The same of bodies in the binary protocol.
    pub(crate) body_length_max: u32,
}

impl Service {
    /// A service for any number of listeners and loops.
    #[must_use]
    pub fn new(config: ServiceConfig, store: Arc<Store>) -> Arc<Service> {
        let item_size_max = store.statistics().item_size_max;
        let clock = config.clock.clone();
        let hub = Arc::new(Hub::new(config.watch_buffer_size));
        Arc::new(Service {
            text_length_max: item_size_max.max(text::LENGTH_MAX),
            body_length_max: u32::try_from(item_size_max)
                .map_or(u32::MAX, |size| size.max(binary::BODY_LENGTH_MAX)),
            store,
            loops: Loops::new(config.loops),
            registry: Registry::default(),
            evictions: Evictions::new(&hub, &clock),
            clock,
            hub,
            detail: Detail::default(),
            earlier: Mutex::default(),
            verbosity: AtomicU32::new(0),
            crawler: AtomicBool::new(true),
            rejected: AtomicU64::new(0),
            warned: AtomicU32::new(0),
            config,
        })
    }

    /// Notes an address that is listened on, for `stats conns` and `stats settings`.
    pub fn listening(&self, address: Address) {
        self.registry.add_listener(address);
    }

    /// Notes that a listener refused connections because there were too many, for `stats`.
    pub fn set_rejected(&self, connections: u64) {
        self.rejected.store(connections, Ordering::Relaxed);
    }

    pub(crate) fn rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    /// Returns true for at most one warning about clients per second, so that clients cannot fill the log.
    pub fn may_warn(&self) -> bool {
        let now = self.clock.now(io::now()).0;
        self.warned.swap(now, Ordering::Relaxed) != now
    }

    /// Sums of all loops' counters since the start.
    pub fn totals(&self) -> Totals {
        self.loops.ever()
    }

    /// The connections that are open.
    pub fn connections(&self) -> usize {
        self.registry.len()
    }

    /// How much clients asked to be told in the log: 0 little, 1 protocol errors, 2 every request.
    pub fn verbosity(&self) -> u32 {
        self.verbosity.load(Ordering::Relaxed)
    }

    /// Sets what [`verbosity`](Service::verbosity) answers, as the `verbosity` command does.
    pub fn set_verbosity(&self, level: u32) {
        self.verbosity.store(level, Ordering::Relaxed);
    }

    pub(crate) fn reset_statistics(&self) {
        self.loops.reset();
        self.detail.clear();
        *self.earlier.lock().unwrap_or_else(PoisonError::into_inner) = self.store.statistics();
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
