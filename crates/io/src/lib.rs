//! One thread, one `epoll`, many connections: the loop that everything else in this project runs on. Linux only.
//!
//! ```
//! use std::time::Duration;
//!
//! use io::{Config, ListenOptions, Loops, Stream, Exchange};
//!
//! async fn echo(mut stream: Stream) {
//!     // Lends the loop's own buffers, once for each batch of input. Consumed input is dropped, the rest is kept.
//!     while let Ok(Exchange::Open) = stream
//!         .exchange(|input, output| {
//!             output.write(input);
//!             input.len()
//!         })
//!         .await
//!     {}
//! }
//!
//! # fn main() -> Result<(), io::Error> {
//! let loops = Loops::start(Config::default())?; // one loop per processor
//! let bound = loops.listen(&"127.0.0.1:0".parse()?, ListenOptions::default(), echo)?;
//! println!("listening {}", bound.address());
//! loops.stop(Duration::from_secs(5)); // a server would wait for a signal first
//! # Ok(())
//! # }
//! ```
//!
//! # The picture
//!
//! ```text
//!   Loops ── a thread each ──> Loop ── owns ──> one input and one output buffer, which streams lend to closures
//!     │                         │               tasks: a slab of futures, woken by number
//!     │ listen: places each     │               sources: readiness of every socket, registered once, edge-triggered
//!     │ connection on the loop  │               wheel: timers, lazily postponed
//!     │ with the fewest         │               end-of-turn list, mailbox
//!     └──────── Remote ─────────┘
//!               (mail from other threads; `offload` is a few threads for work that blocks)
//!
//!   Stream: TCP | Unix | pair | pipe, plain or TLS.  exchange(|input, output| consumed) · read_exact · discard · send · close
//!           Replies: replies leave in the order of their requests
//!   Descriptor: anything else that can be polled, such as a process
//! ```
//!
//! # The order of a turn
//!
//! 1. Mail: closures and wake-ups from other threads.
//! 2. Ready tasks, 256 at most. Each gives way after 16 exchanges of its stream or 256 KiB. A write is tried at once, but
//!    small ones of tasks that run one after another leave together, after 16 tasks at most.
//! 3. The end-of-turn list ([`at_turn_end`]): what should happen once for many, such as one `fsync` for all appends.
//! 4. Timers that are due.
//! 5. The poll: not waiting if anything is ready, else until the next timer. Then the clock is read, once.
//!
//! # What holds
//!
//! * **A connection holds memory only while it has a part of a request or an unsent reply**, and all of a loop together
//!   no more than [`Config::held_max`]. An idle one takes some 250 bytes, its future included.
//! * **A closure is called only when all earlier output was taken by the kernel**, so a peer that does not read is not
//!   read from.
//! * **A panic ends its task, and so its connection, and nothing else.**
//! * Nothing is shared between loops but mailboxes and counters. Futures need not be `Send`.
//! * The library knows no protocol.
//!
//! A process that uses it should ignore `SIGPIPE`, as every Rust program does unless it asks otherwise.

mod accept;
mod address;
mod clock;
mod cold;
mod config;
mod connect;
mod connection;
mod core;
mod descriptor;
mod error;
mod halves;
mod inbox;
mod join;
mod listener;
mod loops;
mod mailbox;
mod notifier;
mod offload;
mod oneshot;
mod outbox;
mod output;
mod pair;
mod queue;
mod replies;
mod rest;
mod signal;
mod signals;
mod source;
mod spawn;
mod stream;
mod sync;
mod sys;
mod task;
mod time;
pub mod tls;
mod transport;
mod turn;
mod wheel;

pub use address::{Address, Peer};
pub use clock::Clock;
pub use config::{Config, Listen, ListenOptions, OnFull};
pub use descriptor::Descriptor;
pub use error::Error;
pub use halves::{ReadHalf, WriteHalf};
pub use join::try_join;
pub use listener::Listener;
pub use loops::{Bound, Loops, Statistics};
pub use mailbox::Remote;
pub use notifier::{Notifier, RemoteNotifier};
pub use offload::{Offload, offload};
pub use output::{Again, Exchange, Output, Piece, Took};
pub use replies::{Gone, RemoteReply, Replies, Reply, Unordered};
pub use signal::{AtLeast, Signal};
pub use signals::Signals;
pub use spawn::{Task, spawn};
pub use stream::{Liveness, Stream};
pub use time::{now, sleep, timeout, yield_now};
pub use turn::{Loop, at_turn_end, loop_index};

/// Raises the number of files that this process may open to what its hard limit allows, and answers it.
#[must_use]
pub fn open_files_max() -> usize {
    sys::raise_open_files().map_or(1024, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
}
