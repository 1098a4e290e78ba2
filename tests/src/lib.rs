//! Black-box tests: they start the real daemon and use it over real sockets, through real clients.
//!
//! A test starts a [`Daemon`], whose banner has its addresses, opens a [`Connection`] or runs a [`Tool`], and checks the
//! replies. Dropping the value kills the daemon, and fails the test if the daemon has panicked.
//!
//! **Invariant**: nothing here links the daemon's crates; the tests know only what its users know.
//!
//! **Invariant**: every wait has a limit: a socket, a process or a tool that is silent for [`PATIENCE`] fails the test.

use std::time::Duration;

mod binary;
mod connection;
mod daemon;
mod folder;
mod process;
mod random;
mod tls;
mod tool;
mod vectors;

pub use binary::{Frame, Response};
pub use connection::Connection;
pub use daemon::{Daemon, executable};
pub use folder::Folder;
pub use process::{Signal, raise_open_files, send_signal};
pub use random::Random;
pub use tls::Authority;
pub use tool::{Ran, Tool, client_program, python};
pub use vectors::{Vector, vectors};

/// The longest wait before a test fails.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A mebibyte.
pub const MIB: usize = 1024 * 1024;

/// The limit for the growth of the daemon's memory under bad input, beyond its store: the 64 MiB that the connections of a
/// loop may hold, and some for the allocator.
pub const GROWTH_MAX: usize = 96 * MIB;
