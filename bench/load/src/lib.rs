//! Load generators for the servers that Hikyaku speaks to.
//!
//! A generator drives one server, or alternates between several in phases so short that a disturbance of the machine
//! affects all of them alike. The reported ratios are made within each cycle, so they do not depend on the minute.
//!
//! ```text
//!   kv::Options ──► Plan (servers, threads, pace, phases)          ┐
//!               └─► Workload (keys, mixture, dialect) ─── Client ──┤   a client is sans-IO: it writes requests, reads replies
//!                                                                  ▼
//!   run ──► phases: A B A B … ──► worker threads ──► groups of connections, one per server
//!              └ cpu: the servers' CPU clocks, read at the edges of a phase
//!                                                                  ▼
//!                                 Tally per phase ──► Report: throughput, CPU per request, percentiles, ratios
//! ```
//!
//! **Invariant.** A phase ends only after its last reply, so the server's CPU time between its edges belongs to the
//! requests counted in it.
//!
//! **Invariant.** In an open loop latency counts from the time at which a request was due, even if it was sent later. A
//! server that stalls cannot hide it by slowing the generator down.

mod client;
mod connection;
mod connections;
mod cpu;
mod drive;
pub mod echo;
mod error;
pub mod kv;
mod phases;
mod plan;
mod plot;
mod progress;
mod random;
mod report;
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
