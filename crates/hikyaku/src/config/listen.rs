//! `[[listen]]`: where clients connect, and what they may do there.

use std::path::{Path, PathBuf};
use std::time::Duration;

use io::Address;

use super::fault::Origin;
use super::reader::{Located, Section, auto_or_count, boolean, duration, file_in, parsed, text};
use super::{spelling, tls};
use crate::address;

/// The store that listeners lead to unless they name another.
pub(crate) const DEFAULT_STORE: &str = "default";

/// Which protocols a memcached listener answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Whichever a client's first byte speaks.
    #[default]
    Auto,
    Text,
    Binary,
}

/// One `[[listen]]` of memcached, at one of the addresses that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listener {
    pub(crate) address: Address,
    /// The text that `address` was resolved from, if that has several.
    pub(crate) name: Option<String>,
    pub(crate) store: Located<String>,
    pub(crate) dialect: Dialect,
    /// `None`: what the open-file limit allows.
    pub(crate) connections_max: Option<usize>,
    /// Zero: never.
    pub(crate) idle_timeout: Duration,
    pub(crate) drain_timeout: Duration,
    /// A file of `name:password` lines; without it everyone may do everything.
    pub(crate) users: Option<Located<PathBuf>>,
    pub(crate) shutdown: bool,
    pub(crate) flush: bool,
    pub(crate) watch: bool,
    pub(crate) dump: bool,
    /// Permission bits of a Unix socket; `None` leaves it to the umask.
    pub(crate) mode: Option<u32>,
    pub(crate) tls: Option<tls::Tls>,
    /// Where it was written, for errors that show when it is opened.
    pub(crate) origin: Origin,
}

impl Listener {
    /// A listener with an address, and defaults for the rest.
    pub(crate) fn at(address: Address, origin: Origin) -> Listener {
        Listener {
            address,
            name: None,
            store: Located {
                value: DEFAULT_STORE.to_owned(),
                origin: Origin::Default,
            },
            dialect: Dialect::Auto,
            connections_max: None,
            idle_timeout: Duration::ZERO,
            drain_timeout: Duration::from_secs(10),
            users: None,
            shutdown: false,
            flush: true,
            watch: true,
            dump: true,
            mode: None,
            tls: None,
            origin,
        }
    }

    /// Compares two listeners but for their users, which a reload replaces.
    pub(crate) fn says_the_same(&self, other: &Listener) -> bool {
        self.without_origins() == other.without_origins()
    }

    /// Returns true if the listeners differ in nothing but their addresses and users, so that they share a service.
    pub(crate) fn serves_alike(&self, other: &Listener) -> bool {
        let only = |listener: &Listener| Listener {
            address: default_address(),
            name: None,
            mode: None,
            tls: None,
            drain_timeout: Duration::ZERO,
            ..listener.without_origins()
        };
        only(self) == only(other)
    }

    fn without_origins(&self) -> Listener {
        let store = Located {
            value: self.store.value.clone(),
            origin: Origin::Default,
        };
        Listener {
            store,
            tls: self.tls.as_ref().map(tls::Tls::without_origins),
            users: None,
            origin: Origin::Default,
            ..self.clone()
        }
    }
}

/// Reads one `[[listen]]`; a name with several addresses makes several listeners. `folder` holds relative files. Empty if it
/// cannot be used; the faults are noted.
pub(crate) fn read(section: Section<'_>, folder: &Path) -> Vec<Listener> {
    let Some((addresses, listener)) = read_one(section, folder) else {
        return Vec::new();
    };
    named(&addresses, &listener)
}

/// The listener at each of the addresses.
pub(crate) fn named(addresses: &Addresses, listener: &Listener) -> Vec<Listener> {
    let name = (addresses.all.len() > 1).then(|| addresses.text.clone());
    let at = |address: &Address| Listener {
        address: address.clone(),
        name: name.clone(),
        ..listener.clone()
    };
    addresses.all.iter().map(at).collect()
}

fn read_one(mut section: Section<'_>, folder: &Path) -> Option<(Addresses, Listener)> {
    match section.take("protocol", text) {
        Some(protocol) if protocol.value == "memcached" => {}
        Some(protocol) => {
            section.fault(protocol.origin, wrong_protocol(&protocol.value));
            return None;
        }
        None => {
            let origin = section.origin();
            section.fault(
                origin,
                "a [[listen]] has no protocol; write protocol = \"memcached\"",
            );
            return None;
        }
    }
    let wrong = section.holds("address");
    let address = section.take("address", parsed(addresses));
    let origin = address
        .as_ref()
        .map_or_else(|| section.origin(), |address| address.origin.clone());
    // An address that is wrong must not clash with another listener's.
    let unsaid = if wrong {
        Address::Tcp(([127, 0, 0, 1], 0).into())
    } else {
        default_address()
    };
    let default = Listener::at(unsaid.clone(), origin);
    let mode = section.take("mode", parsed(mode));
    let said = address.as_ref().map(|address| address.value.all.as_slice());
    if let (Some(mode), Some([Address::Tcp(_), ..])) = (&mode, said) {
        section.fault(
            mode.origin.clone(),
            "mode: only a Unix socket has permissions; remove it",
        );
    }
    let listener = Listener {
        store: section.take("store", text).unwrap_or(default.store),
        dialect: section
            .take("dialect", parsed(dialect))
            .map_or(default.dialect, value),
        connections_max: section
            .take("connections_max", auto_or_count)
            .and_then(|count| count.value),
        idle_timeout: section
            .take("idle_timeout", duration)
            .map_or(default.idle_timeout, value),
        drain_timeout: section
            .take("drain_timeout", duration)
            .map_or(default.drain_timeout, value),
        users: section.take("users", file_in(folder)),
        shutdown: section.take("shutdown", boolean).map_or(default.shutdown, value),
        flush: section.take("flush", boolean).map_or(default.flush, value),
        watch: section.take("watch", boolean).map_or(default.watch, value),
        dump: section.take("dump", boolean).map_or(default.dump, value),
        mode: mode.map(value),
        tls: tls::take(&mut section, folder),
        address: default.address,
        name: None,
        origin: default.origin,
    };
    section.finish();
    let unsaid = Addresses {
        text: unsaid.to_string(),
        all: vec![unsaid],
    };
    Some((address.map_or(unsaid, value), listener))
}

fn value<T>(located: Located<T>) -> T {
    located.value
}

/// The default address of a memcached listener.
pub(crate) fn default_address() -> Address {
    Address::Tcp(std::net::SocketAddr::from(([127, 0, 0, 1], 11211)))
}

/// What an `address` names.
pub(crate) struct Addresses {
    text: String,
    /// At least one.
    all: Vec<Address>,
}

/// An address as flags and files write it.
pub(crate) fn addresses(text: &str) -> Result<Addresses, String> {
    Ok(Addresses {
        all: address::resolve(text)?,
        text: text.to_owned(),
    })
}

fn wrong_protocol(name: &str) -> String {
    match name {
        "http" | "kafka" => format!(
            "protocol {name:?} is not in this version, which speaks memcached; remove this [[listen]]"
        ),
        _ => format!(
            "unknown protocol {name:?}; {}",
            spelling::remedy(name, ["memcached"].into_iter())
        ),
    }
}

fn dialect(text: &str) -> Result<Dialect, String> {
    match text {
        "auto" => Ok(Dialect::Auto),
        "text" => Ok(Dialect::Text),
        "binary" => Ok(Dialect::Binary),
        _ => Err(format!(
            "unknown dialect {text:?}; {}",
            spelling::remedy(text, ["auto", "text", "binary"].into_iter())
        )),
    }
}

fn mode(text: &str) -> Result<u32, String> {
    let bits = u32::from_str_radix(text, 8).ok().filter(|bits| *bits <= 0o777);
    bits.ok_or_else(|| format!("{text:?} is not a mode; write permission bits in octal, such as \"0660\""))
}
