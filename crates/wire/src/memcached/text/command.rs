//! What a command line says.

use super::{Error, Keys, Words};
use crate::memcached::meta::Meta;

/// A command line, parsed. Keys and words are borrowed from the input.
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
    /// Commands that tune what memcached is made of.
    Admin(Admin<'a>),
}

/// Which of the reading commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GetVerb {
    /// Values.
    Get,
    /// Values with their cas.
    Gets,
    /// Values, touched.
    Gat,
    /// Values with their cas, touched.
    Gats,
}

impl GetVerb {
    /// Whether the reply carries the cas.
    #[inline]
    pub fn with_cas(self) -> bool {
        matches!(self, GetVerb::Gets | GetVerb::Gats)
    }

    /// Whether the item gets a new expiry.
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
    /// The new expiry of `gat` and `gats`, else 0.
    pub exptime: i64,
    /// The keys; each within [`KEY_LENGTH_MAX`](crate::memcached::KEY_LENGTH_MAX).
    pub keys: Keys<'a>,
    /// False when the line is long and its end not in view yet: no `END` is due, and what follows is to be read by
    /// [`parse_keys`](super::parse_keys).
    pub complete: bool,
}

/// More keys of a long line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRun<'a> {
    /// The keys.
    pub keys: Keys<'a>,
    /// True when the line ends with them.
    pub complete: bool,
}

/// Which of the storing commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreVerb {
    /// Whatever is there.
    Set,
    /// Only if nothing is there.
    Add,
    /// Only if something is there.
    Replace,
    /// After what is there.
    Append,
    /// Before what is there.
    Prepend,
    /// Only if nobody changed it since.
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
    /// Bytes of the value, without the line end after it.
    pub length: u64,
    /// The cas of `cas`, else 0.
    pub cas: u64,
    /// No reply is wanted, not even to a bad data block.
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
    /// `incr` rather than `decr`.
    pub increment: bool,
    /// The key.
    pub key: &'a [u8],
    /// By how much.
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
    /// When; zero and below mean now. An error here is answered only where flushing is allowed at all, as memcached
    /// looks at the permission first.
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
    /// Whether to drain first. An error here is answered only where shutting down is allowed at all.
    pub graceful: Result<bool, Error>,
    /// No reply is wanted.
    pub noreply: bool,
}

/// `cache_memlimit <megabytes> [noreply]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheMemlimit {
    /// The new bound.
    pub megabytes: u32,
    /// No reply is wanted.
    pub noreply: bool,
}

/// Which of the tuning commands.
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

/// A tuning command with its arguments as they came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admin<'a> {
    /// Which command.
    pub verb: AdminVerb,
    /// What follows it.
    pub words: Words<'a>,
    /// No reply is wanted.
    pub noreply: bool,
}
