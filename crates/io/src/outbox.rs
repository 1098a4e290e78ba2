//! Small outputs that leave together: the kernel receives for a group of connections in one run and sends in another,
//! which is gentler to its caches than turn and turn about.
//!
//! ```text
//!   closure ──> loop's output ──swapped──> letter: whose, bytes ──(end of the group)──> kernel
//!                                                                                  └─ what it refused comes back
//! ```
//!
//! **Invariant:** the connection of every letter is alive, and its source has the bit [`POSTED`]. A connection sends,
//! reads on and ends only after the outbox was emptied.
//!
//! **Invariant:** the outbox is empty whenever a task is not being polled, so nothing waits for the poll, a timer or mail.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::mem;
use std::os::fd::RawFd;

use crate::core::Core;
use crate::output::Output;
use crate::source::{self, RETURNED};
use crate::{Error, sys};

/// Bytes of an output that may wait. A larger one costs so much by itself that company saves it nothing.
pub(crate) const LETTER_MAX: usize = 8 << 10;
/// Bytes that wait before they are sent without waiting for the group's end.
const BYTES_MAX: usize = 48 << 10;

/// What did not leave.
pub(crate) enum Returned {
    /// The kernel refused these bytes. They count as held by the loop.
    Refused(Vec<u8>),
    Failed(Error),
}

#[derive(Default)]
struct Letter {
    token: u64,
    fd: RawFd,
    bytes: Vec<u8>,
}

/// The outputs of one loop that wait.
#[derive(Default)]
pub(crate) struct Outbox {
    /// Those after the first `used` are empty buffers to be used again.
    letters: Vec<Letter>,
    used: usize,
    bytes: usize,
    /// By the tokens of the sources whose connections have not asked yet.
    returned: HashMap<u64, Returned>,
}

impl Outbox {
    /// Takes over an output that is bytes alone, and leaves an empty one.
    #[inline]
    pub(crate) fn post(&mut self, token: u64, fd: RawFd, output: &mut Output) {
        if self.used == self.letters.len() {
            self.letters.push(Letter::default());
        }
        let letter = &mut self.letters[self.used];
        (letter.token, letter.fd) = (token, fd);
        mem::swap(&mut letter.bytes, &mut output.bytes);
        self.bytes += letter.bytes.len();
        self.used += 1;
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.used == 0
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.bytes >= BYTES_MAX
    }

    /// What came back to the connection of a source that has the bit [`RETURNED`].
    pub(crate) fn take_returned(&mut self, token: u64) -> Option<Returned> {
        self.returned.remove(&token)
    }
}

/// Sends everything that waits.
pub(crate) fn empty(core: &Core) {
    let mut unlucky = Vec::new();
    {
        let outbox = &mut *core.outbox.borrow_mut();
        for letter in &mut outbox.letters[..outbox.used] {
            let returned = send(core, letter);
            core.sources.borrow_mut().left(letter.token, returned.is_none());
            if let Some(returned) = returned {
                outbox.returned.insert(letter.token, returned);
                unlucky.push(letter.token);
            }
            letter.bytes.clear();
            if letter.bytes.capacity() > 2 * LETTER_MAX {
                // The loop's own buffer came here after an unusually large turn.
                letter.bytes = Vec::new();
            }
        }
        (outbox.used, outbox.bytes) = (0, 0);
    }
    for token in unlucky {
        source::signal(core, token, RETURNED);
    }
}

#[inline]
fn send(core: &Core, letter: &Letter) -> Option<Returned> {
    match sys::send(letter.fd, &letter.bytes) {
        Ok(count) if count == letter.bytes.len() => None,
        Ok(count) => Some(refused(core, &letter.bytes[count..])),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Some(refused(core, &letter.bytes)),
        Err(error) => Some(Returned::Failed(Error::system("send")(error))),
    }
}

#[cold]
fn refused(core: &Core, bytes: &[u8]) -> Returned {
    match core.hold(0, bytes.len()) {
        Ok(()) => Returned::Refused(bytes.to_vec()),
        Err(error) => Returned::Failed(error),
    }
}
