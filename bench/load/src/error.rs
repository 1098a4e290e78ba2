//! Errors of a run.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The reason why a run failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option's value, or a combination of options, is invalid.
    #[error("{option}: {problem}")]
    Option {
        /// The option as it is written on the command line.
        option: &'static str,
        /// The problem and its remedy.
        problem: String,
    },
    /// No connection could be made.
    #[error("cannot connect to {address}: {source}")]
    Connect {
        /// The server's address.
        address: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A connection was lost while replies were outstanding.
    #[error("{address}: the connection was lost with {outstanding} replies outstanding: {reason}")]
    Lost {
        /// The server's address.
        address: String,
        /// Requests that were never answered on this connection.
        outstanding: usize,
        /// The system's or the TLS library's reason, or that the server closed it.
        reason: String,
    },
    /// The server sent something other than a reply of this protocol.
    #[error("{address}: not a reply of this protocol: {found}")]
    Reply {
        /// The server's address.
        address: String,
        /// Its first bytes, escaped.
        found: String,
    },
    /// The server refused to store the keys of the run.
    #[error("{address}: cannot be filled, {refused} sets were refused, the first with: {reply}")]
    Fill {
        /// The server's address.
        address: String,
        /// The number of refused sets.
        refused: u64,
        /// The first refusal.
        reply: String,
    },
    /// No reply arrived for too long.
    #[error("{address}: no reply for {waited:?} with {outstanding} requests outstanding")]
    Stalled {
        /// The server's address.
        address: String,
        /// The time waited.
        waited: Duration,
        /// Requests without a reply.
        outstanding: usize,
    },
    /// A file that was asked for cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A certificate or a TLS setting cannot be used.
    #[error("TLS: {0}")]
    Tls(String),
    /// A system call failed.
    #[error("{call}: {source}")]
    System {
        /// The system call.
        call: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}
