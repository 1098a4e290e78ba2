//! From a store's name to the store.
//!
//! ```text
//!   hash:PATH?sync=commit          kind, path, keys      every key of a kind may stand in the URI, or beside it in a file
//!   PATH.tch#bnum=1000000          the same by a name of Tokyo Cabinet's
//! ```
//!
//! [`KINDS`] has one line for each kind.

mod tokyo;

use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use crate::durability::Sync;
use crate::hash::{self, Hash, PARTITIONS_MAX};
use crate::memory::{CAPACITY_MAX, CAPACITY_MIN, ITEM_SIZE_DEFAULT, ITEM_SIZE_MAX, ITEM_SIZE_MIN, Memory};
use crate::tree::{self, Tree};
use crate::{Compression, Error, Notice, Size, Store, parse_duration, parse_size};

/// A kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Memory,
    Hash,
    Tree,
}

/// The kinds, each with its name, the keys that it has, and their list for messages.
const KINDS: [(Kind, &str, &[&str], &str); 3] = [
    (
        Kind::Memory,
        "memory",
        &["capacity", "item_size_max", "evict"],
        "capacity, item_size_max and evict",
    ),
    (
        Kind::Hash,
        "hash",
        &[
            "sync",
            "partitions",
            "item_size_max",
            "preallocate",
            "compaction_share",
            "kafka_writes",
            "index_snapshot",
        ],
        "sync, partitions, item_size_max, preallocate, compaction_share, kafka_writes and index_snapshot",
    ),
    (
        Kind::Tree,
        "tree",
        &["sync", "compression", "cache", "item_size_max", "preallocate"],
        "sync, compression, cache, item_size_max and preallocate",
    ),
];

/// The values of all keys. A store reads those of its kind.
#[derive(Clone, Debug)]
struct Values {
    capacity: Size,
    evict: bool,
    item_size_max: Option<u64>,
    sync: Sync,
    partitions: Option<u32>,
    preallocate: bool,
    compaction_percent: u32,
    kafka_writes: bool,
    index_snapshot: Duration,
    compression: Compression,
    cache: Size,
}

impl Default for Values {
    fn default() -> Values {
        Values {
            // A quarter of the memory there is.
            capacity: Size::Percent(25.0),
            evict: true,
            item_size_max: None,
            sync: Sync::default(),
            partitions: None,
            preallocate: true,
            compaction_percent: hash::COMPACTION_PERCENT,
            kafka_writes: false,
            index_snapshot: hash::INDEX_SNAPSHOT,
            compression: Compression::default(),
            cache: Size::Bytes(tree::CACHE_DEFAULT),
        }
    }
}

/// The specification of a store: its parsed name.
///
/// ```
/// let mut specification = kv::Specification::parse("memory:?capacity=1MiB")?;
/// specification.set("item_size_max", "64KiB")?;
/// let store = specification.open()?;
/// # Ok::<(), kv::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Specification {
    kind: Kind,
    /// The folder of a store on a device.
    path: Option<PathBuf>,
    values: Values,
    notices: Vec<Notice>,
}

impl Specification {
    /// Reads a URI (`memory:?capacity=1GiB&item_size_max=2MiB&evict=false`, `hash:PATH?sync=commit`,
    /// `tree:PATH?compression=zstd`) or a Tokyo Cabinet name (`*#capsiz=1024m`, `PATH.tch#bnum=1000000`, `PATH.tcb#opts=d`).
    pub fn parse(uri: &str) -> Result<Self, Error> {
        if let Some(specification) = tokyo::parse(uri)? {
            return Ok(specification);
        }
        let (rest, query) = uri.split_once('?').unwrap_or((uri, ""));
        let named = rest.split_once(':').and_then(|(scheme, path)| {
            let kind = KINDS.into_iter().find(|(_, name, ..)| *name == scheme)?.0;
            Some((kind, path))
        });
        let Some((kind, path)) = named else {
            return Err(match not_in_this_version(uri) {
                Some(kind) => Error::NotInThisVersion { kind },
                None => Error::UnknownKind { name: uri.to_owned() },
            });
        };
        let malformed = |reason| Error::Malformed {
            uri: uri.to_owned(),
            reason,
        };
        let path = match (kind, path) {
            (Kind::Memory, "") => None,
            (Kind::Memory, _) => {
                return Err(malformed(
                    "a memory store has no path; keys follow a question mark: memory:?capacity=1GiB",
                ));
            }
            (Kind::Hash, "") => {
                return Err(malformed("a hash store needs the path of its folder: hash:PATH"));
            }
            (Kind::Tree, "") => {
                return Err(malformed("a tree store needs the path of its folder: tree:PATH"));
            }
            (Kind::Hash | Kind::Tree, path) => Some(path_within(uri, path)?),
        };
        let mut specification = Specification::new(kind, path);
        let mut given = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| malformed("every key needs a value: key=value"))?;
            once(&mut given, key)?;
            specification.set(key, value)?;
        }
        Ok(specification)
    }

    fn new(kind: Kind, path: Option<PathBuf>) -> Specification {
        Specification {
            kind,
            path,
            values: Values::default(),
            notices: Vec::new(),
        }
    }

    /// Sets one key, as a configuration file does.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), Error> {
        let (_, kind, keys, known) = KINDS[self.kind as usize];
        let unknown = || Error::UnknownKey {
            key: key.to_owned(),
            kind,
            known,
        };
        if !keys.contains(&key) {
            return Err(unknown());
        }
        let bad = |reason: &str| bad(key, value, reason.to_owned());
        let values = &mut self.values;
        match key {
            "capacity" => values.capacity = size(key, value)?,
            "cache" => values.cache = size(key, value)?,
            "item_size_max" => values.item_size_max = Some(item_size(key, value)?),
            "evict" => values.evict = switch(key, value)?,
            "preallocate" => values.preallocate = switch(key, value)?,
            "kafka_writes" => values.kafka_writes = switch(key, value)?,
            "index_snapshot" => {
                values.index_snapshot = parse_duration(value).map_err(|reason| bad(&reason))?;
            }
            "compaction_share" => {
                let percent = value.strip_suffix('%').and_then(|digits| digits.parse().ok());
                let percent = percent.filter(|percent| (1..=100).contains(percent));
                values.compaction_percent = percent.ok_or_else(|| bad("it's from 1% to 100%"))?;
            }
            "sync" => {
                let sync = Sync::named(value);
                values.sync = sync.ok_or_else(|| bad("it's none, interval or commit"))?;
            }
            "compression" => {
                let compression = Compression::named(value);
                values.compression = compression.ok_or_else(|| bad("it's none, lz4, zstd or deflate"))?;
            }
            "partitions" => {
                let number = value.parse().ok();
                let number = number.filter(|number| (1..=PARTITIONS_MAX).contains(number));
                let reason = || bad(&format!("it's from 1 to {PARTITIONS_MAX}"));
                values.partitions = Some(number.ok_or_else(reason)?);
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }

    /// Remarks about the name.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The folder of a store on a device, absolute or relative to the data folder; `None` for a store in memory.
    pub fn folder(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// True if the store keeps its items in the order of their keys.
    pub fn is_ordered(&self) -> bool {
        self.kind == Kind::Tree
    }

    /// The capacity in bytes; a percentage is taken of the memory that this process may use. A store on a device has none: 0.
    pub fn capacity(&self) -> u64 {
        match self.kind {
            Kind::Memory => self.values.capacity.bytes(),
            Kind::Hash | Kind::Tree => 0,
        }
    }

    /// Whether producers of Kafka may write to the store's topic. Only a Kafka listener asks.
    pub fn allows_kafka_writes(&self) -> bool {
        self.values.kafka_writes
    }

    /// Checks that the values fit together, without reserving memory or opening files.
    ///
    /// # Errors
    /// [`Error::BadValue`] if the capacity or the cache is out of bounds, or the capacity smaller than two items.
    pub fn check(&self) -> Result<(), Error> {
        match self.kind {
            Kind::Memory => {
                let capacity = self.values.capacity.bytes();
                check_bounds("capacity", capacity)?;
                let half = capacity / 2;
                let item_size_max = self.item_size_max_within(capacity);
                if item_size_max > half {
                    let reason = format!("at most half of the capacity, {half} bytes, is possible");
                    return Err(bad("item_size_max", &format!("{item_size_max} bytes"), reason));
                }
                Ok(())
            }
            Kind::Tree => check_bounds("cache", self.values.cache.bytes()),
            Kind::Hash => Ok(()),
        }
    }

    /// Builds the store, or opens it. The paths of stores on a device are relative to the working directory.
    ///
    /// # Errors
    /// As for [`open_under`](Specification::open_under).
    pub fn open(&self) -> Result<Store, Error> {
        self.open_under(Path::new("")).map(|(store, _)| store)
    }

    /// Builds the store, or opens it. The paths of stores on a device are relative to `folder`. Opening such a store waits for the
    /// device; the notices tell what its recovery did.
    ///
    /// # Errors
    /// Those of [`check`](Specification::check), [`Error::Memory`] if the system refuses the address space, and [`Error::Log`]
    /// or [`Error::Damaged`] if files cannot be opened.
    pub fn open_under(&self, folder: &Path) -> Result<(Store, Vec<Notice>), Error> {
        self.check()?;
        let values = &self.values;
        let path = folder.join(self.path.as_deref().unwrap_or(Path::new("")));
        let item_size_max = values.item_size_max.unwrap_or(ITEM_SIZE_DEFAULT);
        match self.kind {
            Kind::Memory => {
                let memory = self.open_memory()?;
                Ok((Store::Memory(memory), Vec::new()))
            }
            Kind::Hash => {
                let settings = hash::Settings {
                    sync: values.sync,
                    partitions: values.partitions,
                    preallocate: values.preallocate,
                    compaction_percent: values.compaction_percent,
                    index_snapshot: values.index_snapshot,
                    item_size_max,
                    ..hash::Settings::default()
                };
                let (hash, notices) = Hash::open(&path, settings)?;
                Ok((Store::Hash(hash), notices))
            }
            Kind::Tree => {
                let settings = tree::Settings {
                    sync: values.sync,
                    compression: values.compression,
                    cache: values.cache.bytes(),
                    preallocate: values.preallocate,
                    item_size_max,
                    ..tree::Settings::default()
                };
                let (tree, report) = Tree::open(&path, settings)?;
                Ok((
                    Store::Tree(tree),
                    Notice::of_recovery(&report).into_iter().collect(),
                ))
            }
        }
    }

    fn open_memory(&self) -> Result<Memory, Error> {
        let capacity = self.values.capacity.bytes();
        let item_size_max = self.item_size_max_within(capacity);
        let capacity = usize::try_from(capacity).map_err(|_| {
            bad(
                "capacity",
                &capacity.to_string(),
                "the address space is smaller".to_owned(),
            )
        })?;
        Memory::new(capacity, item_size_max, self.values.evict)
    }

    fn item_size_max_within(&self, capacity: u64) -> u64 {
        let default = ITEM_SIZE_DEFAULT.min(capacity / 2);
        self.values.item_size_max.unwrap_or(default)
    }
}

impl Default for Specification {
    /// A memory store of a quarter of the memory there is.
    fn default() -> Self {
        Specification::new(Kind::Memory, None)
    }
}

/// Checks the size of a memory engine.
fn check_bounds(key: &str, bytes: u64) -> Result<(), Error> {
    let refuse = |reason| Err(bad(key, &format!("{bytes} bytes"), reason));
    match bytes {
        ..CAPACITY_MIN => refuse(format!("at least {CAPACITY_MIN} are needed")),
        CAPACITY_MIN..=CAPACITY_MAX => Ok(()),
        _ => refuse("at most 32TiB fit into the address space".to_owned()),
    }
}

/// The path of a store on a device, if it is absolute or stays within the folder that it is relative to. A symbolic link on the
/// way is followed: only the administrator of that folder can have made it.
///
/// # Errors
/// [`Error::Malformed`] if the path leaves that folder, or is the folder itself.
fn path_within(uri: &str, path: &str) -> Result<PathBuf, Error> {
    let path = Path::new(path);
    let names = path.components().any(|part| matches!(part, Component::Normal(_)));
    let leaves = path.is_relative() && path.components().any(|part| part == Component::ParentDir);
    let reason = if leaves {
        "\"..\" leaves the data folder; name a folder within it, or give an absolute path"
    } else if !names {
        "it names no folder of its own; name one within the data folder, as in hash:NAME"
    } else if path.as_os_str().as_encoded_bytes().contains(&0) {
        "a path has no zero byte"
    } else {
        return Ok(path.to_owned());
    };
    Err(Error::Malformed {
        uri: uri.to_owned(),
        reason,
    })
}

/// Kinds of store that a name may mean and that come later.
fn not_in_this_version(uri: &str) -> Option<&'static str> {
    let path = uri.split('#').next().unwrap_or(uri);
    if uri.starts_with("cassandra:") {
        return Some("cassandra");
    }
    let suffixes = [(".tcf", "fixed-length"), (".tct", "table")];
    let by_suffix = suffixes.into_iter().find(|(suffix, _)| path.ends_with(suffix));
    let by_name = (path == "+").then_some(("+", "on-memory tree"));
    by_suffix.or(by_name).map(|(_, kind)| kind)
}

/// A key that is given twice would have one of its values dropped without a word.
fn once<'a>(given: &mut Vec<&'a str>, key: &'a str) -> Result<(), Error> {
    if given.contains(&key) {
        return Err(Error::Repeated { key: key.to_owned() });
    }
    given.push(key);
    Ok(())
}

fn bad(key: &str, value: &str, reason: String) -> Error {
    Error::BadValue {
        key: key.to_owned(),
        value: value.to_owned(),
        reason,
    }
}

fn switch(key: &str, value: &str) -> Result<bool, Error> {
    let bad = |_| bad(key, value, "it's either true or false".to_owned());
    value.parse().map_err(bad)
}

fn size(key: &str, value: &str) -> Result<Size, Error> {
    parse_size(value).map_err(|reason| bad(key, value, reason.to_owned()))
}

fn item_size(key: &str, value: &str) -> Result<u64, Error> {
    match size(key, value)? {
        Size::Bytes(bytes) if (ITEM_SIZE_MIN..=ITEM_SIZE_MAX).contains(&bytes) => Ok(bytes),
        _ => Err(bad(key, value, "it's from 1KiB to 4GiB".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Engine;

    #[test]
    fn uris_and_tokyo_names() {
        let store = Specification::parse("memory:?capacity=4MiB&item_size_max=32k&evict=false")
            .unwrap()
            .open()
            .unwrap();
        let figures = store.statistics();
        assert_eq!((figures.capacity, figures.item_size_max), (4 << 20, 32 << 10));

        let (store, notices) = Store::open("*#bnum=1000000#capsiz=1024m").unwrap();
        assert_eq!(store.statistics().capacity, 1 << 30);
        assert_eq!(
            notices,
            [Notice::Ignored {
                name: "bnum".into(),
                value: "1000000".into()
            }]
        );
        assert!(notices[0].to_string().contains("bnum=1000000"));
        assert!(Specification::parse("memory:").is_ok() && Specification::parse("*").is_ok());
    }

    #[test]
    fn hash_stores_and_their_tokyo_names() {
        let parse = |uri| Specification::parse(uri).unwrap();
        let specification = parse(
            "hash:data/x?sync=commit&partitions=3&item_size_max=2MiB&preallocate=false&compaction_share=40%&kafka_writes=true&index_snapshot=10m",
        );
        assert_eq!(
            (specification.capacity(), specification.values.item_size_max),
            (0, Some(2 << 20))
        );
        assert_eq!(specification.folder(), Some(Path::new("data/x")));
        assert!(specification.allows_kafka_writes());
        let values = specification.values;
        assert_eq!(values.compaction_percent, 40);
        assert_eq!(values.index_snapshot, Duration::from_secs(600));
        assert_eq!((specification.kind, values.sync), (Kind::Hash, Sync::Commit));
        assert_eq!((values.partitions, values.preallocate), (Some(3), false));
        let specification = parse("casket.tch#bnum=1000000#mode=wct");
        assert_eq!(specification.notices().len(), 2);
        assert_eq!(specification.kind, Kind::Hash);
        assert_eq!(specification.folder(), Some(Path::new("casket.tch")));
        for path in ["/srv/a", "/srv/../a", "./a", "a..b/...", "a//b"] {
            for scheme in ["hash", "tree"] {
                let specification = Specification::parse(&format!("{scheme}:{path}")).unwrap();
                assert_eq!(specification.folder(), Some(Path::new(path)));
            }
        }
        for (uri, part) in [
            ("hash:", "hash:PATH"),
            ("hash:../x", "leaves the data folder"),
            ("hash:a/../../x", "an absolute path"),
            ("hash:a/..", "leaves the data folder"),
            ("../casket.tch#bnum=1", "leaves the data folder"),
            ("hash:.", "names no folder of its own"),
            ("hash:/", "names no folder of its own"),
            ("hash:a\0b", "zero byte"),
            ("hash:x?sync=always", "none, interval or commit"),
            ("hash:x?index_snapshot=60", "\"30s\""),
            ("hash:x?partitions=0", "from 1 to 256"),
            ("hash:x?compaction_share=0%", "from 1% to 100%"),
            ("hash:x?compaction_share=101%", "from 1% to 100%"),
            ("hash:x?compaction_share=25", "from 1% to 100%"),
            ("hash:x?kafka_writes=maybe", "true or false"),
            ("memory:?kafka_writes=true", "a memory store has capacity"),
            ("hash:x?capacity=1GiB", "a hash store has sync"),
            ("memory:?sync=commit", "a memory store has capacity"),
            ("casket.tch#capsiz=1", "\"capsiz\""),
        ] {
            let error = Specification::parse(uri).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn tree_stores_and_their_tokyo_names() {
        let parse = |uri| Specification::parse(uri).unwrap();
        let specification = parse("tree:x?sync=none&compression=zstd&cache=1MiB&item_size_max=2MiB");
        assert!(specification.is_ordered() && !parse("hash:x").is_ordered());
        let values = specification.values;
        assert_eq!((values.sync, values.compression), (Sync::None, Compression::Zstd));
        assert_eq!(
            (values.cache.bytes(), values.item_size_max),
            (1 << 20, Some(2 << 20))
        );
        for (uri, compression, notices) in [
            ("casket.tcb", Compression::None, 0),
            ("casket.tcb#opts=d", Compression::Deflate, 0),
            ("casket.tcb#opts=ld#bnum=7#lmemb=128", Compression::Deflate, 2),
            ("casket.tcb#opts=l", Compression::None, 1),
            ("casket.tcb#opts=b", Compression::None, 1),
        ] {
            let specification = parse(uri);
            assert_eq!(specification.folder(), Some(Path::new("casket.tcb")));
            assert_eq!(
                (specification.kind, specification.values.compression),
                (Kind::Tree, compression)
            );
            assert_eq!(specification.notices().len(), notices, "{uri}");
        }
        for (uri, part) in [
            ("tree:", "tree:PATH"),
            ("tree:../x", "leaves the data folder"),
            ("tree:x?compression=gzip", "none, lz4, zstd or deflate"),
            ("tree:x?partitions=3", "a tree store has sync, compression"),
            ("tree:x?cache=1k", "65536"),
            ("hash:x?compression=lz4", "a hash store has sync"),
            ("casket.tcb#opts=z", "l, d, b and t"),
            ("casket.tcb#rcnum=1", "\"rcnum\""),
            ("casket.tcb#opts", "#name=value"),
        ] {
            let error = Specification::parse(uri).and_then(|specification| specification.check());
            let error = error.unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn errors_name_the_thing() {
        let message = |uri: &str| {
            Specification::parse(uri)
                .and_then(|specification| specification.open())
                .unwrap_err()
                .to_string()
        };
        assert!(message("memory:?capcity=1GiB").contains("\"capcity\""));
        assert!(message("*#xmsiz=1").contains("\"xmsiz\""));
        assert!(
            message("memory:?capacity=8MiB&evict=true&capacity=9MiB").contains("\"capacity\" is given twice")
        );
        assert!(message("*#bnum=1#capsiz=1m#bnum=1").contains("\"bnum\" is given twice"));
        assert!(message("memory:?capacity=lots").contains("like 1GiB"));
        assert!(message("memory:?capacity=1k").contains("65536"));
        assert!(message("memory:?capacity=99TiB").contains("32TiB"));
        assert!(message("memory:?capacity=1m&item_size_max=600k").contains("half"));
        assert!(message("memory:?item_size_max=5GiB").contains("4GiB"));
        assert!(message("memory:?evict=perhaps").contains("true or false"));
        assert!(message("memory:/tmp/x").contains("no path"));
        assert!(message("memory:?capacity").contains("key=value"));
        assert!(message("redis:").contains("\"redis:\""));
        for uri in ["cassandra://h/k", "x.tct", "x.tcf#width=9", "+"] {
            assert!(message(uri).contains("not in this version"), "{uri}");
        }
    }
}
