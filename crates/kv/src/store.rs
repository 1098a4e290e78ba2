//! All engines as one type, told apart statically.

use std::path::Path;
use std::sync::Arc;

use crate::{
    Access, Answer, Commit, Committed, Cursor, Decision, Engine, Entry, Error, Extent, Fetch, Key, Memory,
    Need, Notice, Now, Observation, Observer, Specification, Statistics, StoreError, Stored, Warm,
};

/// A store of any kind.
#[derive(Debug)]
#[non_exhaustive]
#[allow(
    clippy::large_enum_variant,
    reason = "a store is made once, and boxing would cost every call"
)]
pub enum Store {
    /// In memory, evicting.
    Memory(Memory),
    /// In logs on a device.
    Hash(crate::Hash),
    /// In compressed pages on a device, ordered by key.
    Tree(crate::Tree),
    /// In the memory of a thread that answers late and fails on demand, for tests.
    #[cfg(feature = "simulated")]
    Simulated(crate::Simulated),
}

impl Store {
    /// Builds a store from its name, or opens it. The notices are for the user who wrote the name.
    pub fn open(uri: &str) -> Result<(Store, Vec<Notice>), Error> {
        let specification = Specification::parse(uri)?;
        let (store, opened) = specification.open_under(Path::new(""))?;
        Ok((store, [specification.notices(), &opened].concat()))
    }
}

/// Hands a call to the engine that there is.
macro_rules! dispatch {
    ($store:expr, $engine:ident => $call:expr) => {
        match $store {
            Store::Memory($engine) => $call,
            Store::Hash($engine) => $call,
            Store::Tree($engine) => $call,
            #[cfg(feature = "simulated")]
            Store::Simulated($engine) => $call,
        }
    };
}

/// What reads an item: a closure with a name, for [`Store::read_by`].
pub trait Reader {
    /// What it makes of the item.
    type Answer;

    /// Looks at the item, under its lock, as the closure of [`Engine::read`] does. To be inlined always.
    fn see(self, entry: Option<&Entry<'_>>) -> Self::Answer;
}

impl Store {
    /// As [`read`](Engine::read). A closure has one body, which the compiler no longer inlines when several engines call it; the
    /// body of a [`Reader`] becomes a part of each, and an engine then prepares only those parts of the entry that it looks at.
    ///
    /// # Errors
    /// As [`read`](Engine::read).
    #[inline]
    pub fn read_by<'w, R: Reader>(
        &self,
        key: &Key<'_>,
        access: impl Into<Access<'w>>,
        reader: R,
    ) -> Result<Answer<R::Answer>, StoreError> {
        dispatch!(self, engine => engine.read(key, access, |entry| reader.see(entry)))
    }
}

impl Engine for Store {
    #[inline]
    fn key<'a>(&self, bytes: &'a [u8]) -> Key<'a> {
        dispatch!(self, engine => engine.key(bytes))
    }

    #[inline]
    fn prefetch(&self, key: &Key<'_>) {
        dispatch!(self, engine => engine.prefetch(key));
    }

    #[inline]
    fn prefetch_item(&self, key: &Key<'_>) {
        dispatch!(self, engine => engine.prefetch_item(key));
    }

    #[inline]
    fn read<'w, R>(
        &self,
        key: &Key<'_>,
        access: impl Into<Access<'w>>,
        f: impl FnOnce(Option<&Entry<'_>>) -> R,
    ) -> Result<Answer<R>, StoreError> {
        dispatch!(self, engine => engine.read(key, access, f))
    }

    #[inline]
    fn peek<'w, R>(
        &self,
        key: &Key<'_>,
        access: impl Into<Access<'w>>,
        f: impl FnOnce(Option<&Entry<'_>>) -> R,
    ) -> Result<Answer<R>, StoreError> {
        dispatch!(self, engine => engine.peek(key, access, f))
    }

    #[inline]
    fn update<'v, 'w, R>(
        &self,
        key: &Key<'_>,
        access: impl Into<Access<'w>>,
        f: impl FnMut(Option<&Entry<'_>>) -> (Decision<'v>, R),
    ) -> Result<Answer<Stored<R>>, StoreError> {
        dispatch!(self, engine => engine.update(key, access, f))
    }

    fn want(&self, key: &Key<'_>, need: Need, warm: &Warm) {
        dispatch!(self, engine => engine.want(key, need, warm));
    }

    fn fetch(&self, warm: Warm) -> Fetch {
        dispatch!(self, engine => engine.fetch(warm))
    }

    fn sends_conditional_writes(&self) -> bool {
        dispatch!(self, engine => engine.sends_conditional_writes())
    }

    fn begin_commit(&self) {
        dispatch!(self, engine => engine.begin_commit());
    }

    fn sync(&self) -> Result<Commit, StoreError> {
        dispatch!(self, engine => engine.sync())
    }

    fn committed(&self, upto: Commit) -> Committed {
        dispatch!(self, engine => engine.committed(upto))
    }

    #[inline]
    fn is_cache(&self) -> bool {
        dispatch!(self, engine => engine.is_cache())
    }

    fn close(&self) -> Result<(), StoreError> {
        dispatch!(self, engine => engine.close())
    }

    fn large_value(&self) -> u64 {
        dispatch!(self, engine => engine.large_value())
    }

    fn fits(&self, key_length: usize, value_length: u64) -> Result<(), StoreError> {
        dispatch!(self, engine => engine.fits(key_length, value_length))
    }

    fn reserve(&self, length: u64, now: Now) -> Result<Extent, StoreError> {
        dispatch!(self, engine => engine.reserve(length, now))
    }

    fn flush(&self, at: Option<u32>, now: Now) -> Result<Commit, StoreError> {
        dispatch!(self, engine => engine.flush(at, now))
    }

    fn scan<'w>(
        &self,
        from: &Cursor,
        steps: usize,
        access: impl Into<Access<'w>>,
        f: impl FnMut(&Entry<'_>),
    ) -> Result<Answer<Option<Cursor>>, StoreError> {
        dispatch!(self, engine => engine.scan(from, steps, access, f))
    }

    fn tick(&self, now: Now, budget: usize) -> bool {
        dispatch!(self, engine => engine.tick(now, budget))
    }

    fn resize(&self, capacity: u64) -> Result<(), StoreError> {
        dispatch!(self, engine => engine.resize(capacity))
    }

    fn observe(&self, observer: Arc<dyn Observer>) -> Observation {
        dispatch!(self, engine => engine.observe(observer))
    }

    fn statistics(&self) -> Statistics {
        dispatch!(self, engine => engine.statistics())
    }

    fn notices(&self) -> Vec<Notice> {
        dispatch!(self, engine => engine.notices())
    }
}
