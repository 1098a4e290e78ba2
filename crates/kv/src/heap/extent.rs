//! Memory for one large value that is being received.

use super::{Block, Pinned};

/// Memory for one large value that is being received.
#[derive(Debug)]
pub struct Extent {
    block: Option<Block>,
    length: usize,
}

impl Extent {
    /// The heap has noted an upload of this length.
    pub(crate) fn new(block: Block, length: usize) -> Self {
        Extent {
            block: Some(block),
            length,
        }
    }

    /// The bytes to fill. They start as zeros or as leftovers of freed values of the same store, so fill all of them.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        let length = self.length;
        self.block
            .as_mut()
            .map_or(&mut [], |block| block.bytes_mut(length))
    }

    /// Ends the filling: the bytes can now be stored with [`Payload::Pinned`](crate::Payload::Pinned).
    pub fn freeze(mut self) -> Pinned {
        let length = self.length;
        let block = self
            .block
            .take()
            .expect("only freezing and dropping take the block, and both end the extent");
        block.heap().end_upload(length);
        Pinned::new(block, length)
    }
}

impl Drop for Extent {
    fn drop(&mut self) {
        if let Some(block) = &self.block {
            block.heap().end_upload(self.length);
        }
    }
}
