//! Storing: set, add, replace, append, prepend, cas, and their combinations in the meta commands.

use kv::{Decision, Edit, Engine, Entry, Expiry, Key, Need, New, Payload};

use super::{Exchange, Failure, StoreFailure};
use crate::clock::seconds_left;
use crate::watch::{Kinds, line};

/// Under which condition, and how, a value is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Set,
    Add,
    Replace,
    Append,
    Prepend,
    /// Only over an item whose cas is [`Write::compare`].
    Cas,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Mode::Set => "set",
            Mode::Add => "add",
            Mode::Replace => "replace",
            Mode::Append => "append",
            Mode::Prepend => "prepend",
            Mode::Cas => "cas",
        }
    }
}

/// A value and how it is to be stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write<'v> {
    pub(crate) mode: Mode,
    pub(crate) value: Payload<'v>,
    pub(crate) flags: u32,
    pub(crate) expiry: Expiry,
    /// The cas that the item must have; 0 names none.
    pub(crate) compare: u64,
    /// The cas that the item gets; else the store's next.
    pub(crate) cas: Option<u64>,
    /// A value that is older than the item is taken all the same, and marked stale.
    pub(crate) allow_stale: bool,
    /// The expiry of an item that append or prepend creates; without it they create none.
    pub(crate) vivify: Option<Expiry>,
    /// Deletes the old item if the new one finds no room.
    pub(crate) forget: bool,
}

impl<'v> Write<'v> {
    /// A write in this mode, without conditions, flags or an end.
    pub(crate) fn new(mode: Mode, value: Payload<'v>) -> Write<'v> {
        Write {
            mode,
            value,
            flags: 0,
            expiry: Expiry::Never,
            compare: 0,
            cas: None,
            allow_stale: false,
            vivify: None,
            forget: mode == Mode::Set,
        }
    }
}

/// How a write ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// The item's cas and the length of its value.
    Stored {
        cas: u64,
        length: u64,
    },
    NotStored,
    Exists,
    NotFound,
    TooLarge,
    NoMemory,
    /// The store failed, or the operation has to be carried out later.
    Failed(Failure),
}

impl Written {
    fn status(self) -> &'static str {
        match self {
            Written::Stored { .. } => "stored",
            Written::NotStored => "not_stored",
            Written::Exists => "exists",
            Written::NotFound => "not_found",
            Written::TooLarge => "too_large",
            Written::NoMemory => "no_memory",
            Written::Failed(_) => "failed",
        }
    }
}

/// How a compare with the item's cas ended.
enum Comparison {
    NotAsked,
    Match,
    Stale,
    Mismatch,
}

/// The outcome for an item.
struct Outcome {
    written: Written,
    compared: bool,
    /// The length of the value that was there.
    found: Option<u64>,
}

impl Exchange<'_> {
    /// Stores a value.
    pub(crate) fn write(&self, key: &Key<'_>, write: &Write<'_>) -> Written {
        let (written, found) = match self.update(key, self.need(write), |entry| decide(entry, write)) {
            Ok((look, cas)) => {
                self.count_comparison(write, &look);
                (look.written.with_cas(cas), look.found)
            }
            Err(Failure::Cold) => return Written::Failed(Failure::Cold),
            Err(Failure::Store(error)) => (self.refused(key, write, error), None),
        };
        self.counters.cmd_set.add(1);
        if self.detailed {
            self.service.detail.set(key.bytes());
        }
        if self.watched != Kinds::NONE {
            self.watch_write(key.bytes(), write, written, found);
        }
        written
    }

    /// What a write needs to see: a plain `set` nothing, unless a watcher is told what was there.
    #[inline]
    fn need(&self, write: &Write<'_>) -> Need {
        match write.mode {
            Mode::Set if self.watched == Kinds::NONE => Need::Nothing,
            _ => Need::Facts,
        }
    }

    /// Refuses a value before it was received, when its length alone is reason enough. `forget` is
    /// [`Write::forget`].
    pub(crate) fn refuse(&self, key: &[u8], mode: Mode, forget: bool, length: u64) -> Option<Written> {
        let error = self.store().fits(key.len(), length).err()?;
        let key = self.store().key(key);
        let written = self.refused_at_start(&key, forget, error.into());
        if self.watched != Kinds::NONE {
            let write = Write::new(mode, Payload::Parts(&[]));
            self.watch_write(key.bytes(), &write, written, None);
        }
        Some(written)
    }

    /// A value was refused. What was there before a `set` must not survive that in a cache: the client would take the old value
    /// for the new one. A store that keeps its items keeps the old one.
    pub(crate) fn refused_at_start(&self, key: &Key<'_>, forget: bool, error: StoreFailure) -> Written {
        if forget && self.store().is_cache() {
            // Removing needs no memory; that it cannot fail is the promise of an engine that is a cache.
            let _ = self.update(key, Need::Nothing, |_| (Decision::Remove, ()));
        }
        let (written, counter) = match error {
            StoreFailure::TooLarge => (Written::TooLarge, &self.counters.store_too_large),
            StoreFailure::NoMemory => (Written::NoMemory, &self.counters.store_no_memory),
            error => return Written::Failed(Failure::Store(error)),
        };
        counter.add(1);
        written
    }

    /// A value that would have fitted by itself and does not together with what was there is only not stored.
    fn refused(&self, key: &Key<'_>, write: &Write<'_>, error: StoreFailure) -> Written {
        let joins = matches!(write.mode, Mode::Append | Mode::Prepend);
        let lacks_room = matches!(error, StoreFailure::TooLarge | StoreFailure::NoMemory);
        if joins && lacks_room && self.store().fits(key.bytes().len(), write.value.len()).is_ok() {
            return Written::NotStored;
        }
        self.refused_at_start(key, write.forget, error)
    }

    fn count_comparison(&self, write: &Write<'_>, look: &Outcome) {
        if write.mode != Mode::Cas {
            return;
        }
        let counter = match look.written {
            Written::NotFound => &self.counters.cas_misses,
            _ if look.compared => &self.counters.cas_hits,
            _ => &self.counters.cas_badval,
        };
        counter.add(1);
    }

    /// memcached's watchers see the lookup that is part of a store, too.
    fn watch_write(&self, key: &[u8], write: &Write<'_>, written: Written, found: Option<u64>) {
        self.watch_lookup(key, found);
        let seconds = match write.expiry {
            Expiry::Never => 0,
            expiry => seconds_left(expiry, self.now),
        };
        let length = write.value.len();
        let store = line::Store {
            status: written.status(),
            command: write.mode.name(),
            seconds,
            length,
        };
        let publish = |out: &mut Vec<u8>, id| line::item_store(out, id, key, &store, self.connection);
        self.service.hub.publish(Kinds::MUTATIONS, publish);
    }
}

impl Written {
    fn with_cas(self, cas: u64) -> Written {
        match self {
            Written::Stored { length, .. } => Written::Stored { cas, length },
            other => other,
        }
    }
}

fn decide<'v>(entry: Option<&Entry<'_>>, write: &Write<'v>) -> (Decision<'v>, Outcome) {
    let (decision, written, compared) = match entry {
        Some(entry) => over(entry, write),
        None => anew(write),
    };
    (
        decision,
        Outcome {
            written,
            compared,
            found: entry.map(Entry::len),
        },
    )
}

fn over<'v>(entry: &Entry<'_>, write: &Write<'v>) -> (Decision<'v>, Written, bool) {
    let comparison = compare(entry, write);
    match (write.mode, comparison) {
        (Mode::Add, _) => (Decision::Keep, Written::NotStored, false),
        (Mode::Set | Mode::Replace, _) => put(write, write.expiry),
        (Mode::Cas, Comparison::Match) => put(write, write.expiry),
        (Mode::Cas, Comparison::Stale) => {
            let new = New {
                stale: true,
                won: entry.won(),
                ..new(write, entry.expiry())
            };
            (Decision::Put(new), stored(write.value.len()), true)
        }
        (Mode::Append | Mode::Prepend, Comparison::NotAsked | Comparison::Match) => {
            let edit = Edit {
                value: write.value,
                cas: write.cas,
            };
            let append = write.mode == Mode::Append;
            let decision = if append {
                Decision::Append(edit)
            } else {
                Decision::Prepend(edit)
            };
            (decision, stored(entry.len() + write.value.len()), false)
        }
        (Mode::Cas | Mode::Append | Mode::Prepend, _) => (Decision::Keep, Written::Exists, false),
    }
}

fn anew<'v>(write: &Write<'v>) -> (Decision<'v>, Written, bool) {
    match (write.mode, write.vivify) {
        (Mode::Set | Mode::Add, _) => put(write, write.expiry),
        (Mode::Append | Mode::Prepend, Some(expiry)) => put(write, expiry),
        (Mode::Cas, _) => (Decision::Keep, Written::NotFound, false),
        (Mode::Replace | Mode::Append | Mode::Prepend, _) => (Decision::Keep, Written::NotStored, false),
    }
}

fn put<'v>(write: &Write<'v>, expiry: Expiry) -> (Decision<'v>, Written, bool) {
    (Decision::Put(new(write, expiry)), stored(write.value.len()), true)
}

fn new<'v>(write: &Write<'v>, expiry: Expiry) -> New<'v> {
    New {
        value: write.value,
        flags: write.flags,
        expiry,
        cas: write.cas,
        stale: false,
        won: false,
    }
}

fn stored(length: u64) -> Written {
    Written::Stored { cas: 0, length }
}

fn compare(entry: &Entry<'_>, write: &Write<'_>) -> Comparison {
    match write.compare {
        0 => Comparison::NotAsked,
        cas if cas == entry.cas() => Comparison::Match,
        cas if write.allow_stale && cas < entry.cas() => Comparison::Stale,
        _ => Comparison::Mismatch,
    }
}
