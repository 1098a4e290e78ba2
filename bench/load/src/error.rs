//! What can go wrong while load is generated.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a run could not be made, or had to end early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option's value, or a combination of options, makes no sense.
    #[error("{option}: {problem}")]
    Option {
        /// The option as it is written on the command line.
        option: &'static str,
        /// What is wrong with it and what would be right.
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
    /// The server sent what no server of this protocol sends.
    #[error("{address}: not a reply of this protocol: {found}")]
    Reply {
        /// The server's address.
        address: String,
        /// The first bytes of what was found, escaped.
        found: String,
    },
    /// The server refused to store what the run is to read.
    #[error("{address}: cannot be filled, {refused} sets were refused, the first with: {reply}")]
    Fill {
        /// The server's address.
        address: String,
        /// How many sets were refused before the run was given up.
        refused: u64,
        /// The first refusal.
        reply: String,
    },
    /// Nothing arrived for too long.
    #[error("{address}: no reply for {waited:?} with {outstanding} requests outstanding")]
    Stalled {
        /// The server's address.
        address: String,
        /// How long the generator waited.
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
    /// The system refused something the generator needs.
    #[error("{call}: {source}")]
    System {
        /// The system call.
        call: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}
