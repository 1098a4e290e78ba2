//! From a store's name to the store.

use crate::memory::{CAPACITY_MAX, CAPACITY_MIN, ITEM_SIZE_DEFAULT, ITEM_SIZE_MAX, ITEM_SIZE_MIN, Memory};
use crate::{Error, Notice, Size, Store, parse_size};

const MEMORY_KEYS: &str = "capacity, item_size_max and evict";
/// What Tokyo Cabinet's on-memory hash database takes; only `capsiz` has a meaning here.
const TOKYO_MEMORY_KEYS: &str = "capsiz, bnum, capnum, mode";
const TOKYO_MEANINGLESS: [&str; 3] = ["bnum", "capnum", "mode"];

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
    capacity: Size,
    item_size_max: Option<u64>,
    evict: bool,
    notices: Vec<Notice>,
}

impl Specification {
    /// Reads a URI (`memory:?capacity=1GiB&item_size_max=2MiB&evict=false`) or a Tokyo Cabinet name (`*#capsiz=1024m`).
    pub fn parse(uri: &str) -> Result<Self, Error> {
        if let Some(tuning) = tokyo_memory(uri) {
            return Specification::tokyo(uri, tuning);
        }
        if let Some(kind) = not_in_this_version(uri) {
            return Err(Error::NotInThisVersion { kind });
        }
        let Some(rest) = uri.strip_prefix("memory:") else {
            return Err(Error::UnknownKind { name: uri.to_owned() });
        };
        let malformed = |reason| Error::Malformed {
            uri: uri.to_owned(),
            reason,
        };
        let mut specification = Specification::default();
        let mut given = Vec::new();
        let query = match rest.strip_prefix('?') {
            Some(query) => query,
            None if rest.is_empty() => return Ok(specification),
            None => {
                return Err(malformed(
                    "a memory store has no path; keys follow a question mark: memory:?capacity=1GiB",
                ));
            }
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair
                .split_once('=')
                .ok_or_else(|| malformed("every key needs a value: key=value"))?;
            once(&mut given, key)?;
            specification.set(key, value)?;
        }
        Ok(specification)
    }

    fn tokyo(uri: &str, tuning: &str) -> Result<Self, Error> {
        let malformed = |reason| Error::Malformed {
            uri: uri.to_owned(),
            reason,
        };
        let mut specification = Specification::default();
        let mut given = Vec::new();
        for pair in tuning.split('#').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair
                .split_once('=')
                .ok_or_else(|| malformed("every name needs a value: #name=value"))?;
            once(&mut given, name)?;
            if name == "capsiz" {
                specification.capacity = size(name, value)?;
            } else if TOKYO_MEANINGLESS.contains(&name) {
                specification.notices.push(Notice::Ignored {
                    name: name.to_owned(),
                    value: value.to_owned(),
                });
            } else {
                return Err(Error::UnknownKey {
                    key: name.to_owned(),
                    kind: "Tokyo Cabinet memory",
                    known: TOKYO_MEMORY_KEYS,
                });
            }
        }
        Ok(specification)
    }

    /// Sets one key, as a configuration file does.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), Error> {
        match key {
            "capacity" => self.capacity = size(key, value)?,
            "item_size_max" => self.item_size_max = Some(item_size(key, value)?),
            "evict" => {
                self.evict = value
                    .parse()
                    .map_err(|_| bad(key, value, "it's either true or false".to_owned()))?;
            }
            _ => {
                return Err(Error::UnknownKey {
                    key: key.to_owned(),
                    kind: "memory",
                    known: MEMORY_KEYS,
                });
            }
        }
        Ok(())
    }

    /// Remarks about the name.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The capacity in bytes; a percentage is taken of the memory that this process may use.
    pub fn capacity(&self) -> u64 {
        self.capacity.bytes()
    }

    /// Checks that the values fit together, without reserving memory.
    ///
    /// # Errors
    /// [`Error::BadValue`] if the capacity is out of bounds or smaller than two items.
    pub fn check(&self) -> Result<(), Error> {
        let capacity = self.capacity();
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

    /// Builds the store.
    ///
    /// # Errors
    /// Those of [`check`](Specification::check), and [`Error::Memory`] if the system refuses the address space.
    pub fn open(&self) -> Result<Store, Error> {
        self.check()?;
        let capacity = self.capacity();
        let item_size_max = self.item_size_max_within(capacity);
        let capacity = usize::try_from(capacity).map_err(|_| {
            bad(
                "capacity",
                &capacity.to_string(),
                "the address space is smaller".to_owned(),
            )
        })?;
        Ok(Store::Memory(Memory::new(capacity, item_size_max, self.evict)?))
    }

    fn item_size_max_within(&self, capacity: u64) -> u64 {
        self.item_size_max.unwrap_or(ITEM_SIZE_DEFAULT.min(capacity / 2))
    }
}

impl Default for Specification {
    /// A quarter of the memory there is.
    fn default() -> Self {
        Specification {
            capacity: Size::Percent(25.0),
            item_size_max: None,
            evict: true,
            notices: Vec::new(),
        }
    }
}

/// The tuning of Tokyo Cabinet's on-memory hash database, if the name is its.
fn tokyo_memory(uri: &str) -> Option<&str> {
    let rest = uri.strip_prefix('*')?;
    (rest.is_empty() || rest.starts_with('#')).then_some(rest)
}

/// Kinds of store that a name may mean and that come later.
fn not_in_this_version(uri: &str) -> Option<&'static str> {
    let path = uri.split('#').next().unwrap_or(uri);
    let schemes = [("hash:", "hash"), ("tree:", "tree"), ("cassandra:", "cassandra")];
    let suffixes = [
        (".tch", "hash"),
        (".tcb", "tree"),
        (".tcf", "fixed-length"),
        (".tct", "table"),
    ];
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
        for uri in [
            "hash:default",
            "tree:x?compression=zstd",
            "cassandra://h/k",
            "casket.tch#bnum=1",
            "x.tcb",
            "+",
        ] {
            assert!(message(uri).contains("not in this version"), "{uri}");
        }
    }
}
