//! Parsed command lines.

use super::{Error, Keys, Words};
use crate::memcached::meta::Meta;

/// A parsed command line. Keys and words are borrowed from the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command<'a> {
    /// `get`, `gets`, `gat`, `gats`.
    Get(Get<'a>),
    /// `set`, `add`, `replace`, `append`, `prepend`, `cas`: a data block follows.
    Store(Store<'a>),
    /// `delete`.
    Delete(Delete<'a>),
    /// `incr`, `decr`.
    Arithmetic(Arithmetic<'a>),
    /// `touch`.
    Touch(Touch<'a>),
    /// `mg`, `ms` (a data block follows), `md`, `ma`, `mn`, `me`.
    Meta(Meta<'a>),
    /// `flush_all`.
    FlushAll(FlushAll),
    /// `verbosity`.
    Verbosity(Verbosity),
    /// `version`.
    Version,
    /// `quit`.
    Quit,
    /// `shutdown`.
    Shutdown(Shutdown),
    /// `stats` and its arguments.
    Stats(Words<'a>),
    /// `watch` and the names of streams.
    Watch(Words<'a>),
    /// `cache_memlimit`.
    CacheMemlimit(CacheMemlimit),
    /// Commands that tune memcached's internals.
    Admin(Admin<'a>),
}

/// The get commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GetVerb {
    /// Return values.
    Get,
    /// Return values with their cas.
    Gets,
    /// Return values and set a new expiry.
    Gat,
    /// Return values with their cas, and set a new expiry.
    Gats,
}

impl GetVerb {
    /// Returns true if the reply carries the cas.
    #[inline]
    pub fn with_cas(self) -> bool {
        matches!(self, GetVerb::Gets | GetVerb::Gats)
    }

    /// Returns true if the item gets a new expiry.
    #[inline]
    pub fn touches(self) -> bool {
        matches!(self, GetVerb::Gat | GetVerb::Gats)
    }
}

/// `get|gets <key>*` and `gat|gats <exptime> <key>*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Get<'a> {
    /// Which command.
    pub verb: GetVerb,
    /// The new expiry of `gat` and `gats`; 0 for the others.
    pub exptime: i64,
    /// The keys, each at most [`KEY_LENGTH_MAX`](crate::memcached::KEY_LENGTH_MAX) long.
    pub keys: Keys<'a>,
    /// False if the input has not reached the end of a long line: no `END` is due, and
    /// [`parse_keys`](super::parse_keys) reads the rest of it.
    pub complete: bool,
}

/// The storing commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreVerb {
    /// Stores unconditionally.
    Set,
    /// Stores if the key is absent.
    Add,
    /// Stores if the key is present.
    Replace,
    /// Appends to the value.
    Append,
    /// Prepends to the value.
    Prepend,
    /// Stores if the item's cas is unchanged.
    Cas,
}

/// `<verb> <key> <flags> <exptime> <length> [cas] [noreply]`; `length + 2` bytes of data block follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store<'a> {
    /// Which command.
    pub verb: StoreVerb,
    /// The key.
    pub key: &'a [u8],
    /// The client's flags.
    pub flags: u32,
    /// The expiry as sent; negative is expired at once.
    pub exptime: i64,
    /// The length of the value in bytes, without the line end after it.
    pub length: u64,
    /// The cas of `cas`; 0 for the others.
    pub cas: u64,
    /// The client wants no reply, not even to a bad data block.
    pub noreply: bool,
}

/// `delete <key> [0] [noreply]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delete<'a> {
    /// The key.
    pub key: &'a [u8],
    /// No reply is wanted.
    pub noreply: bool,
}

/// `incr|decr <key> <delta> [noreply]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arithmetic<'a> {
    /// True for `incr`, false for `decr`.
    pub increment: bool,
    /// The key.
    pub key: &'a [u8],
    /// The amount to add or subtract.
    pub delta: u64,
    /// No reply is wanted.
    pub noreply: bool,
}

/// `touch <key> <exptime> [noreply]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touch<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The new expiry as sent.
    pub exptime: i64,
    /// No reply is wanted.
    pub noreply: bool,
}

/// `flush_all [delay] [noreply]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlushAll {
    /// The delay in seconds; zero and below mean now. A server reports an error here only if it allows flushing, since
    /// memcached checks the permission first.
    pub delay: Result<i64, Error>,
    /// No reply is wanted.
    pub noreply: bool,
}

/// `verbosity <level> [noreply]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verbosity {
    /// The level as sent.
    pub level: u32,
    /// No reply is wanted.
    pub noreply: bool,
}

/// `shutdown [graceful]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shutdown {
    /// True if the server is to drain first. A server reports an error here only if it allows shutting down.
    pub graceful: Result<bool, Error>,
    /// No reply is wanted.
    pub noreply: bool,
}

/// `cache_memlimit <megabytes> [noreply]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheMemlimit {
    /// The new capacity.
    pub megabytes: u32,
    /// No reply is wanted.
    pub noreply: bool,
}

/// The tuning commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdminVerb {
    /// `lru`.
    Lru,
    /// `lru_crawler`.
    LruCrawler,
    /// `slabs`.
    Slabs,
    /// `extstore`.
    Extstore,
    /// `refresh_certs`.
    RefreshCertificates,
}

/// A tuning command with its unparsed arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admin<'a> {
    /// Which command.
    pub verb: AdminVerb,
    /// Its arguments.
    pub words: Words<'a>,
    /// No reply is wanted.
    pub noreply: bool,
}
