//! Errors in replies.

/// A malformed reply. The rest of the stream cannot be parsed, so the client must close the connection.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A line without an end.
    #[error("a reply line is longer than {max} bytes")]
    LineTooLong {
        /// The limit.
        max: usize,
    },
    /// A `VALUE` line without a valid length.
    #[error("a VALUE line lacks its flags or its length")]
    ValueLine,
    /// A `VA` line without a valid length.
    #[error("a VA line lacks its length")]
    MetaLine,
    /// The value does not end in a line end.
    #[error("a value of {length} bytes does not end in a line end")]
    BlockEnd {
        /// The length announced.
        length: u64,
    },
    /// The first byte of a binary response is wrong.
    #[error("a response begins with {magic:#04x} where 0x81 was expected")]
    Magic {
        /// The byte found.
        magic: u8,
    },
    /// Extras and key of a binary response are longer than its body.
    #[error("a response of opcode {opcode:#04x} has {parts} bytes of extras and key but a body of {body}")]
    Frame {
        /// The opcode.
        opcode: u8,
        /// Bytes of extras and key.
        parts: u32,
        /// Bytes of body.
        body: u32,
    },
}
