//! The named limits of a listener, with their defaults.

use std::sync::Arc;
use std::time::Duration;

use crate::tls::ServerTls;

/// How an address is listened on.
#[derive(Debug, Clone)]
pub struct ListenOptions {
    /// Connections that may wait in the kernel to be accepted. Default: 4,096.
    pub backlog: u32,
    /// A listening socket for each loop, the kernel choosing by hash, in place of one that places connections on
    /// the loop with the fewest. Better when most connections are short. TCP only. Default: no.
    pub reuse_port: bool,
    /// Connections of this listener at once. Default: 2³², which the open-file limit undercuts.
    pub connections_max: usize,
    /// The treatment of one connection more. Default: it waits.
    pub on_full: OnFull,
    /// The TLS with which the handler will [`accept_tls`](crate::Stream::accept_tls). While
    /// [`handshakes_max`](crate::tls::ServerFiles::handshakes_max) handshakes are in flight, each connection that the
    /// listener accepts ends the one that began first. Default: none.
    pub tls: Option<Arc<ServerTls>>,
    /// The permission bits of a Unix socket's file. Default: what the umask leaves.
    pub unix_mode: Option<u32>,
    /// A connection on which nothing came or went for so long is ended with
    /// [`Error::IdleTimeout`](crate::Error::IdleTimeout); zero is never. Default: zero.
    pub idle_timeout: Duration,
    /// Unsent bytes above which the kernel accepts no more output of a connection, by `TCP_NOTSENT_LOWAT`. Default: the
    /// system's, bounded by the send buffer alone. TCP only.
    pub notsent_lowat: Option<u32>,
}

impl Default for ListenOptions {
    fn default() -> ListenOptions {
        ListenOptions {
            backlog: 4096,
            reuse_port: false,
            connections_max: 1 << 32,
            on_full: OnFull::Wait,
            tls: None,
            unix_mode: None,
            idle_timeout: Duration::ZERO,
            notsent_lowat: None,
        }
    }
}

/// What a listener does when it has its greatest number of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFull {
    /// Accepts, says these bytes (none under TLS) and closes.
    Refuse(&'static [u8]),
    /// Leaves new connections in the kernel's backlog until one ends.
    Wait,
}
