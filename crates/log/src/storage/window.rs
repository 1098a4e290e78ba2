//! Allocated space of a file that is written through memory: an append is a copy, without a system call.
//!
//! Writing to a mapped page cannot return an error. A page that the file system cannot give kills the process (SIGBUS), so
//! mappings are made only
//! - on file systems where a page of allocated space needs no more space: ext4, XFS and tmpfs. Copy-on-write file systems are not
//!   among them;
//! - of pages that [`Window::prepare`] has made writable, which returns the errors of the device and the file system.
//!
//! The kernel protects a page again when it writes it to the device; the next store into the page asks the file system once more.
//! On the file systems above, this needs neither space nor the device.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

use rustix::mm::{Advice, MapFlags, ProtFlags};

/// Types of file systems, as `statfs` returns them.
const EXT4: i64 = 0xef53;
const XFS: i64 = 0x5846_5342;
const TMPFS: i64 = 0x0102_1994;

/// A writable mapping of a file's beginning. It may be longer than the file.
#[derive(Debug)]
pub struct Window {
    pages: Arc<Pages>,
    /// Stores before this position need nothing from the device.
    prepared: u64,
}

/// The pages of a window, which another thread may release.
#[derive(Debug)]
pub struct Pages {
    base: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping is owned by this value alone; only the one `Window` that made it writes through it.
unsafe impl Send for Pages {}
// SAFETY: as above; shared references do not touch the memory.
unsafe impl Sync for Pages {}

impl Window {
    /// Maps the first `length` bytes of a file; `None` on file systems where stores into allocated space can fail.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn of_file(file: &File, length: u64) -> io::Result<Option<Window>> {
        let kind = rustix::fs::fstatfs(file)?.f_type as i64;
        if ![EXT4, XFS, TMPFS].contains(&kind) {
            return Ok(None);
        }
        let length = usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
        // SAFETY: the kernel chooses an address that is free.
        let base = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                file,
                0,
            )
        }?;
        let base = NonNull::new(base.cast::<u8>()).ok_or(io::ErrorKind::Other)?;
        Ok(Some(Window {
            pages: Arc::new(Pages { base, length }),
            prepared: 0,
        }))
    }

    /// The pages.
    pub fn pages(&self) -> &Arc<Pages> {
        &self.pages
    }

    /// The position before which [`write`](Window::write) may write.
    pub fn prepared(&self) -> u64 {
        self.prepared
    }

    /// Makes the pages with a range writable. The file must have these bytes, and space allocated for them. A page with bytes
    /// that are not in the page cache is read from the device.
    ///
    /// # Errors
    /// The device or the file system refuses a page, or the kernel is older than 5.14.
    ///
    /// # Panics
    /// If the range is not in the mapping.
    pub fn prepare(&mut self, from: u64, to: u64) -> io::Result<()> {
        assert!(
            from <= to && to <= self.pages.length as u64,
            "the range is mapped"
        );
        let start = from - from % rustix::param::page_size() as u64;
        // SAFETY: the range lies in this mapping, and the advice changes no bytes.
        unsafe {
            let address = self.pages.base.as_ptr().add(start as usize).cast();
            rustix::mm::madvise(address, (to - start) as usize, Advice::LinuxPopulateWrite)?;
        }
        self.prepared = to;
        Ok(())
    }

    /// Forgets what was prepared, for example since the file was cut.
    pub fn reset(&mut self) {
        self.prepared = 0;
    }

    /// Copies bytes to a position.
    ///
    /// # Panics
    /// If the bytes do not lie in the prepared range.
    #[inline]
    pub fn write(&mut self, position: u64, bytes: &[u8]) {
        let end = position.checked_add(bytes.len() as u64);
        assert!(
            end.is_some_and(|end| end <= self.prepared),
            "the range is prepared"
        );
        // SAFETY: `prepared` is at most the mapping's length, so the range lies in the mapping. The log reads no bytes that it has
        // not published, and publishes them after this call, so no reference to them exists.
        unsafe {
            let to = self.pages.base.as_ptr().add(position as usize);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
    }
}

impl Pages {
    /// Removes the pages that lie wholly in a range from the page tables, not from the page cache. The kernel can then write
    /// them to the device without telling all cores, page by page, that they have become read-only.
    pub fn release(&self, from: u64, to: u64) {
        let page = rustix::param::page_size();
        let start = (from as usize).next_multiple_of(page);
        let end = to.min(self.length as u64) as usize / page * page;
        if start >= end {
            return;
        }
        // SAFETY: the range lies in this mapping. The file keeps the bytes: the mapping is shared.
        let _ = unsafe {
            let address = self.base.as_ptr().add(start).cast();
            rustix::mm::madvise(address, end - start, Advice::LinuxDontNeed)
        };
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and references into it do not outlive this value.
        let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.length) };
    }
}
