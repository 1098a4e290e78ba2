//! Reading records from the device, on threads that may wait for it.
//!
//! All records that one caller wants are announced to the system before the first is read, so the device works on all of them
//! at once. Each is read with the batches around it, whose checksums are compared: this is where damaged bytes are noticed.
//!
//! The records are handed over as copies, so a caller makes progress whatever the kernel evicts meanwhile. A large value is handed
//! over as a range of its file: who sends it looks for evicted pages again, piece by piece.
//!
//! **Invariant:** a thread holds no lock while it waits for the device.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use log::storage::Advice;
use parking_lot::{Condvar, Mutex};

use super::index::{Found, SHARDS, Slot};
use super::lookup::{HEADERS_BYTES, HEADERS_BYTES_MAX, Part};
use super::maps::Map;
use super::windows::WINDOW;
use super::{LARGE, Shared};
use crate::mailbox::{Mailbox, refuse};
use crate::owned::{OwnedEntry, OwnedValue};
use crate::record::{Facts, Head, LENGTH_BYTES_MAX};
use crate::warm::{Delivery, Fetched, Page, Wanted, Wants};
use crate::{Cursor, Marks, Need, StoreError, Work};

/// The most threads that read. Each serves one caller at a time.
const READERS_MAX: usize = 8;
/// The most bytes of records that one fetch hands over as copies. Others are only brought into the page cache; the caller may
/// have to ask for them again.
const COPIES_BYTES_MAX: u64 = 128 << 10;

/// A record that was read from the device, and where it is.
#[derive(Clone)]
pub(crate) struct Located {
    map: Arc<Map>,
    position: u64,
    has_value: bool,
    read: Result<Arc<OwnedEntry>, StoreError>,
}

impl Located {
    /// True if it is this record.
    pub(super) fn is_at(&self, map: &Map, position: u64) -> bool {
        std::ptr::eq(&raw const *self.map, map) && self.position == position
    }

    /// Its item.
    ///
    /// # Errors
    /// It could not be read.
    pub(super) fn item(&self) -> Result<&OwnedEntry, StoreError> {
        self.read.as_deref().map_err(|error| *error)
    }

    /// True if the value was read, too.
    pub(super) fn has_value(&self) -> bool {
        self.has_value
    }
}

/// The fetches that wait for a thread.
#[derive(Default)]
pub(super) struct Readers {
    queue: Mutex<Queue>,
    asked: Condvar,
    /// Records that were read.
    pub(super) records: AtomicU64,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<(Wants, Arc<Mailbox>)>,
    threads: usize,
    idle: usize,
    stopped: bool,
}

impl Readers {
    /// Hands a fetch to the threads. Returns true if there should be one more.
    pub(super) fn ask(&self, wants: Wants, mailbox: &Arc<Mailbox>) -> bool {
        let mut queue = self.queue.lock();
        if queue.stopped {
            mailbox.put(refuse(wants, StoreError::Unavailable));
            return false;
        }
        queue.jobs.push_back((wants, mailbox.clone()));
        let grows = queue.idle < queue.jobs.len() && queue.threads < READERS_MAX;
        queue.threads += usize::from(grows);
        drop(queue);
        self.asked.notify_one();
        grows
    }

    /// Notes that a thread could not be started. Without any, the fetches fail.
    pub(super) fn lack_thread(&self, error: &io::Error) {
        let mut queue = self.queue.lock();
        queue.threads -= 1;
        if queue.threads == 0 {
            for (wants, mailbox) in queue.jobs.drain(..) {
                mailbox.put(refuse(wants, StoreError::Io(error.kind())));
            }
        }
    }

    /// Ends the threads and refuses what waits for them.
    pub(super) fn stop(&self) {
        let mut queue = self.queue.lock();
        queue.stopped = true;
        for (wants, mailbox) in queue.jobs.drain(..) {
            mailbox.put(refuse(wants, StoreError::Unavailable));
        }
        drop(queue);
        self.asked.notify_all();
    }

    fn next(&self) -> Option<(Wants, Arc<Mailbox>)> {
        let mut queue = self.queue.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            if queue.stopped {
                return None;
            }
            queue.idle += 1;
            self.asked.wait(&mut queue);
            queue.idle -= 1;
        }
    }
}

impl fmt::Debug for Readers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Readers").finish_non_exhaustive()
    }
}

/// A thread's work, until the store is closed.
pub(super) fn run(shared: &Shared) {
    while let Some((wants, mailbox)) = shared.readers.next() {
        mailbox.put(fetch(shared, wants));
    }
}

/// A record to read.
struct Candidate {
    map: Arc<Map>,
    position: u64,
    key_length: usize,
}

impl Candidate {
    /// The windows that the record begins in, as far as the segment has them.
    fn windows(&self) -> Range<u64> {
        let head_end = self.position + (self.key_length + LENGTH_BYTES_MAX) as u64;
        windows(&self.map, self.position..head_end)
    }
}

impl Candidate {
    /// The record of an item. Its shard is locked.
    fn of(shared: &Shared, found: Found) -> Option<Candidate> {
        let location = found.slot.location();
        Some(Candidate {
            map: shared.maps.kept(location)?,
            position: u64::from(location.position),
            key_length: found.slot.key_length(),
        })
    }

    /// Reads it.
    ///
    /// # Errors
    /// As for [`read_item`]. The user is told of the first one, too.
    fn read(&self, shared: &Shared, part: Part) -> Result<OwnedEntry, StoreError> {
        shared.readers.records.fetch_add(1, Relaxed);
        let read = read_item(&self.map, self.position, self.key_length, part);
        let health = &shared.durability.health;
        match read {
            Ok(item) => {
                health.succeeded(Work::Read);
                Ok(item)
            }
            Err(error) => {
                health.failed(Work::Read, &error);
                Err(StoreError::from(&error))
            }
        }
    }
}

/// The windows of a range.
fn windows(map: &Map, range: Range<u64>) -> Range<u64> {
    let end = range.end.div_ceil(WINDOW) * WINDOW;
    range.start / WINDOW * WINDOW..end.min(map.end())
}

fn fetch(shared: &Shared, wants: Wants) -> Delivery {
    let mut items: Vec<_> = wants.items.iter().collect();
    items.sort_unstable_by_key(|(_, wanted)| wanted.order);
    let items = items.into_iter();
    let candidates: Vec<_> = items
        .filter_map(|(key, wanted)| Some((key.clone(), *wanted, candidate(shared, key)?)))
        .collect();
    for (_, _, candidate) in &candidates {
        let range = candidate.windows();
        if let Ok(file) = candidate.map.segment.file() {
            file.advise(range.start, range.end - range.start, Advice::WillNeed);
        }
    }
    let mut bytes = 0;
    let entries = candidates.into_iter().filter_map(|(key, wanted, candidate)| {
        let located = locate(shared, candidate, wanted, &mut bytes)?;
        Some((key, Fetched::Record(located)))
    });
    let entries = entries.collect();
    let page = wants.page.as_ref();
    let page = page.map(|(from, steps, need)| page_of(shared, from, *steps, *need));
    Delivery { wants, entries, page }
}

/// The record of a key.
fn candidate(shared: &Shared, key: &[u8]) -> Option<Candidate> {
    let hash = super::hash(&shared.secrets, key);
    let guard = shared.index.lock(hash, &shared.maps);
    let found = guard.find_blindly(super::hash(&shared.fingerprints, key))?;
    Candidate::of(shared, found)
}

/// Reads a record for a caller, unless the caller has been given enough.
fn locate(shared: &Shared, candidate: Candidate, wanted: Wanted, bytes: &mut u64) -> Option<Located> {
    let part = Part::from(wanted.need);
    let read = candidate.read(shared, part);
    let size = read
        .as_ref()
        .map_or(0, |item| item.key.len() as u64 + copied(&item.value));
    if read.is_ok() && *bytes > 0 && *bytes + size > COPIES_BYTES_MAX {
        return None;
    }
    *bytes += size;
    Some(Located {
        position: candidate.position,
        has_value: part != Part::Facts,
        read: read.map(Arc::new),
        map: candidate.map,
    })
}

fn copied(value: &OwnedValue) -> u64 {
    match value {
        OwnedValue::Bytes(bytes) => bytes.len() as u64,
        OwnedValue::Shared(_) | OwnedValue::File(_) | OwnedValue::Length(_) => 0,
    }
}

/// Reads a record, and checks the batches of its windows. This waits for the device.
///
/// # Errors
/// The device failed, or the record's batch is damaged.
fn read_item(map: &Map, position: u64, key_length: usize, part: Part) -> Result<OwnedEntry, log::Error> {
    let mut bytes = Vec::new();
    let head_end = (position + (key_length + LENGTH_BYTES_MAX) as u64).min(map.end());
    check(map, position..head_end)?;
    read(map, position..head_end, &mut bytes)?;
    let head = Head::parse(&bytes, key_length).ok_or_else(|| map.contradiction(position))?;
    let value_end = position.saturating_add(head.value_end());
    if value_end >= map.end() {
        return Err(map.contradiction(position));
    }
    let key = bytes[..key_length].into();
    let is_large = head.value_length >= LARGE;
    let from = match part {
        Part::Facts if is_large => value_end,
        _ => position,
    };
    check(map, from..value_end + 1)?;
    let facts = read_facts(map, value_end, &mut bytes)?;
    let facts = facts.ok_or_else(|| map.contradiction(position))?;
    let value_at = position + head.value_at as u64;
    let value = if is_large && part == Part::Facts {
        OwnedValue::Length(head.value_length)
    } else if is_large {
        OwnedValue::File(map.file_range(value_at, head.value_length))
    } else {
        bytes.clear();
        read(map, value_at..value_end, &mut bytes)?;
        OwnedValue::Bytes(bytes.into())
    };
    Ok(OwnedEntry {
        key,
        value,
        flags: facts.flags,
        cas: facts.cas,
        expiry: facts.expiry,
        last_access: 0,
        marks: Marks {
            stale: facts.stale,
            ..Marks::default()
        },
    })
}

fn read_facts(map: &Map, begin: u64, bytes: &mut Vec<u8>) -> Result<Option<Facts>, log::Error> {
    for most in [HEADERS_BYTES, HEADERS_BYTES_MAX] {
        bytes.clear();
        read(map, begin..(begin + most).min(map.end()), bytes)?;
        if let Some((facts, _)) = Facts::parse(bytes) {
            return Ok(Some(facts));
        }
    }
    Ok(None)
}

/// Checks the batches of all windows of a range, which are known then. If another record of a window is damaged, only the range
/// is checked, and the windows stay unknown.
fn check(map: &Map, range: Range<u64>) -> Result<(), log::Error> {
    if map.knows(range.clone()) {
        return Ok(());
    }
    let whole = windows(map, range.clone());
    if map.segment.check(whole.clone()).is_ok() {
        map.learn(whole);
        return Ok(());
    }
    map.segment.check(range).map(drop)
}

/// Reads a range of a segment. This waits for the device.
fn read(map: &Map, range: Range<u64>, out: &mut Vec<u8>) -> Result<(), log::Error> {
    let file = map.segment.file()?;
    let failed = |error| crate::folder::failed("read", map.segment.path(), error);
    let begin = out.len();
    out.resize(begin + (range.end - range.start) as usize, 0);
    let mut at = begin;
    while at < out.len() {
        let read = file.read_at(&mut out[at..], range.start + (at - begin) as u64);
        match read.map_err(failed)? {
            0 => return Err(failed(io::ErrorKind::UnexpectedEof.into())),
            count => at += count,
        }
    }
    Ok(())
}

/// Reads the items of one shard or more for a scan.
fn page_of(shared: &Shared, from: &Cursor, steps: usize, need: Need) -> Result<Page, StoreError> {
    let begin = super::shard_of_cursor(from);
    let mut items = Vec::new();
    let mut number = begin;
    while number < SHARDS && (number == begin || items.len() < steps) {
        for (candidate, slot) in of_shard(shared, number) {
            let mut item = candidate.read(shared, Part::from(need))?;
            (item.last_access, item.marks) = (slot.last_access, slot.entry_marks(item.marks.stale));
            items.push(Arc::new(item));
        }
        number += 1;
    }
    let next = (number < SHARDS).then_some(Cursor::Number(number as u64));
    Ok(Page { items, next })
}

/// The records of a shard.
fn of_shard(shared: &Shared, number: usize) -> Vec<(Candidate, Slot)> {
    let guard = shared.index.lock_shard(number, &shared.maps);
    let items = guard.items();
    items
        .filter_map(|found| Some((Candidate::of(shared, found)?, found.slot)))
        .collect()
}
