//! Errors of the loop.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// An operating error of the loop, a listener or a stream.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("{operation}: {source}")]
    System {
        /// The call, or what it was meant to do.
        operation: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// An address could not be listened on.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address asked for.
        address: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// A peer could not be reached.
    #[error("cannot connect to {address}: {source}")]
    Connect {
        /// The address asked for.
        address: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// Text that is not an address.
    #[error("`{text}` is no address; give 127.0.0.1:11211, [::1]:11211 or unix:/path")]
    Address {
        /// The text.
        text: String,
    },
    /// All connections of the loop together would hold more than [`Config::held_max`](crate::Config::held_max)
    /// bytes of partial requests and unsent replies, and this one held the most.
    #[error(
        "the connections of this loop would hold more than {max} bytes; this one holds {held} and asked for {asked}"
    )]
    HeldLimit {
        /// Bytes that this connection holds.
        held: usize,
        /// Bytes that it asked for beyond that; 0 if another connection asked.
        asked: usize,
        /// The bound.
        max: usize,
    },
    /// Nothing came or went for the stream's idle time-out.
    #[error("nothing came or went for {after:?}")]
    IdleTimeout {
        /// The time-out.
        after: Duration,
    },
    /// The deadline that [`Stream::set_deadline`](crate::Stream::set_deadline) set has passed.
    #[error("the stream's deadline has passed")]
    DeadlineExceeded,
    /// The TLS handshake took longer than it may.
    #[error("the TLS handshake took longer than {after:?}")]
    HandshakeTimeout {
        /// The time-out.
        after: Duration,
    },
    /// More TLS handshakes were begun than may be in flight, and this one had begun first.
    #[error("the TLS handshake had begun before {max} others that are in flight")]
    HandshakeDisplaced {
        /// The bound, [`handshakes_max`](crate::tls::ServerFiles::handshakes_max).
        max: usize,
    },
    /// The peer ended the stream in the middle of something.
    #[error("the peer ended the stream {missing} bytes early")]
    UnexpectedEnd {
        /// How many bytes were still wanted, at least.
        missing: u64,
    },
    /// A file is shorter than the range of it that was to be sent.
    #[error("the file to send ends {missing} bytes early")]
    FileEnded {
        /// How many bytes of the range do not exist.
        missing: u64,
    },
    /// TLS refused what the peer sent, or the peer what we sent.
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// A certificate, key or authority could not be loaded.
    #[error("{}: {reason}", path.display())]
    TlsFile {
        /// The file.
        path: PathBuf,
        /// The fault.
        reason: String,
    },
    /// A TLS server has no certificate.
    #[error("a TLS server needs at least one certificate")]
    NoCertificate,
    /// A listener was closed, so it has no sockets to hand over.
    #[error("the listener is closed")]
    ListenerClosed,
    /// As many calls as may wait for a thread of an offload lane.
    #[error("{queue_max} calls wait for the lane {lane} already")]
    OffloadFull {
        /// The lane's name.
        lane: &'static str,
        /// The bound.
        queue_max: usize,
    },
    /// The offload lane was shut down.
    #[error("the lane {lane} was shut down")]
    OffloadClosed {
        /// The lane's name.
        lane: &'static str,
    },
    /// The loop that should have done it has ended.
    #[error("the loop has ended")]
    LoopEnded,
}

impl Error {
    pub(crate) fn system(operation: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::System { operation, source }
    }

    /// True if a peer's first bytes in a handshake were not TLS: it speaks a protocol in cleartext.
    #[must_use]
    pub fn is_cleartext(&self) -> bool {
        let invalid = rustls::InvalidMessage::InvalidContentType;
        matches!(self, Error::Tls(rustls::Error::InvalidMessage(found)) if *found == invalid)
    }

    /// True if it is only the peer's way of leaving: a reset, a broken pipe, an early end.
    #[must_use]
    pub fn is_disconnect(&self) -> bool {
        match self {
            Error::System { source, .. } => matches!(
                source.kind(),
                io::ErrorKind::ConnectionReset
                    | io::ErrorKind::BrokenPipe
                    | io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::NotConnected
                    | io::ErrorKind::TimedOut
            ),
            Error::UnexpectedEnd { .. } => true,
            _ => false,
        }
    }
}
