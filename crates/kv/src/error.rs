//! Errors of building a store ([`Error`]) and of using it ([`StoreError`]).

/// Why a store could not be built from its name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The scheme or file suffix names no engine.
    #[error(
        "{name:?} names no kind of store; use memory:, hash:PATH or tree:PATH, or Tokyo Cabinet's *, PATH.tch or PATH.tcb"
    )]
    UnknownKind {
        /// The given text.
        name: String,
    },
    /// The engine exists in the design but isn't part of this version.
    #[error("{kind} stores are not in this version; use memory:, hash:PATH or tree:PATH")]
    NotInThisVersion {
        /// The engine's name.
        kind: &'static str,
    },
    /// A key that no store has.
    #[error("unknown key {key:?}; a {kind} store has {known}")]
    UnknownKey {
        /// The given text.
        key: String,
        /// The engine's name.
        kind: &'static str,
        /// The keys that exist, for the message.
        known: &'static str,
    },
    /// A key with two values.
    #[error("{key:?} is given twice; give it once")]
    Repeated {
        /// The key.
        key: String,
    },
    /// A known key with a value that makes no sense.
    #[error("{key}={value}: {reason}")]
    BadValue {
        /// The key.
        key: String,
        /// The given text.
        value: String,
        /// The reason, and a remedy.
        reason: String,
    },
    /// The name isn't of the form `scheme:path?key=value&key=value`.
    #[error("{uri:?}: {reason}")]
    Malformed {
        /// The given text.
        uri: String,
        /// The reason, and a remedy.
        reason: &'static str,
    },
    /// The operating system refused the memory.
    #[error("cannot reserve {bytes} bytes of address space: {source}; a smaller capacity may fit")]
    Memory {
        /// How much was asked for.
        bytes: u64,
        /// The system's error.
        source: std::io::Error,
    },
    /// A file of a store is damaged, or not the store's.
    #[error("{}: {reason}; restore the store's folder from a copy, or move it away", path.display())]
    Damaged {
        /// The file.
        path: std::path::PathBuf,
        /// The evidence.
        reason: String,
    },
    /// The files of a store cannot be opened.
    #[error(transparent)]
    Log(#[from] log::Error),
}

/// Why an operation could not be done. The store is unchanged then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The item exceeds `item_size_max`.
    #[error("an item of {size} bytes exceeds the limit of {max}")]
    TooLarge {
        /// The size of the item, counted as memcached counts it.
        size: u64,
        /// The limit.
        max: u64,
    },
    /// Nothing more fits and nothing may be (or could be) evicted.
    #[error("out of memory")]
    OutOfMemory,
    /// The share of the capacity that values may take while they're being received is used up.
    #[error("too many large values are being received")]
    UploadsFull,
    /// A capacity that this store can't be given at run time.
    #[error("a capacity of {capacity} bytes is out of bounds; this store can have {min} to {max}")]
    CapacityOutOfBounds {
        /// The capacity that was asked for.
        capacity: u64,
        /// The least that's possible.
        min: u64,
        /// The most that's possible: what the machine had when the store was opened.
        max: u64,
    },
    /// The device failed.
    #[error("the store's device failed: {0}")]
    Io(std::io::ErrorKind),
    /// The bytes that the device has are not those that were written, or the item may be among records that are lost.
    #[error("the store's log is damaged here; see hikyaku log verify")]
    Damaged,
    /// The device has no room left, or less than the store keeps in reserve.
    #[error("the store's device is full")]
    Full,
    /// The store cannot be reached, was closed, or takes no writes any more since a commit failed.
    #[error("the store is unavailable")]
    Unavailable,
    /// The key is longer than [`KEY_LENGTH_MAX`](crate::KEY_LENGTH_MAX).
    #[error("a key of {length} bytes exceeds the limit of 255")]
    KeyTooLong {
        /// Its length.
        length: usize,
    },
}

impl From<&log::Error> for StoreError {
    fn from(error: &log::Error) -> StoreError {
        use std::io::ErrorKind;
        match error {
            log::Error::Full { .. } => StoreError::Full,
            log::Error::Failed { .. } => StoreError::Unavailable,
            log::Error::Io { source, .. } | log::Error::Denied { source, .. } => {
                StoreError::Io(source.kind())
            }
            log::Error::Corrupt { .. } | log::Error::Missing { .. } => StoreError::Damaged,
            _ => StoreError::Io(ErrorKind::Other),
        }
    }
}
