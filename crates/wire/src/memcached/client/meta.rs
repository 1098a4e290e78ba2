//! Meta requests: [`begin`], append flags, [`end`].
//!
//! ```
//! use hikyaku_wire::memcached::client::meta;
//! use hikyaku_wire::memcached::meta::MetaVerb;
//!
//! let mut out = Vec::new();
//! meta::begin(&mut out, MetaVerb::Get, b"k", None);
//! meta::flag(&mut out, b'v');
//! meta::number(&mut out, b'T', 30);
//! meta::end(&mut out);
//! assert_eq!(out, b"mg k v T30\r\n");
//! ```
//!
//! [`text::parse`](super::text::parse) reads the replies.

use crate::memcached::base64;
use crate::memcached::meta::MetaVerb;
use format::{append, c};

/// Flags and the line end are written as in replies.
pub use crate::memcached::meta::{end, flag, number};

/// Begins a command. For `ms`, `length` is the length of the value; the caller appends the value and a line end after
/// [`end`].
#[inline]
pub fn begin(out: &mut Vec<u8>, verb: MetaVerb, key: &[u8], length: Option<u64>) {
    verb_of(out, verb);
    out.extend_from_slice(key);
    length_of(out, length);
}

/// Begins a command with a binary key, which is sent as base64 with the flag `b`.
pub fn begin_binary(out: &mut Vec<u8>, verb: MetaVerb, key: &[u8], length: Option<u64>) {
    verb_of(out, verb);
    base64::encode(out, key);
    length_of(out, length);
    flag(out, b'b');
}

/// Appends `mn`. Its reply means that the server has answered everything before it.
pub fn no_op(out: &mut Vec<u8>) {
    out.extend_from_slice(b"mn\r\n");
}

/// A flag with a time, which may be negative.
pub fn exptime(out: &mut Vec<u8>, name: u8, exptime: i64) {
    c!(out, " %c%lld", name, exptime);
}

/// A flag with any other argument.
pub fn token(out: &mut Vec<u8>, name: u8, argument: &[u8]) {
    out.extend_from_slice(&[b' ', name]);
    out.extend_from_slice(argument);
}

#[inline]
fn verb_of(out: &mut Vec<u8>, verb: MetaVerb) {
    out.extend_from_slice(match verb {
        MetaVerb::Get => b"mg ",
        MetaVerb::Set => b"ms ",
        MetaVerb::Delete => b"md ",
        MetaVerb::Arithmetic => b"ma ",
        MetaVerb::NoOp => b"mn ",
        MetaVerb::Debug => b"me ",
    });
}

#[inline]
fn length_of(out: &mut Vec<u8>, length: Option<u64>) {
    if let Some(length) = length {
        append!(out, " {length}");
    }
}
