//! Load generators for the servers that Hikyaku speaks to.
//!
//! A generator drives one server, or alternates several in phases so short that whatever disturbs the machine disturbs
//! all of them alike; what is reported then is the ratio within each cycle, not a number that depends on the minute.
//!
//! ```text
//!   kv::Options ──► Plan (how: servers, threads, pace, phases)     ┐
//!               └─► Workload (what: keys, mix, dialect) ─ Session ─┤   a session is sans-IO: it writes requests, reads replies
//!                                                                  ▼
//!   run ──► phases: A B A B … ──► worker threads ──► fleets of connections, one fleet a server
//!              └ cpu: the servers' CPU clocks, read at the edges of a phase
//!                                                                  ▼
//!                                 Tally a phase ──► Report: throughput, CPU a request, percentiles, ratios
//! ```
//!
//! **Invariant.** A phase ends only when every reply of it has arrived, so that the server's CPU time between its edges
//! belongs to the requests that are counted in it.
//!
//! **Invariant.** In an open loop latency counts from the moment at which a request was due, whether or not it could be
//! sent then; a server that stalls cannot hide it by slowing the generator down.

mod connection;
mod cpu;
mod drive;
pub mod echo;
mod error;
mod fleet;
pub mod kv;
mod phases;
mod plan;
mod plot;
mod progress;
mod random;
mod report;
mod session;
mod sys;
mod tally;
mod target;
mod tls;
mod transport;
pub mod units;

pub use drive::Drive;
pub use error::Error;
pub use report::{Latency, Ratios, Report, ServerReport, Spread};
pub use target::{Address, Target};
