//! memcached's three protocols: classic text, meta (also text) and binary, in both directions.
//!
//! | module | direction |
//! |---|---|
//! | [`text`] | a server reads command lines (classic and meta alike) and writes classic replies |
//! | [`meta`] | what a meta command says, and the replies to it |
//! | [`binary`] | a server reads binary requests and writes responses |
//! | [`client`] | the other side of all three |
//!
//! The behaviour is memcached 1.6.45's (`doc/protocol.txt`, `proto_text.c`, `proto_parser.c`, `proto_bin.c`), down to
//! the texts of its errors and to what it lets pass. Each deliberate difference is named where it is made.
//!
//! **Invariant:** a data block is never part of what a server-side parser uses: it uses the command line (or the binary
//! header, extras and key), and says how long the block is that follows.

mod base64;
pub mod binary;
pub mod client;
mod line;
pub mod meta;
mod number;
pub mod text;

/// The longest key, in bytes, as it is stored.
pub const KEY_LENGTH_MAX: usize = 250;

/// The longest value of which every protocol here can tell: a binary response counts it, with its flags and key, in 32
/// bits.
pub const VALUE_LENGTH_MAX: u64 = u32::MAX as u64 - 4 - KEY_LENGTH_MAX as u64;

/// The family of a connection's protocol, which its first byte tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Lines: classic and meta commands, mixed as the client likes.
    Text,
    /// Frames with a 24-byte header.
    Binary,
}

/// Tells the protocol of a connection by the first byte that its client sends.
#[inline]
pub fn dialect(first_byte: u8) -> Dialect {
    if first_byte == binary::MAGIC_REQUEST {
        Dialect::Binary
    } else {
        Dialect::Text
    }
}
