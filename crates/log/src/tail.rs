//! The mapped end of the active segment's file.
//!
//! ```text
//!   0            appended        prepared            length                  allocated
//!   │ batches ───────▶│ writable pages │ zeros of the file │ allocated behind its end │
//!   └── mapping, as long as the segment may become ────────────────────────────────────▶
//! ```
//!
//! A copy into the mapping is in the page cache as soon as it is made, like the bytes of a `write`, and so survives a crash of the
//! process. The file is lengthened ahead of the batches in large steps, since a sync of a file with a new length has to
//! write its inode, too. Recovery takes the zeros behind the last batch for what they are.
//!
//! **Invariant:** `prepared` ≤ `length` ≤ allocated, so a store needs no space and the file has its page.

use std::ops::Range;

use crate::storage::{File, Window};

/// The file is lengthened by this many bytes at a time. Recovery reads at most as many zeros.
const LENGTH_STEP: u64 = 1 << 20;
/// The most bytes that are made writable at a time.
const PREPARED_STEP_MAX: u64 = 64 << 10;

#[derive(Debug)]
pub(crate) struct Tail {
    /// The length of the file.
    length: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    Unmapped,
    Mapped(Window),
    /// The file system is unsuitable or has refused something.
    Refused,
}

impl Tail {
    /// The end of a file of this length.
    pub(crate) fn new(length: u64) -> Tail {
        Tail {
            length,
            state: State::Unmapped,
        }
    }

    /// The mapping, with a range ready to be written that begins where the batches end; `None` if it has to be written by system
    /// calls. `segment_bytes` is the size that the file may get, `unsynced` the number of bytes before the range that are not
    /// durable.
    #[inline]
    pub(crate) fn window(
        &mut self,
        file: &dyn File,
        segment_bytes: u64,
        range: Range<u64>,
        allocated: u64,
        unsynced: u64,
    ) -> Option<&mut Window> {
        let is_ready = matches!(&self.state, State::Mapped(window) if range.end <= window.prepared());
        if !is_ready && !self.prepare(file, segment_bytes, &range, allocated, unsynced) {
            return None;
        }
        match &mut self.state {
            State::Mapped(window) => Some(window),
            State::Unmapped | State::Refused => None,
        }
    }

    #[cold]
    fn prepare(
        &mut self,
        file: &dyn File,
        segment_bytes: u64,
        range: &Range<u64>,
        allocated: u64,
        unsynced: u64,
    ) -> bool {
        if range.end > allocated.min(segment_bytes) {
            return false;
        }
        if let State::Unmapped = self.state {
            self.state = match file.window(segment_bytes) {
                Ok(Some(window)) => State::Mapped(window),
                Ok(None) | Err(_) => State::Refused,
            };
        }
        let State::Mapped(window) = &mut self.state else {
            return false;
        };
        if range.end > self.length {
            let next = (range.end / LENGTH_STEP + 1) * LENGTH_STEP;
            let length = next.min(allocated).min(segment_bytes);
            if file.set_length(length).is_err() {
                self.state = State::Refused;
                return false;
            }
            self.length = length;
        }
        // A sync writes whole pages. With frequent syncs, pages made writable long before their use would be written twice.
        let ahead = (unsynced / 4).min(PREPARED_STEP_MAX);
        let to = (range.end + ahead).min(self.length);
        if window.prepare(range.start, to).is_err() {
            self.state = State::Refused;
            return false;
        }
        true
    }

    /// The file was written up to this position.
    pub(crate) fn wrote(&mut self, end: u64) {
        self.length = self.length.max(end);
    }

    /// The file was cut there.
    pub(crate) fn cut(&mut self, length: u64) {
        self.length = length;
        if let State::Mapped(window) = &mut self.state {
            window.reset();
        }
    }
}
