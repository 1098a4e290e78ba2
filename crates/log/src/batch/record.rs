//! Records of an uncompressed batch, read in place.

use super::varint::take;
use super::{BatchError, BatchHeader};

/// One record. Keys and values may be absent, which differs from being empty: an absent value is a tombstone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The record's offset in the log.
    pub offset: u64,
    /// Milliseconds since 1970.
    pub timestamp: i64,
    /// The key.
    pub key: Option<&'a [u8]>,
    /// The value.
    pub value: Option<&'a [u8]>,
    /// Where the value begins, counted from the batch's first byte. It is meaningless without a value.
    pub value_position: u64,
    headers: Headers<'a>,
}

impl<'a> Record<'a> {
    /// The record's headers.
    pub fn headers(&self) -> Headers<'a> {
        self.headers
    }
}

/// A header of a record: a name and bytes that may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// The name, which Kafka's clients encode as UTF-8.
    pub key: &'a [u8],
    /// The value.
    pub value: Option<&'a [u8]>,
}

/// The headers of a record, which were checked when the record was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers<'a> {
    rest: &'a [u8],
    left: u32,
}

impl<'a> Headers<'a> {
    /// The number of headers that are left, and their bytes as they are in the record.
    pub(super) fn encoded(&self) -> (u32, &'a [u8]) {
        (self.left, self.rest)
    }
}

impl<'a> Iterator for Headers<'a> {
    type Item = Header<'a>;

    fn next(&mut self) -> Option<Header<'a>> {
        if self.left == 0 {
            return None;
        }
        let (header, rest) = header(self.rest)?;
        (self.rest, self.left) = (rest, self.left - 1);
        Some(header)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

/// The records of a batch. The iteration ends after the first fault.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    base_offset: u64,
    base_timestamp: i64,
    max_timestamp: Option<i64>,
    last_offset_delta: u32,
    count: u32,
    index: u32,
    /// The least offset delta that the next record may have.
    next_delta: u64,
    /// All bytes from the first record on, and those that are left.
    all: usize,
    rest: &'a [u8],
    ended: bool,
}

impl<'a> Records<'a> {
    pub(super) fn new(header: &BatchHeader, bytes: &'a [u8]) -> Records<'a> {
        let append_time = header.attributes.0 & super::Attributes::LOG_APPEND_TIME != 0;
        Records {
            base_offset: header.base_offset,
            base_timestamp: header.base_timestamp,
            max_timestamp: append_time.then_some(header.max_timestamp),
            last_offset_delta: header.last_offset_delta,
            count: header.count,
            index: 0,
            next_delta: 0,
            all: bytes.len(),
            rest: bytes,
            ended: false,
        }
    }

    fn fault(&self, reason: &'static str) -> BatchError {
        BatchError::Record {
            index: self.index,
            reason,
        }
    }

    fn read(&mut self) -> Result<Record<'a>, BatchError> {
        let short = |this: &Self| this.fault("ends before its length says");
        let (length, rest) = take(self.rest).ok_or_else(|| self.fault("has no length"))?;
        let length = usize::try_from(length).map_err(|_| self.fault("has a negative length"))?;
        let (body, after) = rest
            .split_at_checked(length)
            .ok_or_else(|| self.fault("exceeds the batch"))?;
        let (_attributes, body) = body.split_first().ok_or_else(|| short(self))?;
        let (timestamp_delta, body) = take(body).ok_or_else(|| short(self))?;
        let (offset_delta, body) = take(body).ok_or_else(|| short(self))?;
        let (key, body) = bytes(body).ok_or_else(|| self.fault("has a bad key length"))?;
        let (value, body) = bytes(body).ok_or_else(|| self.fault("has a bad value length"))?;
        // The headers lie between the value and the next record.
        let value_end = self.all - after.len() - body.len();
        let value_start = value_end - value.map_or(0, <[u8]>::len);
        let headers = headers(body).ok_or_else(|| self.fault("has bad headers"))?;
        let delta = match u64::try_from(offset_delta) {
            Ok(delta) if delta >= self.next_delta && delta <= u64::from(self.last_offset_delta) => delta,
            _ => return Err(self.fault("has an offset out of order")),
        };
        self.next_delta = delta + 1;
        self.rest = after;
        Ok(Record {
            offset: self.base_offset + delta,
            timestamp: self
                .max_timestamp
                .unwrap_or_else(|| self.base_timestamp.wrapping_add(timestamp_delta)),
            key,
            value,
            value_position: (super::HEADER_BYTES + value_start) as u64,
            headers,
        })
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        if self.index == self.count {
            self.ended = true;
            return (!self.rest.is_empty())
                .then(|| Err(self.fault("is followed by bytes that belong to no record")));
        }
        let record = self.read();
        match &record {
            Ok(_) => self.index += 1,
            Err(_) => self.ended = true,
        }
        Some(record)
    }
}

/// Bytes after their length; -1 means absent.
fn bytes(from: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let (length, rest) = take(from)?;
    if length == -1 {
        return Some((None, rest));
    }
    let (bytes, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    Some((Some(bytes), rest))
}

fn header(from: &[u8]) -> Option<(Header<'_>, &[u8])> {
    let (key, rest) = bytes(from)?;
    let (value, rest) = bytes(rest)?;
    Some((Header { key: key?, value }, rest))
}

/// Checks that the rest of a record is a count and as many headers.
fn headers(from: &[u8]) -> Option<Headers<'_>> {
    let (count, all) = take(from)?;
    let left = u32::try_from(count).ok()?;
    let mut rest = all;
    for _ in 0..left {
        (_, rest) = header(rest)?;
    }
    rest.is_empty().then_some(Headers { rest: all, left })
}
