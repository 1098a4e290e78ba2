//! The service: everything that its connections share.

use std::fmt::{self, Display};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use io::{Address, Stream};
use kv::{Engine, Statistics, Store};
use wire::memcached::{binary, text};

use crate::clock::Clock;
use crate::config::ServiceConfig;
use crate::counters::{Loops, Totals};
use crate::detail::Detail;
use crate::registry::Registry;
use crate::users::Users;
use crate::watch::Hub;
use crate::watch::evictions::Evictions;

/// A memcached server over a store: give it streams.
pub struct Service {
    pub(crate) config: ServiceConfig,
    pub(crate) store: Arc<Store>,
    pub(crate) clock: Clock,
    pub(crate) loops: Loops,
    pub(crate) registry: Registry,
    pub(crate) hub: Arc<Hub>,
    pub(crate) evictions: Evictions,
    pub(crate) detail: Detail,
    /// The store's figures when `stats reset` was last asked for.
    pub(crate) earlier: Mutex<Statistics>,
    pub(crate) verbosity: AtomicU32,
    /// Whether dumps by the "crawler" are allowed; here that is all that enabling it means.
    pub(crate) crawler: AtomicBool,
    users: RwLock<Option<Arc<Users>>>,
    /// Whether there are users, so that a request need not lock to know.
    guarded: AtomicBool,
    rejected: AtomicU64,
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
        Arc::new(Service {
            text_length_max: item_size_max.max(text::LENGTH_MAX),
            body_length_max: u32::try_from(item_size_max)
                .map_or(u32::MAX, |size| size.max(binary::BODY_LENGTH_MAX)),
            store,
            clock: Clock::start(),
            loops: Loops::new(config.loops),
            registry: Registry::default(),
            hub: Arc::new(Hub::new(config.watch_buffer_size)),
            evictions: Evictions::default(),
            detail: Detail::default(),
            earlier: Mutex::default(),
            verbosity: AtomicU32::new(0),
            crawler: AtomicBool::new(true),
            guarded: AtomicBool::new(config.users.is_some()),
            users: RwLock::new(config.users.clone().map(Arc::new)),
            rejected: AtomicU64::new(0),
            config,
        })
    }

    /// Answers a client's requests until it goes, is idle for too long or breaks the protocol.
    ///
    /// The future is small, because there is one for each connection.
    pub fn serve(self: Arc<Self>, stream: Stream) -> impl Future<Output = ()> {
        crate::connection::serve(self, stream)
    }

    /// Notes an address that is listened on, for `stats conns` and `stats settings`.
    pub fn listening(&self, address: Address) {
        self.registry.add_listener(address);
    }

    /// Replaces those who may use the service. Connections that have authenticated stay.
    pub fn set_users(&self, users: Option<Users>) {
        self.guarded.store(users.is_some(), Ordering::Relaxed);
        *self.users.write().unwrap_or_else(PoisonError::into_inner) = users.map(Arc::new);
    }

    /// Notes that a listener refused connections because there were too many, for `stats`.
    pub fn set_rejected(&self, connections: u64) {
        self.rejected.store(connections, Ordering::Relaxed);
    }

    pub(crate) fn rejected(&self) -> u64 {
        self.rejected.load(Ordering::Relaxed)
    }

    /// Whether clients must authenticate.
    #[inline]
    pub(crate) fn is_guarded(&self) -> bool {
        self.guarded.load(Ordering::Relaxed)
    }

    pub(crate) fn users(&self) -> Option<Arc<Users>> {
        self.users.read().unwrap_or_else(PoisonError::into_inner).clone()
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

    /// What `stats` tells, by name, for consoles and exporters.
    pub fn describe(&self, mut tell: impl FnMut(&str, &dyn Display)) {
        crate::statistics::general(self, &mut tell);
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
