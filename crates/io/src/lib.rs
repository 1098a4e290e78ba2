//! The loop: one thread, one `epoll`, many connections.

mod accept;
mod address;
mod clock;
mod config;
mod connect;
mod connection;
mod core;
mod error;
mod listener;
mod loops;
mod mailbox;
mod offload;
mod oneshot;
mod output;
mod pair;
mod queue;
mod replies;
mod rest;
mod signals;
mod source;
mod stream;
mod sys;
mod task;
mod time;
pub mod tls;
mod turn;
mod wheel;
mod wire;

pub use address::{Address, Peer};
pub use clock::Clock;
pub use config::{Config, ListenOptions, OnFull};
pub use error::Error;
pub use listener::Listener;
pub use loops::{Bound, Loops, Statistics};
pub use mailbox::Remote;
pub use offload::offload;
pub use output::{Output, Piece, Took, Turn};
pub use replies::{RemoteReply, Replies, Reply, Unordered};
pub use signals::Signals;
pub use stream::Stream;
pub use time::{now, sleep, timeout, yield_now};
pub use turn::{Loop, at_turn_end, loop_index, spawn};

/// Raises the number of files that this process may open to what its hard limit allows, and answers it.
#[must_use]
pub fn open_files_max() -> usize {
    sys::raise_open_files().map_or(1024, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
}
