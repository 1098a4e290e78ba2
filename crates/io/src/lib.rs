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
//!               (mail from other threads)
//!
//!   Stream: TCP | Unix | pair | pipe, plain or TLS.  exchange(|input, output| took) · read_exact · discard · send · close
//!     ├─ Replies, Unordered   replies that finish later, in the order of their requests or in any
//!     ├─ Notifier             exchanges without input, asked for by any task or thread
//!     └─ ReadHalf, WriteHalf  both directions, each by itself
//!   Task: a handle of a spawned future · Signal: a counter to wait for · Offload: threads for work that blocks
//!   Descriptor: anything else that can be polled, such as a process
//! ```
//!
//! # Exchanges
//!
//! [`Stream::exchange`] calls its closure with the input that has come and room for output, and returns:
//!
//! * [`Exchange::Open`]: the closure ran. Call `exchange` again.
//! * [`Exchange::Ended`]: the peer has ended its side. `clean` is false if it left part of a message, or cut TLS short.
//! * [`Exchange::Draining`]: the loop or the listener drains, and the stream is between two messages. Told once, so that a
//!   protocol can announce the end to its peer and go on until the peer closes.
//!
//! The closure returns the number of bytes that it consumed, or a [`Took`], which also says how many bytes the next message
//! needs and, with [`Again::Room`], that the closure is to be called again as soon as the kernel has taken its output, even
//! without new input. A protocol that interleaves messages writes one frame each time.
//!
//! ```
//! use io::{Again, Output, Took};
//!
//! /// Answers `N\n` with a line of N times 1,000 bytes, one thousand at a time.
//! struct Counter {
//!     left: usize,
//! }
//!
//! impl Counter {
//!     fn run(&mut self, input: &[u8], output: &mut Output) -> Took {
//!         let mut consumed = 0;
//!         if self.left == 0 {
//!             let Some(end) = input.iter().position(|&byte| byte == b'\n') else {
//!                 return Took::waiting(0, input.len() + 1);
//!             };
//!             let number = std::str::from_utf8(&input[..end]).ok();
//!             self.left = number.and_then(|number| number.parse().ok()).unwrap_or(0);
//!             consumed = end + 1;
//!         }
//!         if self.left == 0 {
//!             return Took::from(consumed);
//!         }
//!         self.left -= 1;
//!         output.write(&[b'x'; 1000]);
//!         if self.left == 0 {
//!             output.write(b"\n");
//!         }
//!         // Also after the last line: there may be another request in the input, which would not wake the stream.
//!         Took { consumed, need: 1, again: Again::Room }
//!     }
//! }
//!
//! async fn serve(mut stream: io::Stream) -> Result<(), io::Error> {
//!     let mut counter = Counter { left: 0 };
//!     while stream.exchange(|input, output| counter.run(input, output)).await? == io::Exchange::Open {}
//!     stream.close().await
//! }
//! # let mut on = io::Loop::new(io::Config::default()).unwrap();
//! # on.run(async {
//! #     let (mut client, server) = io::Stream::pair();
//! #     io::spawn(async { serve(server).await.unwrap() }).detach();
//! #     client.send(&b"3\n1\n"[..]).await.unwrap();
//! #     let mut answer = vec![0; 4002];
//! #     client.read_exact(&mut answer).await.unwrap();
//! #     assert_eq!((answer[3000], answer[4001]), (b'\n', b'\n'));
//! # });
//! ```
//!
//! # Beyond request and reply
//!
//! * **Output that no request asked for.** A [`Notifier`] has the closure called, with the input that there is, perhaps
//!   none. Any task of the loop may call it, and any thread its [`RemoteNotifier`]. Notifications are not counted: the
//!   closure finds what there is to send.
//! * **Both directions at once.** [`Stream::split`] returns halves that wait independently; [`ReadHalf::relay`] hands the
//!   input of one stream to another, [`WriteHalf::shutdown`] ends one direction. [`try_join`] runs both in one task.
//! * **Replies that finish later.** [`Stream::replies`] and [`Stream::unordered`] give each request a [`Reply`], which any
//!   task may finish; [`Reply::room`] gives backpressure, [`Reply::hold_back`] keeps a reply until its commit.
//! * **Time limits.** [`Stream::set_idle_timeout`] bounds the silence of the peer, [`Stream::set_deadline`] a header, a
//!   request or a response as a whole. [`timeout`] bounds any future.
//! * **TLS.** The handler calls [`Stream::accept_tls`] when it is due, perhaps after a PROXY header. [`Stream::tls`] then
//!   tells the name asked for, the version and the client's certificate. [`tls::ServerFiles::handshakes_max`] bounds the
//!   handshakes in flight.
//! * **Work that blocks.** [`offload`] runs a closure on threads that all share; an [`Offload`] is a lane with its own
//!   threads and its own bound, so that slow work of one kind does not delay another.
//! * **Events across loops.** Tasks on any loop wait for a [`Signal`] to reach a number: group commit, long polls.
//! * **Tasks.** [`spawn`] returns a [`Task`], which can be awaited. Dropping it aborts the task; [`Task::detach`] lets it
//!   run.
//! * **Restarts without a refused connection.** [`Bound::sockets`] copies the listening sockets for a successor, which
//!   passes them to [`Loops::listen`]; the predecessor calls [`Bound::drain`].
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

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod accept;
mod address;
mod clock;
mod cold;
mod config;
mod connect;
mod connection;
mod core;
mod counters;
mod descriptor;
mod error;
mod eviction;
mod flush;
mod halves;
mod handshake;
mod inbox;
mod join;
mod listen;
mod listener;
mod loops;
mod mailbox;
mod notifier;
mod offload;
mod oneshot;
mod options;
mod output;
mod pair;
mod permit;
mod piece;
mod queue;
mod readiness;
mod replies;
mod rest;
mod siblings;
mod signal;
mod signals;
mod socket;
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
mod waker;
mod wheel;

pub use address::{Address, Peer};
pub use clock::Clock;
pub use config::Config;
pub use connection::Liveness;
pub use descriptor::Descriptor;
pub use error::Error;
pub use halves::{ReadHalf, WriteHalf};
pub use join::try_join;
pub use listen::{BoundSockets, Listen};
pub use listener::Listener;
pub use loops::{Bound, Loops, Statistics};
pub use mailbox::Remote;
pub use notifier::{Notifier, RemoteNotifier};
pub use offload::{Offload, offload};
pub use options::{ListenOptions, OnFull};
pub use output::{Again, Exchange, Output, Took};
pub use piece::Piece;
pub use replies::{Gone, RemoteReply, Replies, Reply, Unordered};
pub use signal::{AtLeast, Signal};
pub use signals::Signals;
pub use spawn::{Task, spawn};
pub use stream::Stream;
pub use time::{now, sleep, timeout, yield_now};
pub use turn::{Loop, at_turn_end, charge, loop_index};

/// Raises the number of files that this process may open to what its hard limit allows, and answers it.
#[must_use]
pub fn open_files_max() -> usize {
    sys::raise_open_files().map_or(1024, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
}
