//! The effects of commands on items, for all protocols.
//!
//! Each operation is one call of the store, decided in a closure which sees the item as it is at that instant; the
//! protocols in front only choose words for the outcome. Counters and watchers are served here, too.
//!
//! **Invariant:** nothing here appends to an output; the reading commands, whose replies *are* the item, are with
//! their protocols.

pub(crate) mod count;
pub(crate) mod number;
pub(crate) mod remove;
pub(crate) mod write;

use std::sync::Arc;

use kv::{Answer, Decision, Engine, Entry, Key, Now, Store, StoreError};

use crate::counters::Counters;
use crate::endpoint::{Endpoint, Login};
use crate::service::Service;
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

    /// The one read-modify-write; answers what the closure answered and the cas afterwards.
    pub(crate) fn update<'v, R>(
        &self,
        key: &Key<'_>,
        f: impl FnMut(Option<&Entry<'_>>) -> (Decision<'v>, R),
    ) -> Result<(R, u64), StoreError> {
        settled(self.store().update(key, self.now, f))
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

/// The answer of a store that has its items at hand.
///
/// It is the only place of this crate that takes an [`Answer`] apart, and it cannot panic: the closures of `read`, `peek`
/// and `update` borrow from their caller (the output, the request in the input), only they make an answer, and the future
/// of an `Answer::Later` outlives every borrow. So there is no such future for these calls, whatever the engine; see
/// [`Answer`], whose documentation lets the compiler prove it.
///
/// An engine that answers later will have calls which take what they need for good, and the service needs for them:
///
/// - **Replies in the order of the requests.** A request whose answer is not there opens an [`io::Replies`] entry in its
///   place; later requests of the connection go on and their replies queue behind it. The reading commands then write
///   into that reply instead of the exchange's output, so their encoders take the buffer as an argument already.
/// - **Writes in the order of the requests, too,** for one key at least: a `get` after a `set` on the same connection
///   must see it. Either the engine promises it for calls of one thread, or the session waits.
/// - **A bound on open replies a connection**, at which the exchange ends as it does when its output is full.
/// - **Owned exchanges:** `Exchange` borrows the service and the counters; what runs later holds the service's `Arc` instead.
#[inline]
pub(crate) fn settled<R>(answer: Answer<R>) -> R {
    match answer {
        Answer::Ready(answer) => answer,
        Answer::Later(_) => unreachable!("the closure that makes the answer borrows from the caller"),
    }
}
