//! Refused command lines: the cause, the reply, and the bytes to skip.

/// The reason why a command line was refused. Its display text is the reply without the line end.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// No such command.
    #[error("ERROR")]
    Unknown,
    /// Too few words, a key that is too long, a malformed number, or a length out of range.
    #[error("CLIENT_ERROR bad command line format")]
    Format,
    /// `delete` takes a key and, for old clients, a zero.
    #[error("CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]")]
    DeleteUsage,
    /// The expiry time does not parse as a 32-bit number.
    #[error("CLIENT_ERROR invalid exptime argument")]
    Exptime,
    /// The delta of `incr` or `decr` does not parse as an unsigned 64-bit number.
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
    /// An unknown meta flag.
    #[error("CLIENT_ERROR invalid flag")]
    FlagInvalid,
    /// The reply of `ma` to any error in its flags.
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
    /// The key of a command with the flag `b` does not decode as base64.
    #[error("CLIENT_ERROR error decoding key")]
    KeyEncoding,
    /// The mode of `ms` is none of E A P R S.
    #[error("CLIENT_ERROR invalid mode for ms M token")]
    ModeStore,
    /// The mode of `ma` is none of I + D -.
    #[error("CLIENT_ERROR invalid mode for ma M token")]
    ModeArithmetic,
    /// The opaque token, including its `O`, is longer than 32 bytes.
    #[error("CLIENT_ERROR opaque token too long")]
    OpaqueTooLong,
    /// No line end within [`LINE_LENGTH_MAX`](crate::memcached::text::LINE_LENGTH_MAX) bytes; memcached closes without a reply.
    #[error("")]
    LineTooLong,
    /// An HTTP request, such as an attack through a browser; memcached closes without a reply.
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
    /// No space separates name and password.
    #[error("CLIENT_ERROR bad authentication token format")]
    CredentialsFormat,
    /// The line is too short to authenticate; memcached closes without a reply.
    #[error("")]
    CredentialsShort,
}

impl Cause {
    /// The reply with its line end; empty where memcached closes without one.
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

    /// True if the rest of the stream cannot be parsed.
    fn fatal(self) -> bool {
        matches!(self, Cause::LineTooLong | Cause::Http | Cause::CredentialsShort)
    }
}

/// A refused command line.
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

    /// The same error for a client that asked for no reply.
    #[inline]
    pub(crate) fn silent_if(mut self, noreply: bool) -> Self {
        self.silent = noreply;
        self
    }

    /// The same error before a data block of `length` bytes and its line end.
    #[inline]
    pub(crate) fn before_block(mut self, length: u64) -> Self {
        self.swallow = length + 2;
        self
    }

    /// The same error in a line whose end the input has not reached.
    #[inline]
    pub(crate) fn in_open_line(mut self, open: bool) -> Self {
        self.skip_line = open;
        self
    }

    /// The reason.
    #[inline]
    pub fn cause(&self) -> Cause {
        self.cause
    }

    /// The reply; empty if the client asked for none, or if memcached sends none.
    #[inline]
    pub fn reply(&self) -> &'static [u8] {
        if self.silent { b"" } else { self.cause.reply() }
    }

    /// Returns true if the server must close the connection after the reply.
    #[inline]
    pub fn fatal(&self) -> bool {
        self.cause.fatal()
    }

    /// The length of the refused command's data block with its line end, to be discarded after the used bytes. 0 where
    /// memcached does not know the length either.
    #[inline]
    pub fn swallow(&self) -> u64 {
        self.swallow
    }

    /// Returns true if the input does not reach the end of the line: [`skip_line`](crate::memcached::text::skip_line) then finds it.
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
