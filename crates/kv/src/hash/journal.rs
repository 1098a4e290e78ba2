//! The log of one partition, which records items, tombstones and flushes in the order in which they happen.
//!
//! Each write is a batch of its own, so it is complete when [`Log::append`] returns: nothing has to be finished before the reply
//! leaves, and a process that is killed leaves no part of an acknowledged write behind. Compaction merges batches.
//!
//! **Invariant:** an item's key is locked while it is appended, so the log has the writes of a key in the order of the index.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use log::batch::{Attributes, BatchError, Builder, NewRecord};
use log::{Log, Segment, SegmentId};
use parking_lot::Mutex;

use super::index::Location;
use super::maps::{Map, Maps};
use crate::record::{self, Facts, Flush};
use crate::{Now, StoreError};

/// One partition.
#[derive(Debug)]
pub(super) struct Journal {
    partition: u32,
    segment_bytes: u64,
    writer: Mutex<Writer>,
}

#[derive(Debug)]
struct Writer {
    /// `None` after closing.
    log: Option<Log>,
    builder: Builder,
    /// A value of several parts, joined.
    joined: Vec<u8>,
    /// The segment that was last written to.
    active: Option<Active>,
}

/// A segment, the number of its map, and its map.
#[derive(Clone, Debug)]
pub(super) struct Active {
    pub(super) id: SegmentId,
    pub(super) number: u16,
    pub(super) map: Arc<Map>,
}

impl Journal {
    pub(super) fn new(partition: u32, log: Log, segment_bytes: u64, active: Option<Active>) -> Journal {
        Journal {
            partition,
            segment_bytes,
            writer: Mutex::new(Writer {
                log: Some(log),
                builder: Builder::new(),
                joined: Vec::new(),
                active,
            }),
        }
    }

    /// The log, unless the store was closed.
    pub(super) fn log(&self) -> Option<Log> {
        self.writer.lock().log.clone()
    }

    /// Takes the log: nothing can be appended any more.
    pub(super) fn take_log(&self) -> Option<Log> {
        self.writer.lock().log.take()
    }

    /// Appends an item and returns where its key is.
    ///
    /// # Errors
    /// The log refused it, and has nothing of it.
    pub(super) fn append(
        &self,
        maps: &Maps,
        now: Now,
        key: &[u8],
        parts: &[&[u8]],
        facts: Facts,
    ) -> Result<Location, StoreError> {
        let mut writer = self.writer.lock();
        let Writer { builder, joined, .. } = &mut *writer;
        builder.clear();
        let value = match parts {
            [] => &[],
            [whole] => *whole,
            _ => {
                joined.clear();
                parts.iter().for_each(|part| joined.extend_from_slice(part));
                &joined[..]
            }
        };
        let key_at = record::push(builder, milliseconds(now), key, value, facts).map_err(too_large)?;
        let (map, position) = writer.write(self, maps, now)?;
        writer.shrink();
        Ok(Location {
            map,
            position: position + key_at as u32,
        })
    }

    /// Appends a tombstone.
    ///
    /// # Errors
    /// As for [`append`](Journal::append).
    pub(super) fn append_tombstone(&self, maps: &Maps, now: Now, key: &[u8]) -> Result<(), StoreError> {
        let mut writer = self.writer.lock();
        writer.builder.clear();
        record::push_tombstone(&mut writer.builder, milliseconds(now), key).map_err(too_large)?;
        writer.write(self, maps, now).map(drop)
    }

    /// Appends a flush. It goes to the first partition and is meant for all.
    ///
    /// # Errors
    /// As for [`append`](Journal::append).
    pub(super) fn append_flush(&self, maps: &Maps, now: Now, flush: &Flush) -> Result<(), StoreError> {
        let mut writer = self.writer.lock();
        writer.builder.clear();
        writer.builder.set_attributes(Attributes(Attributes::CONTROL));
        let (key, value) = flush.encode();
        let record = NewRecord {
            timestamp: milliseconds(now),
            key: Some(&key),
            value: Some(&value),
            headers: &[],
        };
        writer.builder.push(&record).map_err(too_large)?;
        writer.write(self, maps, now).map(drop)
    }
}

/// Maps a segment that may grow to `segment_bytes`.
pub(super) fn map_segment(
    maps: &Maps,
    segment: Arc<Segment>,
    partition: u32,
    segment_bytes: u64,
) -> io::Result<Active> {
    let (id, length) = (segment.id(), segment.bytes().max(segment_bytes));
    let (number, map) = maps.add(Map::new(segment, partition, length)?)?;
    Ok(Active { id, number, map })
}

impl Writer {
    /// Appends what the builder has, and returns the map and the position of its batch.
    fn write(&mut self, journal: &Journal, maps: &Maps, now: Now) -> Result<(u16, u32), StoreError> {
        let log = self.log.as_ref().ok_or(StoreError::Unavailable)?;
        let appended = log
            .append(&[self.builder.finish()], milliseconds(now))
            .map_err(|error| StoreError::from(&error))?;
        if self
            .active
            .as_ref()
            .is_none_or(|active| active.id != appended.segment)
        {
            let segment = log
                .segment(appended.segment)
                .map_err(|error| StoreError::from(&error))?;
            let active = map_segment(maps, segment, journal.partition, journal.segment_bytes);
            self.active = Some(active.map_err(|error| StoreError::Io(error.kind()))?);
        }
        let active = self.active.as_ref().ok_or(StoreError::Unavailable)?;
        active.map.records.fetch_add(1, Relaxed);
        active
            .map
            .passed(appended.position..appended.position + appended.bytes);
        // A batch begins below `SEGMENT_BYTES_MAX`, and a key near the beginning of its batch.
        Ok((active.number, appended.position as u32))
    }

    /// Gives back the memory that a large value took.
    fn shrink(&mut self) {
        const KEPT: usize = 1 << 20;
        if self.builder.len() > KEPT {
            self.builder = Builder::new();
            self.joined = Vec::new();
        }
    }
}

pub(super) fn milliseconds(now: Now) -> i64 {
    i64::from(now.0) * 1000
}

fn too_large(_: BatchError) -> StoreError {
    StoreError::TooLarge {
        size: log::batch::BATCH_BYTES_MAX,
        max: log::batch::BATCH_BYTES_MAX,
    }
}
