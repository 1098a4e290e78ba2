//! Segments as memory: every segment of the store's logs is mapped whole, and has a number.
//!
//! A mapping is as long as its segment may become, so it stays valid while the segment grows. Only bytes that the log has
//! published are copied, and these never change.
//!
//! A mapped page that the kernel has evicted is read from the device by whoever touches it, who waits for that. So readers first
//! ask whether the bytes are [known](Map::knows) to be in the page cache. The answer can be wrong for as long as nobody has
//! [looked](Map::forget_evicted): then a read waits for the device, and if the device fails, the copy does, and not the process.
//!
//! **Invariant:** a map is removed after the slots of the index that pointed to it, and its number is free only when no thread
//! can use it any more.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use log::Segment;
use log::batch::BatchError;
use parking_lot::Mutex;

use super::guarded;
use super::index::{Index, Location, Shard};
use super::windows::{WINDOW, Windows};
use crate::FileRange;

/// The most maps, and therefore the most segments of all partitions of a store.
const MAPS_MAX: usize = 1 << 16;
/// Windows that one call of `mincore` looks at.
const LOOK_WINDOWS: u64 = 64;

/// `MADV_POPULATE_READ`, since Linux 5.14.
const POPULATE_READ: libc::c_int = 22;

/// A segment in memory.
#[derive(Debug)]
pub(super) struct Map {
    base: NonNull<u8>,
    length: usize,
    file: Arc<File>,
    windows: Windows,
    pub(super) segment: Arc<Segment>,
    pub(super) partition: u32,
    /// Records that were written, and those that slots point to.
    pub(super) records: AtomicU64,
    pub(super) live: AtomicU64,
    /// Records to which no slot points, and which hide older records of their keys.
    pub(super) held: AtomicU64,
    /// Rewriting has dropped every record that was dead when the log ended at this offset.
    pub(super) cleaned: AtomicU64,
}

// SAFETY: a map owns its mapping, which is read-only, and everything else in it may be shared.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

impl Map {
    /// Maps a segment that may grow to `length` bytes.
    pub(super) fn new(segment: Arc<Segment>, partition: u32, length: u64) -> io::Result<Map> {
        guarded::install();
        let file = segment.file().map_err(io::Error::other)?;
        let file = file.system_file().ok_or(io::ErrorKind::Unsupported)?.clone();
        let length = usize::try_from(length)
            .map_err(|_| io::ErrorKind::OutOfMemory)?
            .max(1);
        // SAFETY: the kernel chooses an address that is free.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Map {
            base: NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?,
            length,
            file,
            windows: Windows::new(length as u64),
            segment,
            partition,
            records: AtomicU64::new(0),
            live: AtomicU64::new(0),
            held: AtomicU64::new(0),
            cleaned: AtomicU64::new(0),
        })
    }

    /// Where the segment's bytes end.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.segment.bytes().min(self.length as u64)
    }

    /// True if the bytes of a range were in the page cache when they were last looked at, and were checked when they came from the
    /// device.
    #[inline]
    pub(super) fn knows(&self, range: Range<u64>) -> bool {
        self.windows.know(range)
    }

    /// Appends the bytes of a range to a buffer. Returns false if the range ends behind the segment's end, or the device fails; the
    /// buffer is unchanged then.
    #[inline]
    pub(super) fn copy(&self, range: Range<u64>, out: &mut Vec<u8>) -> bool {
        if range.start > range.end || range.end > self.end() {
            return false;
        }
        // SAFETY: the mapping is at least this long and lives as long as `self`.
        unsafe {
            let source = self.base.as_ptr().add(range.start as usize);
            guarded::append(out, source, (range.end - range.start) as usize)
        }
    }

    /// The address of a byte, for loading it ahead of its use. It must not be followed.
    #[inline]
    pub(super) fn address(&self, position: u64) -> *const u8 {
        self.base.as_ptr().wrapping_add(position as usize)
    }

    /// The error of a record that is whole and is not what the index takes it for.
    pub(super) fn contradiction(&self, position: u64) -> log::Error {
        let reason = BatchError::Record {
            index: 0,
            reason: "it is not the item that the index has",
        };
        log::Error::Corrupt {
            path: self.segment.path().to_owned(),
            position,
            reason: reason.into(),
        }
    }

    /// A range of the file, which keeps the file.
    pub(super) fn file_range(&self, position: u64, length: u64) -> FileRange {
        FileRange {
            file: self.file.clone(),
            offset: position,
            length,
        }
    }

    /// Learns that the bytes of a range were written, or read with all checks, right behind those before it.
    #[inline]
    pub(super) fn passed(&self, range: Range<u64>) {
        self.windows.learn_from(range);
    }

    /// Learns that the bytes of a range were read with all checks, and enters them in the page tables, so that touching them is
    /// no fault. The range consists of whole windows, but for the segment's end.
    pub(super) fn learn(&self, range: Range<u64>) {
        let begin = range.start / WINDOW * WINDOW;
        let length = range.end.min(self.length as u64).saturating_sub(begin) as usize;
        // SAFETY: the range lies in the mapping, and the advice changes no byte. Kernels before 5.14 refuse it, which is as good.
        unsafe {
            let address = self.base.as_ptr().add(begin as usize).cast();
            libc::madvise(address, length, POPULATE_READ);
        }
        self.windows.learn(range);
    }

    /// Forgets the bytes of a range: who needs them has them fetched, and checked.
    #[cold]
    pub(super) fn forget(&self, range: Range<u64>) {
        self.windows.forget(range);
    }

    /// Forgets the windows of which the kernel has evicted a page, and returns the number of them and of those that are left.
    pub(super) fn forget_evicted(&self) -> (u64, u64) {
        let (mut evicted, mut left) = (0, 0);
        let mut known = self.windows.known().peekable();
        while let Some(first) = known.next() {
            let mut last = first;
            while last - first < LOOK_WINDOWS - 1 && known.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            let gone = self.evicted(first, last);
            for window in &gone {
                self.windows.forget(window * WINDOW..window * WINDOW + 1);
            }
            evicted += gone.len() as u64;
            left += last - first + 1 - gone.len() as u64;
        }
        (evicted, left)
    }

    /// The windows from `first` to `last` that lack a page.
    fn evicted(&self, first: u64, last: u64) -> Vec<u64> {
        let page = page_bytes();
        let begin = first * WINDOW;
        let end = ((last + 1) * WINDOW).min(self.end());
        let Some(length) = end.checked_sub(begin).filter(|length| *length > 0) else {
            return Vec::new();
        };
        let mut pages = vec![0_u8; length.div_ceil(page) as usize];
        // SAFETY: the range lies in the mapping and begins at a page, since windows are multiples of pages; the vector has a byte for
        // each page.
        let result = unsafe {
            let address = self.base.as_ptr().add(begin as usize);
            libc::mincore(address.cast(), length as usize, pages.as_mut_ptr())
        };
        if result != 0 {
            return Vec::new();
        }
        let windows = pages.chunks((WINDOW / page).max(1) as usize).zip(first..);
        windows
            .filter(|(pages, _)| pages.iter().any(|page| page & 1 == 0))
            .map(|(_, window)| window)
            .collect()
    }
}

/// Bytes of a page: a divisor of [`WINDOW`] on every system that Linux knows.
fn page_bytes() -> u64 {
    // SAFETY: the call only returns a number.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).unwrap_or(4096)
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no reference into it exists.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

/// All maps of a store.
#[derive(Debug)]
pub(super) struct Maps {
    /// By number; null where there is none.
    by_number: Box<[AtomicPtr<Map>]>,
    /// What `by_number` points to.
    owned: Mutex<Owned>,
}

#[derive(Debug, Default)]
struct Owned {
    maps: Vec<Option<Arc<Map>>>,
    free: Vec<u16>,
}

impl Maps {
    pub(super) fn new() -> Maps {
        Maps {
            by_number: (0..MAPS_MAX).map(|_| AtomicPtr::default()).collect(),
            // Map numbers begin at one.
            owned: Mutex::new(Owned {
                maps: vec![None],
                free: Vec::new(),
            }),
        }
    }

    /// Adds a map and returns it with its number.
    pub(super) fn add(&self, map: Map) -> io::Result<(u16, Arc<Map>)> {
        let map = Arc::new(map);
        let mut owned = self.owned.lock();
        let number = match owned.free.pop() {
            Some(number) => number,
            None => {
                let next = u16::try_from(owned.maps.len());
                let next = next.map_err(|_| io::Error::other("the store has too many segments"))?;
                owned.maps.push(None);
                next
            }
        };
        let pointer = Arc::as_ptr(&map).cast_mut();
        owned.maps[usize::from(number)] = Some(map.clone());
        self.by_number[usize::from(number)].store(pointer, Ordering::Release);
        Ok((number, map))
    }

    /// Removes a map to which no slot of the index points.
    pub(super) fn remove(&self, number: u16, index: &Index) {
        self.by_number[usize::from(number)].store(std::ptr::null_mut(), Ordering::Release);
        index.pass();
        let mut owned = self.owned.lock();
        if owned.maps[usize::from(number)].take().is_some() {
            owned.free.push(number);
        }
    }

    /// Counts all records as dead, while the whole index is locked and empty.
    pub(super) fn count_nothing(&self) {
        for map in self.owned.lock().maps.iter().flatten() {
            map.live.store(0, Ordering::Relaxed);
        }
    }

    /// All maps with their numbers.
    pub(super) fn all(&self) -> Vec<(u16, Arc<Map>)> {
        let owned = self.owned.lock();
        let numbered = owned.maps.iter().enumerate();
        numbered
            .filter_map(|(number, map)| Some((number as u16, map.clone()?)))
            .collect()
    }

    /// The map with this number. A slot of this locked shard points into it.
    #[inline]
    pub(super) fn map<'a>(&'a self, _locked: &'a Shard, number: u16) -> Option<&'a Map> {
        let map = self.by_number[usize::from(number)].load(Ordering::Acquire);
        // SAFETY: the pointer is null or that of a map which `owned` keeps. Its remover sets it to null and then waits for every
        // lock of a shard before it drops the map, and only the holder of such a lock has a reference to a shard.
        unsafe { map.as_ref() }
    }

    /// The map of a location, to be kept. A slot of a locked shard points there.
    pub(super) fn kept(&self, location: Location) -> Option<Arc<Map>> {
        self.owned.lock().maps[usize::from(location.map)].clone()
    }
}
