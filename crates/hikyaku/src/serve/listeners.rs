//! From the configuration's listeners to sockets that serve: bound first, and accepting once the stores are open.

use std::sync::Arc;

use io::tls::ServerTls;
use io::{Bound, BoundSockets, ListenOptions, Loops, OnFull, Stream};
use memcached::{Dialects, Endpoint, Service, ServiceConfig, Shutdown, Users};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::certificates::Certificates;
use super::error::Error;
use super::stores::Stores;
use crate::config::listen::{Dialect, Listener};
use crate::config::{Config, files};
use crate::system;

/// The reply to a client above the limit, in memcached's words.
const FULL: &[u8] = b"ERROR Too many open connections\r\n";

/// A listener that is open.
pub(super) struct Open {
    pub(super) bound: Bound,
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) configured: Listener,
}

/// A listener whose socket is bound and accepts nothing yet, with everything that needed the rights of the start.
pub(super) struct Prepared {
    configured: Listener,
    connections_max: usize,
    tls: Option<Arc<ServerTls>>,
    users: Option<Users>,
    sockets: BoundSockets,
}

/// Binds the listeners of the configuration, in its order, and reads their files: ports below 1024 and private keys may be out of
/// reach for the user that the daemon becomes.
pub(super) fn bind(
    loops: &Loops,
    certificates: &Certificates,
    config: &Config,
) -> Result<Vec<Prepared>, Error> {
    let share = share_of_connections(&config.listeners);
    let load = |listener: &Listener| {
        let files = listener.tls.as_ref();
        files.map(|files| certificates.load(files)).transpose()
    };
    let encryption = config.listeners.iter().map(load).collect::<Result<Vec<_>, _>>();
    let mut prepared: Vec<Prepared> = Vec::new();
    for (listener, tls) in config.listeners.iter().zip(encryption.map_err(Error::File)?) {
        let users = listener.users.as_ref();
        let users = users.map(|file| files::users(&file.value)).transpose();
        let connections_max = listener.connections_max.unwrap_or(share);
        let bound = loops.bind(
            &listener.address,
            &options(listener, connections_max, tls.clone()),
        );
        let sockets = match bound.map_err(|source| cannot_listen(listener, source)) {
            Err(error) if is_spare(&error, listener, &config.listeners, &prepared) => {
                tracing::warn!("{error}; the other addresses of this name are served");
                continue;
            }
            sockets => sockets?,
        };
        prepared.push(Prepared {
            configured: listener.clone(),
            connections_max,
            tls,
            users: users.map_err(Error::File)?,
            sockets,
        });
    }
    Ok(prepared)
}

fn options(listener: &Listener, connections_max: usize, tls: Option<Arc<ServerTls>>) -> ListenOptions {
    ListenOptions {
        connections_max,
        on_full: OnFull::Refuse(FULL),
        tls,
        unix_mode: listener.mode,
        ..ListenOptions::default()
    }
}

fn cannot_listen(listener: &Listener, source: io::Error) -> Error {
    Error::Listen {
        address: listener.address.clone(),
        source,
    }
}

/// Has the bound listeners of the daemon accept connections.
pub(super) struct Opener<'a> {
    pub(super) loops: &'a Loops,
    pub(super) stores: &'a Stores,
    pub(super) certificates: &'a Arc<Certificates>,
    /// Lets clients move the clock, for test suites.
    pub(super) debugtime: bool,
}

impl Opener<'_> {
    /// Opens every listener, in its order.
    pub(super) fn open(&self, listeners: Vec<Prepared>) -> Result<Vec<Open>, Error> {
        let alike = |listener: &Listener| {
            let alike = |prepared: &&Prepared| prepared.configured.serves_alike(listener);
            let tls = listeners.iter().filter(alike).filter_map(|one| one.tls.clone());
            tls.collect::<Vec<_>>()
        };
        let encryption: Vec<_> = listeners.iter().map(|one| alike(&one.configured)).collect();
        let mut open: Vec<Open> = Vec::new();
        for (prepared, tls) in listeners.into_iter().zip(encryption) {
            // Listeners that differ only in their addresses are one service, with one set of figures.
            let shared = open
                .iter()
                .find(|earlier| earlier.configured.serves_alike(&prepared.configured));
            let service = match shared {
                Some(earlier) => earlier.endpoint.service().clone(),
                None => self.service(&prepared.configured, prepared.connections_max, tls),
            };
            let endpoint = Endpoint::new(service, prepared.users);
            let bound = self.accept(
                &prepared.configured,
                prepared.connections_max,
                prepared.tls,
                prepared.sockets,
                &endpoint,
            )?;
            endpoint.service().listening(bound.address().clone());
            open.push(Open {
                bound,
                endpoint,
                configured: prepared.configured,
            });
        }
        Ok(open)
    }

    fn service(&self, listener: &Listener, connections_max: usize, tls: Vec<Arc<ServerTls>>) -> Arc<Service> {
        let certificates = self.certificates.clone();
        let config = ServiceConfig {
            dialects: dialects(listener.dialect),
            idle_timeout: listener.idle_timeout,
            on_shutdown: listener.shutdown.then(|| Arc::new(end) as _),
            on_refresh: self
                .certificates
                .any()
                .then(|| Arc::new(move || certificates.reload()) as _),
            flush: listener.flush,
            watch: listener.watch,
            dump: listener.dump,
            debug: self.debugtime,
            clock: self.stores.clock().clone(),
            loops: self.loops.len(),
            tls,
            connections_max,
            ..ServiceConfig::default()
        };
        Service::new(config, self.stores.named(&listener.store.value))
    }

    fn accept(
        &self,
        listener: &Listener,
        connections_max: usize,
        tls: Option<Arc<ServerTls>>,
        sockets: BoundSockets,
        endpoint: &Arc<Endpoint>,
    ) -> Result<Bound, Error> {
        let encrypted = tls.is_some();
        let options = options(listener, connections_max, tls.clone());
        let (loops, endpoint) = (self.loops, endpoint.clone());
        // Two handlers, since each connection keeps the memory of its future: a plain one needs none for a handshake.
        let bound = match tls {
            None => loops.listen(sockets, options, move |stream| endpoint.clone().serve(stream)),
            Some(tls) => loops.listen(sockets, options, move |stream| {
                serve_tls(stream, tls.clone(), endpoint.clone())
            }),
        };
        let bound = bound.map_err(|source| cannot_listen(listener, source))?;
        tracing::info!(address = %bound.address(), tls = encrypted, connections_max, "listening for memcached clients");
        Ok(bound)
    }
}

/// Returns true if the machine lacks this address of a name, such as `::1` of `localhost`, and another address of the name is
/// bound or will be.
fn is_spare(error: &Error, listener: &Listener, all: &[Listener], bound: &[Prepared]) -> bool {
    let same_name = |other: &Listener| other.origin == listener.origin && other.name == listener.name;
    let is_last = all
        .iter()
        .rfind(|other| same_name(other))
        .is_some_and(|last| last.address == listener.address);
    let has_bound = bound.iter().any(|earlier| same_name(&earlier.configured));
    listener.name.is_some() && error.is_absent_address() && (has_bound || !is_last)
}

/// Serves a connection after its TLS handshake.
async fn serve_tls(mut stream: Stream, tls: Arc<ServerTls>, endpoint: Arc<Endpoint>) {
    match stream.accept_tls(&tls).await {
        Ok(()) => endpoint.serve(stream).await,
        Err(error) if error.is_cleartext() && endpoint.service().may_warn() => {
            tracing::warn!(
                peer = %stream.peer(),
                "a client without TLS came to a TLS listener; connect with TLS, or to a listener without it"
            );
        }
        // Counted and logged already.
        Err(_) => {}
    }
}

/// The connections for each listener without a limit of its own: its share of the open files.
fn share_of_connections(listeners: &[Listener]) -> usize {
    let all = system::files::connections_max();
    let spoken_for: usize = listeners
        .iter()
        .filter_map(|listener| listener.connections_max)
        .sum();
    let unlimited = listeners
        .iter()
        .filter(|listener| listener.connections_max.is_none())
        .count();
    if spoken_for > all {
        let remedy = "raise LimitNOFILE or ulimit -n";
        tracing::warn!(
            connections_max = spoken_for,
            open_files = all,
            "more connections than open files; {remedy}"
        );
    }
    (all.saturating_sub(spoken_for) / unlimited.max(1)).max(1)
}

fn dialects(dialect: Dialect) -> Dialects {
    match dialect {
        Dialect::Auto => Dialects::Auto,
        Dialect::Text => Dialects::Text,
        Dialect::Binary => Dialects::Binary,
    }
}

/// The `shutdown` command ends the daemon as a signal from outside would.
fn end(_how: Shutdown) {
    if let Err(error) = kill(Pid::this(), Signal::SIGTERM) {
        tracing::error!(%error, "the shutdown command cannot signal the daemon");
    }
}
