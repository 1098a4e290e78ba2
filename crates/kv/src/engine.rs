//! The trait that every store implements.
//!
//! One interface serves memory, files and other machines. It has no calls that block and, but for two, no futures:
//!
//! ```text
//!   read / update ──┬─ Ready(answer)          the closure ran under the item's lock, at once
//!                   │    └─ Stored.commit ──▶ committed(upto) ──▶ the reply leaves
//!                   ├─ Cold                   nothing was done: want(key) …, fetch(warm) ──▶ the same call again
//!                   └─ StoreError             nothing was done, and nothing will be
//! ```
//!
//! # Cold reads
//! A closure borrows from its caller, so it cannot be kept for later. Instead, a call that would have to wait does nothing and
//! returns [`Answer::Cold`]. The caller then notes in a [`Warm`] set everything that it is about to ask for
//! ([`want`](Engine::want)), has it fetched at once ([`fetch`](Engine::fetch)), and repeats the call with the set. Fetched entries
//! stay in memory until they have been used or the set is dropped, whatever the page cache does meanwhile, so a repeated call makes
//! progress.
//!
//! A fetched entry is used once for each time it was wanted. A command that arrives after the fetch is never answered from it:
//! the answer would be older than the question. An update by the same caller removes the entry.
//!
//! # Commits
//! An update returns before its bytes are on a device. Its [`Commit`] names the point in the order of writes up to which the store
//! has to be committed before the update survives. Points are ordered, so a caller waits for the last one of many. The engine
//! begins a commit when it is told to ([`begin_commit`](Engine::begin_commit)), which a loop does once at the end of a turn, so
//! that one `fsync` serves every write of the turn.
//!
//! A commit that fails stays failed. The engine refuses all later writes with [`StoreError::Unavailable`], since it is unknown
//! which bytes the device has; it never tries the same bytes again. Reads go on.
//!
//! An update is visible to reads before it is committed, to its own connection and to others. After a power cut such a read may turn
//! out to have seen a write that is gone, as in every store that commits in groups.
//!
//! # Other machines
//! A blind write ([`Need::Nothing`]) to another machine is sent at once; the acknowledgement is its commit. A conditional one takes
//! three passes: the first is cold and fetches the entry; the second runs the closure, sends its decision on the condition that the
//! entry has not changed, and is cold again; the third finds in the set that the decision was applied, runs the closure on the
//! same entry to have its answer once more, and returns. If the condition failed, the set has the new entry, and the second pass is
//! repeated. The conditional writes of several commands are sent together if the caller lets them
//! [begin](Warm::begin_writes) before their turns.
//!
//! # Errors
//! Every call can fail. [`StoreError::Io`], [`Full`](StoreError::Full) and [`Unavailable`](StoreError::Unavailable) must reach the
//! client as errors: a miss would make it overwrite or recompute what is there.

use std::sync::Arc;

use crate::{
    Access, Answer, Commit, Committed, Decision, Entry, Extent, Fetch, Need, Notice, Now, Observation,
    Observer, Statistics, StoreError, Stored, Warm,
};

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

/// The place where a [`scan`](Engine::scan) goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cursor {
    /// The beginning.
    #[default]
    Start,
    /// A place that only the engine understands.
    Number(u64),
    /// Behind a key, whether or not it exists. An engine that keeps no order begins at the start.
    After(Box<[u8]>),
}

/// A store of items.
///
/// All methods may be called from any thread at any time. Calls for one key are linearizable: each happens wholly before or
/// wholly after every other. No method blocks, but [`close`](Engine::close).
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
    ///
    /// # Errors
    /// If the item cannot be read. `f` has not run then, nor if the answer is [`Cold`](Answer::Cold).
    fn read<'w, R>(
        &self,
        key: &Key<'_>,
        access: impl Into<Access<'w>>,
        f: impl FnOnce(Option<&Entry<'_>>) -> R,
    ) -> Result<Answer<R>, StoreError>;

    /// As [`read`](Engine::read), without counting as an access.
    ///
    /// # Errors
    /// As [`read`](Engine::read).
    fn peek<'w, R>(
        &self,
        key: &Key<'_>,
        access: impl Into<Access<'w>>,
        f: impl FnOnce(Option<&Entry<'_>>) -> R,
    ) -> Result<Answer<R>, StoreError>;

    /// The one read-modify-write, atomic for the key.
    ///
    /// `f` may be called more than once, when room has to be made between or a conditional write lost a race, even after the
    /// answer was [`Cold`](Answer::Cold). So it has no effects but its answer, and the same entry gets the same decision. It runs
    /// under the item's lock and must not call the store.
    ///
    /// # Errors
    /// If the write was refused or failed. The item is what it was before.
    fn update<'v, 'w, R>(
        &self,
        key: &Key<'_>,
        access: impl Into<Access<'w>>,
        f: impl FnMut(Option<&Entry<'_>>) -> (Decision<'v>, R),
    ) -> Result<Answer<Stored<R>>, StoreError>;

    /// Notes in the set that a call is about to need this key, unless that call could be carried out at once.
    fn want(&self, key: &Key<'_>, need: Need, warm: &Warm) {
        let _ = (key, need, warm);
    }

    /// Fetches all that is noted in the set, at once, and returns the set with the entries. Errors are entries, too: the call that
    /// needs them returns them.
    fn fetch(&self, warm: Warm) -> Fetch {
        Fetch::done(warm)
    }

    /// True if a conditional write is sent by a fetch of its own, so that it is worth to let those of several commands
    /// [begin](Warm::begin_writes) at once.
    fn sends_conditional_writes(&self) -> bool {
        false
    }

    /// Begins a commit of everything written so far, unless the engine commits by itself.
    fn begin_commit(&self) {}

    /// The point up to which everything written so far is committed.
    fn sync(&self) -> Result<Commit, StoreError> {
        Ok(Commit::NONE)
    }

    /// Waits until the store is committed up to that point. Fails if it will never be.
    fn committed(&self, upto: Commit) -> Committed {
        let _ = upto;
        Committed::done()
    }

    /// True if the store may lose items at will: a refused write then had better remove what it was to replace, since its
    /// client would read the old value for the new one. A store that keeps its items keeps the old one.
    fn is_cache(&self) -> bool;

    /// Commits everything and frees what the store holds outside of this process. All later calls fail with
    /// [`StoreError::Unavailable`], as do those in flight. Blocks; never call it on a loop.
    ///
    /// # Errors
    /// If something that was written could not be committed.
    fn close(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// The length from which on values should be received into a [`reserve`](Engine::reserve)d extent. Only such values are handed
    /// out as [`Value::Shared`](crate::Value::Shared) or [`Value::File`](crate::Value::File).
    fn large_value(&self) -> u64;

    /// What [`update`](Engine::update) would say to a value of this length under this key: `Ok`, `TooLarge`, `KeyTooLong`.
    /// Lets a caller refuse a body before receiving it.
    fn fits(&self, key_length: usize, value_length: u64) -> Result<(), StoreError>;

    /// Memory for a value that is about to be received. It counts against the capacity; dropping it frees it.
    fn reserve(&self, length: u64, now: Now) -> Result<Extent, StoreError>;

    /// Makes everything that was stored before invisible: at once, or at a second to come (a later call replaces a pending one).
    ///
    /// # Errors
    /// If the flush was refused; everything stays visible.
    fn flush(&self, at: Option<u32>, now: Now) -> Result<Commit, StoreError>;

    /// Visits some items, a bounded number of steps, and answers where to go on; `None` at the end.
    ///
    /// An item that is there during the whole scan is seen at least once; while a hash table grows it may be seen twice, and
    /// while it shrinks more often. An ordered engine visits in the order of the keys, so a scan of a prefix begins behind the
    /// prefix's predecessor and ends at the first key without it.
    /// `f` runs under the item's lock and must not call the store.
    ///
    /// # Errors
    /// If items cannot be read. `f` may have run for some.
    fn scan<'w>(
        &self,
        from: &Cursor,
        steps: usize,
        access: impl Into<Access<'w>>,
        f: impl FnMut(&Entry<'_>),
    ) -> Result<Answer<Option<Cursor>>, StoreError>;

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

    /// Notices of work in the background since the last call, for the operator's log.
    fn notices(&self) -> Vec<Notice> {
        Vec::new()
    }
}
