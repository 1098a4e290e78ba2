//! The header of a frame, the same for requests and responses.

use super::{HEADER_LENGTH, Opcode};

/// A parsed header.
#[derive(Clone, Copy)]
pub(in crate::memcached) struct Header {
    pub(in crate::memcached) opcode: Opcode,
    pub(in crate::memcached) key_length: u16,
    pub(in crate::memcached) extras_length: u8,
    /// The status of a response; reserved in requests.
    pub(in crate::memcached) status: u16,
    /// The length of extras, key and value together.
    pub(in crate::memcached) body_length: u32,
    pub(in crate::memcached) opaque: u32,
    pub(in crate::memcached) cas: u64,
}

impl Header {
    #[inline]
    pub(in crate::memcached) fn read(bytes: &[u8; HEADER_LENGTH]) -> Self {
        let [
            _,
            opcode,
            k0,
            k1,
            extras_length,
            _,
            s0,
            s1,
            b0,
            b1,
            b2,
            b3,
            o0,
            o1,
            o2,
            o3,
            cas @ ..,
        ] = *bytes;
        Header {
            opcode: Opcode(opcode),
            key_length: u16::from_be_bytes([k0, k1]),
            extras_length,
            status: u16::from_be_bytes([s0, s1]),
            body_length: u32::from_be_bytes([b0, b1, b2, b3]),
            opaque: u32::from_be_bytes([o0, o1, o2, o3]),
            cas: u64::from_be_bytes(cas),
        }
    }

    /// The length of extras and key together.
    #[inline]
    pub(in crate::memcached) fn parts_length(&self) -> u32 {
        u32::from(self.extras_length) + u32::from(self.key_length)
    }
}
