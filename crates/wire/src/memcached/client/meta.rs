//! Meta requests: begun, given flags, ended.
//!
//! ```
//! use hikyaku_wire::memcached::client::meta;
//! use hikyaku_wire::memcached::meta::MetaVerb;
//!
//! let mut out = Vec::new();
//! meta::begin(&mut out, MetaVerb::Get, b"k", None);
//! meta::letter(&mut out, b'v');
//! meta::number(&mut out, b'T', 30);
//! meta::end(&mut out);
//! assert_eq!(out, b"mg k v T30\r\n");
//! ```
//!
//! Replies are read by [`text::parse`](super::text::parse).

use crate::memcached::base64;
use crate::memcached::meta::MetaVerb;
use format::{append, c};

/// Begins a command. The `length` is that of the value of `ms`; the value and a line end are to follow [`end`].
#[inline]
pub fn begin(out: &mut Vec<u8>, verb: MetaVerb, key: &[u8], length: Option<u64>) {
    verb_of(out, verb);
    out.extend_from_slice(key);
    length_of(out, length);
}

/// Begins a command with a key that is not text: it goes as base64 and the flag `b`.
pub fn begin_binary(out: &mut Vec<u8>, verb: MetaVerb, key: &[u8], length: Option<u64>) {
    verb_of(out, verb);
    base64::encode(out, key);
    length_of(out, length);
    letter(out, b'b');
}

/// Appends `mn`, whose reply tells that everything before it was answered.
pub fn no_op(out: &mut Vec<u8>) {
    out.extend_from_slice(b"mn\r\n");
}

/// A flag without an argument.
#[inline]
pub fn letter(out: &mut Vec<u8>, letter: u8) {
    out.extend_from_slice(&[b' ', letter]);
}

/// A flag with a number.
#[inline]
pub fn number(out: &mut Vec<u8>, letter: u8, number: u64) {
    c!(out, " %c%llu", letter, number);
}

/// A flag with a time, which may be negative.
pub fn exptime(out: &mut Vec<u8>, letter: u8, exptime: i64) {
    c!(out, " %c%lld", letter, exptime);
}

/// A flag with an argument of the caller's own.
pub fn token(out: &mut Vec<u8>, letter: u8, argument: &[u8]) {
    out.extend_from_slice(&[b' ', letter]);
    out.extend_from_slice(argument);
}

/// Ends the line.
#[inline]
pub fn end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"\r\n");
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
