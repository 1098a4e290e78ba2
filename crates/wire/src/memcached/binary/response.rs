//! Responses.

use super::{HEADER_LENGTH, MAGIC_RESPONSE, Opcode};

/// The outcome of a request. Its display text is the body of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[repr(u16)]
pub enum Status {
    /// Success.
    #[error("")]
    Success = 0x00,
    /// The key is absent.
    #[error("Not found")]
    NotFound = 0x01,
    /// The key is present, or its cas differs.
    #[error("Data exists for key.")]
    Exists = 0x02,
    /// The item is larger than the limit.
    #[error("Too large.")]
    TooLarge = 0x03,
    /// The frame is malformed.
    #[error("Invalid arguments")]
    InvalidArguments = 0x04,
    /// The condition was not met.
    #[error("Not stored.")]
    NotStored = 0x05,
    /// Increment or Decrement of a value that does not parse as a number.
    #[error("Non-numeric server-side value for incr or decr")]
    NonNumeric = 0x06,
    /// Not authenticated.
    #[error("Auth failure.")]
    AuthenticationFailed = 0x20,
    /// The mechanism needs another step.
    #[error("")]
    AuthenticationContinues = 0x21,
    /// No such opcode.
    #[error("Unknown command")]
    UnknownCommand = 0x81,
    /// The store has no room for the item.
    #[error("Out of memory")]
    OutOfMemory = 0x82,
    /// The server failed, such as its device.
    #[error("Internal error")]
    InternalError = 0x84,
    /// The server cannot carry out the request now.
    #[error("Temporary failure")]
    TemporaryFailure = 0x86,
}

impl Status {
    /// The status with this number.
    pub fn of_code(code: u16) -> Option<Status> {
        const ALL: [Status; 13] = [
            Status::Success,
            Status::NotFound,
            Status::Exists,
            Status::TooLarge,
            Status::InvalidArguments,
            Status::NotStored,
            Status::NonNumeric,
            Status::AuthenticationFailed,
            Status::AuthenticationContinues,
            Status::UnknownCommand,
            Status::OutOfMemory,
            Status::InternalError,
            Status::TemporaryFailure,
        ];
        ALL.into_iter().find(|status| *status as u16 == code)
    }

    /// The body of a response with this status.
    pub fn text(self) -> &'static [u8] {
        match self {
            Status::Success | Status::AuthenticationContinues => b"",
            Status::NotFound => b"Not found",
            Status::Exists => b"Data exists for key.",
            Status::TooLarge => b"Too large.",
            Status::InvalidArguments => b"Invalid arguments",
            Status::NotStored => b"Not stored.",
            Status::NonNumeric => b"Non-numeric server-side value for incr or decr",
            Status::AuthenticationFailed => b"Auth failure.",
            Status::UnknownCommand => b"Unknown command",
            Status::OutOfMemory => b"Out of memory",
            Status::InternalError => b"Internal error",
            Status::TemporaryFailure => b"Temporary failure",
        }
    }
}

/// The header of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseHeader {
    /// The opcode of the request.
    pub opcode: Opcode,
    /// The outcome.
    pub status: Status,
    /// The opaque of the request.
    pub opaque: u32,
    /// The item's.
    pub cas: u64,
    /// The length of the extras in bytes.
    pub extras_length: u8,
    /// The length of the key in bytes.
    pub key_length: u16,
    /// The length of extras, key and value together, in bytes.
    pub body_length: u32,
}

impl ResponseHeader {
    #[inline]
    fn bytes(&self) -> [u8; HEADER_LENGTH] {
        let mut bytes = [0; HEADER_LENGTH];
        bytes[0] = MAGIC_RESPONSE;
        bytes[1] = self.opcode.0;
        bytes[2..4].copy_from_slice(&self.key_length.to_be_bytes());
        bytes[4] = self.extras_length;
        bytes[6..8].copy_from_slice(&(self.status as u16).to_be_bytes());
        bytes[8..12].copy_from_slice(&self.body_length.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.opaque.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.cas.to_be_bytes());
        bytes
    }
}

/// Appends a header. The caller appends extras, key and value.
#[inline]
pub fn header(out: &mut Vec<u8>, head: &ResponseHeader) {
    out.extend_from_slice(&head.bytes());
}

/// Appends a response to Get, GAT or Touch up to its value. The caller appends the `length` bytes of the value, at most
/// [`VALUE_LENGTH_MAX`](crate::memcached::VALUE_LENGTH_MAX).
#[inline]
pub fn value_head(
    out: &mut Vec<u8>,
    opcode: Opcode,
    opaque: u32,
    cas: u64,
    flags: u32,
    key: &[u8],
    length: u32,
) {
    let head = ResponseHeader {
        opcode,
        status: Status::Success,
        opaque,
        cas,
        extras_length: 4,
        key_length: key.len() as u16,
        body_length: length.saturating_add(4 + key.len() as u32),
    };
    let mut bytes = [0; HEADER_LENGTH + 4];
    bytes[..HEADER_LENGTH].copy_from_slice(&head.bytes());
    bytes[HEADER_LENGTH..].copy_from_slice(&flags.to_be_bytes());
    out.extend_from_slice(&bytes);
    out.extend_from_slice(key);
}

/// Appends a response with a status and its text. For [`Status::Success`] this is only the header.
pub fn status(out: &mut Vec<u8>, opcode: Opcode, opaque: u32, cas: u64, status: Status) {
    message(out, opcode, opaque, cas, status, &[], status.text());
}

/// Appends a response with a key and a value but no extras: a miss of GetK, a version, a list of mechanisms.
pub fn message(
    out: &mut Vec<u8>,
    opcode: Opcode,
    opaque: u32,
    cas: u64,
    status: Status,
    key: &[u8],
    value: &[u8],
) {
    let body_length = (key.len() + value.len()) as u32;
    let head = ResponseHeader {
        opcode,
        status,
        opaque,
        cas,
        extras_length: 0,
        key_length: key.len() as u16,
        body_length,
    };
    header(out, &head);
    out.extend_from_slice(key);
    out.extend_from_slice(value);
}

/// Appends the response of Increment and Decrement.
pub fn value(out: &mut Vec<u8>, opcode: Opcode, opaque: u32, cas: u64, value: u64) {
    message(
        out,
        opcode,
        opaque,
        cas,
        Status::Success,
        &[],
        &value.to_be_bytes(),
    );
}

/// Appends a statistic; an empty name ends the list.
pub fn stat(out: &mut Vec<u8>, opaque: u32, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) {
    message(
        out,
        Opcode::STAT,
        opaque,
        0,
        Status::Success,
        name.as_ref(),
        value.as_ref(),
    );
}

/// Appends the response of an authentication that needs another step.
pub fn continuation(out: &mut Vec<u8>, opcode: Opcode, opaque: u32, challenge: &[u8]) {
    message(
        out,
        opcode,
        opaque,
        0,
        Status::AuthenticationContinues,
        &[],
        challenge,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_display_text_is_the_body() {
        for status in [
            Status::Success,
            Status::NotFound,
            Status::NonNumeric,
            Status::OutOfMemory,
        ] {
            assert_eq!(status.text(), status.to_string().as_bytes());
        }
    }

    #[test]
    fn a_value_is_announced_with_all_its_parts() {
        let mut out = Vec::new();
        value_head(&mut out, Opcode::GETK, 0x01020304, 5, 6, b"key", 2);
        assert_eq!(
            out,
            b"\x81\x0c\0\x03\x04\0\0\0\0\0\0\x09\x01\x02\x03\x04\0\0\0\0\0\0\0\x05\0\0\0\x06key"
        );
    }
}
