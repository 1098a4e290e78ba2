//! `[store.NAME]`: where values are kept, as a URI whose parameters may also stand beside it as keys.

use kv::Specification;

use super::fault::Origin;
use super::reader::{Section, boolean, count, parsed, text};

/// A store that is kept in memory, of a quarter of what the machine allows.
pub(crate) const DEFAULT_URI: &str = "memory:?capacity=25%";

/// Parameters of a URI that may be keys of the table instead.
const PARAMETERS: [&str; 11] = [
    "capacity",
    "cache",
    "compression",
    "item_size_max",
    "evict",
    "sync",
    "partitions",
    "preallocate",
    "compaction_share",
    "kafka_writes",
    "index_snapshot",
];

/// One store: its URI, with everything that was said beside it.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) specification: Specification,
    /// Where its capacity was written.
    pub(crate) origin: Origin,
    /// The text of the configuration but for the capacity, to compare it with a later one.
    said: String,
}

impl Store {
    /// The store that a URI names.
    pub(crate) fn named(uri: &str, origin: Origin) -> Result<Store, String> {
        let specification = Specification::parse(uri).map_err(|error| fault(&error))?;
        Ok(Store {
            specification,
            origin,
            said: without_capacity(uri),
        })
    }

    /// The store that is used without a `[store.default]`.
    pub(crate) fn unsaid() -> Result<Store, String> {
        Store::named(DEFAULT_URI, Origin::Default)
    }

    /// Checks that the values fit together, such as the largest item and the capacity. Opens nothing.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.specification.check().map_err(|error| fault(&error))
    }

    /// Replaces the capacity.
    pub(crate) fn set_capacity(&mut self, capacity: &str, origin: Origin) -> Result<(), String> {
        self.set("capacity", capacity)?;
        self.origin = origin;
        Ok(())
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        self.specification.set(key, value).map_err(|error| match error {
            kv::Error::BadValue { value, reason, .. } => format!("{value:?} does not fit; {reason}"),
            other => fault(&other),
        })?;
        if key != "capacity" {
            self.said.push_str(&format!(" {key}={value}"));
        }
        Ok(())
    }

    /// Compares two stores but for the capacity, which a running store can change.
    pub(crate) fn says_the_same(&self, other: &Store) -> bool {
        self.said == other.said
    }
}

/// Reads one `[store.NAME]` and notes its faults. A store with a wrong URI keeps its name, so that listeners find it.
pub(crate) fn read(mut section: Section<'_>) -> Option<Store> {
    let named = section.take("uri", parsed(|uri| Store::named(uri, Origin::Default)));
    let origin = named
        .as_ref()
        .map_or_else(|| section.origin(), |named| named.origin.clone());
    let mut store = named.map(|named| named.value).or_else(|| Store::unsaid().ok());
    if let Some(store) = &mut store {
        store.origin = origin.clone();
    }
    let uri = section.text_of("uri").unwrap_or_default();
    // Which keys a store has depends on its kind.
    let kind_known = uri.is_empty() || Specification::parse(uri).is_ok();
    for key in PARAMETERS {
        let twice = parameter(uri, key);
        let mut set = |value: &str| match &mut store {
            _ if twice => Err("stands in the uri too; keep one of the two".to_owned()),
            Some(store) if kind_known => store.set(key, value),
            _ => Ok(()),
        };
        let taken = section.take(key, |value| match boolean(value) {
            Ok(switch) => set(&switch.to_string()),
            Err(_) if key == "partitions" => set(&count(value)?.to_string()),
            Err(_) => set(&text(value)?),
        });
        if let (Some(taken), Some(store), "capacity") = (taken, &mut store, key) {
            store.origin = taken.origin;
        }
    }
    if let Some(Err(text)) = store.as_ref().map(Store::check) {
        let at_capacity = text.starts_with("capacity=");
        let written = store.as_ref().filter(|_| at_capacity);
        section.fault(written.map_or(origin, |store| store.origin.clone()), text);
    }
    section.finish();
    store
}

/// The text of a fault in a name or a value, with its remedy.
fn fault(error: &kv::Error) -> String {
    match error {
        kv::Error::BadValue { key, value, reason } => format!("{key}={value} does not fit; {reason}"),
        kv::Error::Malformed { uri, reason } => format!("{uri:?} is no store; {reason}"),
        other => other.to_string(),
    }
}

/// The URI, or the name of Tokyo Cabinet's, without what it says of the capacity.
fn without_capacity(uri: &str) -> String {
    let is_capacity = |part: &&str| !part.starts_with("capacity=") && !part.starts_with("capsiz=");
    uri.split_inclusive(['?', '&', '#'])
        .filter(is_capacity)
        .collect::<String>()
        .trim_end_matches(['?', '&', '#'])
        .to_owned()
}

/// Tokyo Cabinet's names separate their parameters by `#`, URIs by `?` and `&`.
fn parameter(uri: &str, key: &str) -> bool {
    uri.split(['?', '&', '#'])
        .skip(1)
        .any(|pair| pair.split('=').next() == Some(key))
}

#[cfg(test)]
mod tests {
    use super::{parameter, without_capacity};

    #[test]
    fn the_capacity_is_left_out() {
        assert_eq!(without_capacity("memory:?capacity=1GiB"), "memory:");
        assert_eq!(
            without_capacity("memory:?capacity=1GiB&evict=false"),
            without_capacity("memory:?evict=false&capacity=2GiB")
        );
        assert_eq!(without_capacity("*#capsiz=1024m#bnum=7"), "*#bnum=7");
    }

    #[test]
    fn parameters_are_found_in_either_kind_of_name() {
        assert!(parameter("memory:?item_size_max=2MiB&capacity=1GiB", "capacity"));
        assert!(parameter("*#capacity=1GiB", "capacity"));
        assert!(!parameter("memory:?capacity=1GiB", "item_size_max"));
        assert!(!parameter("memory:capacity", "capacity"));
    }
}
