//! Why an operation was not carried out.

use std::fmt;
use std::io::ErrorKind;

use kv::StoreError;

/// Why an operation was not carried out. Nothing was changed, counted or told to watchers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It has to wait for a device or another machine, and is carried out by a later exchange.
    Cold,
    /// The store failed.
    Store(StoreFailure),
}

/// What a client is told of a [`StoreError`]: two bytes, so that the outcomes of operations, which are copied often, stay small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreFailure {
    TooLarge,
    NoMemory,
    Io(ErrorKind),
    Damaged,
    Full,
    Unavailable,
}

impl Failure {
    /// A change of an item for which a cache has no memory looks to its client as if the item were gone.
    pub(crate) fn or_miss<R: Default>(self) -> Result<R, Failure> {
        match self {
            Failure::Store(StoreFailure::NoMemory) => Ok(R::default()),
            failure => Err(failure),
        }
    }
}

impl From<StoreError> for StoreFailure {
    #[cold]
    fn from(error: StoreError) -> StoreFailure {
        match error {
            StoreError::TooLarge { .. } | StoreError::KeyTooLong { .. } => StoreFailure::TooLarge,
            StoreError::Io(kind) => StoreFailure::Io(kind),
            StoreError::Damaged => StoreFailure::Damaged,
            StoreError::Full => StoreFailure::Full,
            StoreError::Unavailable => StoreFailure::Unavailable,
            _ => StoreFailure::NoMemory,
        }
    }
}

impl fmt::Display for StoreFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreFailure::TooLarge => out.write_str("object too large for cache"),
            StoreFailure::NoMemory => out.write_str("out of memory"),
            StoreFailure::Io(kind) => StoreError::Io(*kind).fmt(out),
            StoreFailure::Damaged => StoreError::Damaged.fmt(out),
            StoreFailure::Full => StoreError::Full.fmt(out),
            StoreFailure::Unavailable => StoreError::Unavailable.fmt(out),
        }
    }
}
