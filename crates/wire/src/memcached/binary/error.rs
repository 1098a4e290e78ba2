//! What is wrong with a frame, and how a server answers it.

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
    /// What the response says.
    pub fn status(&self) -> Status {
        self.status
    }

    /// The opcode of the frame.
    pub fn opcode(&self) -> Opcode {
        self.opcode
    }

    /// To be returned as it came.
    pub fn opaque(&self) -> u32 {
        self.opaque
    }

    /// Whether the connection must be closed after the response.
    pub fn fatal(&self) -> bool {
        self.fatal
    }

    /// Whether the frame as such is sound, so that a client that is not authenticated must learn that first.
    pub fn framed(&self) -> bool {
        self.framed
    }

    /// How many bytes after the used ones belong to the refused frame and are to be thrown away.
    pub fn swallow(&self) -> u64 {
        self.swallow
    }

    /// Appends the response; nothing if this was no frame at all.
    pub fn reply(&self, out: &mut Vec<u8>) {
        if self.magic {
            status(out, self.opcode, self.opaque, 0, self.status);
        }
    }
}
