//! Errors of a service's configuration.

/// An error of this crate. Protocol errors are sent to the client instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A line of the users' file isn't `name:password`.
    #[error("line {line} of the users file is not name:password")]
    UserLine {
        /// Counted from 1.
        line: usize,
    },
    /// The users' file has too many lines.
    #[error("the users file holds more than {max} entries")]
    TooManyUsers {
        /// The limit.
        max: usize,
    },
    /// The users' file is empty, so that no client could connect.
    #[error("the users file holds no entry; write name:password lines or leave the file out")]
    NoUsers,
}
