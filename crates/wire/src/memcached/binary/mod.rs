//! The binary protocol: frames of a 24-byte header, extras, a key and a value.
//!
//! ```text
//!   0      1      2           4      5      6               8           12      16     24
//!   magic  opcode key length  extras type   status/reserved body length opaque  cas    extras, key, value
//! ```
//!
//! All numbers are big-endian; the body is extras, key and value together. memcached calls the protocol deprecated, yet
//! many clients speak nothing else.
//!
//! Deliberate differences from memcached, all about frames that no client sends: bytes of a body that an opcode does not
//! know are an error (memcached takes them for the next frame), and the body of an unknown opcode is swallowed once
//! (memcached swallows key and extras twice).

mod error;
mod opcode;
mod parse;
mod request;
mod response;

pub use error::Error;
pub use opcode::Opcode;
pub use parse::{parse, parse_within};
pub use request::{Concatenate, Operation, Request, Sasl, StoreVerb};
pub use response::{Head, Status, continuation, header, message, stat, status, value, value_head};

/// First byte of a request.
pub const MAGIC_REQUEST: u8 = 0x80;
/// First byte of a response.
pub const MAGIC_RESPONSE: u8 = 0x81;
/// Bytes of a frame before extras, key and value.
pub const HEADER_LENGTH: usize = 24;
/// The longest body: memcached accepts no item larger than that, whatever its settings.
pub const BODY_LENGTH_MAX: u32 = 1 << 30;
/// The longest name of an authentication mechanism.
pub const MECHANISM_LENGTH_MAX: usize = 32;
