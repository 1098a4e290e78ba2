//! A connection as its service knows it.

use std::cell::OnceCell;
use std::sync::Arc;

use io::Stream;

use crate::counters::Counters;
use crate::endpoint::Endpoint;
use crate::operations::Exchange;
use crate::progress::{Next, Reason};
use crate::registry::Connection;
use crate::service::Service;
use crate::waits::Waits;
use crate::watch::{Kinds, line};

/// A connection, registered with its service. Dropping it removes the entry in the registry.
pub(crate) struct Context {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) connection: Arc<Connection>,
    /// What is left to do and to wait for after an exchange, if anything is.
    pub(crate) waits: OnceCell<Box<Waits>>,
}

impl Context {
    /// Registers a connection, and tells watchers of it.
    pub(crate) fn begin(endpoint: Arc<Endpoint>, stream: &Stream) -> Context {
        let service = &endpoint.service;
        let now = service.clock.now(io::now());
        let connection = service.registry.add(stream.peer(), stream.local(), now);
        let context = Context {
            endpoint,
            connection,
            waits: OnceCell::new(),
        };
        context.counters().total_connections.add(1);
        context.tell_watchers(None);
        context
    }

    /// Tells watchers why the connection ends.
    pub(crate) fn end(&self, reason: Reason) {
        self.tell_watchers(Some(reason));
    }

    #[inline]
    pub(crate) fn service(&self) -> &Service {
        &self.endpoint.service
    }

    /// The counters of this loop.
    #[inline]
    pub(crate) fn counters(&self) -> &Counters {
        self.service().loops.of(io::loop_index())
    }

    /// The context of the requests of the present exchange.
    #[inline]
    pub(crate) fn exchange(&self) -> Exchange<'_> {
        let service = self.service();
        Exchange {
            service,
            endpoint: &self.endpoint,
            counters: self.counters(),
            now: service.clock.now(io::now()),
            watched: service.hub.wanted(),
            detailed: service.detail.is_on(),
            connection: self.connection.id(),
            bytes_moved: kv::bytes_moved(),
            waits: &self.waits,
        }
    }

    /// The work after an exchange, if any. Forgets what there was to wait for, once all of it is over.
    #[cold]
    pub(crate) fn take_next(&mut self) -> Option<Box<Next>> {
        let waits = self.waits.get()?;
        let next = waits.take_next();
        if next.is_none() && waits.is_over() {
            self.waits = OnceCell::new();
        }
        next
    }

    fn tell_watchers(&self, reason: Option<Reason>) {
        let (id, reason) = (self.connection.id(), reason.map(Reason::name));
        self.service().hub.publish(Kinds::CONNECTIONS, |out, event| {
            let peer = line::Peer::from(&self.service().registry.peer(&self.connection));
            line::connection(out, event, &peer, reason, id);
        });
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        self.service().registry.remove(&self.connection);
        self.counters().closed_connections.add(1);
    }
}
