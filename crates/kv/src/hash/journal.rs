//! The log of one partition, which records items, tombstones and flushes in the order of their writes.
//!
//! Each write is a batch of its own, so it is complete when [`Log::append`] returns: nothing has to be finished before the reply
//! leaves, and a process that is killed leaves no part of an acknowledged write behind. Compaction merges batches. Batches are built
//! outside of the lock, in memory of the thread.
//!
//! **Invariant:** an item's key is locked while it is appended, so the log has the writes of a key in the order of the index.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use log::batch::{Attributes, Batch, BatchError, Builder, NewRecord};
use log::{Log, Segment, SegmentId};
use parking_lot::Mutex;

use super::index::Location;
use super::maps::{Map, Maps};
use super::snapshot::Point;
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

    /// The end of the log. Every record before it is in the index, or its shard is locked.
    pub(super) fn point(&self) -> Point {
        let writer = self.writer.lock();
        writer
            .active
            .as_ref()
            .map_or_else(Point::default, |active| Point {
                offset: active.map.segment.end(),
                base: active.map.segment.base(),
                position: active.map.segment.bytes(),
                records: active.map.records.load(Relaxed),
            })
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
        Draft::with(|draft| {
            let Draft { builder, joined } = draft;
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
            let (map, position) = self.write(&builder.finish(), maps, now)?;
            Ok(Location {
                map,
                position: position + key_at as u32,
            })
        })
    }

    /// Appends a tombstone.
    ///
    /// # Errors
    /// As for [`append`](Journal::append).
    pub(super) fn append_tombstone(&self, maps: &Maps, now: Now, key: &[u8]) -> Result<(), StoreError> {
        Draft::with(|Draft { builder, .. }| {
            record::push_tombstone(builder, milliseconds(now), key).map_err(too_large)?;
            self.write(&builder.finish(), maps, now).map(drop)
        })
    }

    /// Appends a flush. It goes to the first partition and is meant for all.
    ///
    /// # Errors
    /// As for [`append`](Journal::append).
    pub(super) fn append_flush(&self, maps: &Maps, now: Now, flush: &Flush) -> Result<(), StoreError> {
        let (key, value) = flush.encode();
        let record = NewRecord {
            timestamp: milliseconds(now),
            key: Some(&key),
            value: Some(&value),
            headers: &[],
        };
        Draft::with(|Draft { builder, .. }| {
            builder.set_attributes(Attributes(Attributes::CONTROL));
            builder.push(&record).map_err(too_large)?;
            self.write(&builder.finish(), maps, now).map(drop)
        })
    }

    /// Appends a batch, and returns the map and the position that it has.
    fn write(&self, batch: &Batch<'_>, maps: &Maps, now: Now) -> Result<(u16, u32), StoreError> {
        let mut writer = self.writer.lock();
        let Writer { log, active } = &mut *writer;
        let log = log.as_ref().ok_or(StoreError::Unavailable)?;
        let appended = log
            .append(std::slice::from_ref(batch), milliseconds(now))
            .map_err(|error| StoreError::from(&error))?;
        let active = match active {
            Some(active) if active.id == appended.segment => active,
            _ => {
                let segment = log.segment(appended.segment);
                let segment = segment.map_err(|error| StoreError::from(&error))?;
                let mapped = map_segment(maps, segment, self.partition, self.segment_bytes);
                active.insert(mapped.map_err(|error| StoreError::Io(error.kind()))?)
            }
        };
        // Only this thread counts, as it holds the lock, so a store is enough.
        let records = &active.map.records;
        records.store(records.load(Relaxed) + 1, Relaxed);
        active
            .map
            .passed(appended.position..appended.position + appended.bytes);
        // A batch begins below `SEGMENT_BYTES_MAX`, and a key near the beginning of its batch.
        Ok((active.number, appended.position as u32))
    }
}

/// A thread's memory for building batches before it takes a journal's lock.
struct Draft {
    builder: Builder,
    /// A value of several parts, joined.
    joined: Vec<u8>,
}

impl Draft {
    /// Lends this thread's memory, with an empty batch.
    fn with<R>(build: impl FnOnce(&mut Draft) -> R) -> R {
        thread_local! {
            static DRAFT: RefCell<Draft> = RefCell::new(Draft::new());
        }
        DRAFT.with_borrow_mut(|draft| {
            draft.builder.clear();
            let result = build(draft);
            draft.shrink();
            result
        })
    }

    fn new() -> Draft {
        Draft {
            builder: Builder::new(),
            joined: Vec::new(),
        }
    }

    /// Gives back the memory that a large value took.
    fn shrink(&mut self) {
        const KEPT: usize = 1 << 20;
        if self.builder.len() > KEPT {
            *self = Draft::new();
        }
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

pub(super) fn milliseconds(now: Now) -> i64 {
    i64::from(now.0) * 1000
}

fn too_large(_: BatchError) -> StoreError {
    StoreError::TooLarge {
        size: log::batch::BATCH_BYTES_MAX,
        max: log::batch::BATCH_BYTES_MAX,
    }
}
