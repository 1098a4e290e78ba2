//! The binary protocol: frames of a 24-byte header, extras, a key and a value.
//!
//! ```text
//!   0      1      2           4      5      6               8           12      16     24
//!   magic  opcode key length  extras type   status/reserved body length opaque  cas    extras, key, value
//! ```
//!
//! All numbers are big-endian; the body is extras, key and value together. memcached has deprecated the protocol, but
//! many clients speak no other.
//!
//! ```
//! use hikyaku_wire::Parsed;
//! use hikyaku_wire::memcached::binary::{self, Opcode, Operation};
//! use hikyaku_wire::memcached::client;
//!
//! let mut frame = Vec::new();
//! client::binary::key(&mut frame, Opcode::GETK, 7, b"greeting");
//! let Parsed::Done(Ok(request), used) = binary::parse(&frame) else { panic!() };
//! assert_eq!((request.key, request.opaque, used), (b"greeting".as_slice(), 7, frame.len()));
//! assert_eq!(request.operation, Operation::Get { with_key: true });
//! ```
//!
//! Deliberate differences from memcached, all for frames that no client sends: surplus bytes of a body are an error
//! (memcached reads them as the next frame), and the body of an unknown opcode is skipped once (memcached skips key and
//! extras twice).

mod error;
pub(super) mod header;
mod opcode;
mod parse;
mod request;
mod response;

pub use error::Error;
pub use opcode::Opcode;
pub use parse::{parse, parse_within};
pub use request::{Concatenate, Operation, Request, Sasl, StoreVerb};
pub use response::{ResponseHeader, Status, continuation, header, message, stat, status, value, value_head};

/// First byte of a request.
pub const MAGIC_REQUEST: u8 = 0x80;
/// First byte of a response.
pub const MAGIC_RESPONSE: u8 = 0x81;
/// The length of a frame's header in bytes.
pub const HEADER_LENGTH: usize = 24;
/// The longest body: memcached accepts no larger item under any setting.
pub const BODY_LENGTH_MAX: u32 = 1 << 30;
/// The longest name of an authentication mechanism.
pub const MECHANISM_LENGTH_MAX: usize = 32;
