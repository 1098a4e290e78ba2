//! How a log behaves.

use crate::error::Error;

/// Options of a log. They may differ each time that it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// An append that would make the active segment larger than this starts a new one. At most [`SEGMENT_BYTES_MAX`]; the
    /// default is 1 GiB. A segment is larger only if a single append is.
    pub segment_bytes: u64,
    /// An append starts a new segment if the active one got its first batch this long before, in milliseconds. The default
    /// is 7 days.
    pub segment_age_ms: Option<u64>,
    /// Allocate space ahead of the active segment's end, in steps of 1 to 16 MiB, and free the rest when the segment is complete
    /// or the log closed. The default is true.
    pub preallocate: bool,
    /// Copy appends of at most 4 KiB into a mapping of allocated space, instead of writing them by system calls. It takes effect
    /// with `preallocate`, on file systems where it is [safe](crate::storage::Window). The active segment's file is then longer
    /// than its batches: up to 1 MiB of zeros follow. The default is false.
    pub mapped: bool,
    /// The leader epoch that is written into batches. The default is 0.
    pub leader_epoch: i32,
}

/// The largest size that [`Options::segment_bytes`] may have: positions of batches have 32 bits in an index.
pub const SEGMENT_BYTES_MAX: u64 = 1 << 31;

impl Default for Options {
    fn default() -> Options {
        Options {
            segment_bytes: 1 << 30,
            segment_age_ms: Some(7 * 24 * 60 * 60 * 1000),
            preallocate: true,
            mapped: false,
            leader_epoch: 0,
        }
    }
}

impl Options {
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.segment_bytes == 0 || self.segment_bytes > SEGMENT_BYTES_MAX {
            return Err(Error::Option {
                name: "segment_bytes",
                reason: format!(
                    "{} is out of bounds; give 1 to {SEGMENT_BYTES_MAX}",
                    self.segment_bytes
                ),
            });
        }
        Ok(())
    }
}

/// Limits for retention: see [`Log::retain`](crate::Log::retain).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// The oldest segments are removed while the others have at least this many bytes.
    pub bytes: Option<u64>,
    /// Segments are removed whose newest record is older than this, in milliseconds.
    pub age_ms: Option<u64>,
}
