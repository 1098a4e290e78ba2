//! Meta commands: a verb of two letters, a key, and flags of one letter each that ask for what is wanted.
//!
//! [`text::parse`](super::text::parse) hands them out as [`Command::Meta`](super::text::Command::Meta). A reply is
//! built by appending: the status by [`status`] or [`value`], then for each flag of the request, in the request's
//! order, what it asks for, and last the line end.
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
//! Deliberate differences from memcached 1.6.45: an opaque token that is too long is refused before the command has an
//! effect, and `me` decodes its key whenever its first flag is `b`, as the protocol's description says.

mod command;
mod parse;
mod plain;
mod reply;

pub use command::{Flag, Flags, KeyBuffer, Letters, Meta, MetaVerb, Mode, OPAQUE_LENGTH_MAX};
pub(super) use parse::parse;
pub(super) use plain::parse_plain;
pub use reply::{Debug, MN, Status, debug, end, key, letter, number, seconds, status, token, value};
