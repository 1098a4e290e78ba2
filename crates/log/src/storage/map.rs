//! Ranges of files as memory.
//!
//! Reading a mapped byte that is not in the page cache waits for the device, and a device that fails then kills the process
//! (SIGBUS). [`Mapped::populate`] reads the range ahead of time and returns errors as values. Pages that the kernel evicts
//! afterwards are read again on access, so code that must survive a failing device reads with
//! [`File::read_at`](super::File::read_at) instead.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags};

/// Bytes of a page, or a divisor of them: mappings begin at multiples of the system's page.
fn page() -> u64 {
    rustix::param::page_size() as u64
}

/// A range of a file, read-only.
#[derive(Debug)]
pub struct Mapped {
    memory: Memory,
}

#[derive(Debug)]
enum Memory {
    Mapping(Mapping),
    /// A simulated file has no mapping.
    Copy(Vec<u8>),
}

#[derive(Debug)]
struct Mapping {
    base: NonNull<u8>,
    /// The whole mapping, which begins at a page.
    length: usize,
    /// Where the range begins in it.
    skip: usize,
}

// SAFETY: the mapping is read-only and owned by this value alone.
unsafe impl Send for Mapping {}
// SAFETY: as above; shared references only read.
unsafe impl Sync for Mapping {}

impl Mapped {
    /// Maps a range of a file. The log maps only bytes that exist and that are never written or cut again.
    pub(super) fn of_file(file: &File, position: u64, length: usize) -> io::Result<Mapped> {
        if length == 0 {
            return Ok(Mapped::of_copy(Vec::new()));
        }
        // A range beyond the end could be mapped, and reading it would kill the process.
        let end = position.checked_add(length as u64);
        if end.is_none_or(|end| end > file.metadata().map_or(0, |facts| facts.len())) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let skip = (position % page()) as usize;
        let length = length + skip;
        // SAFETY: the kernel chooses an address that is free.
        let base = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ,
                MapFlags::SHARED,
                file,
                position - skip as u64,
            )
        }?;
        let base = NonNull::new(base.cast::<u8>()).ok_or(io::ErrorKind::Other)?;
        Ok(Mapped {
            memory: Memory::Mapping(Mapping { base, length, skip }),
        })
    }

    pub(super) fn of_copy(bytes: Vec<u8>) -> Mapped {
        Mapped {
            memory: Memory::Copy(bytes),
        }
    }

    /// Reads the range into the page cache and enters it in the page tables, so that reading it neither waits nor faults as
    /// long as the kernel does not evict it. This waits for the device.
    ///
    /// # Errors
    /// The device failed, or the kernel is older than 5.14.
    pub fn populate(&self) -> io::Result<()> {
        match &self.memory {
            Memory::Copy(_) => Ok(()),
            Memory::Mapping(mapping) => {
                let base = mapping.base.as_ptr().cast();
                // SAFETY: the range is this mapping, and the advice changes no bytes.
                Ok(unsafe { rustix::mm::madvise(base, mapping.length, Advice::LinuxPopulateRead) }?)
            }
        }
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.memory {
            Memory::Copy(bytes) => bytes,
            // SAFETY: the range lies within the mapping, which lives as long as `self`. The log never writes or cuts bytes
            // that it has published, and it locks its folder against other writers.
            Memory::Mapping(mapping) => unsafe {
                let start = mapping.base.as_ptr().add(mapping.skip);
                std::slice::from_raw_parts(start, mapping.length - mapping.skip)
            },
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and references into it do not outlive this value.
        let _ = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.length) };
    }
}
