//! All engines as one type, told apart statically.

use crate::{
    Answer, Cursor, Decision, Engine, Entry, Error, Extent, Key, Notice, Now, Specification, Statistics,
    StoreError,
};

/// A store of any kind.
#[derive(Debug)]
#[non_exhaustive]
pub enum Store {}

impl Store {
    /// Builds a store from its name; the notices should be said once to whoever named it.
    pub fn open(uri: &str) -> Result<(Store, Vec<Notice>), Error> {
        let specification = Specification::parse(uri)?;
        Ok((specification.open()?, specification.notices().to_vec()))
    }
}

impl Engine for Store {
    fn key<'a>(&self, _bytes: &'a [u8]) -> Key<'a> {
        unimplemented!()
    }
    fn prefetch(&self, _key: &Key<'_>) {}
    fn prefetch_item(&self, _key: &Key<'_>) {}
    fn read<R>(&self, _key: &Key<'_>, _now: Now, _f: impl FnOnce(Option<&Entry<'_>>) -> R) -> Answer<R> {
        unimplemented!()
    }
    fn peek<R>(&self, _key: &Key<'_>, _now: Now, _f: impl FnOnce(Option<&Entry<'_>>) -> R) -> Answer<R> {
        unimplemented!()
    }
    fn update<'v, R>(
        &self,
        _key: &Key<'_>,
        _now: Now,
        _f: impl FnMut(Option<&Entry<'_>>) -> (Decision<'v>, R),
    ) -> Answer<Result<(R, u64), StoreError>> {
        unimplemented!()
    }
    fn large_value(&self) -> u64 {
        unimplemented!()
    }
    fn fits(&self, _key_length: usize, _value_length: u64) -> Result<(), StoreError> {
        unimplemented!()
    }
    fn reserve(&self, _length: u64, _now: Now) -> Result<Extent, StoreError> {
        unimplemented!()
    }
    fn flush(&self, _at: Option<u32>, _now: Now) {}
    fn scan(&self, _from: Cursor, _steps: usize, _now: Now, _f: impl FnMut(&Entry<'_>)) -> Option<Cursor> {
        unimplemented!()
    }
    fn tick(&self, _now: Now, _budget: usize) -> bool {
        false
    }
    fn statistics(&self) -> Statistics {
        unimplemented!()
    }
}
