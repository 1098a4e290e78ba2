//! Replies to meta commands.

use crate::memcached::base64;
use format::{append, c};

/// The status of a reply without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Success, without a value.
    Hd,
    /// `mg` found nothing.
    En,
    /// Not found.
    Nf,
    /// Not stored.
    Ns,
    /// The cas differs.
    Ex,
}

/// Reply to `mn`.
pub const MN: &[u8] = b"MN\r\n";

/// Begins a reply without a value.
#[inline]
pub fn status(out: &mut Vec<u8>, status: Status) {
    let text: &[u8; 2] = match status {
        Status::Hd => b"HD",
        Status::En => b"EN",
        Status::Nf => b"NF",
        Status::Ns => b"NS",
        Status::Ex => b"EX",
    };
    out.extend_from_slice(text);
}

/// Begins a reply with a value of `length` bytes. The caller appends the value and a line end after [`end`].
#[inline]
pub fn value(out: &mut Vec<u8>, length: u64) {
    append!(out, "VA {length}");
}

/// A flag without an argument: `W`, `X`, `Z`.
#[inline]
pub fn flag(out: &mut Vec<u8>, name: u8) {
    out.extend_from_slice(&[b' ', name]);
}

/// A flag with a number: `s`, `c`, `f`, `h`, `l`.
#[inline]
pub fn number(out: &mut Vec<u8>, name: u8, number: u64) {
    c!(out, " %c%llu", name, number);
}

/// The flag `t`: the remaining seconds, or `None` for an item that never expires.
#[inline]
pub fn seconds(out: &mut Vec<u8>, left: Option<u32>) {
    match left {
        Some(left) => number(out, b't', u64::from(left)),
        None => out.extend_from_slice(b" t-1"),
    }
}

/// A token of the request, repeated unchanged.
#[inline]
pub fn token(out: &mut Vec<u8>, token: &[u8]) {
    out.push(b' ');
    out.extend_from_slice(token);
}

/// The flag `k`: the stored key. A binary key is encoded as base64 and followed by the flag `b`.
pub fn key(out: &mut Vec<u8>, key: &[u8], binary: bool) {
    out.extend_from_slice(b" k");
    if binary {
        base64::encode(out, key);
        out.extend_from_slice(b" b");
    } else {
        out.extend_from_slice(key);
    }
}

/// Ends the line.
#[inline]
pub fn end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"\r\n");
}

/// The facts of an item that `me` reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Debug<'a> {
    /// The stored key.
    pub key: &'a [u8],
    /// True if the key is binary.
    pub key_binary: bool,
    /// The remaining seconds, or `None` if it never expires.
    pub left: Option<u32>,
    /// Seconds since the last access.
    pub idle: u32,
    /// Its cas.
    pub cas: u64,
    /// True if it has been read since it was stored.
    pub fetched: bool,
    /// The equivalent of memcached's slab class.
    pub class: u32,
    /// Its size in bytes, including overhead.
    pub size: u64,
}

/// Appends the whole reply of `me` for an existing item. For an absent one the reply is `EN` and a line end.
pub fn debug(out: &mut Vec<u8>, item: &Debug<'_>) {
    out.extend_from_slice(b"ME ");
    if item.key_binary {
        base64::encode(out, item.key);
    } else {
        out.extend_from_slice(item.key);
    }
    out.extend_from_slice(b" exp=");
    match item.left {
        Some(left) => append!(out, "{left}"),
        None => out.extend_from_slice(b"-1"),
    }
    let Debug {
        idle,
        cas,
        class,
        size,
        ..
    } = item;
    let fetched = if item.fetched { "yes" } else { "no" };
    append!(
        out,
        " la={idle} cas={cas} fetch={fetched} cls={class} size={size}\r\n"
    );
}
