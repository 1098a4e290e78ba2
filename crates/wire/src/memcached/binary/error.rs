//! Refused frames: the status, the response, and the bytes to skip.

use super::{Opcode, Status, status};

/// A refused frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{status} (opcode {:#04x})", opcode.0)]
pub struct Error {
    pub(super) status: Status,
    pub(super) opcode: Opcode,
    pub(super) opaque: u32,
    pub(super) fatal: bool,
    pub(super) framed: bool,
    pub(super) magic: bool,
    pub(super) swallow: u64,
}

impl Error {
    /// The status of the response.
    pub fn status(&self) -> Status {
        self.status
    }

    /// The opcode of the frame.
    pub fn opcode(&self) -> Opcode {
        self.opcode
    }

    /// The frame's opaque, which the response repeats.
    pub fn opaque(&self) -> u32 {
        self.opaque
    }

    /// Returns true if the server must close the connection after the response.
    pub fn fatal(&self) -> bool {
        self.fatal
    }

    /// Returns true if the frame's lengths are consistent. A server that requires authentication then reports that it is
    /// missing, before this error.
    pub fn framed(&self) -> bool {
        self.framed
    }

    /// The number of bytes of the refused frame that follow the used ones, to be discarded.
    pub fn swallow(&self) -> u64 {
        self.swallow
    }

    /// Appends the response; nothing if the first byte was not that of a request.
    pub fn reply(&self, out: &mut Vec<u8>) {
        if self.magic {
            status(out, self.opcode, self.opaque, 0, self.status);
        }
    }
}
