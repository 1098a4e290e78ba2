//! Why the client got no answer.

/// An error of the client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(super) enum Error {
    #[error("--server: {0}")]
    Address(String),
    #[error("{0}")]
    Io(io::Error),
    #[error("{0}; is it a memcached server?")]
    Wire(#[from] wire::memcached::client::Error),
    #[error("the server does not speak TLS; omit --tls-ca, or name a listener that has a certificate")]
    Cleartext,
    #[error(
        "the server closed the connection during the TLS handshake; if it does not speak TLS, omit --tls-ca, or name a \
         listener that has a certificate"
    )]
    HandshakeClosed,
    #[error("the server closed the connection; its log may say why")]
    Closed,
    #[error("the server says {0:?}")]
    Refused(String),
    #[error("the server did not store it: {0:?}")]
    NotStored(String),
    #[error("the server requires a login; write --user NAME and set HIKYAKU_PASSWORD")]
    LoginWanted,
    #[error("the server refuses this user and password")]
    LoginRefused,
    #[error("--user needs the password in HIKYAKU_PASSWORD")]
    NoPassword,
    #[error("the key has {length} bytes; write 1 to {max}")]
    KeyLength { length: usize, max: usize },
    #[error(
        "the server's store keeps no order, so it has no ranges; use a tree store, or a prefix without --from and --to"
    )]
    Unordered,
    #[error("standard input cannot be read: {0}")]
    Input(std::io::Error),
    #[error("cannot write: {0}")]
    Output(std::io::Error),
}

impl Error {
    /// The error of an unexpected line.
    pub(super) fn of_line(line: &[u8]) -> Error {
        match line {
            b"CLIENT_ERROR unauthenticated" => Error::LoginWanted,
            line => Error::Refused(String::from_utf8_lossy(line).into()),
        }
    }

    /// Returns true if the command line or its environment is wrong.
    pub(super) fn is_usage(&self) -> bool {
        matches!(
            self,
            Error::NoPassword | Error::KeyLength { .. } | Error::Address(_) | Error::Unordered
        )
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::Io(error)
    }
}
