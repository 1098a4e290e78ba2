//! Memory for one large value that is being received.

use super::{Block, Holder};
use crate::Pinned;
use crate::uploads::Receiving;

/// Memory for one large value that is being received.
#[derive(Debug)]
pub struct Extent {
    memory: Memory,
}

#[derive(Debug)]
enum Memory {
    Block(Upload),
    /// Memory of the process, for engines that copy the value to where it stays.
    Owned {
        bytes: Vec<u8>,
        /// Counts the value until this is dropped.
        _receiving: Option<Receiving>,
    },
}

/// A block of a store's heap, which has noted an upload of this length.
#[derive(Debug)]
struct Upload {
    block: Option<Block>,
    length: usize,
}

impl Extent {
    /// The heap has noted an upload of this length.
    pub(crate) fn new(block: Block, length: usize) -> Self {
        Extent {
            memory: Memory::Block(Upload {
                block: Some(block),
                length,
            }),
        }
    }

    /// Memory of the process, which may be counted as long as the value is received.
    pub(crate) fn owned(length: usize, receiving: Option<Receiving>) -> Self {
        Extent {
            memory: Memory::Owned {
                bytes: vec![0; length],
                _receiving: receiving,
            },
        }
    }

    /// The bytes to fill. They start as zeros or as leftovers of freed values of the same store, so fill all of them.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Memory::Block(Upload { block, length }) => {
                block.as_mut().map_or(&mut [], |block| block.bytes_mut(*length))
            }
            Memory::Owned { bytes, .. } => bytes,
        }
    }

    /// Ends the filling: the bytes can now be stored with [`Payload::Pinned`](crate::Payload::Pinned).
    pub fn freeze(self) -> Pinned {
        match self.memory {
            Memory::Block(upload) => Pinned::from(upload.freeze()),
            Memory::Owned { bytes, .. } => Pinned::from(bytes),
        }
    }
}

impl Upload {
    fn freeze(mut self) -> Holder {
        let length = self.length;
        let block = self
            .block
            .take()
            .expect("only freezing and dropping take the block, and both end the upload");
        block.heap().end_upload(length);
        Holder::new(block, length)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let Some(block) = &self.block {
            block.heap().end_upload(self.length);
        }
    }
}
