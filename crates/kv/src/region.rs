//! Reserved address space that becomes memory page by page as it's touched.
//!
//! **Invariant:** a region never moves and never shrinks while it lives; what isn't touched costs nothing.

#![allow(unsafe_code)]

use std::io;
use std::ptr::NonNull;

/// The system's page, as far as accounting is concerned.
pub(super) const PAGE: usize = 4096;

/// A huge page.
pub(super) const HUGE: usize = 2 << 20;

/// A store this large uses huge pages for what it adds. The part of one that isn't needed yet is memory beyond the account,
/// which must stay a small part of the draft.
pub(super) const HUGE_PAGES_FROM: usize = 128 << 20;

/// The most bytes that are fetched ahead. A value that is only announced may never come, and fetching a gigabyte for it would
/// keep all other clients of the thread waiting.
const POPULATE_MAX: usize = 2 << 20;

/// Rounds up to whole pages.
#[inline]
pub(super) fn pages(bytes: usize) -> usize {
    bytes.div_ceil(PAGE) * PAGE
}

/// An anonymous private mapping.
#[derive(Debug)]
pub(super) struct Region {
    base: NonNull<u8>,
    length: usize,
    /// The whole mapping, which begins earlier so that the region begins at a huge page's boundary.
    mapping: (NonNull<u8>, usize),
}

// SAFETY: a region is an address range that it owns; each access to its bytes is argued for where it is made.
unsafe impl Send for Region {}
// SAFETY: as above; the methods below change no state of the region.
unsafe impl Sync for Region {}

impl Region {
    /// Reserves address space. Nothing is committed yet, whatever the length.
    pub(super) fn reserve(length: usize) -> io::Result<Region> {
        let length = pages(length.max(1));
        let surplus = if length > HUGE { HUGE } else { 0 };
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice touches no existing memory.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length + surplus,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        let start = match NonNull::new(base.cast::<u8>()) {
            Some(start) if base != libc::MAP_FAILED => start,
            _ => return Err(io::Error::last_os_error()),
        };
        let skip = if surplus > 0 {
            start.as_ptr().align_offset(HUGE)
        } else {
            0
        };
        // SAFETY: aligning skips less than a huge page, which the mapping has in surplus.
        let base = unsafe { start.add(skip) };
        let region = Region {
            base,
            length,
            mapping: (start, length + surplus),
        };
        // Huge pages everywhere, as some systems are set up, would take memory that is not accounted for.
        region.advise(0, length, libc::MADV_NOHUGEPAGE);
        Ok(region)
    }

    /// Where it begins, page-aligned.
    #[inline]
    pub(super) fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// A place within.
    #[inline]
    pub(super) fn at(&self, offset: usize) -> NonNull<u8> {
        debug_assert!(offset < self.length);
        // SAFETY: the offset lies within the mapping, so the sum neither wraps nor leaves it.
        unsafe { self.base.add(offset) }
    }

    /// How much address space it has.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Gives whole pages back to the system; they read as zeros afterwards.
    ///
    /// # Safety
    /// Nobody may have a reference into the range.
    pub(super) unsafe fn discard(&self, offset: usize, length: usize) {
        self.advise(offset, length, libc::MADV_DONTNEED);
    }

    /// Fetches the pages of a range at once, which is cheaper than a fault for each. Where the kernel can't, faults do it;
    /// and behind the first [`POPULATE_MAX`] too.
    pub(super) fn populate(&self, offset: usize, length: usize) {
        self.advise(offset, length.min(POPULATE_MAX), libc::MADV_POPULATE_WRITE);
    }

    /// Asks for huge pages in an untouched range.
    pub(super) fn huge(&self, offset: usize, length: usize) {
        self.advise(offset, length, libc::MADV_HUGEPAGE);
    }

    fn advise(&self, offset: usize, length: usize, advice: libc::c_int) {
        assert!(offset.is_multiple_of(PAGE) && offset + length <= self.length);
        if length > 0 {
            // SAFETY: the range lies within our own mapping; of the advices used only discarding changes bytes, and its
            // caller guarantees that there are no references to them.
            unsafe { libc::madvise(self.at(offset).as_ptr().cast(), length, advice) };
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and references into it do not outlive this value.
        unsafe { libc::munmap(self.mapping.0.as_ptr().cast(), self.mapping.1) };
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn discarded_pages_read_as_zeros() {
        let region = Region::reserve(64 << 30).unwrap();
        let place = region.at(5 * PAGE).as_ptr();
        // SAFETY: the byte lies within the region, and only this test uses it.
        unsafe {
            place.write(7);
            region.discard(5 * PAGE, PAGE);
            assert_eq!(place.read(), 0);
        }
    }
}
