//! The named limits of a loop and of a listener, with their defaults.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use crate::Address;
use crate::clock::Clock;
use crate::loops::BoundSockets;
use crate::tls::ServerTls;

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

/// What to listen on.
#[derive(Debug)]
pub enum Listen {
    /// New sockets, bound to this address.
    Bind(Address),
    /// Listening sockets that another process or the service manager has handed over, all of one address: what
    /// [`Bound::sockets`](crate::Bound::sockets) returned there.
    Sockets(Vec<OwnedFd>),
    /// Sockets that [`Loops::bind`](crate::Loops::bind) has bound.
    Bound(BoundSockets),
}

impl From<&Address> for Listen {
    fn from(address: &Address) -> Listen {
        Listen::Bind(address.clone())
    }
}

impl From<BoundSockets> for Listen {
    fn from(sockets: BoundSockets) -> Listen {
        Listen::Bound(sockets)
    }
}

impl From<Vec<OwnedFd>> for Listen {
    fn from(sockets: Vec<OwnedFd>) -> Listen {
        Listen::Sockets(sockets)
    }
}

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
