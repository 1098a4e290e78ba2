//! The trait that every store implements, and the small types of its signatures.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::{Decision, Entry, Extent, Now, Observation, Observer, Statistics, StoreError};

/// A key with its hash, made by [`Engine::key`]. The hash is seeded per process, so that no client can aim at a bucket.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) hash: u64,
}

impl<'a> Key<'a> {
    /// The key's bytes.
    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The key's hash, which differs from process to process.
    #[inline]
    pub fn hash(&self) -> u64 {
        self.hash
    }
}

/// An answer that is there, or will be.
///
/// The closures of [`Engine::read`], [`peek`](Engine::peek) and [`update`](Engine::update) may borrow from their caller, and
/// only they can make the answer. A future that outlives the call can't hold them, so no engine can answer these calls
/// later, however it's written:
///
/// ```compile_fail,E0310
/// fn later<R: Send>(f: impl FnOnce() -> R + Send) -> kv::Answer<R> {
///     kv::Answer::Later(Box::pin(async { f() }))
/// }
/// ```
///
/// Engines that wait for a device will get calls of their own, with keys and closures that are owned.
pub enum Answer<R> {
    /// There already.
    Ready(R),
    /// On its way, from a device or another machine.
    Later(Pin<Box<dyn Future<Output = R> + Send>>),
}

impl<R> Answer<R> {
    /// The answer, if it's there already. The memory engine's always is.
    #[inline]
    pub fn ready(self) -> Option<R> {
        match self {
            Answer::Ready(answer) => Some(answer),
            Answer::Later(_) => None,
        }
    }
}

impl<R> std::fmt::Debug for Answer<R> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Answer::Ready(_) => "Answer::Ready",
            Answer::Later(_) => "Answer::Later",
        })
    }
}

/// A place in a [`scan`](Engine::scan). The default is the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor(pub(crate) u64);

/// A store of items.
///
/// All methods may be called from any thread at any time. Calls for one key are linearizable: each happens wholly before or
/// wholly after every other.
pub trait Engine: Send + Sync {
    /// Hashes a key.
    fn key<'a>(&self, bytes: &'a [u8]) -> Key<'a>;

    /// Starts loading the index line of a key that is about to be used.
    fn prefetch(&self, key: &Key<'_>);

    /// Starts loading the item's lines; useful some time after [`prefetch`](Engine::prefetch).
    fn prefetch_item(&self, key: &Key<'_>);

    /// Runs `f` with what is stored. Expired and flushed items are `None`. Counts as an access, after `f` has run.
    ///
    /// `f` runs under the item's lock: it should copy what it needs and return. It must not call the store.
    fn read<R>(&self, key: &Key<'_>, now: Now, f: impl FnOnce(Option<&Entry<'_>>) -> R) -> Answer<R>;

    /// As [`read`](Engine::read), without counting as an access.
    fn peek<R>(&self, key: &Key<'_>, now: Now, f: impl FnOnce(Option<&Entry<'_>>) -> R) -> Answer<R>;

    /// The one read-modify-write, atomic for the key. Answers with what `f` answered and the item's CAS afterwards (0 if there
    /// is no item).
    ///
    /// `f` may be called more than once, when room has to be made between; only its last answer counts.
    /// It runs under the item's lock and must not call the store.
    fn update<'v, R>(
        &self,
        key: &Key<'_>,
        now: Now,
        f: impl FnMut(Option<&Entry<'_>>) -> (Decision<'v>, R),
    ) -> Answer<Result<(R, u64), StoreError>>;

    /// The length from which on values should be received into a [`reserve`](Engine::reserve)d extent, and are handed out as
    /// [`Value::Shared`](crate::Value::Shared).
    fn large_value(&self) -> u64;

    /// What [`update`](Engine::update) would say to a value of this length under this key: `Ok`, `TooLarge`, `KeyTooLong`.
    /// Lets a caller refuse a body before receiving it.
    fn fits(&self, key_length: usize, value_length: u64) -> Result<(), StoreError>;

    /// Memory for a value that is about to be received. It counts against the capacity; dropping it frees it.
    fn reserve(&self, length: u64, now: Now) -> Result<Extent, StoreError>;

    /// Makes everything that was stored before invisible: at once, or at a second to come (a later call replaces a pending one).
    fn flush(&self, at: Option<u32>, now: Now);

    /// Visits some items, a bounded number of steps, and answers where to go on; `None` at the end.
    ///
    /// An item that is there during the whole scan is seen at least once; while the store grows it may be seen twice, and
    /// while it shrinks more often.
    /// `f` runs under the item's lock and must not call the store.
    fn scan(&self, from: Cursor, steps: usize, now: Now, f: impl FnMut(&Entry<'_>)) -> Option<Cursor>;

    /// Does a bounded amount of housekeeping: drops what has expired or was flushed, frees what is above the capacity.
    /// Answers whether there is more to do.
    fn tick(&self, now: Now, budget: usize) -> bool;

    /// Changes the capacity. A larger one can be used at once. A smaller one is reached step by step, by [`tick`](Engine::tick),
    /// which evicts what has to go and gives the memory back to the system; until then the store takes no more than it has.
    ///
    /// Items that may not be evicted, and values that readers still hold, keep their memory until they go.
    fn resize(&self, capacity: u64) -> Result<(), StoreError>;

    /// Tells `observer` what the store does by itself, until the observation is dropped.
    fn observe(&self, observer: Arc<dyn Observer>) -> Observation;

    /// Figures of now.
    fn statistics(&self) -> Statistics;
}
