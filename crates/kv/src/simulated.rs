//! An engine for tests: a store on another machine, which a thread plays.
//!
//! ```text
//!   Simulated ──request──▶ network: arrives after `latency` ──▶ Machine: the items; answers ──▶ Fetch, commit
//! ```
//!
//! Every read is cold, and writes are committed when the caller begins a commit, as late as the machine's answer. [`Fault`]s make reads, writes and commits
//! fail. Several `Simulated` may be connected to one [`Machine`], one after another as restarts of a daemon, or at once.
//!
//! It reads the clock and starts a thread, as the clients of other machines do, and bounds nothing: it is not for production, and
//! present only with the feature `simulated`.

mod engine;
mod machine;
mod network;

pub use engine::Simulated;
pub use machine::{Fault, Machine};
