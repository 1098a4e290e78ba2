//! The log of a tree: every write, until the pages have it.
//!
//! The records are those of a hash store. `docs/formats/tree.md` describes the files.
//!
//! **Invariant:** what a caller does with a write that was appended happens before the next write is appended.

use log::batch::{Attributes, Builder, NewRecord};
use log::{Error, Log};
use parking_lot::Mutex;

use crate::durability::Logs;
use crate::owned::OwnedEntry;
use crate::record::{self, Facts, Flush};
use crate::{KEY_LENGTH_MAX, Now, StoreError};

/// Memory that a builder may keep after a large value.
const BUILDER_BYTES_MAX: usize = 1 << 20;

/// The log, and the batch that is being built.
#[derive(Debug)]
pub(super) struct Journal {
    writer: Mutex<Writer>,
}

#[derive(Debug)]
struct Writer {
    /// `None` after closing.
    log: Option<Log>,
    builder: Builder,
}

/// A write.
#[derive(Clone, Copy, Debug)]
pub(super) enum Write<'w> {
    Item(&'w OwnedEntry),
    Removal(&'w [u8]),
    Flush(&'w Flush),
}

/// A write that was read from the log.
#[derive(Debug)]
pub(super) enum Replayed<'r> {
    Item {
        key: &'r [u8],
        value: &'r [u8],
        facts: Facts,
        second: u32,
    },
    Removal(&'r [u8]),
    /// All writes so far are flushed.
    Flush,
    FlushAt(u32),
}

impl Journal {
    pub(super) fn new(log: Log) -> Journal {
        Journal {
            writer: Mutex::new(Writer {
                log: Some(log),
                builder: Builder::new(),
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

    /// Appends a write, and runs `then` before another one can be appended.
    ///
    /// # Errors
    /// The log refused it, and has nothing of it. `then` has not run.
    pub(super) fn append<R>(
        &self,
        write: Write<'_>,
        now: Now,
        then: impl FnOnce() -> R,
    ) -> Result<R, StoreError> {
        let mut writer = self.writer.lock();
        let Writer { log, builder } = &mut *writer;
        let log = log.as_ref().ok_or(StoreError::Unavailable)?;
        builder.clear();
        push(builder, write, now)?;
        log.append(&[builder.finish()], milliseconds(now))
            .map_err(|error| StoreError::from(&error))?;
        if builder.len() > BUILDER_BYTES_MAX {
            *builder = Builder::new();
        }
        Ok(then())
    }

    /// Runs something between two writes, with the offset of the next one.
    pub(super) fn between<R>(&self, f: impl FnOnce(u64) -> R) -> Result<R, StoreError> {
        let writer = self.writer.lock();
        let log = writer.log.as_ref().ok_or(StoreError::Unavailable)?;
        Ok(f(log.end()))
    }
}

impl Logs for Journal {
    fn logs(&self) -> impl Iterator<Item = Log> {
        self.log().into_iter()
    }
}

fn push(builder: &mut Builder, write: Write<'_>, now: Now) -> Result<(), StoreError> {
    let pushed = match write {
        Write::Item(item) => {
            let facts = Facts {
                flags: item.flags,
                expiry: item.expiry,
                cas: item.cas,
                stale: item.marks.stale,
            };
            record::push(builder, milliseconds(now), &item.key, item.value.bytes(), facts).map(drop)
        }
        Write::Removal(key) => record::push_tombstone(builder, milliseconds(now), key),
        Write::Flush(flush) => {
            builder.set_attributes(Attributes(Attributes::CONTROL));
            let (key, value) = flush.encode();
            let record = NewRecord {
                timestamp: milliseconds(now),
                key: Some(&key),
                value: Some(&value),
                headers: &[],
            };
            builder.push(&record).map(drop)
        }
    };
    pushed.map_err(|_| StoreError::TooLarge {
        size: log::batch::BATCH_BYTES_MAX,
        max: log::batch::BATCH_BYTES_MAX,
    })
}

/// Reads the writes from an offset on.
///
/// # Errors
/// A batch is damaged, or offsets are missing.
pub(super) fn replay(log: &Log, from: u64, mut visit: impl FnMut(Replayed<'_>)) -> Result<(), Error> {
    log.scan(from, |_, batch| {
        let is_control = batch.header().attributes.is_control();
        // The checksum matched, and only this program writes here.
        for record in batch.records().into_iter().flatten().map_while(Result::ok) {
            let Some(key) = record.key.filter(|key| is_control || key.len() <= KEY_LENGTH_MAX) else {
                continue;
            };
            match (record.value, is_control) {
                (value, true) => match Flush::decode(key, value.unwrap_or_default()) {
                    Some(Flush::At(second)) => visit(Replayed::FlushAt(second)),
                    Some(Flush::Before(_)) => visit(Replayed::Flush),
                    None => {}
                },
                (None, false) => visit(Replayed::Removal(key)),
                (Some(value), false) => visit(Replayed::Item {
                    key,
                    value,
                    facts: Facts::of(&record),
                    second: u32::try_from(record.timestamp / 1000).unwrap_or_default(),
                }),
            }
        }
        Ok(())
    })
}

fn milliseconds(now: Now) -> i64 {
    i64::from(now.0) * 1000
}
