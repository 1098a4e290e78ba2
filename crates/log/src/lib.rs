//! An append-only log of Kafka record batches in segment files.
//!
//! ```text
//!                  append                        read(offset)  find_time(timestamp)
//!                    │ one vectored write            │ Extent: file, position, bytes
//!   ┌────────────────▼───────────────────────────────▼─────────────────────────┐
//!   │ 0 ──── 41872 │ 41873 ──── 80127 │ 80128 ──▶          batches tile offsets │
//!   │   complete        complete         active                                │
//!   └───▲──────────────────────────────────────────────▲───────────────────────┘
//!     start()                            synced()    end()
//! ```
//!
//! A [`Log`] is a folder of segments. A segment is a file of record batches as producers send them ([`batch`]), with a sparse
//! index of offsets and one of times. `docs/formats/segment.md` describes the files.
//!
//! # On an event loop
//! The crate has no threads and no runtime. Appending, and reading what is in the page cache, are done by the caller. A
//! read that would wait for the device returns [`Answer::Cold`], whose [`Cold::fetch`] the caller runs on another thread
//! before it repeats the read. [`Log::sync`], [`Log::checkpoint`] and all methods whose names end in `_blocking` wait for the
//! device and belong on such a thread, too. Appends go on while they run. Handles are cheap to clone and work on any thread.
//!
//! Time is an argument, and so is policy: when to sync and what to keep are the caller's decisions. `commit`
//! durability is [`Log::append`] for every request of a turn, one [`Log::sync`], and replies when [`Log::synced`] has reached
//! their [`Appended::end_offset`].
//!
//! # An index on a log
//! A store can index the records of a log by their [`Location`]: segment, position and length.
//! - [`batch::Builder::push`] returns where a record's value lies in its batch, and [`Log::append`] where the batch lies.
//! - [`Log::extent`] turns a location into an [`Extent`], whose file can be given to `sendfile`. An extent keeps its
//!   segment's file, also when compaction has replaced it. [`Extent::is_resident`] tells whether sending it would wait, and
//!   [`Extent::fetch_checked`] reads it and checks its batch.
//! - [`Segment::check`] does the same for all batches that have any byte of a range.
//! - [`Log::scan`] replays records from an offset, with their locations. To name locations across restarts, store a segment's
//!   base offset and [generation](Segment::generation) with the position.
//!
//! # Limits
//! - A batch has at most [`batch::BATCH_BYTES_MAX`] bytes, so a value of 2 GiB or more needs several records.
//! - Every segment that was read from keeps its file open, and its index in memory: about 2 MiB per GiB. Segments that were
//!   not read have neither.
//! - Compaction drops no records of compressed batches that cannot be decompressed or have more than 64 MiB of records, and keeps
//!   an empty batch for each batch of an idempotent producer.
//! - One rewrite of a log is at work at a time.
//!
//! # What was decided
//! - **A log is a list of extents.** Readers get ranges of files and never assume one file per log, so that small logs
//!   may share files later.
//! - **Small appends may be copies.** With [`Options::mapped`], they are copied into mapped pages of allocated space, without a system
//!   call, on file systems where that cannot fail.
//! - **The page cache is the cache.** Appends are written at once, and recent reads hit what was just written. A cold range is
//!   announced with `posix_fadvise(WILLNEED)` and then read on the caller's thread: that took half to two thirds of the time of
//!   reading alone, for 256 KiB to 1 MiB on a virtual disk. Mappings are offered, but a device that fails
//!   under one kills the process, so nothing here depends on them.
//! - **A failed sync ends writing.** Linux marks pages clean after a failed write-back, so a repeated sync may
//!   succeed though bytes were lost. The log refuses writes ([`Error::Failed`]) until it is opened again.
//! - **A failed append is undone.** The file is cut to its former end. A full disk therefore refuses appends and loses nothing.
//! - **Files that readers hold do not change.** Truncation and compaction write new files.
//! - **Compressed batches are carried as they are.** Only compaction by key decompresses them, and compresses what stays of a batch
//!   by the same codec. A damaged record within one keeps the batch whole.
//!
//! **Invariant:** nothing here knows a protocol, starts a thread, or reads a clock but to measure how long a sync takes.
//! **Invariant:** `unsafe` is confined to `storage/map.rs` and `storage/window.rs`.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod activity;
mod append;
pub mod batch;
mod check;
mod checkpoint;
mod checksum;
mod cold;
mod compaction;
mod error;
mod files;
mod index;
pub mod inspect;
mod log;
mod options;
mod read;
mod recovery;
mod repair;
mod report;
mod retention;
mod rewrite;
mod scan;
mod scanner;
mod segment;
pub mod storage;
mod sync;
mod tail;

pub use activity::Activity;
pub use append::Appended;
pub use checksum::of as crc32c;
pub use cold::{Answer, Cold};
pub use compaction::{Compacted, Compaction};
pub use error::{Error, Fault};
pub use log::Log;
pub use options::{Options, Retention, SEGMENT_BYTES_MAX};
pub use read::{Extent, Location, Timed};
pub use repair::{Repaired, repair};
pub use report::{Cut, Damage, Recovery};
pub use rewrite::{Candidate, Judge, Moved, Replaced, Rewrite, Verdict};
pub use scan::Unreadable;
pub use segment::{Segment, SegmentId};
