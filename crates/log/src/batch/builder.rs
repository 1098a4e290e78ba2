//! Making batches.

use std::ops::Range;

use super::varint::{length, push};
use super::{
    Attributes, Batch, BatchError, BatchHeader, CHECKED_FROM, Codec, Compression, HEADER_BYTES, MAGIC,
    PREFIX_BYTES, Record,
};
use crate::checksum;

/// A record to be written.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewRecord<'a> {
    /// Milliseconds since 1970.
    pub timestamp: i64,
    /// The key, or none.
    pub key: Option<&'a [u8]>,
    /// The value; none makes a tombstone.
    pub value: Option<&'a [u8]>,
    /// Headers.
    pub headers: &'a [NewHeader<'a>],
}

/// A header to be written.
#[derive(Clone, Copy, Debug)]
pub struct NewHeader<'a> {
    /// The name; Kafka's clients expect UTF-8.
    pub key: &'a [u8],
    /// The value, or none.
    pub value: Option<&'a [u8]>,
}

/// Collects records into one uncompressed batch. It keeps its memory, so one builder serves many batches.
///
/// ```
/// use log::batch::{Builder, NewRecord};
///
/// let mut builder = Builder::new();
/// let value = builder.push(&NewRecord { key: Some(b"k"), value: Some(b"v"), ..NewRecord::default() })?;
/// let batch = builder.finish();
/// assert_eq!(&batch.bytes()[value], b"v");
/// # Ok::<(), log::batch::BatchError>(())
/// ```
#[derive(Debug)]
pub struct Builder {
    bytes: Vec<u8>,
    /// The encoded headers of the record that is being pushed.
    headers: Vec<u8>,
    /// The fields that are known before the batch is finished.
    header: BatchHeader,
    /// The offset delta of the next record.
    next_delta: u32,
    /// True if the base timestamp is given; otherwise it is that of the first record.
    fixed_base_timestamp: bool,
}

/// Offset deltas are below this.
const DELTA_MAX: u32 = i32::MAX as u32;

const EMPTY: BatchHeader = BatchHeader {
    base_offset: 0,
    bytes: 0,
    leader_epoch: -1,
    crc: 0,
    attributes: Attributes(0),
    last_offset_delta: 0,
    base_timestamp: 0,
    max_timestamp: -1,
    producer_id: -1,
    producer_epoch: -1,
    base_sequence: -1,
    count: 0,
};

impl Default for Builder {
    fn default() -> Builder {
        Builder::new()
    }
}

impl Builder {
    /// An empty batch that belongs to no idempotent producer.
    pub fn new() -> Builder {
        Builder {
            bytes: vec![0; HEADER_BYTES],
            headers: Vec::new(),
            header: EMPTY,
            next_delta: 0,
            fixed_base_timestamp: false,
        }
    }

    /// Starts again. The memory is kept.
    pub fn clear(&mut self) {
        self.bytes.truncate(HEADER_BYTES);
        (self.header, self.next_delta, self.fixed_base_timestamp) = (EMPTY, 0, false);
    }

    /// Starts a batch at an offset, of records that compaction keeps.
    pub(crate) fn begin_at(&mut self, base_offset: u64, leader_epoch: i32) {
        self.clear();
        self.header.base_offset = base_offset;
        self.header.leader_epoch = leader_epoch;
    }

    /// Starts a batch that keeps what `header` says of the producer, the attributes, the times and the offsets.
    pub(crate) fn begin_like(&mut self, header: &BatchHeader) {
        self.clear();
        self.header = BatchHeader { count: 0, ..*header };
        self.fixed_base_timestamp = true;
    }

    /// Marks the batch's tombstones as removable from a time on. The batch must be empty.
    pub(crate) fn set_delete_horizon(&mut self, horizon: i64) {
        debug_assert!(self.is_empty());
        self.header.attributes.0 |= Attributes::DELETE_HORIZON;
        self.header.base_timestamp = horizon;
        self.fixed_base_timestamp = true;
    }

    /// The header as far as it is known.
    pub(crate) fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// Lets the batch take all offsets before `end`, also those without a record.
    pub(crate) fn span(&mut self, end: u64) {
        let delta = end.saturating_sub(self.header.base_offset + 1);
        self.header.last_offset_delta = u32::try_from(delta)
            .unwrap_or(DELTA_MAX)
            .max(self.header.last_offset_delta);
    }

    /// Adds a record that was read from another batch. Its offset decides about its place.
    pub(crate) fn push_read(&mut self, record: &Record<'_>) -> Result<Range<usize>, BatchError> {
        let delta = u32::try_from(record.offset - self.header.base_offset).unwrap_or(u32::MAX);
        let (count, headers) = record.headers().encoded();
        let parts = Parts {
            timestamp: record.timestamp,
            key: record.key,
            value: record.value,
            count,
            headers,
        };
        self.push_parts(delta, &parts)
    }

    /// Sets the attributes, such as [`Attributes::CONTROL`]. The compression must be none.
    ///
    /// # Panics
    /// If the attributes say that the records are compressed.
    pub fn set_attributes(&mut self, attributes: Attributes) {
        assert_eq!(
            attributes.compression(),
            super::Compression::None,
            "the builder does not compress"
        );
        self.header.attributes = attributes;
    }

    /// Sets the idempotent producer with the sequence number of the first record.
    pub fn set_producer(&mut self, id: i64, epoch: i16, base_sequence: i32) {
        self.header.producer_id = id;
        self.header.producer_epoch = epoch;
        self.header.base_sequence = base_sequence;
    }

    /// The number of records so far.
    pub fn count(&self) -> u32 {
        self.header.count
    }

    /// Bytes of the batch so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns true if the batch has no records.
    pub fn is_empty(&self) -> bool {
        self.header.count == 0
    }

    /// Adds a record and returns the range of its value within the batch.
    ///
    /// # Errors
    /// The batch would exceed [`super::BATCH_BYTES_MAX`], and is unchanged.
    pub fn push(&mut self, record: &NewRecord<'_>) -> Result<Range<usize>, BatchError> {
        self.headers.clear();
        for header in record.headers {
            push_bytes(&mut self.headers, Some(header.key));
            push_bytes(&mut self.headers, header.value);
        }
        let headers = std::mem::take(&mut self.headers);
        let parts = Parts {
            timestamp: record.timestamp,
            key: record.key,
            value: record.value,
            count: record.headers.len() as u32,
            headers: &headers,
        };
        let value = self.push_parts(self.next_delta, &parts);
        self.headers = headers;
        value
    }

    /// The bytes of the batch from a position on, for a header whose value depends on the rest of its record.
    ///
    /// # Panics
    /// If the batch is shorter.
    pub fn bytes_mut(&mut self, from: usize) -> &mut [u8] {
        assert!(from >= HEADER_BYTES, "the batch's own header is written last");
        &mut self.bytes[from..]
    }

    fn push_parts(&mut self, delta: u32, record: &Parts<'_>) -> Result<Range<usize>, BatchError> {
        if self.header.count == 0 && !self.fixed_base_timestamp {
            self.header.base_timestamp = record.timestamp;
        }
        let timestamp_delta = record.timestamp.wrapping_sub(self.header.base_timestamp);
        let body = record.body_bytes(timestamp_delta, delta);
        let need = self.bytes.len() as u64 + body as u64 + super::varint::LENGTH_MAX as u64;
        if need > super::BATCH_BYTES_MAX || delta >= DELTA_MAX {
            return Err(BatchError::Length { found: i32::MAX });
        }
        let out = &mut self.bytes;
        out.reserve(body + super::varint::LENGTH_MAX);
        push(out, body as i64);
        out.push(0);
        push(out, timestamp_delta);
        push(out, i64::from(delta));
        push_bytes(out, record.key);
        push_bytes(out, record.value);
        let value = out.len() - record.value.map_or(0, <[u8]>::len)..out.len();
        push(out, i64::from(record.count));
        out.extend_from_slice(record.headers);
        self.header.count += 1;
        self.header.max_timestamp = self.header.max_timestamp.max(record.timestamp);
        self.header.last_offset_delta = self.header.last_offset_delta.max(delta);
        self.next_delta = delta + 1;
        Ok(value)
    }

    /// Completes the batch with its records compressed, in memory of the caller's.
    ///
    /// # Errors
    /// The codec refuses the records.
    pub(crate) fn finish_compressed<'o>(
        &self,
        compression: Compression,
        codec: Codec,
        out: &'o mut Vec<u8>,
    ) -> std::io::Result<Batch<'o>> {
        out.clear();
        out.resize(HEADER_BYTES, 0);
        codec.compress(&self.bytes[HEADER_BYTES..], out)?;
        let mut header = self.header;
        header.bytes = out.len() as u64;
        header.attributes.0 |= compression.bits();
        Ok(seal(out, header))
    }

    /// Completes the batch: header and checksum. More records may be pushed afterwards, and the batch finished again.
    pub fn finish(&mut self) -> Batch<'_> {
        let header = BatchHeader {
            bytes: self.bytes.len() as u64,
            ..self.header
        };
        seal(&mut self.bytes, header)
    }
}

/// Writes the header and the checksum of a batch whose records are there.
fn seal(bytes: &mut [u8], header: BatchHeader) -> Batch<'_> {
    write_header(bytes, &header);
    let crc = checksum::of(&bytes[CHECKED_FROM..]);
    bytes[17..CHECKED_FROM].copy_from_slice(&crc.to_be_bytes());
    let header = BatchHeader { crc, ..header };
    Batch { header, bytes }
}

fn write_header(bytes: &mut [u8], header: &BatchHeader) {
    // `push_at` keeps the batch below BATCH_BYTES_MAX, so the length fits its field.
    let length = (header.bytes - PREFIX_BYTES as u64) as u32;
    bytes[..8].copy_from_slice(&header.base_offset.to_be_bytes());
    bytes[8..12].copy_from_slice(&length.to_be_bytes());
    bytes[12..16].copy_from_slice(&header.leader_epoch.to_be_bytes());
    bytes[16] = MAGIC as u8;
    bytes[21..23].copy_from_slice(&header.attributes.0.to_be_bytes());
    bytes[23..27].copy_from_slice(&header.last_offset_delta.to_be_bytes());
    bytes[27..35].copy_from_slice(&header.base_timestamp.to_be_bytes());
    bytes[35..43].copy_from_slice(&header.max_timestamp.to_be_bytes());
    bytes[43..51].copy_from_slice(&header.producer_id.to_be_bytes());
    bytes[51..53].copy_from_slice(&header.producer_epoch.to_be_bytes());
    bytes[53..57].copy_from_slice(&header.base_sequence.to_be_bytes());
    bytes[57..HEADER_BYTES].copy_from_slice(&header.count.to_be_bytes());
}

/// A record with its headers encoded.
struct Parts<'a> {
    timestamp: i64,
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
    count: u32,
    headers: &'a [u8],
}

impl Parts<'_> {
    /// The bytes of the record after its length.
    fn body_bytes(&self, timestamp_delta: i64, offset_delta: u32) -> usize {
        let attributes = 1;
        attributes
            + length(timestamp_delta)
            + length(i64::from(offset_delta))
            + bytes_length(self.key)
            + bytes_length(self.value)
            + length(i64::from(self.count))
            + self.headers.len()
    }
}

fn bytes_length(bytes: Option<&[u8]>) -> usize {
    match bytes {
        None => length(-1),
        Some(bytes) => length(bytes.len() as i64) + bytes.len(),
    }
}

fn push_bytes(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    match bytes {
        None => push(out, -1),
        Some(bytes) => {
            push(out, bytes.len() as i64);
            out.extend_from_slice(bytes);
        }
    }
}
