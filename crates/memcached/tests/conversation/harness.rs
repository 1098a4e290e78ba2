//! A service over in-memory streams, and clients of it.

use std::future::Future;
use std::sync::Arc;

use io::{Config, Exchange, Loop, Stream};
use kv::Store;
use memcached::{Endpoint, Service, ServiceConfig, Users};

/// A service with a store of its own, on a loop of its own.
pub(crate) struct Server {
    endpoint: Arc<Endpoint>,
}

impl Server {
    /// A connection, served by a task of the present loop.
    pub(crate) fn connect(&self) -> Client {
        let (ours, theirs) = Stream::pair();
        io::spawn(self.endpoint.clone().serve(theirs)).detach();
        Client {
            stream: ours,
            input: Vec::new(),
            ended: false,
        }
    }

    pub(crate) fn service(&self) -> &Arc<Service> {
        self.endpoint.service()
    }

    pub(crate) fn endpoint(&self) -> &Arc<Endpoint> {
        &self.endpoint
    }
}

/// Runs `test` on a new loop against a new server.
pub(crate) fn with_server<F: Future>(
    config: ServiceConfig,
    uri: &str,
    test: impl FnOnce(Server) -> F,
) -> F::Output {
    with_guarded_server(config, None, uri, test)
}

/// The same for these users only.
pub(crate) fn with_guarded_server<F: Future>(
    config: ServiceConfig,
    users: Option<Users>,
    uri: &str,
    test: impl FnOnce(Server) -> F,
) -> F::Output {
    let (store, _) = Store::open(uri).expect("the URI names a store");
    let service = Service::new(config, Arc::new(store));
    let mut on = Loop::new(Config::default()).expect("a loop can be made");
    let endpoint = Endpoint::new(service, users);
    on.run(test(Server { endpoint }))
}

/// A configuration whose version never changes.
pub(crate) fn config() -> ServiceConfig {
    ServiceConfig {
        version: "1.6.45-test".to_owned(),
        ..ServiceConfig::default()
    }
}

/// The client's end of a connection.
pub(crate) struct Client {
    stream: Stream,
    input: Vec<u8>,
    ended: bool,
}

impl Client {
    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        // The server may have closed already; what it said is then still to be read.
        let _ = self.stream.send(bytes).await;
        let _ = self.stream.flush().await;
    }

    /// Sends one byte at a time and lets the server see each alone.
    pub(crate) async fn send_slowly(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.send(std::slice::from_ref(byte)).await;
            io::yield_now().await;
            io::yield_now().await;
        }
    }

    /// The next line, without its end; none at the end of the stream.
    pub(crate) async fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.input.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.input.drain(..=end).collect();
                let text = String::from_utf8_lossy(&line);
                return Some(text.trim_end_matches(['\r', '\n']).to_owned());
            }
            self.more().await?;
        }
    }

    /// The next `length` bytes, fewer at the end of the stream.
    pub(crate) async fn bytes(&mut self, length: usize) -> Vec<u8> {
        while self.input.len() < length && self.more().await.is_some() {}
        let length = length.min(self.input.len());
        self.input.drain(..length).collect()
    }

    /// Returns true if the server closes the connection without another reply.
    pub(crate) async fn is_at_end(&mut self) -> bool {
        while self.more().await.is_some() {}
        self.input.is_empty()
    }

    async fn more(&mut self) -> Option<()> {
        if self.ended {
            return None;
        }
        let input = &mut self.input;
        let turned = self.stream.exchange(|bytes, _| {
            input.extend_from_slice(bytes);
            bytes.len()
        });
        match turned.await {
            Ok(Exchange::Open) => Some(()),
            Ok(Exchange::Ended { .. } | Exchange::Draining) | Err(_) => {
                self.ended = true;
                None
            }
        }
    }
}
