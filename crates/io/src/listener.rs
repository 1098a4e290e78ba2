//! Accepting connections on one loop.

use std::future::poll_fn;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use crate::cold::Cold;
use crate::core::{Core, READABLE};
use crate::socket::Socket;
use crate::source::Source;
use crate::transport::{Transport, Wire};
use crate::{Address, Error, ListenOptions, Stream, sys};

/// Accepts connections on this thread's loop, for programs with one loop. Servers use
/// [`Loops::listen`](crate::Loops::listen), which has limits and places connections on several.
pub struct Listener {
    pub(crate) source: Source,
    pub(crate) socket: Arc<Socket>,
    idle_timeout: Duration,
}

impl Listener {
    /// Listens on an address. Of the options it uses the backlog, the idle timeout and the socket file's mode.
    ///
    /// # Errors
    /// [`Error::Bind`].
    ///
    /// # Panics
    /// If no loop runs on this thread.
    pub fn bind(address: &Address, options: &ListenOptions) -> Result<Listener, Error> {
        let socket = Arc::new(Socket::bind(address, options)?);
        Listener::new(&Core::current(), socket, options)
    }

    pub(crate) fn new(
        core: &Rc<Core>,
        socket: Arc<Socket>,
        options: &ListenOptions,
    ) -> Result<Listener, Error> {
        Ok(Listener {
            source: Source::register(core, &socket.fd)?,
            socket,
            idle_timeout: options.idle_timeout,
        })
    }

    /// Where it listens: with the port that the kernel chose, if it was to choose.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.socket.address
    }

    /// Returns the next connection, before any TLS handshake: a task per connection calls
    /// [`Stream::accept_tls`], so that a slow client delays only itself.
    ///
    /// # Errors
    /// If `accept4` fails; the listener can still be used.
    pub async fn accept(&mut self) -> Result<Stream, Error> {
        let fd = poll_fn(|context| match sys::accept(&self.socket.fd) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.source.wait(context, READABLE);
                Poll::Pending
            }
            result => Poll::Ready(result.map_err(Error::system("accept4"))),
        })
        .await?;
        let mut stream = adopt(&self.source.core, fd)?;
        if !self.idle_timeout.is_zero() {
            stream.set_idle_timeout(self.idle_timeout);
        }
        Ok(stream)
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener")
            .field("address", self.address())
            .finish_non_exhaustive()
    }
}

/// Makes a stream of a connected socket.
pub(crate) fn adopt(core: &Rc<Core>, fd: OwnedFd) -> Result<Stream, Error> {
    let source = Source::register(core, &fd)?;
    Ok(Stream::new(Wire {
        source,
        transport: Transport::Socket(fd),
        cold: Cold::default(),
    }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{Config, Loop};

    #[test]
    fn accepted_connections_inherit_no_delay() {
        Loop::new(Config::default()).unwrap().run(async {
            let address = "127.0.0.1:0".parse().unwrap();
            let mut listener = Listener::bind(&address, &ListenOptions::default()).unwrap();
            let _client = Stream::connect(&listener.address().clone()).await.unwrap();
            let mut server = listener.accept().await.unwrap();
            let Transport::Socket(fd) = &server.connection().wire.transport else {
                panic!("no socket")
            };
            assert!(sys::is_no_delay(fd));
        });
    }
}
