//! What is wrong with a command line, and how a server answers it.

/// Why a command line was refused. The display text is the reply, without its line end.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// No such command.
    #[error("ERROR")]
    Unknown,
    /// Too few words, a key that is too long, a number that is none, a length out of range.
    #[error("CLIENT_ERROR bad command line format")]
    Format,
    /// `delete` takes a key, and a zero for the sake of old clients.
    #[error("CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]")]
    DeleteUsage,
    /// An expiry time that is no 32-bit number.
    #[error("CLIENT_ERROR invalid exptime argument")]
    Exptime,
    /// The step of `incr` and `decr` is no unsigned 64-bit number.
    #[error("CLIENT_ERROR invalid numeric delta argument")]
    Delta,
    /// A word after `shutdown` other than `graceful`.
    #[error("CLIENT_ERROR invalid shutdown mode")]
    ShutdownMode,
    /// More than twenty words in a meta command.
    #[error("CLIENT_ERROR options flags are too long")]
    FlagsTooMany,
    /// A meta flag given twice.
    #[error("CLIENT_ERROR duplicate flag")]
    FlagDuplicate,
    /// A meta flag nobody knows.
    #[error("CLIENT_ERROR invalid flag")]
    FlagInvalid,
    /// What `ma` answers to every mistake in its flags.
    #[error("CLIENT_ERROR invalid or duplicate flag")]
    FlagInvalidOrDuplicate,
    /// A flag's number cannot be read.
    #[error("CLIENT_ERROR bad token in command line format")]
    FlagToken,
    /// The `J` of a command other than `ma` cannot be read.
    #[error("CLIENT_ERROR invalid numeric initial value")]
    FlagInitial,
    /// The `D` of a command other than `ma` cannot be read.
    #[error("CLIENT_ERROR invalid numeric delta value")]
    FlagDelta,
    /// The key of a command with the flag `b` is no base64.
    #[error("CLIENT_ERROR error decoding key")]
    KeyEncoding,
    /// The mode of `ms` is none of E A P R S.
    #[error("CLIENT_ERROR invalid mode for ms M token")]
    ModeStore,
    /// The mode of `ma` is none of I + D -.
    #[error("CLIENT_ERROR invalid mode for ma M token")]
    ModeArithmetic,
    /// The opaque token is longer than 32 bytes, its letter included.
    #[error("CLIENT_ERROR opaque token too long")]
    OpaqueTooLong,
    /// No line end within [`LINE_LENGTH_MAX`](super::LINE_LENGTH_MAX) bytes; memcached closes without a word.
    #[error("")]
    LineTooLong,
    /// A web browser or an attack by way of one; memcached closes without a word.
    #[error("")]
    Http,
    /// Before authentication, anything but a `set`.
    #[error("CLIENT_ERROR unauthenticated")]
    Unauthenticated,
    /// The data block of an authentication is longer than 16 KiB.
    #[error("CLIENT_ERROR auth token too long")]
    CredentialsTooLong,
    /// The data block of an authentication does not end in a line end.
    #[error("CLIENT_ERROR bad command line termination")]
    CredentialsEnd,
    /// There is no space between name and password.
    #[error("CLIENT_ERROR bad authentication token format")]
    CredentialsFormat,
    /// A line too short to be an authentication; memcached closes without a word.
    #[error("")]
    CredentialsShort,
}

impl Cause {
    /// The reply line, with its line end; empty where memcached closes without a word.
    pub fn reply(self) -> &'static [u8] {
        match self {
            Cause::Unknown => b"ERROR\r\n",
            Cause::Format => b"CLIENT_ERROR bad command line format\r\n",
            Cause::DeleteUsage => b"CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n",
            Cause::Exptime => b"CLIENT_ERROR invalid exptime argument\r\n",
            Cause::Delta => b"CLIENT_ERROR invalid numeric delta argument\r\n",
            Cause::ShutdownMode => b"CLIENT_ERROR invalid shutdown mode\r\n",
            Cause::FlagsTooMany => b"CLIENT_ERROR options flags are too long\r\n",
            Cause::FlagDuplicate => b"CLIENT_ERROR duplicate flag\r\n",
            Cause::FlagInvalid => b"CLIENT_ERROR invalid flag\r\n",
            Cause::FlagInvalidOrDuplicate => b"CLIENT_ERROR invalid or duplicate flag\r\n",
            Cause::FlagToken => b"CLIENT_ERROR bad token in command line format\r\n",
            Cause::FlagInitial => b"CLIENT_ERROR invalid numeric initial value\r\n",
            Cause::FlagDelta => b"CLIENT_ERROR invalid numeric delta value\r\n",
            Cause::KeyEncoding => b"CLIENT_ERROR error decoding key\r\n",
            Cause::ModeStore => b"CLIENT_ERROR invalid mode for ms M token\r\n",
            Cause::ModeArithmetic => b"CLIENT_ERROR invalid mode for ma M token\r\n",
            Cause::OpaqueTooLong => b"CLIENT_ERROR opaque token too long\r\n",
            Cause::Unauthenticated => b"CLIENT_ERROR unauthenticated\r\n",
            Cause::CredentialsTooLong => b"CLIENT_ERROR auth token too long\r\n",
            Cause::CredentialsEnd => b"CLIENT_ERROR bad command line termination\r\n",
            Cause::CredentialsFormat => b"CLIENT_ERROR bad authentication token format\r\n",
            Cause::LineTooLong | Cause::Http | Cause::CredentialsShort => b"",
        }
    }

    /// Whether the stream cannot be trusted any more.
    fn fatal(self) -> bool {
        matches!(self, Cause::LineTooLong | Cause::Http | Cause::CredentialsShort)
    }
}

/// A refused command line and what follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct Error {
    cause: Cause,
    silent: bool,
    skip_line: bool,
    swallow: u64,
}

impl Error {
    #[inline]
    pub(crate) fn new(cause: Cause) -> Self {
        Error {
            cause,
            silent: false,
            skip_line: false,
            swallow: 0,
        }
    }

    /// The same error to a client that asked for no reply.
    #[inline]
    pub(crate) fn silent_if(mut self, noreply: bool) -> Self {
        self.silent = noreply;
        self
    }

    /// The same error in front of a data block of `length` bytes and its line end.
    #[inline]
    pub(crate) fn before_block(mut self, length: u64) -> Self {
        self.swallow = length + 2;
        self
    }

    /// The same error in a line whose end is not in view.
    #[inline]
    pub(crate) fn in_open_line(mut self, open: bool) -> Self {
        self.skip_line = open;
        self
    }

    /// Why.
    #[inline]
    pub fn cause(&self) -> Cause {
        self.cause
    }

    /// What to answer; empty when the client asked for no reply, or when memcached gives none.
    #[inline]
    pub fn reply(&self) -> &'static [u8] {
        if self.silent { b"" } else { self.cause.reply() }
    }

    /// Whether the connection must be closed after the reply.
    #[inline]
    pub fn fatal(&self) -> bool {
        self.cause.fatal()
    }

    /// How many bytes after the used ones belong to the refused command's data block (its line end included) and are
    /// to be thrown away so that the stream stays in step. 0 where memcached does not know the length either.
    #[inline]
    pub fn swallow(&self) -> u64 {
        self.swallow
    }

    /// Whether the line's end was not in view: throw bytes away by [`skip_line`](super::skip_line) until it is found.
    #[inline]
    pub fn skip_line(&self) -> bool {
        self.skip_line
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_display_text_is_the_reply() {
        for cause in [
            Cause::Unknown,
            Cause::Format,
            Cause::FlagToken,
            Cause::OpaqueTooLong,
            Cause::Http,
        ] {
            let reply = std::str::from_utf8(cause.reply()).unwrap();
            assert_eq!(reply.trim_end_matches("\r\n"), cause.to_string());
        }
    }
}
