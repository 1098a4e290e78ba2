//! Meta commands: a verb of two characters, a key, and flags of one character each, which select what the reply returns.
//!
//! [`text::parse`](super::text::parse) returns them as [`Command::Meta`](super::text::Command::Meta). A reply is built
//! by appending the status with [`status`] or [`value`], then the answer to each flag in the order of the request, and
//! last the line end.
//!
//! ```
//! use hikyaku_wire::memcached::meta;
//!
//! let mut out = Vec::new();
//! meta::value(&mut out, 3);
//! meta::number(&mut out, b'c', 17);
//! meta::token(&mut out, b"Oabc");
//! meta::end(&mut out);
//! out.extend_from_slice(b"xyz\r\n");
//! assert_eq!(out, b"VA 3 c17 Oabc\r\nxyz\r\n");
//! ```
//!
//! Deliberate differences from memcached 1.6.45: a command with too long an opaque token is refused before it has an
//! effect, and `me` decodes its key whenever its first flag is `b`, as `doc/protocol.txt` says.

mod command;
mod parse;
mod plain;
mod reply;

pub use command::{Flag, FlagSet, Flags, KeyBuffer, Meta, MetaVerb, Mode, OPAQUE_LENGTH_MAX};
pub(super) use parse::parse;
pub(super) use plain::parse_plain;
pub use reply::{Debug, MN, Status, debug, end, flag, key, number, seconds, status, token, value};
