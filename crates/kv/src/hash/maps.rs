//! Segments as memory: every segment of the store's logs is mapped whole, and has a number.
//!
//! A mapping is as long as its segment may become, so it stays valid while the segment grows. Only bytes that the log has
//! published are looked at, and these never change.
//!
//! **Invariant:** a map is removed after the slots of the index that pointed to it, and its number is free only when no thread
//! can use it any more.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use log::Segment;
use parking_lot::Mutex;

use super::index::{Index, Location, Shard};

/// The most maps, and therefore the most segments of all partitions of a store.
const MAPS_MAX: usize = 1 << 16;

/// A segment in memory.
#[derive(Debug)]
pub(super) struct Map {
    base: NonNull<u8>,
    length: usize,
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
            segment,
            partition,
            records: AtomicU64::new(0),
            live: AtomicU64::new(0),
            held: AtomicU64::new(0),
            cleaned: AtomicU64::new(0),
        })
    }

    /// The segment's bytes.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        let length = (self.segment.bytes() as usize).min(self.length);
        // SAFETY: the mapping is at least this long and lives as long as `self`. The file has these bytes: the log has published
        // them, changes none of them, and keeps other processes away by its lock.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), length) }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no reference into it outlives this value.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.length) };
    }
}

/// A range of a map's bytes, which keeps the map.
#[derive(Debug)]
pub(super) struct Slice {
    map: Arc<Map>,
    from: usize,
    length: usize,
}

impl AsRef<[u8]> for Slice {
    fn as_ref(&self) -> &[u8] {
        &self.map.bytes()[self.from..][..self.length]
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

    /// The bytes of a segment from a location on. A slot of this locked shard points there.
    #[inline]
    pub(super) fn bytes<'a>(&'a self, shard: &'a Shard, location: Location) -> &'a [u8] {
        self.map(shard, location.map).map_or(&[], |map| {
            map.bytes().get(location.position as usize..).unwrap_or_default()
        })
    }

    /// The map with this number. A slot of this locked shard points into it.
    #[inline]
    pub(super) fn map<'a>(&'a self, _locked: &'a Shard, number: u16) -> Option<&'a Map> {
        let map = self.by_number[usize::from(number)].load(Ordering::Acquire);
        // SAFETY: the pointer is null or that of a map which `owned` keeps. Its remover sets it to null and then waits for every
        // lock of a shard before it drops the map, and only the holder of such a lock has a reference to a shard.
        unsafe { map.as_ref() }
    }

    /// A part of the bytes behind a location, to be kept.
    pub(super) fn slice(&self, location: Location, part: &[u8]) -> Option<Slice> {
        let map = self.owned.lock().maps[usize::from(location.map)].clone()?;
        let from = (part.as_ptr() as usize).checked_sub(map.base.as_ptr() as usize)?;
        let length = part.len();
        (from + length <= map.length).then_some(Slice { map, from, length })
    }
}
