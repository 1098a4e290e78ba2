//! memcached's three protocols: classic text, meta (also text) and binary, in both directions.
//!
//! | module | direction |
//! |---|---|
//! | [`text`] | a server reads command lines, classic and meta, and writes classic replies |
//! | [`meta`] | the contents of a meta command, and the replies to it |
//! | [`binary`] | a server reads binary requests and writes responses |
//! | [`client`] | the other side of all three |
//!
//! The behaviour is that of memcached 1.6.45 (`doc/protocol.txt`, `proto_text.c`, `proto_parser.c`, `proto_bin.c`),
//! including the texts of its errors and the malformed input that it accepts. Each deliberate difference is documented in
//! the module that makes it.
//!
//! **Invariant:** a server-side parser never uses a data block. It uses the command line, or the binary header, extras
//! and key, and returns the length of the block that follows.

mod base64;
pub mod binary;
pub mod client;
mod error;
mod line;
pub mod meta;
mod number;
pub mod text;

/// The longest stored key, in bytes.
pub const KEY_LENGTH_MAX: usize = 250;

/// The longest value that every protocol here can express: a binary response counts the value, its flags and its key
/// in 32 bits.
pub const VALUE_LENGTH_MAX: u64 = u32::MAX as u64 - 4 - KEY_LENGTH_MAX as u64;

/// The family of a connection's protocol, recognized by its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Lines: classic and meta commands in any mixture.
    Text,
    /// Frames with a 24-byte header.
    Binary,
}

/// Recognizes the protocol of a connection by the first byte that its client sends.
///
/// ```
/// use hikyaku_wire::memcached::{Dialect, dialect};
///
/// assert_eq!(dialect(b'g'), Dialect::Text);
/// assert_eq!(dialect(0x80), Dialect::Binary);
/// ```
#[inline]
pub fn dialect(first_byte: u8) -> Dialect {
    if first_byte == binary::MAGIC_REQUEST {
        Dialect::Binary
    } else {
        Dialect::Text
    }
}
