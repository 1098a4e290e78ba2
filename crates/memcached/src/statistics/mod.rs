//! What `stats` tells, under the names that memcached's users and their tools know.
//!
//! Dashboards expect statistics of machinery which this server does not have. They are kept with the value that is true
//! here: slabs never move, so `slabs_moved` is 0.

mod classes;
mod store;

pub(crate) use classes::first_class;

use std::fmt::{self, Display};
use std::sync::PoisonError;

use kv::{Engine, Statistics};

use crate::config::Dialects;
use crate::operations::Exchange;
use crate::service::Service;

/// Takes names and values.
pub(crate) type Tell<'a> = dyn FnMut(&str, &dyn Display) + 'a;

/// A group of statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    General,
    Settings,
    Items,
    Slabs,
    /// Empty, as with a memcached that has no external storage.
    Extstore,
}

impl Group {
    /// The group that `stats` calls so.
    pub(crate) fn named(name: &[u8]) -> Option<Group> {
        Some(match name {
            b"" => Group::General,
            b"settings" => Group::Settings,
            b"items" => Group::Items,
            b"slabs" => Group::Slabs,
            b"extstore" => Group::Extstore,
            _ => return None,
        })
    }
}

/// Tells a group.
pub(crate) fn tell(exchange: &Exchange<'_>, group: Group, tell: &mut Tell<'_>) {
    match group {
        Group::General => general(exchange.service, tell),
        Group::Settings => settings(exchange, tell),
        Group::Items => classes::items(exchange, tell),
        Group::Slabs => classes::slabs(exchange, tell),
        Group::Extstore => {}
    }
}

impl Service {
    /// What `stats` tells, by name, for consoles and exporters.
    pub fn describe(&self, mut tell: impl FnMut(&str, &dyn Display)) {
        general(self, &mut tell);
    }
}

/// `stats` without more.
pub(crate) fn general(service: &Service, tell: &mut Tell<'_>) {
    process(service, tell);
    connections(service, tell);
    commands(service, tell);
    memory(service, tell);
    machinery(service, tell);
    encryption(service, tell);
    items_in_all(service, tell);
    let now = service.clock.now(std::time::Instant::now());
    store::tell_all(&service.store.statistics(), now.0.into(), tell);
}

fn process(service: &Service, tell: &mut Tell<'_>) {
    let now = service.clock.now(std::time::Instant::now());
    let (user, system) = processor_time();
    tell("pid", &std::process::id());
    tell(
        "uptime",
        &u64::from(now.0).saturating_sub(service.clock.started_unix()),
    );
    tell("time", &now.0);
    tell("version", &service.config.version);
    // In the place of `libevent`, since memcached's own tests count the lines.
    tell("hikyaku_version", &service.config.program_version);
    tell("pointer_size", &usize::BITS);
    tell("rusage_user", &user);
    tell("rusage_system", &system);
}

fn connections(service: &Service, tell: &mut Tell<'_>) {
    let open = service.registry.len();
    tell("max_connections", &service.config.connections_max);
    tell("curr_connections", &open);
    tell("total_connections", &service.loops.ever().total_connections);
    tell("rejected_connections", &service.rejected());
    tell("connection_structures", &open);
}

fn commands(service: &Service, tell: &mut Tell<'_>) {
    let totals = service.loops.since_reset();
    let store = since_reset(service);
    tell("cmd_get", &(totals.get_hits + totals.get_misses));
    tell("cmd_set", &totals.cmd_set);
    tell("cmd_flush", &totals.cmd_flush);
    tell("cmd_touch", &(totals.touch_hits + totals.touch_misses));
    tell("cmd_meta", &totals.cmd_meta);
    tell("get_hits", &totals.get_hits);
    tell("get_misses", &totals.get_misses);
    tell("get_expired", &store.read_expired);
    tell("get_flushed", &store.read_flushed);
    tell("delete_misses", &totals.delete_misses);
    tell("delete_hits", &totals.delete_hits);
    tell("incr_misses", &totals.incr_misses);
    tell("incr_hits", &totals.incr_hits);
    tell("decr_misses", &totals.decr_misses);
    tell("decr_hits", &totals.decr_hits);
    tell("cas_misses", &totals.cas_misses);
    tell("cas_hits", &totals.cas_hits);
    tell("cas_badval", &totals.cas_badval);
    tell("touch_hits", &totals.touch_hits);
    tell("touch_misses", &totals.touch_misses);
    tell("store_too_large", &totals.store_too_large);
    tell("store_no_memory", &totals.store_no_memory);
    tell("auth_cmds", &totals.auth_cmds);
    tell("auth_errors", &totals.auth_errors);
    if !service.config.idle_timeout.is_zero() {
        tell("idle_kicks", &totals.idle_kicks);
    }
    tell("bytes_read", &totals.bytes_read);
    tell("bytes_written", &totals.bytes_written);
}

fn memory(service: &Service, tell: &mut Tell<'_>) {
    let store = service.store.statistics();
    tell("limit_maxbytes", &store.capacity);
    tell("accepting_conns", &1);
    tell("listen_disabled_num", &0);
    tell("time_in_listen_disabled_us", &0);
    tell("threads", &service.config.loops);
    tell("conn_yields", &service.loops.since_reset().conn_yields);
    tell("hash_power_level", &store.buckets.checked_ilog2().unwrap_or(0));
    tell("hash_bytes", &store.table_bytes);
}

fn machinery(service: &Service, tell: &mut Tell<'_>) {
    tell("malloc_fails", &since_reset(service).out_of_memory);
    let (watchers, sent, skipped) = service.hub.counts();
    tell("log_worker_written", &sent);
    tell("log_watcher_skipped", &skipped);
    tell("log_watcher_sent", &sent);
    tell("log_watchers", &watchers);
}

/// Listeners that encrypt tell how that goes.
fn encryption(service: &Service, tell: &mut Tell<'_>) {
    let all = service.config.tls.iter().map(|tls| tls.statistics());
    let Some(loaded) = all.clone().map(|tls| tls.loaded).min() else {
        return;
    };
    let failed: u64 = all.map(|tls| tls.handshakes_failed).sum();
    tell("ssl_handshake_errors", &failed);
    // Bytes that are not TLS fail the handshake; later errors end a connection like any other.
    tell("ssl_proto_errors", &0);
    tell("time_since_server_cert_refresh", &loaded.elapsed().as_secs());
}

fn items_in_all(service: &Service, tell: &mut Tell<'_>) {
    let store = since_reset(service);
    tell("bytes", &store.bytes);
    tell("curr_items", &store.items);
    tell("total_items", &store.total_items);
    tell("expired_unfetched", &store.expired_unfetched);
    tell("evicted_unfetched", &store.evicted_unfetched);
    tell("evictions", &store.evictions);
    tell("reclaimed", &store.reclaimed);
    tell("lrutail_reflocked", &0);
}

/// The store's figures; what counts events counts those since `stats reset`.
fn since_reset(service: &Service) -> Statistics {
    let earlier = service.earlier.lock().unwrap_or_else(PoisonError::into_inner);
    let mut store = service.store.statistics();
    store.total_items -= earlier.total_items;
    store.evictions -= earlier.evictions;
    store.evicted_unfetched -= earlier.evicted_unfetched;
    store.expired_unfetched -= earlier.expired_unfetched;
    store.reclaimed -= earlier.reclaimed;
    store.read_expired -= earlier.read_expired;
    store.read_flushed -= earlier.read_flushed;
    store.out_of_memory -= earlier.out_of_memory;
    classes::subtract(&mut store, &earlier);
    store
}

fn settings(exchange: &Exchange<'_>, tell: &mut Tell<'_>) {
    let service = exchange.service;
    let config = &service.config;
    let store = service.store.statistics();
    let yes = |condition| if condition { "yes" } else { "no" };
    tell("maxbytes", &store.capacity);
    tell("maxconns", &config.connections_max);
    tell("tcpport", &service.registry.port());
    tell("udpport", &0);
    tell("inter", &"NULL");
    tell("verbosity", &service.verbosity());
    tell("oldest", &0);
    tell("evictions", &"on");
    tell(
        "domain_socket",
        &service.registry.unix_path().as_deref().unwrap_or("NULL"),
    );
    tell("umask", &"700");
    tell("shutdown_command", &yes(config.on_shutdown.is_some()));
    tell("growth_factor", &"1.00");
    tell("chunk_size", &8);
    tell("num_threads", &config.loops);
    tell("num_threads_per_udp", &0);
    tell("stat_key_prefix", &":");
    tell("detail_enabled", &yes(service.detail.is_on()));
    tell("reqs_per_event", &0);
    tell("cas_enabled", &"yes");
    tell("tcp_backlog", &config.backlog);
    let dialects = match config.dialects {
        Dialects::Auto => "auto-negotiate",
        Dialects::Text => "ascii",
        Dialects::Binary => "binary",
    };
    tell("binding_protocol", &dialects);
    let guarded = exchange.endpoint.is_guarded();
    tell(
        "auth_enabled_sasl",
        &yes(guarded && config.dialects != Dialects::Text),
    );
    tell(
        "auth_enabled_ascii",
        &yes(guarded && config.dialects != Dialects::Binary),
    );
    tell("item_size_max", &store.item_size_max);
    tell("maxconns_fast", &"yes");
    tell("hashpower_init", &0);
    for name in [
        "slab_reassign",
        "slab_automove",
        "lru_maintainer_thread",
        "lru_segmented",
        "temp_lru",
    ] {
        tell(name, &"no");
    }
    tell("slab_chunk_max", &store.arena_size);
    tell(
        "lru_crawler",
        &yes(service.crawler.load(std::sync::atomic::Ordering::Relaxed)),
    );
    tell("lru_crawler_sleep", &0);
    tell("lru_crawler_tocrawl", &0);
    tell("tail_repair_time", &0);
    tell("flush_enabled", &yes(config.flush));
    tell("dump_enabled", &yes(config.dump));
    tell("hash_algorithm", &"rapidhash");
    tell("idle_timeout", &config.idle_timeout.as_secs());
    tell("watcher_logbuf_size", &config.watch_buffer_size);
    tell("track_sizes", &"yes");
    tell("inline_ascii_response", &"no");
    tell("num_napi_ids", &0);
    tell("memory_file", &"(null)");
    tell("client_flags_size", &size_of::<u32>());
}

/// Seconds of processor time.
struct Seconds {
    hundredths: u64,
}

impl Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}0000", self.hundredths / 100, self.hundredths % 100)
    }
}

/// User and system time of the process, in the kernel's ticks, which are 1/100 s on all Linux machines.
fn processor_time() -> (Seconds, Seconds) {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field, a name in parentheses, may hold spaces.
    let after_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = |field: usize| {
        let ticks = after_name
            .split_ascii_whitespace()
            .nth(field)
            .and_then(|text| text.parse().ok());
        Seconds {
            hundredths: ticks.unwrap_or(0),
        }
    };
    (ticks(11), ticks(12))
}

/// Returns true if a key can stand in a line of text.
pub(crate) fn is_printable(key: &[u8]) -> bool {
    !key.iter().any(|byte| byte.is_ascii_control() || *byte == b' ')
}
