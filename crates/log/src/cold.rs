//! Calls that would wait for the device, and what the caller does instead.
//!
//! A call that an event loop makes returns [`Answer::Cold`] when it needs bytes that are not in the page cache. The loop runs
//! [`Cold::fetch`] on a thread of its own choice, and repeats the call.

use std::sync::Arc;

use crate::error::{Doing, Error, Fault};
use crate::segment::Segment;
use crate::storage::Advice;

/// The result of a call that does not wait for the device.
#[derive(Debug)]
#[must_use]
pub enum Answer<T> {
    /// The result.
    Ready(T),
    /// The call needs bytes that are not in the page cache: [fetch](Cold::fetch) them and repeat it.
    Cold(Cold),
}

impl<T> Answer<T> {
    /// The result, if it is there.
    pub fn ready(self) -> Option<T> {
        match self {
            Answer::Ready(value) => Some(value),
            Answer::Cold(_) => None,
        }
    }
}

/// Bytes that have to be read from the device.
#[derive(Debug)]
pub struct Cold {
    segment: Arc<Segment>,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Index,
    Range { position: u64, bytes: u64 },
}

/// Bytes that one read of a fetch takes.
const CHUNK: usize = 256 << 10;

impl Cold {
    pub(crate) fn index(segment: &Arc<Segment>) -> Cold {
        Cold {
            segment: segment.clone(),
            what: What::Index,
        }
    }

    pub(crate) fn range(segment: &Arc<Segment>, position: u64, bytes: u64) -> Cold {
        Cold {
            segment: segment.clone(),
            what: What::Range { position, bytes },
        }
    }

    /// Reads the bytes into the page cache. This waits for the device.
    ///
    /// # Errors
    /// The device failed, or the segment is damaged.
    pub fn fetch(&self) -> Result<(), Error> {
        match self.what {
            What::Index => self.segment.load_index(),
            What::Range { position, bytes } => fetch(&self.segment, position, bytes),
        }
    }
}

/// Reads a range into the page cache.
pub(crate) fn fetch(segment: &Segment, position: u64, bytes: u64) -> Result<(), Error> {
    let file = segment.file()?;
    file.advise(position, bytes, Advice::WillNeed);
    let mut buffer = vec![0; CHUNK.min(bytes as usize)];
    let end = position + bytes;
    let mut at = position;
    while at < end {
        let most = buffer.len().min((end - at) as usize);
        match file
            .read_at(&mut buffer[..most], at)
            .doing("read", segment.path())?
        {
            0 => {
                return Err(segment.corrupt(
                    at,
                    Fault::Short {
                        expected: segment.bytes(),
                    },
                ));
            }
            count => at += count as u64,
        }
    }
    Ok(())
}

/// Why a call on a segment has no result.
#[derive(Debug)]
pub(crate) enum Interrupted {
    Cold(Cold),
    Error(Error),
}

impl From<Error> for Interrupted {
    fn from(error: Error) -> Interrupted {
        Interrupted::Error(error)
    }
}

impl From<Cold> for Interrupted {
    fn from(cold: Cold) -> Interrupted {
        Interrupted::Cold(cold)
    }
}

/// Turns an internal result into a public one.
pub(crate) fn answer<T>(result: Result<T, Interrupted>) -> Result<Answer<T>, Error> {
    match result {
        Ok(value) => Ok(Answer::Ready(value)),
        Err(Interrupted::Cold(cold)) => Ok(Answer::Cold(cold)),
        Err(Interrupted::Error(error)) => Err(error),
    }
}

/// Repeats a call until it has a result, fetching in between.
pub(crate) fn wait<T>(mut call: impl FnMut() -> Result<Answer<T>, Error>) -> Result<T, Error> {
    loop {
        match call()? {
            Answer::Ready(value) => return Ok(value),
            Answer::Cold(cold) => cold.fetch()?,
        }
    }
}
