//! Small outputs that leave together: the loop receives for a group of connections in one run and sends in another,
//! which misses the caches less often than receiving and sending by turns.
//!
//! ```text
//!   closure ──> loop's output ──swapped──> batch of (source, bytes) ──(end of the group)──> kernel
//!                                                                                      └─ refused bytes come back
//! ```
//!
//! **Invariant:** every connection with an output in the batch is alive, and its source has the bit [`POSTED`]. A
//! connection sends and ends only after the outbox was emptied, and so does an exchange read on; a half that reads does
//! not wait for it.
//!
//! **Invariant:** the outbox is empty whenever no task is being polled, so no output waits for the poll, a timer or mail.
//!
//! [`POSTED`]: super::sources::POSTED

use std::collections::HashMap;
use std::mem;
use std::os::fd::RawFd;

use crate::Error;
use crate::output::Output;
use crate::task::TaskId;

/// Bytes of an output that may wait. Beyond that, batching saves little of what the output costs by itself.
pub(crate) const BATCHED_MAX: usize = 8 << 10;
/// Bytes that wait before they are sent without waiting for the group's end.
const BYTES_MAX: usize = 48 << 10;

/// Output that did not leave.
pub(crate) enum Returned {
    /// The kernel refused these bytes. They count as held by the loop.
    Refused(Vec<u8>),
    Failed(Error),
}

/// The output of one connection.
#[derive(Default)]
pub(crate) struct Batched {
    pub(crate) token: u64,
    pub(crate) fd: RawFd,
    pub(crate) bytes: Vec<u8>,
    /// The task to be woken if the bytes do not leave, besides those that wait for the source.
    writer: Option<TaskId>,
}

/// The outputs of one loop that wait.
#[derive(Default)]
pub(crate) struct Outbox {
    /// Those after the first `used` are empty buffers to be used again.
    batch: Vec<Batched>,
    used: usize,
    bytes: usize,
    /// By the tokens of the sources whose connections have not asked yet.
    returned: HashMap<u64, Returned>,
}

impl Outbox {
    /// Takes over an output that is bytes alone, and leaves an empty one.
    #[inline]
    pub(crate) fn post(&mut self, token: u64, fd: RawFd, output: &mut Output) {
        self.bytes += output.bytes.len();
        let batched = self.next(token, fd, None);
        mem::swap(&mut batched.bytes, &mut output.bytes);
    }

    /// Copies bytes that a task relays; it is woken if they do not leave.
    #[inline]
    pub(crate) fn post_copy(&mut self, token: u64, fd: RawFd, bytes: &[u8], writer: TaskId) {
        self.bytes += bytes.len();
        let batched = self.next(token, fd, Some(writer));
        batched.bytes.extend_from_slice(bytes);
    }

    #[inline]
    fn next(&mut self, token: u64, fd: RawFd, writer: Option<TaskId>) -> &mut Batched {
        if self.used == self.batch.len() {
            self.batch.push(Batched::default());
        }
        let batched = &mut self.batch[self.used];
        (batched.token, batched.fd, batched.writer) = (token, fd, writer);
        self.used += 1;
        batched
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.used == 0
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.bytes >= BYTES_MAX
    }

    /// Takes the returned output of a source that has the bit [`RETURNED`](super::sources::RETURNED).
    pub(crate) fn take_returned(&mut self, token: u64) -> Option<Returned> {
        self.returned.remove(&token)
    }

    /// Has `send` send each output, and keeps what it returns. Answers the sources of those that did not leave, with the
    /// tasks to be woken.
    #[inline]
    pub(crate) fn empty(
        &mut self,
        mut send: impl FnMut(&Batched) -> Option<Returned>,
    ) -> Vec<(u64, Option<TaskId>)> {
        let mut refused = Vec::new();
        for batched in &mut self.batch[..self.used] {
            if let Some(returned) = send(batched) {
                self.returned.insert(batched.token, returned);
                refused.push((batched.token, batched.writer));
            }
            batched.bytes.clear();
            if batched.bytes.capacity() > 2 * BATCHED_MAX {
                // The loop's own buffer came here after an unusually large exchange.
                batched.bytes = Vec::new();
            }
        }
        (self.used, self.bytes) = (0, 0);
        refused
    }
}
