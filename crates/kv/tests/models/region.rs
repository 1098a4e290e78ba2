//! A few buckets instead of mapped memory.

use std::io;
use std::ptr::NonNull;

use crate::memory::numbers::A_PAGE;
use crate::memory::{BUCKET, Buckets};

const PAGES: usize = 2;
pub(crate) const PAGE: usize = A_PAGE as usize * BUCKET;
pub(crate) const HUGE: usize = 1 << 30;
pub(crate) const HUGE_PAGES_FROM: usize = 1 << 30;

pub(crate) fn pages(bytes: usize) -> usize {
    bytes.div_ceil(PAGE) * PAGE
}

#[derive(Debug)]
pub(crate) struct Region {
    buckets: Buckets,
}

impl Region {
    pub(crate) fn reserve(_length: usize) -> io::Result<Region> {
        Ok(Region {
            buckets: Buckets::new(PAGES * A_PAGE as usize),
        })
    }

    pub(crate) fn base(&self) -> NonNull<u8> {
        self.at(0)
    }

    pub(crate) fn at(&self, offset: usize) -> NonNull<u8> {
        self.buckets.at(offset)
    }

    pub(crate) fn length(&self) -> usize {
        PAGES * PAGE
    }

    pub(crate) fn huge(&self, _offset: usize, _length: usize) {}

    /// Zeros the buckets, as the kernel does.
    ///
    /// # Safety
    /// None is needed here: it is unsafe because the function that it stands for is.
    pub(crate) unsafe fn discard(&self, offset: usize, length: usize) {
        self.buckets.discard(offset, length);
    }
}
