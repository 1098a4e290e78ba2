//! Command lines, classic and meta, and the classic replies.
//!
//! ```
//! use hikyaku_wire::Parsed;
//! use hikyaku_wire::memcached::text::{self, Command};
//!
//! let Parsed::Done(Ok(Command::Get(get)), used) = text::parse(b"get one two\r\nquit\r\n") else { panic!() };
//! assert_eq!(used, 13);
//! assert_eq!(get.keys.collect::<Vec<_>>(), [b"one", b"two"]);
//!
//! let Parsed::Done(Err(error), _) = text::parse(b"set k 0 zero 3\r\n") else { panic!() };
//! assert_eq!(error.reply(), b"CLIENT_ERROR bad command line format\r\n");
//! assert_eq!(error.swallow(), 5);
//! ```
//!
//! Deliberate differences from memcached 1.6.45, beside those that [`meta`](super::meta) has: `delete` with words that
//! make no sense is refused; `delete noreply` names a key and is answered; a key that is too long spoils a whole `get`
//! with one error line (memcached follows it by an empty line, which would put a client out of step).
//!
//! A line's end must come within [`LINE_LENGTH_MAX`] bytes, or the connection is not one of a memcached client. Only
//! the reading commands may be longer: then [`Get::complete`] is false, the keys so far are handed out, and
//! [`parse_keys`] reads on, so that a multi-get of any length needs no memory of its own.

mod authentication;
mod command;
mod error;
mod keys;
mod parse;
mod reply;

pub use authentication::{CREDENTIALS_LENGTH_MAX, Credentials, parse_authentication};
pub use command::{
    Admin, AdminVerb, Arithmetic, CacheMemlimit, Command, Delete, FlushAll, Get, GetVerb, KeyRun, Shutdown,
    Store, StoreVerb, Touch, Verbosity,
};
pub use error::{Cause, Error};
pub use keys::{Keys, parse_keys, skip_line};
pub use parse::{parse, parse_within};
pub use reply::{
    BAD_DATA_CHUNK, DELETED, END, EXISTS, NON_NUMERIC, NOT_FOUND, NOT_STORED, OK, OUT_OF_MEMORY, RESET,
    STORED, TOO_LARGE, TOUCHED, line, number, stat, value_line, version,
};

pub use crate::memcached::line::Words;

/// So many bytes without a line end are a line too long, unless they are a reading command.
pub const LINE_LENGTH_MAX: usize = 2048;

/// The longest data block that memcached lets a client announce: with its line end it is counted in a C `int`.
pub const LENGTH_MAX: u64 = i32::MAX as u64 - 2;
