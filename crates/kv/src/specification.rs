//! From a store's name to the store.

use std::path::{Component, Path, PathBuf};

use crate::durability::Sync;
use crate::hash::{Hash, PARTITIONS_MAX, Settings};
use crate::memory::{CAPACITY_MAX, CAPACITY_MIN, ITEM_SIZE_DEFAULT, ITEM_SIZE_MAX, ITEM_SIZE_MIN, Memory};
use crate::{Error, Notice, Size, Store, parse_size};

const MEMORY_KEYS: &str = "capacity, item_size_max and evict";
const HASH_KEYS: &str = "sync, partitions, item_size_max and preallocate";
/// What Tokyo Cabinet's databases take; only `capsiz` has a meaning here.
const TOKYO_MEMORY_KEYS: &str = "capsiz, bnum, capnum, mode";
const TOKYO_HASH_KEYS: &str = "apow, bnum, dfunit, fpow, mode, opts, rcnum, xmsiz";
const TOKYO_MEMORY_MEANINGLESS: [&str; 3] = ["bnum", "capnum", "mode"];
const TOKYO_HASH_MEANINGLESS: [&str; 8] =
    ["apow", "bnum", "dfunit", "fpow", "mode", "opts", "rcnum", "xmsiz"];

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
    item_size_max: Option<u64>,
    notices: Vec<Notice>,
}

/// What only stores of one kind have.
#[derive(Clone, Debug)]
enum Kind {
    Memory {
        capacity: Size,
        evict: bool,
    },
    Hash {
        path: PathBuf,
        sync: Sync,
        partitions: Option<u32>,
        preallocate: bool,
    },
}

impl Specification {
    /// Reads a URI (`memory:?capacity=1GiB&item_size_max=2MiB&evict=false`, `hash:PATH?sync=commit`) or a Tokyo Cabinet name
    /// (`*#capsiz=1024m`, `PATH.tch#bnum=1000000`).
    pub fn parse(uri: &str) -> Result<Self, Error> {
        if let Some((kind, tuning)) = tokyo(uri)? {
            return Specification::tokyo(uri, kind, tuning);
        }
        if let Some(kind) = not_in_this_version(uri) {
            return Err(Error::NotInThisVersion { kind });
        }
        let malformed = |reason| Error::Malformed {
            uri: uri.to_owned(),
            reason,
        };
        let (rest, query) = uri.split_once('?').unwrap_or((uri, ""));
        let kind = match rest.split_once(':') {
            Some(("memory", "")) => Kind::memory(),
            Some(("memory", _)) => {
                return Err(malformed(
                    "a memory store has no path; keys follow a question mark: memory:?capacity=1GiB",
                ));
            }
            Some(("hash", "")) => {
                return Err(malformed("a hash store needs the path of its folder: hash:PATH"));
            }
            Some(("hash", path)) => Kind::hash(path_within(uri, path)?),
            _ => return Err(Error::UnknownKind { name: uri.to_owned() }),
        };
        let mut specification = Specification::new(kind);
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

    fn new(kind: Kind) -> Specification {
        Specification {
            kind,
            item_size_max: None,
            notices: Vec::new(),
        }
    }

    fn tokyo(uri: &str, kind: Kind, tuning: &str) -> Result<Self, Error> {
        let malformed = |reason| Error::Malformed {
            uri: uri.to_owned(),
            reason,
        };
        let (name_of_kind, known, meaningless) = match kind {
            Kind::Memory { .. } => (
                "Tokyo Cabinet memory",
                TOKYO_MEMORY_KEYS,
                &TOKYO_MEMORY_MEANINGLESS[..],
            ),
            Kind::Hash { .. } => ("Tokyo Cabinet hash", TOKYO_HASH_KEYS, &TOKYO_HASH_MEANINGLESS[..]),
        };
        let mut specification = Specification::new(kind);
        let mut given = Vec::new();
        for pair in tuning.split('#').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair
                .split_once('=')
                .ok_or_else(|| malformed("every name needs a value: #name=value"))?;
            once(&mut given, name)?;
            match &mut specification.kind {
                Kind::Memory { capacity, .. } if name == "capsiz" => *capacity = size(name, value)?,
                _ if meaningless.contains(&name) => specification.notices.push(Notice::Ignored {
                    name: name.to_owned(),
                    value: value.to_owned(),
                }),
                _ => {
                    return Err(Error::UnknownKey {
                        key: name.to_owned(),
                        kind: name_of_kind,
                        known,
                    });
                }
            }
        }
        Ok(specification)
    }

    /// Sets one key, as a configuration file does.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), Error> {
        match (key, &mut self.kind) {
            ("item_size_max", _) => self.item_size_max = Some(item_size(key, value)?),
            ("capacity", Kind::Memory { capacity, .. }) => *capacity = size(key, value)?,
            ("evict", Kind::Memory { evict, .. }) => *evict = switch(key, value)?,
            ("preallocate", Kind::Hash { preallocate, .. }) => *preallocate = switch(key, value)?,
            ("sync", Kind::Hash { sync, .. }) => {
                *sync = Sync::named(value)
                    .ok_or_else(|| bad(key, value, "it's none, interval or commit".to_owned()))?;
            }
            ("partitions", Kind::Hash { partitions, .. }) => {
                let number = value
                    .parse()
                    .ok()
                    .filter(|number| (1..=PARTITIONS_MAX).contains(number));
                let reason = || format!("it's from 1 to {PARTITIONS_MAX}");
                *partitions = Some(number.ok_or_else(|| bad(key, value, reason()))?);
            }
            (_, kind) => {
                let (kind, known) = kind.described();
                return Err(Error::UnknownKey {
                    key: key.to_owned(),
                    kind,
                    known,
                });
            }
        }
        Ok(())
    }

    /// Remarks about the name.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The folder of a store on a device, absolute or relative to the data folder; `None` for a store in memory.
    pub fn folder(&self) -> Option<&Path> {
        match &self.kind {
            Kind::Memory { .. } => None,
            Kind::Hash { path, .. } => Some(path),
        }
    }

    /// The capacity in bytes; a percentage is taken of the memory that this process may use. A store on a device has none: 0.
    pub fn capacity(&self) -> u64 {
        match &self.kind {
            Kind::Memory { capacity, .. } => capacity.bytes(),
            Kind::Hash { .. } => 0,
        }
    }

    /// Checks that the values fit together, without reserving memory or opening files.
    ///
    /// # Errors
    /// [`Error::BadValue`] if the capacity is out of bounds or smaller than two items.
    pub fn check(&self) -> Result<(), Error> {
        let capacity = match &self.kind {
            Kind::Memory { capacity, .. } => capacity.bytes(),
            Kind::Hash { .. } => return Ok(()),
        };
        let refuse = |reason| Err(bad("capacity", &format!("{capacity} bytes"), reason));
        if capacity < CAPACITY_MIN {
            return refuse(format!("at least {CAPACITY_MIN} are needed"));
        }
        if capacity > CAPACITY_MAX {
            return refuse("at most 32TiB fit into the address space".to_owned());
        }
        let half = capacity / 2;
        let item_size_max = self.item_size_max_within(capacity);
        if item_size_max > half {
            let reason = format!("at most half of the capacity, {half} bytes, is possible");
            return Err(bad("item_size_max", &format!("{item_size_max} bytes"), reason));
        }
        Ok(())
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
    /// if files cannot be opened.
    pub fn open_under(&self, folder: &Path) -> Result<(Store, Vec<Notice>), Error> {
        self.check()?;
        match &self.kind {
            Kind::Memory { capacity, evict } => {
                let memory = self.open_memory(capacity.bytes(), *evict)?;
                Ok((Store::Memory(memory), Vec::new()))
            }
            Kind::Hash {
                path,
                sync,
                partitions,
                preallocate,
            } => {
                let settings = Settings {
                    sync: *sync,
                    partitions: *partitions,
                    preallocate: *preallocate,
                    item_size_max: self.item_size_max.unwrap_or(ITEM_SIZE_DEFAULT),
                    ..Settings::default()
                };
                let (hash, reports) = Hash::open(&folder.join(path), settings)?;
                let notices = reports.iter().filter_map(Notice::of_recovery);
                Ok((Store::Hash(hash), notices.collect()))
            }
        }
    }

    fn open_memory(&self, capacity: u64, evict: bool) -> Result<Memory, Error> {
        let item_size_max = self.item_size_max_within(capacity);
        let capacity = usize::try_from(capacity).map_err(|_| {
            bad(
                "capacity",
                &capacity.to_string(),
                "the address space is smaller".to_owned(),
            )
        })?;
        Memory::new(capacity, item_size_max, evict)
    }

    fn item_size_max_within(&self, capacity: u64) -> u64 {
        self.item_size_max.unwrap_or(ITEM_SIZE_DEFAULT.min(capacity / 2))
    }
}

impl Kind {
    /// A quarter of the memory there is.
    fn memory() -> Kind {
        Kind::Memory {
            capacity: Size::Percent(25.0),
            evict: true,
        }
    }

    fn hash(path: PathBuf) -> Kind {
        Kind::Hash {
            path,
            sync: Sync::default(),
            partitions: None,
            preallocate: true,
        }
    }

    /// Its name, and the keys that it has.
    fn described(&self) -> (&'static str, &'static str) {
        match self {
            Kind::Memory { .. } => ("memory", MEMORY_KEYS),
            Kind::Hash { .. } => ("hash", HASH_KEYS),
        }
    }
}

impl Default for Specification {
    /// A quarter of the memory there is.
    fn default() -> Self {
        Specification::new(Kind::memory())
    }
}

/// The kind and the tuning that a name of Tokyo Cabinet means, if it is one.
fn tokyo(uri: &str) -> Result<Option<(Kind, &str)>, Error> {
    let (name, tuning) = uri.split_at(uri.find('#').unwrap_or(uri.len()));
    let kind = match name {
        "*" => Kind::memory(),
        path if path.ends_with(".tch") && !path.starts_with("hash:") => Kind::hash(path_within(uri, path)?),
        _ => return Ok(None),
    };
    Ok(Some((kind, tuning)))
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
    if uri.starts_with("hash:") || uri.starts_with("memory:") {
        return None;
    }
    let schemes = [("tree:", "tree"), ("cassandra:", "cassandra")];
    let suffixes = [(".tcb", "tree"), (".tcf", "fixed-length"), (".tct", "table")];
    let by_scheme = schemes.into_iter().find(|(scheme, _)| uri.starts_with(scheme));
    let by_suffix = suffixes.into_iter().find(|(suffix, _)| path.ends_with(suffix));
    let by_name = (path == "+").then_some(("+", "on-memory tree"));
    by_scheme.or(by_suffix).or(by_name).map(|(_, kind)| kind)
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
        let specification =
            parse("hash:data/x?sync=commit&partitions=3&item_size_max=2MiB&preallocate=false");
        assert_eq!(
            (specification.capacity(), specification.item_size_max),
            (0, Some(2 << 20))
        );
        let Kind::Hash {
            path,
            sync,
            partitions,
            preallocate,
        } = specification.kind
        else {
            panic!("it is a hash store");
        };
        assert_eq!((path, sync), (PathBuf::from("data/x"), Sync::Commit));
        assert_eq!((partitions, preallocate), (Some(3), false));
        let specification = parse("casket.tch#bnum=1000000#mode=wct");
        assert_eq!(specification.notices().len(), 2);
        assert!(matches!(specification.kind, Kind::Hash { path, .. } if *path == *"casket.tch"));
        for path in ["/srv/a", "/srv/../a", "./a", "a..b/...", "a//b"] {
            let kind = Specification::parse(&format!("hash:{path}")).unwrap().kind;
            assert!(matches!(kind, Kind::Hash { path: kept, .. } if kept == Path::new(path)));
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
            ("hash:x?partitions=0", "from 1 to 256"),
            ("hash:x?capacity=1GiB", "a hash store has sync"),
            ("memory:?sync=commit", "a memory store has capacity"),
            ("casket.tch#capsiz=1", "\"capsiz\""),
        ] {
            let error = Specification::parse(uri).unwrap_err().to_string();
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
        for uri in ["tree:x?compression=zstd", "cassandra://h/k", "x.tcb", "+"] {
            assert!(message(uri).contains("not in this version"), "{uri}");
        }
    }
}
