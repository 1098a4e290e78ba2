//! Classic replies.

use format::{append, c};

/// The end of a list of values or of statistics.
pub const END: &[u8] = b"END\r\n";
/// A value was stored.
pub const STORED: &[u8] = b"STORED\r\n";
/// The condition of `add`, `replace`, `append` or `prepend` was not met.
pub const NOT_STORED: &[u8] = b"NOT_STORED\r\n";
/// The item has changed since its cas was read.
pub const EXISTS: &[u8] = b"EXISTS\r\n";
/// The key is absent.
pub const NOT_FOUND: &[u8] = b"NOT_FOUND\r\n";
/// The item was removed.
pub const DELETED: &[u8] = b"DELETED\r\n";
/// The item has its new expiry.
pub const TOUCHED: &[u8] = b"TOUCHED\r\n";
/// Done.
pub const OK: &[u8] = b"OK\r\n";
/// The statistics were reset.
pub const RESET: &[u8] = b"RESET\r\n";
/// The data block is longer or shorter than announced.
pub const BAD_DATA_CHUNK: &[u8] = b"CLIENT_ERROR bad data chunk\r\n";
/// The item is larger than the limit.
pub const TOO_LARGE: &[u8] = b"SERVER_ERROR object too large for cache\r\n";
/// The store has no room for the item.
pub const OUT_OF_MEMORY: &[u8] = b"SERVER_ERROR out of memory storing object\r\n";
/// `incr` or `decr` of a value that does not parse as a number.
pub const NON_NUMERIC: &[u8] = b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";

/// Appends `VALUE <key> <flags> <length> [cas]`; the caller appends the value and a line end.
#[inline]
pub fn value_line(out: &mut Vec<u8>, key: &[u8], flags: u32, length: u64, cas: Option<u64>) {
    match cas {
        None => c!(out, "VALUE %s %u %llu\r\n", key, flags, length),
        Some(cas) => c!(out, "VALUE %s %u %llu %llu\r\n", key, flags, length, cas),
    }
}

/// Appends the reply of `incr` and `decr`.
#[inline]
pub fn number(out: &mut Vec<u8>, number: u64) {
    append!(out, "{number}\r\n");
}

/// Appends `STAT <name> [value]`.
pub fn stat(out: &mut Vec<u8>, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
    match value.as_ref() {
        b"" => c!(out, "STAT %s\r\n", name.as_ref()),
        value => c!(out, "STAT %s %s\r\n", name.as_ref(), value),
    }
}

/// Appends `VERSION <version>`.
pub fn version(out: &mut Vec<u8>, version: &str) {
    append!(out, "VERSION {version}\r\n");
}

/// Appends any other line.
pub fn line(out: &mut Vec<u8>, text: impl AsRef<[u8]>) {
    out.extend_from_slice(text.as_ref());
    out.extend_from_slice(b"\r\n");
}
