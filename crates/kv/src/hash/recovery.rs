//! Filling the index from the logs.
//!
//! **Invariant:** the newest record of a key decides, whatever it is: the log of a partition is read in order, and a key has one
//! partition.

use std::sync::atomic::Ordering::Relaxed;

use log::batch::Batch;
use log::{Error, Location as LogLocation, Log};

use super::index::{Index, Location, Slot};
use super::journal::{Active, map_segment};
use super::maps::Maps;
use crate::KEY_LENGTH_MAX;
use crate::record::{Facts, Flush};

/// The structures that recovery fills.
pub(super) struct Recovery<'a> {
    pub(super) index: &'a Index,
    pub(super) maps: &'a Maps,
    /// The hash of a key, and its fingerprint.
    pub(super) hashes: &'a (dyn Fn(&[u8]) -> (u64, u64) + Sync),
    pub(super) segment_bytes: u64,
}

/// Facts that the logs have beside the items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// The greatest CAS.
    pub(super) cas: u64,
    /// The last flush, and the pending one.
    pub(super) flushed: Vec<u64>,
    pub(super) flush_at: Option<u32>,
}

/// One partition being read.
struct Reader<'a> {
    recovery: &'a Recovery<'a>,
    segments: Vec<Active>,
    /// The segment being read, as an index into `segments`.
    at: usize,
    /// Records before this offset are flushed.
    from: u64,
    found: Found,
}

impl Recovery<'_> {
    /// Reads the log of a partition from `flushed` on, and returns its last segment, too.
    ///
    /// # Errors
    /// A batch is damaged, or a segment cannot be mapped.
    pub(super) fn read(
        &self,
        partition: u32,
        log: &Log,
        flushed: u64,
    ) -> Result<(Found, Option<Active>), Error> {
        let mut segments = Vec::new();
        for segment in log.segments() {
            let (path, has_flushed) = (segment.path().to_owned(), segment.base() < flushed);
            let active = map_segment(self.maps, segment, partition, self.segment_bytes);
            let active = active.map_err(|error| crate::folder::failed("map", &path, error))?;
            // Flushed records are not read; one stands for all of them.
            active.map.records.store(u64::from(has_flushed), Relaxed);
            segments.push(active);
        }
        let mut reader = Reader {
            recovery: self,
            segments,
            at: 0,
            from: flushed,
            found: Found::default(),
        };
        let start = log.start().max(flushed.min(log.end()));
        log.scan(start, |location, batch| {
            reader.visit(location, batch);
            Ok::<(), Error>(())
        })?;
        // A log may be larger than the page cache.
        for segment in &reader.segments {
            segment.map.forget_evicted();
        }
        Ok((reader.found, reader.segments.pop()))
    }
}

impl Reader<'_> {
    fn visit(&mut self, location: LogLocation, batch: &Batch<'_>) {
        while self.segments[self.at].id != location.segment && self.at + 1 < self.segments.len() {
            self.at += 1;
        }
        let end = location.position + location.bytes;
        self.segments[self.at].map.passed(location.position..end);
        // The checksum matched. Batches that cannot be read were compressed by a producer of Kafka, and have no items.
        let records = batch.records().into_iter().flatten();
        for record in records.map_while(Result::ok) {
            let (Some(key), true) = (record.key, record.offset >= self.from) else {
                continue;
            };
            if batch.header().attributes.is_control() {
                self.control(key, record.value.unwrap_or_default());
                continue;
            }
            if key.len() > KEY_LENGTH_MAX {
                continue;
            }
            self.segments[self.at].map.records.fetch_add(1, Relaxed);
            let facts = record.value.map(|_| Facts::of(&record));
            let within = key.as_ptr() as u64 - batch.bytes().as_ptr() as u64;
            self.apply(key, facts, location.position + within, record.timestamp);
        }
    }

    /// The key now has this record.
    fn apply(&mut self, key: &[u8], facts: Option<Facts>, position: u64, timestamp: i64) {
        let Recovery {
            index, maps, hashes, ..
        } = self.recovery;
        let (hash, fingerprint) = hashes(key);
        let mut guard = index.lock(hash, maps);
        let old = guard.find_blindly(fingerprint);
        match (facts, old) {
            (Some(facts), old) => {
                self.found.cas = self.found.cas.max(facts.cas);
                let location = Location {
                    map: self.segments[self.at].number,
                    position: position as u32,
                };
                let second = u32::try_from(timestamp / 1000).unwrap_or_default();
                guard.place(old, Slot::new(hash, fingerprint, location, key.len(), second));
            }
            (None, Some(old)) => guard.remove(old),
            (None, None) => {}
        }
    }

    fn control(&mut self, key: &[u8], value: &[u8]) {
        match Flush::decode(key, value) {
            Some(Flush::At(second)) => self.found.flush_at = Some(second),
            Some(Flush::Before(offsets)) => {
                let mut all = self.recovery.index.lock_all();
                all.clear();
                self.recovery.maps.count_nothing();
                self.found.flush_at = None;
                self.found.flushed = offsets;
            }
            None => {}
        }
    }
}
