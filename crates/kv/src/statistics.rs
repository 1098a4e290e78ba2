//! Figures that a store tells about itself.

/// Figures of one moment. Counters only grow; they're summed from several places and may lag each other by a few operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Items now, those included that have expired and weren't noticed yet.
    pub items: u64,
    /// Items ever stored, overwriting included.
    pub total_items: u64,
    /// Bytes of items now: headers, keys and values.
    pub bytes: u64,
    /// Items that went to make room.
    pub evictions: u64,
    /// … of which nobody ever read them.
    pub evicted_unfetched: u64,
    /// Items that went because their time was over.
    pub expired: u64,
    /// … of which nobody ever read them.
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
    /// Bytes that index, segments and large values take now.
    pub used: u64,
    /// Bytes of the index.
    pub table_bytes: u64,
    /// Buckets of the index, overflow not counted.
    pub buckets: u64,
    /// Segments that hold items.
    pub segments: u64,
    /// Bytes of all segments, free ones included.
    pub segment_bytes: u64,
    /// Bytes of one segment.
    pub segment_size: u64,
    /// Bytes of large values, replaced ones included that a reply still holds.
    pub extent_bytes: u64,
    /// The largest item, counted as memcached counts it.
    pub item_size_max: u64,
    /// Figures per class of time to live, the empty ones left out.
    pub classes: Vec<ClassStatistics>,
}

/// Figures of the segments whose items have about the same time to live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassStatistics {
    /// The least time to live in this class, in seconds; `None` for items that never expire.
    pub ttl_min: Option<u32>,
    /// Segments.
    pub segments: u64,
    /// Live bytes within these segments.
    pub bytes: u64,
    /// Live items within these segments.
    pub items: u64,
}
