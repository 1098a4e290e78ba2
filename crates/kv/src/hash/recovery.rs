//! Filling the index from the logs.
//!
//! **Invariant:** the newest record of a key decides, whatever it is: the log of a partition is read in order, and a key has one
//! partition.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use log::batch::Batch;
use log::{Error, Location as LogLocation, Log, Unreadable};
use parking_lot::Mutex;

use super::damage::Lost;
use super::index::{Index, Location, Slot};
use super::journal::{Active, map_segment};
use super::maps::Maps;
use crate::KEY_LENGTH_MAX;
use crate::record::Flush;

/// Records that are read before the first of them is applied: their slots are fetched from memory meanwhile.
const AHEAD: usize = 32;

/// The structures that recovery fills.
pub(super) struct Recovery<'a> {
    pub(super) index: &'a Index,
    pub(super) maps: &'a Maps,
    /// The hash of a key, and its fingerprint.
    pub(super) hashes: &'a (dyn Fn(&[u8]) -> (u64, u64) + Sync),
}

/// A partition whose segments are mapped.
pub(super) struct Partition {
    pub(super) log: Log,
    pub(super) segments: Vec<Active>,
    /// The offset of the first record that the index does not have.
    pub(super) from: u64,
    /// Flushes before this offset are known.
    pub(super) known: u64,
}

/// The flushes that the logs record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Flushes {
    /// The offsets before which the last flush removed everything, per partition; empty if there was none.
    pub(super) done: Vec<u64>,
    /// When everything shall be flushed.
    pub(super) at: Option<u32>,
}

impl Partition {
    /// Maps all segments of a log that have records. One that has none is mapped with its first record, which may be larger than
    /// a segment should be.
    ///
    /// # Errors
    /// A segment cannot be mapped.
    pub(super) fn map(number: u32, log: Log, maps: &Maps, segment_bytes: u64) -> Result<Partition, Error> {
        let segments = log.segments().into_iter().filter(|one| one.bytes() > 0);
        let segments = segments.map(|segment| {
            let path = segment.path().to_owned();
            map_segment(maps, segment, number, segment_bytes)
                .map_err(|error| crate::folder::failed("map", &path, error))
        });
        Ok(Partition {
            segments: segments.collect::<Result<_, _>>()?,
            from: log.start(),
            known: 0,
            log,
        })
    }
}

impl Recovery<'_> {
    /// Reads the logs of all partitions, on all cores, and adds what they have to the index.
    ///
    /// Flushes are recorded in the log of partition 0, which is read at the same time as the others. After a flush, the index is
    /// cleared and the logs are read again from the flush on.
    ///
    /// What cannot be read is returned, too, by partition.
    ///
    /// # Errors
    /// A segment cannot be opened.
    pub(super) fn replay(
        &self,
        partitions: &mut [Partition],
        known: Flushes,
    ) -> Result<(Flushes, Vec<Lost>), Error> {
        let (found, lost) = self.replay_once(partitions, &known)?;
        if found.done == known.done {
            return Ok((found, lost));
        }
        self.index.lock_all().clear();
        self.maps.count_nothing();
        for (partition, flushed) in partitions.iter_mut().zip(&found.done) {
            partition.begin_at(*flushed);
        }
        self.replay_once(partitions, &found)
    }

    fn replay_once(&self, partitions: &[Partition], known: &Flushes) -> Result<(Flushes, Vec<Lost>), Error> {
        let flushes = Mutex::new(known.clone());
        let lost: Mutex<Vec<Lost>> = Mutex::default();
        lost.lock().resize_with(partitions.len(), Lost::default);
        in_parallel(partitions.len(), |number| {
            let partition = &partitions[number];
            let mut reader = Reader {
                recovery: self,
                partition,
                at: 0,
                pending: Vec::with_capacity(AHEAD),
                flushes: known.clone(),
            };
            lost.lock()[number] = reader.read()?;
            if number == 0 {
                *flushes.lock() = reader.flushes;
            }
            Ok(())
        })?;
        Ok((flushes.into_inner(), lost.into_inner()))
    }
}

impl Partition {
    /// Lets the index have nothing of this partition.
    pub(super) fn forget(&mut self) {
        self.known = 0;
        for segment in &self.segments {
            segment.map.live.store(0, Relaxed);
            segment.map.cleaned.store(0, Relaxed);
        }
        self.begin_at(0);
    }

    /// Lets the index have nothing of the records before an offset, which are flushed, nor of those behind it, which are to be read.
    fn begin_at(&mut self, flushed: u64) {
        self.from = flushed;
        for segment in &self.segments {
            let map = &segment.map;
            // Flushed records are not read; one stands for all of them.
            map.records
                .store(u64::from(map.segment.base() < flushed), Relaxed);
            map.held.store(0, Relaxed);
        }
    }
}

/// One partition being read.
struct Reader<'a> {
    recovery: &'a Recovery<'a>,
    partition: &'a Partition,
    /// The segment being read, as an index into the partition's.
    at: usize,
    /// Records that have been read and not applied.
    pending: Vec<Pending>,
    flushes: Flushes,
}

/// A record that has been read.
struct Pending {
    hash: u64,
    slot: Slot,
    /// False for a tombstone.
    item: bool,
}

impl Reader<'_> {
    fn read(&mut self) -> Result<Lost, Error> {
        let log = &self.partition.log;
        let from = log.start().max(self.partition.from.min(log.end()));
        let mut lost = Lost::default();
        let visit = |location, batch: &Batch<'_>| {
            self.visit(location, batch);
            Ok::<(), Error>(())
        };
        let unreadable = |part: Unreadable| {
            if part.offsets.end > from {
                lost.note(&part);
            }
            Ok(())
        };
        log.scan_around(from, visit, unreadable)?;
        self.apply();
        // A log may be larger than the page cache.
        for segment in &self.partition.segments {
            segment.map.forget_evicted();
        }
        Ok(lost)
    }

    fn visit(&mut self, location: LogLocation, batch: &Batch<'_>) {
        let segments = &self.partition.segments;
        while segments[self.at].id != location.segment && self.at + 1 < segments.len() {
            self.at += 1;
        }
        let Active { number, map, .. } = &segments[self.at];
        let mut count = 0;
        let end = location.position + location.bytes;
        map.passed(location.position..end);
        // The checksum matched. Batches that cannot be read were compressed by a producer of Kafka, and have no items.
        let records = batch.records().into_iter().flatten();
        for record in records.map_while(Result::ok) {
            let (Some(key), true) = (record.key, record.offset >= self.partition.from) else {
                continue;
            };
            if batch.header().attributes.is_control() {
                if record.offset >= self.partition.known {
                    self.note_flush(key, record.value.unwrap_or_default());
                }
                continue;
            }
            if key.len() > KEY_LENGTH_MAX {
                continue;
            }
            count += 1;
            let (hash, fingerprint) = (self.recovery.hashes)(key);
            self.recovery.index.prefetch_slot(hash);
            let within = key.as_ptr() as u64 - batch.bytes().as_ptr() as u64;
            let location = Location {
                map: *number,
                position: (location.position + within) as u32,
            };
            let second = u32::try_from(record.timestamp / 1000).unwrap_or_default();
            self.pending.push(Pending {
                hash,
                slot: Slot::new(hash, fingerprint, location, key.len(), second),
                item: record.value.is_some(),
            });
            if self.pending.len() == AHEAD {
                self.apply();
            }
        }
        map.records.fetch_add(count, Relaxed);
    }

    /// Lets each key have its record.
    fn apply(&mut self) {
        let Recovery { index, maps, .. } = self.recovery;
        for Pending { hash, slot, item } in self.pending.drain(..) {
            let mut guard = index.lock(hash, maps);
            match (item, guard.find_blindly(slot.fingerprint())) {
                (true, old) => guard.place(old, slot),
                (false, Some(old)) => guard.remove(old),
                (false, None) => {}
            }
        }
    }

    fn note_flush(&mut self, key: &[u8], value: &[u8]) {
        match Flush::decode(key, value) {
            Some(Flush::At(second)) => self.flushes.at = Some(second),
            Some(Flush::Before(offsets)) if self.flushes.done.first() == offsets.first() => {
                self.flushes.done = offsets;
            }
            Some(Flush::Before(offsets)) => {
                self.flushes = Flushes {
                    done: offsets,
                    at: None,
                };
            }
            None => {}
        }
    }
}

#[cfg(test)]
thread_local! {
    /// True if this thread's work is done in order, so that each run of a test makes the same system calls.
    pub(super) static SEQUENTIAL: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Does some pieces of work by number, on all cores.
///
/// # Errors
/// The first error; some pieces may not have been done then.
pub(super) fn in_parallel<E: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let run = || -> Result<(), E> {
        loop {
            match next.fetch_add(1, Relaxed) {
                number if number < count => work(number)?,
                _ => return Ok(()),
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    #[cfg(test)]
    let threads = if SEQUENTIAL.get() { 1 } else { threads };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(count)).map(|_| scope.spawn(run)).collect();
        others.into_iter().fold(run(), |result, other| {
            let other = other
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            result.and(other)
        })
    })
}
