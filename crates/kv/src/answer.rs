//! The results of calls: answers that are there or have to be fetched, and writes that have to be committed.

use std::future::{Future, ready};
use std::pin::Pin;

use crate::StoreError;

/// The result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Answer<R> {
    /// The call was carried out.
    Ready(R),
    /// Nothing was done, because the device or another machine would have to be waited for. The caller
    /// [fetches](crate::Engine::fetch) what it lacks and calls again.
    Cold,
}

impl<R> Answer<R> {
    /// The result of a call that was carried out. The memory engine carries out every call.
    #[inline]
    pub fn ready(self) -> Option<R> {
        match self {
            Answer::Ready(answer) => Some(answer),
            Answer::Cold => None,
        }
    }
}

/// The result of an [`update`](crate::Engine::update).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored<R> {
    /// The closure's last answer.
    pub answer: R,
    /// The item's CAS afterwards; 0 if there is no item.
    pub cas: u64,
    /// The point from which on the write survives what the store promises to survive.
    pub commit: Commit,
}

/// A point in the order of a store's writes. A write is committed when the store is
/// [committed](crate::Engine::committed) up to its point; later points include earlier ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Commit(pub(crate) u64);

impl Commit {
    /// The beginning: always committed. The point of every write to a store that promises nothing more.
    pub const NONE: Commit = Commit(0);

    /// True if there is nothing to wait for.
    #[inline]
    pub fn is_none(self) -> bool {
        self == Commit::NONE
    }
}

/// Waits for a commit. May be dropped at any time.
#[must_use = "futures do nothing unless awaited"]
pub struct Committed {
    future: Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send>>,
}

impl Committed {
    /// A wait for this future.
    pub(crate) fn new(future: impl Future<Output = Result<(), StoreError>> + Send + 'static) -> Committed {
        Committed {
            future: Box::pin(future),
        }
    }

    /// A wait that is over.
    pub(crate) fn done() -> Committed {
        Committed::new(ready(Ok(())))
    }
}

impl Future for Committed {
    type Output = Result<(), StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> std::task::Poll<Self::Output> {
        self.future.as_mut().poll(context)
    }
}

impl std::fmt::Debug for Committed {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Committed")
    }
}
