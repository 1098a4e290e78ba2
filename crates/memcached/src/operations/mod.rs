//! The effects of commands on items, for all protocols.
//!
//! Each operation is one call of the store, decided in a closure which sees the item as it is at that instant; the
//! protocols in front only choose words for the outcome. Counters and watchers are served here, too.
//!
//! **Invariant:** nothing here appends to an output; the reading commands, whose replies *are* the item, are with
//! their protocols.

pub(crate) mod count;
mod failure;
pub(crate) mod number;
pub(crate) mod remove;
pub(crate) mod write;

use std::cell::OnceCell;
use std::sync::Arc;

use kv::{Access, Answer, Commit, Decision, Engine, Entry, Key, Need, Now, Reader, Store, StoreError};

pub(crate) use failure::{Failure, StoreFailure};

use crate::counters::Counters;
use crate::endpoint::{Endpoint, Login};
use crate::service::Service;
use crate::waits::Waits;
use crate::watch::{Kinds, line};

/// Bytes of large values that one exchange may copy before the connection lets others have their turn. A command that copies
/// more is the last one of its exchange.
const EXCHANGE_BYTES_MAX: u64 = 1 << 20;

/// The context of the requests of one exchange.
#[derive(Clone, Copy)]
pub(crate) struct Exchange<'s> {
    pub(crate) service: &'s Service,
    pub(crate) endpoint: &'s Endpoint,
    pub(crate) counters: &'s Counters,
    pub(crate) now: Now,
    /// The kinds of events that any watcher wants.
    pub(crate) watched: Kinds,
    /// Whether `stats detail` is on.
    pub(crate) detailed: bool,
    /// The connection's number.
    pub(crate) connection: u32,
    /// What [`kv::bytes_moved`] was when the exchange began.
    pub(crate) bytes_moved: u64,
    /// What the connection will have to wait for after the exchange.
    pub(crate) waits: &'s OnceCell<Box<Waits>>,
}

impl<'s> Exchange<'s> {
    /// Returns true if the commands of this exchange copied more than an exchange may.
    #[inline]
    pub(crate) fn has_moved_enough(&self) -> bool {
        self.moved() > EXCHANGE_BYTES_MAX
    }

    /// Bytes of large values that the commands of this exchange copied.
    #[inline]
    pub(crate) fn moved(&self) -> u64 {
        kv::bytes_moved() - self.bytes_moved
    }

    /// The expiry that a client's `exptime` stands for.
    pub(crate) fn expiry(&self, exptime: i64) -> kv::Expiry {
        self.service.clock.expiry(exptime, self.now)
    }

    pub(crate) fn store(&self) -> &'s Store {
        &self.service.store
    }

    /// Reads an item, counting as an access.
    #[inline]
    pub(crate) fn read<R>(
        &self,
        key: &Key<'_>,
        need: Need,
        f: impl FnOnce(Option<&Entry<'_>>) -> R,
    ) -> Result<R, Failure> {
        self.settle(self.store().read(key, self.access(need), f))
    }

    /// As [`read`](Exchange::read), inlined into every engine ([`Store::read_by`]).
    #[inline]
    pub(crate) fn read_by<R: Reader>(
        &self,
        key: &Key<'_>,
        need: Need,
        reader: R,
    ) -> Result<R::Answer, Failure> {
        self.settle(self.store().read_by(key, self.access(need), reader))
    }

    /// Reads an item without counting as an access.
    pub(crate) fn peek<R>(
        &self,
        key: &Key<'_>,
        need: Need,
        f: impl FnOnce(Option<&Entry<'_>>) -> R,
    ) -> Result<R, Failure> {
        self.settle(self.store().peek(key, self.access(need), f))
    }

    /// The one read-modify-write; answers what the closure answered and the cas afterwards.
    #[inline]
    pub(crate) fn update<'v, R>(
        &self,
        key: &Key<'_>,
        need: Need,
        f: impl FnMut(Option<&Entry<'_>>) -> (Decision<'v>, R),
    ) -> Result<(R, u64), Failure> {
        let stored = self.settle(self.store().update(key, self.access(need), f))?;
        self.written(stored.commit);
        Ok((stored.answer, stored.cas))
    }

    /// Notes a write, whose reply has to wait for its commit.
    #[inline]
    pub(crate) fn written(&self, commit: Commit) {
        if !commit.is_none() {
            self.waits().add(commit);
        }
    }

    #[inline]
    fn access(&self, need: Need) -> Access<'s> {
        Access {
            now: self.now,
            need,
            warm: self.waits.get().map(|waits| &waits.warm),
        }
    }

    #[inline]
    fn settle<R>(&self, answer: Result<Answer<R>, StoreError>) -> Result<R, Failure> {
        match answer {
            Ok(Answer::Ready(answer)) => Ok(answer),
            Ok(Answer::Cold) => {
                self.waits().set_cold();
                Err(Failure::Cold)
            }
            Err(error) => Err(Failure::Store(error.into())),
        }
    }

    #[cold]
    pub(crate) fn waits(&self) -> &'s Waits {
        self.waits.get_or_init(Box::default)
    }

    /// The login of a client, if it is who it claims to be.
    pub(crate) fn log_in(&self, name: &[u8], password: &[u8]) -> Option<Arc<Login>> {
        let login = self.endpoint.log_in(name, password);
        self.counters.auth_cmds.add(1);
        self.counters.auth_errors.add(u64::from(login.is_none()));
        login
    }

    /// Counts one lookup and reports it to watchers.
    #[inline]
    pub(crate) fn looked_up(&self, key: &[u8], found: Option<u64>) {
        let counter = if found.is_some() {
            &self.counters.get_hits
        } else {
            &self.counters.get_misses
        };
        counter.add(1);
        self.tell_lookup(key, found);
    }

    /// Counts one lookup that changes the expiry and reports it to watchers.
    pub(crate) fn touched(&self, key: &[u8], found: Option<u64>) {
        let counter = if found.is_some() {
            &self.counters.touch_hits
        } else {
            &self.counters.touch_misses
        };
        counter.add(1);
        self.tell_lookup(key, found);
    }

    #[inline]
    fn tell_lookup(&self, key: &[u8], found: Option<u64>) {
        if self.detailed {
            self.service.detail.get(key, found.is_some());
        }
        self.watch_lookup(key, found);
    }

    /// Reports a lookup to watchers, also one that is part of another command.
    #[inline]
    fn watch_lookup(&self, key: &[u8], found: Option<u64>) {
        if self.watched.has(Kinds::FETCHERS) {
            self.service.hub.publish(Kinds::FETCHERS, |out, id| {
                line::item_get(out, id, key, found, self.connection)
            });
        }
    }
}
