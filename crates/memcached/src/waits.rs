//! The waits of a connection between two exchanges: fetches of cold items, commits of writes.
//!
//! ```text
//!   exchange: set a ─ set b ─ get c (cold)        output "STORED STORED", held; commit 7
//!      │                └─ look ahead: want c, d, e …
//!      ├─ committed(7) ─▶ the output leaves       or, if the commit failed, its replies are replaced by errors
//!      └─ fetch(c, d, e) ─▶ exchange: get c ─ get d ─ get e
//! ```
//!
//! **Invariant:** a connection waits for one commit for all writes of an exchange, and for one fetch for all its cold reads.
//! **Invariant:** while it waits it reads no input, so a client is held up, never buffered for.
//! **Invariant:** a connection has no [`Waits`] while nothing is left to do between two exchanges.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ops::Range;

use io::Output;
use kv::{Commit, StoreError, Warm};
use wire::memcached::binary;
use wire::memcached::binary::Opcode;

use crate::operations::StoreFailure;
use crate::progress::Next;

/// Items that one look ahead fetches at most; the rest of the input waits for the next.
pub(crate) const FETCH_MAX: usize = 1024;

/// The work and the waits that an exchange leaves.
#[derive(Default)]
pub(crate) struct Waits {
    /// The work after the exchange.
    next: Cell<Option<Box<Next>>>,
    /// The fetched entries, and the wants of the next fetch.
    pub(crate) warm: Warm,
    /// The present command was not carried out, because it found something cold.
    cold: Cell<bool>,
    /// The present command has written something that is to be committed.
    wrote: Cell<bool>,
    /// The last point that the output waits for.
    commit: Cell<Commit>,
    /// Replies that are true only if that point is committed.
    promises: RefCell<Vec<Promise>>,
    /// Bytes of input for whose commands items were fetched and that were not consumed since.
    covered: Cell<usize>,
}

/// A reply that says that something was written.
#[derive(Debug)]
struct Promise {
    /// Where it is in the buffer of the output.
    range: Range<usize>,
    protocol: Reply,
}

/// The keys of commands whose turns have not come.
#[derive(Default)]
pub(crate) struct Keys(HashSet<Box<[u8]>>);

impl Keys {
    /// Notes a key; returns true if no earlier command has it.
    pub(crate) fn is_first(&mut self, key: &[u8]) -> bool {
        self.0.insert(key.into())
    }
}

/// How a failure is told in place of a reply.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reply {
    Text,
    Binary { opcode: Opcode, opaque: u32 },
}

/// An output that waits for a commit, and what comes after it.
#[derive(Debug)]
pub(crate) struct Held {
    output: Output,
    promises: Vec<Promise>,
    pub(crate) commit: Commit,
    pub(crate) then: Next,
}

impl Waits {
    /// Notes the work after the exchange.
    pub(crate) fn set_next(&self, next: Next) {
        self.next.set(Some(Box::new(next)));
    }

    /// The work after the exchange.
    pub(crate) fn take_next(&self) -> Option<Box<Next>> {
        self.next.take()
    }

    /// Notes that the present command found something cold.
    pub(crate) fn set_cold(&self) {
        self.cold.set(true);
    }

    /// Returns whether the present command found something cold.
    pub(crate) fn is_cold(&self) -> bool {
        self.cold.get()
    }

    /// Notes that a wait for a fetch begins.
    pub(crate) fn take_cold(&self) -> bool {
        self.cold.take()
    }

    /// Notes a write.
    pub(crate) fn add(&self, commit: Commit) {
        self.commit.set(self.commit.get().max(commit));
        self.wrote.set(true);
    }

    /// Notes where the reply to the present command is, if the command has written something.
    pub(crate) fn promise(&self, range: Range<usize>, protocol: Reply) {
        if self.wrote.take() {
            self.promises.borrow_mut().push(Promise { range, protocol });
        }
    }

    /// Forgets that the present command has written something: its client wants no reply, not even an error.
    pub(crate) fn promise_nothing(&self) {
        self.wrote.set(false);
    }

    /// The point that the present output waits for.
    pub(crate) fn take_commit(&self) -> Option<Commit> {
        let commit = self.commit.take();
        (!commit.is_none()).then_some(commit)
    }

    /// Takes an output that waits for a commit.
    pub(crate) fn hold(&self, commit: Commit, out: &mut Output, then: Next) -> Held {
        Held {
            output: out.take(),
            promises: self.promises.take(),
            commit,
            then,
        }
    }

    /// Notes how much of the input was consumed, and drops entries that were fetched for it and not used. Returns true if the
    /// input that follows has no entries.
    pub(crate) fn consumed(&self, bytes: usize) -> bool {
        let covered = self.covered.get().saturating_sub(bytes);
        self.covered.set(covered);
        if covered == 0 {
            self.warm.clear();
        }
        covered == 0
    }

    /// Bytes of input for whose commands items were fetched.
    pub(crate) fn covered(&self) -> usize {
        self.covered.get()
    }

    /// Notes for how much of the input items are about to be fetched.
    pub(crate) fn cover(&self, bytes: usize) {
        self.covered.set(bytes);
    }

    /// Returns true if nothing is left to wait for or to use.
    pub(crate) fn is_over(&self) -> bool {
        self.warm.is_empty() && self.commit.get().is_none()
    }
}

impl Held {
    /// Bytes of memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.output.held() + self.promises.capacity() * size_of::<Promise>()
    }

    /// The output to send, now that the commit has succeeded or failed.
    pub(crate) fn settle(&mut self, committed: Result<(), StoreError>) -> Output {
        if let Err(error) = committed {
            // From the end, so that earlier ranges stay where they are.
            for promise in self.promises.iter().rev() {
                let mut reply = Vec::new();
                promise.protocol.failure(error.into(), &mut reply);
                self.output.replace(promise.range.clone(), &reply);
            }
        }
        self.output.take()
    }
}

impl Reply {
    /// Appends a failure of the store.
    pub(crate) fn failure(self, error: StoreFailure, out: &mut Vec<u8>) {
        match self {
            Reply::Text => server_error(error, out),
            Reply::Binary { opcode, opaque } => binary::status(out, opcode, opaque, 0, status(error)),
        }
    }
}

/// Appends a failure of the store as a line.
#[cold]
pub(crate) fn server_error(error: StoreFailure, out: &mut Vec<u8>) {
    format::append!(out, "SERVER_ERROR {}\r\n", error.to_string());
}

/// The status of a failure of the store.
#[cold]
pub(crate) fn status(error: StoreFailure) -> binary::Status {
    match error {
        StoreFailure::Io(_) | StoreFailure::Damaged => binary::Status::InternalError,
        StoreFailure::Unavailable => binary::Status::TemporaryFailure,
        StoreFailure::TooLarge => binary::Status::TooLarge,
        StoreFailure::NoMemory | StoreFailure::Full => binary::Status::OutOfMemory,
    }
}
