//! The bound on large values that a store is receiving, for engines whose values are in the process's memory meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::{Extent, StoreError};

/// The most bytes of values that a store receives at the same time. A single value may be larger.
pub(crate) const UPLOADS_BYTES_MAX: u64 = 64 << 20;

/// The values that a store is receiving.
#[derive(Debug, Default)]
pub(crate) struct Uploads {
    bytes: AtomicU64,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(crate) struct Receiving {
    uploads: Arc<Uploads>,
    length: u64,
}

impl Uploads {
    /// Memory for a value of this length. The first one always passes.
    ///
    /// # Errors
    /// Too many bytes are being received.
    pub(crate) fn receive(self: &Arc<Self>, length: u64) -> Result<Extent, StoreError> {
        let more = |held: u64| (held == 0 || held + length <= UPLOADS_BYTES_MAX).then_some(held + length);
        let noted = self.bytes.fetch_update(Relaxed, Relaxed, more);
        noted.map_err(|_| StoreError::UploadsFull)?;
        let receiving = Receiving {
            uploads: self.clone(),
            length,
        };
        Ok(Extent::owned(length as usize, Some(receiving)))
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        self.uploads.bytes.fetch_sub(self.length, Relaxed);
    }
}
