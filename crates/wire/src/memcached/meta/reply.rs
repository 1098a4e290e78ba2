//! Replies to meta commands.

use crate::memcached::base64;
use format::{append, c};

/// How a reply without a value begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Done, or found without the value being asked for.
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

/// Begins a reply with a value of so many bytes, which is to follow the line's end, with a line end of its own.
#[inline]
pub fn value(out: &mut Vec<u8>, length: u64) {
    append!(out, "VA {length}");
}

/// A flag without an argument: `W`, `X`, `Z`.
#[inline]
pub fn letter(out: &mut Vec<u8>, letter: u8) {
    out.extend_from_slice(&[b' ', letter]);
}

/// A flag with a number: `s`, `c`, `f`, `h`, `l`.
#[inline]
pub fn number(out: &mut Vec<u8>, letter: u8, number: u64) {
    c!(out, " %c%llu", letter, number);
}

/// The flag `t`: the seconds that are left, none for an item that never expires.
#[inline]
pub fn seconds(out: &mut Vec<u8>, left: Option<u32>) {
    match left {
        Some(left) => number(out, b't', u64::from(left)),
        None => out.extend_from_slice(b" t-1"),
    }
}

/// A token of the request, returned as it came.
#[inline]
pub fn token(out: &mut Vec<u8>, token: &[u8]) {
    out.push(b' ');
    out.extend_from_slice(token);
}

/// The flag `k`: the key as it is stored. One that was stored as binary goes out as base64 and with the flag `b`.
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

/// What `me` tells of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Debug<'a> {
    /// The key as it is stored.
    pub key: &'a [u8],
    /// Whether it was stored as binary.
    pub key_binary: bool,
    /// Seconds that are left, if it expires.
    pub left: Option<u32>,
    /// Seconds since the last access.
    pub idle: u32,
    /// Its cas.
    pub cas: u64,
    /// Whether it was read since it was stored.
    pub fetched: bool,
    /// memcached's slab class; whatever comes closest.
    pub class: u32,
    /// Bytes that it takes in all.
    pub size: u64,
}

/// Appends the whole reply of `me` for an item that is there; for one that is not, it's `EN` and a line end.
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
