//! The black box: starts the real daemon, speaks to it over real sockets and through real clients.
//!
//! A test starts a [`Daemon`], whose banner says where it listens, opens a [`Connection`] or runs a [`Tool`], and says
//! what must come back. The daemon dies with the value, and no test passes whose daemon panicked.
//!
//! **Invariant**: nothing here is linked with the daemon; all that the tests know of it is what its users know.
//!
//! **Invariant**: every wait has an end: a socket, a process or a tool that says nothing for [`PATIENCE`] fails the test.

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

/// How long anything may be silent before the test gives up on it.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A mebibyte.
pub const MIB: usize = 1024 * 1024;

/// How much the daemon's memory may ever grow by bad input, beyond what its store may hold: the 64 MiB that the
/// connections of a loop may hold at most, and some for the allocator.
pub const GROWTH_MAX: usize = 96 * MIB;
