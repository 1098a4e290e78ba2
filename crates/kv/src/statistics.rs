//! Figures that a store tells about itself.

use std::time::Duration;

use crate::Sync;

/// Figures of one moment. Counters only grow; they're summed from several places and may lag each other by a few operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// The engine's name: `memory`, `hash`.
    pub engine: &'static str,
    /// Whether the store takes writes.
    pub state: StoreState,
    /// Failures of work in the background, such as a compaction or a checkpoint, ever.
    pub background_errors: u64,
    /// The log of a store that has one.
    pub log: Option<LogStatistics>,
    /// Syncs of a store on a device.
    pub durability: Option<DurabilityStatistics>,
    /// Compaction, by a store that compacts.
    pub compaction: Option<CompactionStatistics>,
    /// Reads that found an item not in memory, ever.
    pub cold_reads: Option<u64>,
    /// The time since the last snapshot of the index was written.
    pub snapshot_age: Option<Duration>,
    /// Items now, those included that have expired and weren't noticed yet.
    pub items: u64,
    /// Items ever stored, overwriting included.
    pub total_items: u64,
    /// Bytes of items now: headers, keys and values.
    pub bytes: u64,
    /// Items that went to make room.
    pub evictions: u64,
    /// … that were never read.
    pub evicted_unfetched: u64,
    /// Items that went because their time was over.
    pub expired: u64,
    /// … that were never read.
    pub expired_unfetched: u64,
    /// Items that went because of a flush.
    pub flushed: u64,
    /// Items whose memory was taken back after they expired or were flushed.
    pub reclaimed: u64,
    /// Reads that found an expired item.
    pub read_expired: u64,
    /// Reads that found a flushed item.
    pub read_flushed: u64,
    /// Writes that failed for lack of memory.
    pub out_of_memory: u64,
    /// The most that `used` may become. Right after the store was given less, `used` may still be above.
    pub capacity: u64,
    /// Bytes that index, arenas and large values take now.
    pub used: u64,
    /// Bytes of the index.
    pub table_bytes: u64,
    /// Buckets of the index, overflow not counted.
    pub buckets: u64,
    /// Arenas that hold items.
    pub arenas: u64,
    /// Bytes of all arenas, free ones included.
    pub arena_bytes: u64,
    /// Free arenas: what the next writes use.
    pub free_arenas: u64,
    /// Bytes of one arena.
    pub arena_size: u64,
    /// Bytes of large values, replaced ones included that a reply still holds.
    pub extent_bytes: u64,
    /// The largest item, counted as memcached counts it.
    pub item_size_max: u64,
    /// Figures per class, those left out that have neither items nor a history.
    pub classes: Vec<ClassStatistics>,
}

/// Whether a store takes writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreState {
    /// It does.
    #[default]
    Writable,
    /// It refuses all writes until it is opened again.
    Refused {
        /// The time since it refuses them.
        age: Duration,
        /// What failed.
        reason: String,
    },
}

/// Figures of the logs of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogStatistics {
    /// Logs: the partitions of the store.
    pub partitions: u64,
    /// Segments of all logs.
    pub segments: u64,
    /// Bytes of all segments, without those that are allocated ahead.
    pub bytes: u64,
    /// Bytes of the records that the index points to. An estimate: records of one segment count as equally long.
    pub live_bytes: u64,
    /// Bytes that writes have appended since the store was opened. Compaction is not a part of it.
    pub appended_bytes: u64,
    /// Records that writes have appended since the store was opened.
    pub appended_records: u64,
}

/// Figures of durability since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DurabilityStatistics {
    /// When a write is durable.
    pub sync: Sync,
    /// Rounds of `fdatasync` over all logs that had something new.
    pub syncs: u64,
    /// Writes that these rounds have made durable.
    pub synced_writes: u64,
    /// The duration of the last round, and of the longest one.
    pub last: Duration,
    /// See `last`.
    pub longest: Duration,
    /// The age of the oldest write that is not known to be durable.
    pub dirty_age: Duration,
}

/// Figures of compaction since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompactionStatistics {
    /// Runs of segments that were rewritten.
    pub runs: u64,
    /// Bytes that were read.
    pub bytes_read: u64,
    /// Bytes that were written.
    pub bytes_written: u64,
    /// The share of one core and of the device that compaction may take, in percent.
    pub share_percent: u32,
}

/// Figures of one size class of one time to live: the arenas whose items have about the same time to live and are either small
/// (key and value lie in the arena) or large (the value has a block of its own).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassStatistics {
    /// The least time to live in this class, in seconds; `None` for items that never expire.
    pub ttl_min: Option<u32>,
    /// True if the values have blocks of their own.
    pub large: bool,
    /// Arenas.
    pub arenas: u64,
    /// Bytes of these arenas. With `block_bytes`, what the class takes of the capacity.
    pub arena_bytes: u64,
    /// Bytes within these arenas that nothing was written to yet.
    pub free_bytes: u64,
    /// Bytes within these arenas of items that were replaced, removed or moved.
    pub dead_bytes: u64,
    /// Bytes of blocks, rounded up to pages.
    pub block_bytes: u64,
    /// Live bytes: headers, keys and values, blocks included.
    pub bytes: u64,
    /// Live items.
    pub items: u64,
    /// No live item of the class was stored before this second.
    pub oldest: Option<u32>,
    /// Items that went to make room, ever.
    pub evicted: u64,
    /// … that had an expiry.
    pub evicted_expiring: u64,
    /// … that were never read.
    pub evicted_unfetched: u64,
    /// Seconds between the last access to the item evicted last and its eviction.
    pub evicted_idle: u64,
    /// Items that went because their time was over or because of a flush, ever.
    pub reclaimed: u64,
    /// Items that expired without having been read.
    pub expired_unfetched: u64,
}
