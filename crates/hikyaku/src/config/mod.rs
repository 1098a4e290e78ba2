//! The configuration: the file's values, the flags over them, the defaults under both.
//!
//! **Invariant**: only this crate reads configuration, and a [`Config`] that was handed out has no fault that could be
//! found without binding a socket or allocating a store.

pub(crate) mod fault;
pub(crate) mod files;
pub(crate) mod listen;
mod overrides;
mod reader;
mod spelling;
pub(crate) mod store;
pub(crate) mod tls;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use io::Address;
use kv::CAPACITY_MAX;
use toml::de::DeTable;

use fault::{Faults, Origin};
use listen::{DEFAULT_STORE, Listener};
pub(crate) use overrides::Flags;
use reader::{Lines, Located, Section, auto_or_count, text};
use store::Store;

use crate::system::privileges;
use crate::system::workers::WORKERS_MAX;

/// Everything that can be said about a daemon.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// Worker threads; `None`: one per core.
    pub(crate) workers: Option<usize>,
    /// Where durable stores will be.
    pub(crate) data: PathBuf,
    /// The user to become after binding.
    pub(crate) user: Option<Located<String>>,
    pub(crate) stores: BTreeMap<String, Store>,
    pub(crate) listeners: Vec<Listener>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            workers: None,
            data: PathBuf::from("hikyaku-data"),
            user: None,
            stores: BTreeMap::new(),
            listeners: vec![Listener::at(listen::default_address(), Origin::Default)],
        }
    }
}

/// The configuration of the file, if there is one, under the flags.
pub(crate) fn load(file: Option<&Path>, flags: &Flags) -> Result<Config, Faults> {
    let mut faults = Faults::of(&file.unwrap_or(Path::new("")).display().to_string());
    let mut config = match file {
        Some(file) => read(file, &mut faults),
        None => Config::default(),
    };
    flags.apply(&mut config, &mut faults);
    connect(&mut config, &mut faults);
    flags.apply_capacity(&mut config, &mut faults);
    check_stores(&config, &mut faults);
    check_folders(&config, &mut faults);
    check_user(&config, &mut faults);
    files::check(&config, &mut faults);
    faults.or(config)
}

/// Reads the file; what is wrong is noted and counts as absent.
fn read(file: &Path, faults: &mut Faults) -> Config {
    let source = match std::fs::read_to_string(file) {
        Ok(source) => source,
        Err(error) => {
            faults.add(
                Origin::Line(1),
                format!("the file cannot be read ({error}); name a readable file"),
            );
            return Config::default();
        }
    };
    let lines = Lines::of(&source);
    let (document, broken) = DeTable::parse_recoverable(&source);
    let noted = RefCell::new(std::mem::take(faults));
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut root = Section::root(document.get_ref(), &lines, &noted);
    let config = read_root(&mut root, folder);
    root.finish();
    *faults = noted.into_inner();
    note_syntax(&source, &lines, &broken, faults);
    config
}

/// Notes syntax errors. After a broken `[table` keys seem to belong to another table, so the faults found there are dropped
/// until the line is mended.
fn note_syntax(source: &str, lines: &Lines, broken: &[toml::de::Error], faults: &mut Faults) {
    let origins = broken
        .iter()
        .map(|error| lines.at(error.span().map_or(0, |span| span.start)));
    let is_header =
        |origin: &Origin| matches!(origin, Origin::Line(line) if line_of(source, *line).starts_with('['));
    if let Some(first) = origins.clone().filter(is_header).min() {
        faults.forget_from(&first);
    }
    for (error, origin) in broken.iter().zip(origins) {
        faults.add(origin, syntax(error.message()));
    }
}

fn line_of(source: &str, line: usize) -> &str {
    source.lines().nth(line - 1).unwrap_or_default().trim_start()
}

/// What the TOML parser says, in the words of a fault.
fn syntax(message: &str) -> String {
    let message = message.trim().replace('\n', ", ");
    match message.split_once(", expected ") {
        Some((what, right)) => format!("{what}; {right} is expected here"),
        None if message.contains("duplicate") => format!("{message}; keep one of the two"),
        None => format!("{message}; write KEY = VALUE, with texts in quotes, or a [TABLE]"),
    }
}

fn read_root(root: &mut Section<'_>, folder: &Path) -> Config {
    let default = Config::default();
    let workers = root
        .take("workers", |value| bounded(auto_or_count(value)?))
        .and_then(|workers| workers.value);
    let data = root
        .take("data", text)
        .map_or(default.data, |data| PathBuf::from(data.value));
    let user = root.take("user", text);
    let stores = root
        .tables("store")
        .into_iter()
        .filter_map(|(name, section)| Some((name, store::read(section)?)));
    let stores = stores.collect();
    let has_listeners = root.holds("listen");
    let listeners = root
        .rows("listen")
        .into_iter()
        .flat_map(|section| listen::read(section, folder))
        .collect();
    root.later("site", "[[site]]");
    root.later("topics", "[topics]");
    root.later("groups", "[groups]");
    Config {
        workers,
        data,
        user,
        stores,
        listeners: if has_listeners {
            listeners
        } else {
            default.listeners
        },
    }
}

/// A thread is started for each, so that a slip of the hand must not ask for a million.
fn bounded(workers: Option<usize>) -> Result<Option<usize>, String> {
    match workers {
        Some(count) if count > WORKERS_MAX => {
            Err(format!("{count} are too many; write at most {WORKERS_MAX}"))
        }
        workers => Ok(workers),
    }
}

/// Sees that listeners find their stores and do not stand on each other's address.
fn connect(config: &mut Config, faults: &mut Faults) {
    let mut needs_default = false;
    for (index, listener) in config.listeners.iter().enumerate() {
        if config.listeners[..index]
            .iter()
            .any(|earlier| clash(&earlier.address, &listener.address))
        {
            let text = format!(
                "address: {} is another listener's already; give this one its own",
                listener.address
            );
            faults.add(listener.origin.clone(), text);
        }
        let store = &listener.store;
        if store.value == DEFAULT_STORE {
            needs_default = true;
        } else if !config.stores.contains_key(&store.value) {
            faults.add(
                store.origin.clone(),
                unknown_store(&store.value, config.stores.keys().map(String::as_str)),
            );
        }
    }
    if config.listeners.is_empty() && faults.is_empty() {
        faults.add(
            Origin::Line(1),
            "no listener is configured; write a [[listen]] or leave listen out",
        );
    }
    if needs_default && !config.stores.contains_key(DEFAULT_STORE) {
        match Store::unsaid() {
            Ok(store) => drop(config.stores.insert(DEFAULT_STORE.to_owned(), store)),
            Err(text) => faults.add(Origin::Default, text),
        }
    }
}

/// Notes stores of flags whose values do not fit together, and stores that do not fit into the address space together.
fn check_stores(config: &Config, faults: &mut Faults) {
    for store in config.stores.values() {
        if let (Origin::Flag(_), Err(text)) = (&store.origin, store.check()) {
            faults.add(store.origin.clone(), text);
        }
    }
    let capacity = |store: &Store| store.specification.capacity();
    let sum = config
        .stores
        .values()
        .fold(0, |sum: u64, store| sum.saturating_add(capacity(store)));
    let largest = config.stores.values().max_by_key(|store| capacity(store));
    if let Some(largest) = largest
        && capacity(largest) <= CAPACITY_MAX
        && sum > CAPACITY_MAX
    {
        let text = format!("the stores together have {sum} bytes; at most 32TiB fit into the address space");
        faults.add(largest.origin.clone(), text);
    }
}

/// Notes stores that share a folder, and stores within another one's folder: each would take the other's files for damage.
fn check_folders(config: &Config, faults: &mut Faults) {
    let stores = config.stores.iter();
    let folders: Vec<_> = stores
        .filter_map(|(name, store)| Some((name, store, config.data.join(store.specification.folder()?))))
        .collect();
    for (index, (_, store, folder)) in folders.iter().enumerate() {
        let mut others = folders[..index].iter();
        if let Some((other, _, theirs)) = others.find(|(_, _, theirs)| nested(folder, theirs)) {
            let (folder, theirs) = (folder.display(), theirs.display());
            let text = format!(
                "uri: {folder} and {theirs} of store {other:?} overlap; give each a folder of its own"
            );
            faults.add(store.origin.clone(), text);
        }
    }
}

fn nested(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// Notes a user that the system does not know.
fn check_user(config: &Config, faults: &mut Faults) {
    let Some(user) = &config.user else { return };
    if let Err(error @ privileges::Error::Unknown(_)) = privileges::find(&user.value) {
        faults.add(user.origin.clone(), format!("user: {error}"));
    }
}

/// Port 0 is a different port each time.
fn clash(one: &Address, other: &Address) -> bool {
    one == other && !matches!(one, Address::Tcp(address) if address.port() == 0)
}

fn unknown_store<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    match known.is_empty() {
        true => format!("there is no store {name:?}; write a [store.{name}]"),
        false => format!(
            "there is no store {name:?}; {}",
            spelling::remedy(name, known.into_iter())
        ),
    }
}
