//! All engines as one type, told apart statically.

use std::sync::Arc;

use crate::{
    Answer, Cursor, Decision, Engine, Entry, Error, Extent, Key, Memory, Notice, Now, Observation, Observer,
    Specification, Statistics, StoreError,
};

/// A store of any kind.
#[derive(Debug)]
#[non_exhaustive]
pub enum Store {
    /// In memory, evicting.
    Memory(Memory),
}

impl Store {
    /// Builds a store from its name. The notices are for the user who wrote the name.
    pub fn open(uri: &str) -> Result<(Store, Vec<Notice>), Error> {
        let specification = Specification::parse(uri)?;
        Ok((specification.open()?, specification.notices().to_vec()))
    }
}

/// Hands a call to the engine that there is.
macro_rules! dispatch {
    ($store:expr, $engine:ident => $call:expr) => {
        match $store {
            Store::Memory($engine) => $call,
        }
    };
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
    fn read<R>(&self, key: &Key<'_>, now: Now, f: impl FnOnce(Option<&Entry<'_>>) -> R) -> Answer<R> {
        dispatch!(self, engine => engine.read(key, now, f))
    }

    #[inline]
    fn peek<R>(&self, key: &Key<'_>, now: Now, f: impl FnOnce(Option<&Entry<'_>>) -> R) -> Answer<R> {
        dispatch!(self, engine => engine.peek(key, now, f))
    }

    #[inline]
    fn update<'v, R>(
        &self,
        key: &Key<'_>,
        now: Now,
        f: impl FnMut(Option<&Entry<'_>>) -> (Decision<'v>, R),
    ) -> Answer<Result<(R, u64), StoreError>> {
        dispatch!(self, engine => engine.update(key, now, f))
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

    fn flush(&self, at: Option<u32>, now: Now) {
        dispatch!(self, engine => engine.flush(at, now));
    }

    fn scan(&self, from: Cursor, steps: usize, now: Now, f: impl FnMut(&Entry<'_>)) -> Option<Cursor> {
        dispatch!(self, engine => engine.scan(from, steps, now, f))
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
}
