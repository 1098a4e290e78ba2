//! Large values that outlive the call that found them.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use crate::heap::Holder;

/// A large value in memory that stays alive and unchanged as long as a clone of this exists, whatever happens to its item: a
/// block of the memory engine, a slice of a mapped file, or bytes that were received for the caller.
///
/// The memory engine counts it against the store's capacity until the last clone is gone.
#[derive(Clone)]
pub struct Pinned {
    memory: Memory,
}

#[derive(Clone)]
enum Memory {
    Block(Holder),
    Slice {
        owner: Arc<dyn AsRef<[u8]> + Send + Sync>,
        range: Range<usize>,
    },
}

impl Pinned {
    /// A part of the memory that `owner` keeps alive and unchanged.
    ///
    /// # Panics
    /// If the range exceeds the owner's bytes.
    pub fn slice(owner: Arc<dyn AsRef<[u8]> + Send + Sync>, range: Range<usize>) -> Pinned {
        assert!(range.start <= range.end && range.end <= (*owner).as_ref().len());
        Pinned {
            memory: Memory::Slice { owner, range },
        }
    }

    /// The block, if the value lies in one.
    pub(crate) fn holder(&self) -> Option<&Holder> {
        match &self.memory {
            Memory::Block(holder) => Some(holder),
            Memory::Slice { .. } => None,
        }
    }

    /// Length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.memory {
            Memory::Block(holder) => holder.len(),
            Memory::Slice { range, .. } => range.len(),
        }
    }

    /// True if it has no byte.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl From<Holder> for Pinned {
    #[inline]
    fn from(holder: Holder) -> Pinned {
        Pinned {
            memory: Memory::Block(holder),
        }
    }
}

impl From<Vec<u8>> for Pinned {
    fn from(bytes: Vec<u8>) -> Pinned {
        let range = 0..bytes.len();
        Pinned::slice(Arc::new(bytes), range)
    }
}

impl AsRef<[u8]> for Pinned {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        match &self.memory {
            Memory::Block(holder) => holder.as_ref(),
            Memory::Slice { owner, range } => &(**owner).as_ref()[range.clone()],
        }
    }
}

impl From<Pinned> for Arc<dyn AsRef<[u8]> + Send + Sync> {
    /// The value's bytes are shared, not copied.
    fn from(pinned: Pinned) -> Self {
        Arc::new(pinned)
    }
}

impl std::fmt::Debug for Pinned {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Pinned({} bytes)", self.len())
    }
}

/// A large value that lies in a file, to be sent from the page cache without a copy. The engine neither changes nor truncates
/// the range as long as a clone of `file` exists.
#[derive(Clone, Debug)]
pub struct FileRange {
    /// The file.
    pub file: Arc<File>,
    /// Where the value begins, in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
}
