//! The memcached service: text, meta and binary protocols over a [`kv::Store`], on [`io::Stream`]s.
//!
//! ```text
//!   Stream::exchange ──► connection ──► text | binary     parse a batch, hash, prefetch, then execute in order
//!                                     │      │
//!                                     └──┬───┘
//!                                   operations        one store call per request, decided in a closure
//!                                        │
//!                                   kv::Store
//! ```
//!
//! Behaviour is memcached 1.6.45's: its `doc/protocol.txt` and, where that is silent, its sources, down to the words
//! of its errors. Differences that clients can see are few, and named here:
//!
//! - **UDP is left out.** A small datagram with a forged sender makes a memcached send megabytes to a victim; this
//!   amplification made some of the largest denial-of-service attacks on record. No client needs UDP.
//! - The version is memcached's, [`VERSION`], because clients look for features by it; our own is in `stats`.
//! - Classes are of items with about the same time to live, not of one size: `stats items` and `stats slabs` report those.
//!   Commands that tune slabs and LRUs are accepted where they cannot change what a client reads.
//! - `cache_memlimit` refuses more than the machine has memory, and less than twice the largest item; what has to go
//!   goes at once, page by page, where memcached waits for its rebalancer.
//! - `extstore` and the proxy's commands are unknown.
//! - What memcached keeps in `settings` but this server does not have is reported with the value that describes what
//!   happens here.
//!
//! **Invariant:** a connection holds memory only while a request or a reply is partly done, and then within `io`'s
//! named limits; a client that sends and never reads is held up, never buffered for.
//!
//! **Invariant:** no request allocates on the paths of `get`, `set` and similar commands with values below
//! [`large_value`](kv::Engine::large_value); nothing is dispatched dynamically there.

#![forbid(unsafe_code)]

mod ahead;
mod binary;
mod clock;
mod commit;
mod config;
mod connection;
mod context;
mod counters;
mod detail;
mod dump;
mod endpoint;
mod error;
mod operations;
mod piece;
mod progress;
mod protocol;
mod registry;
mod service;
mod statistics;
mod text;
mod upload;
mod users;
mod waits;
mod watch;
mod watcher;

pub use clock::Clock;
pub use config::{Dialects, OnRefresh, OnShutdown, ServiceConfig, Shutdown, VERSION};
pub use counters::Totals;
pub use endpoint::Endpoint;
pub use error::Error;
pub use service::Service;
pub use users::{USERS_MAX, Users};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
