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
//! Deliberate differences from memcached 1.6.45, beside those of [`meta`](super::meta): `delete` refuses unknown words;
//! `delete noreply` names a key and is answered; a key that is too long makes the whole `get` fail with one error line
//! (memcached adds an empty line, after which a client would misread the next reply).
//!
//! A line must end within [`LINE_LENGTH_MAX`] bytes; a longer one does not come from a memcached client. Only get
//! commands may be longer: then [`Get::complete`] is false, the parser returns the keys so far, and [`parse_keys`]
//! continues, so that a multi-get of any length needs no memory of its own.

mod authentication;
mod command;
mod keys;
mod parse;
mod reply;

pub use authentication::{CREDENTIALS_LENGTH_MAX, Credentials, parse_authentication};
pub use command::{
    Admin, AdminVerb, Arithmetic, CacheMemlimit, Command, Delete, FlushAll, Get, GetVerb, Shutdown, Store,
    StoreVerb, Touch, Verbosity,
};
pub use keys::{KeyRun, Keys, parse_keys, skip_line};
pub use parse::{parse, parse_within};
pub use reply::{
    BAD_DATA_CHUNK, DELETED, END, EXISTS, NON_NUMERIC, NOT_FOUND, NOT_STORED, OK, OUT_OF_MEMORY, RESET,
    STORED, TOO_LARGE, TOUCHED, line, number, stat, value_line, version,
};

pub use crate::memcached::error::{Cause, Error};
pub use crate::memcached::line::Words;

/// The longest line, except for get commands.
pub const LINE_LENGTH_MAX: usize = 2048;

/// The longest data block that memcached accepts: it counts the block and its line end in a C `int`.
pub const LENGTH_MAX: u64 = i32::MAX as u64 - 2;
