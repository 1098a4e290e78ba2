//! `watch`: streams of what happens in the service, for people who debug their caches.
//!
//! ```text
//! loops ── publish(kind, line) ──► Hub ──► Watcher (bounded buffer) ── notifier ──► exchange of its connection
//! kv::Store ── evicted(item) ───────┘
//! ```
//!
//! **Invariant:** no loop waits for a watcher. A line which finds a watcher's buffer full is dropped for that watcher
//! and counted; the next line that fits is preceded by `skipped=<count>`.
//!
//! **Invariant:** without watchers publishing costs one relaxed load.

pub(crate) mod evictions;
pub(crate) mod line;

use std::mem;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use io::RemoteNotifier;

/// Watchers a service serves at once.
pub(crate) const WATCHERS_MAX: usize = 20;

/// A kind of event; also the mask bit of those who want it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kinds(pub(crate) u32);

impl Kinds {
    pub(crate) const NONE: Kinds = Kinds(0);
    pub(crate) const FETCHERS: Kinds = Kinds(1);
    pub(crate) const MUTATIONS: Kinds = Kinds(2);
    pub(crate) const EVICTIONS: Kinds = Kinds(4);
    pub(crate) const CONNECTIONS: Kinds = Kinds(8);
    pub(crate) const DELETIONS: Kinds = Kinds(16);

    /// The kind that `watch` calls so. Kinds which memcached has and which never happen here are known, too.
    pub(crate) fn named(name: &[u8]) -> Option<Kinds> {
        Some(match name {
            b"fetchers" => Kinds::FETCHERS,
            b"mutations" => Kinds::MUTATIONS,
            b"evictions" => Kinds::EVICTIONS,
            b"connevents" => Kinds::CONNECTIONS,
            b"deletions" => Kinds::DELETIONS,
            b"rawcmds" | b"sysevents" | b"proxyreqs" | b"proxyevents" | b"proxyuser" => Kinds::NONE,
            _ => return None,
        })
    }

    pub(crate) fn with(self, other: Kinds) -> Kinds {
        Kinds(self.0 | other.0)
    }

    pub(crate) fn has(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }
}

/// Where events meet their watchers.
#[derive(Debug)]
pub(crate) struct Hub {
    wanted: AtomicU32,
    events: AtomicU64,
    sent: AtomicU64,
    skipped: AtomicU64,
    buffer_size: usize,
    watchers: Mutex<Vec<Arc<Watcher>>>,
}

impl Hub {
    pub(crate) fn new(buffer_size: usize) -> Hub {
        Hub {
            wanted: AtomicU32::new(0),
            events: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            skipped: AtomicU64::new(0),
            buffer_size,
            watchers: Mutex::default(),
        }
    }

    /// The kinds that any watcher wants now.
    pub(crate) fn wanted(&self) -> Kinds {
        Kinds(self.wanted.load(Ordering::Relaxed))
    }

    /// Appends one line, which `write` makes of the event's number, for everyone who watches `kind`.
    pub(crate) fn publish(&self, kind: Kinds, write: impl FnOnce(&mut Vec<u8>, u64)) {
        if !self.wanted().has(kind) {
            return;
        }
        let mut line = Vec::with_capacity(256);
        write(&mut line, self.events.fetch_add(1, Ordering::Relaxed) + 1);
        for watcher in self.watchers().iter().filter(|watcher| watcher.kinds.has(kind)) {
            let counter = if watcher.push(&line, self.buffer_size) {
                &self.sent
            } else {
                &self.skipped
            };
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Adds a watcher, unless there are [`WATCHERS_MAX`]. It is notified when there are lines for it.
    pub(crate) fn subscribe(
        self: &Arc<Self>,
        kinds: Kinds,
        notifier: RemoteNotifier,
    ) -> Option<Subscription> {
        let mut watchers = self.watchers();
        if watchers.len() == WATCHERS_MAX {
            return None;
        }
        let watcher = Arc::new(Watcher {
            kinds,
            notifier,
            pending: Mutex::default(),
        });
        watchers.push(watcher.clone());
        self.recount(&watchers);
        Some(Subscription {
            hub: self.clone(),
            watcher,
            taken: Vec::new(),
        })
    }

    /// Watchers, lines sent and lines skipped.
    pub(crate) fn counts(&self) -> (u64, u64, u64) {
        let watchers = self.watchers().len() as u64;
        (
            watchers,
            self.sent.load(Ordering::Relaxed),
            self.skipped.load(Ordering::Relaxed),
        )
    }

    fn recount(&self, watchers: &[Arc<Watcher>]) {
        let wanted = watchers
            .iter()
            .fold(Kinds::NONE, |wanted, watcher| wanted.with(watcher.kinds));
        self.wanted.store(wanted.0, Ordering::Relaxed);
    }

    fn watchers(&self) -> MutexGuard<'_, Vec<Arc<Watcher>>> {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct Watcher {
    kinds: Kinds,
    notifier: RemoteNotifier,
    pending: Mutex<Pending>,
}

#[derive(Debug, Default)]
struct Pending {
    lines: Vec<u8>,
    skipped: u64,
}

impl Watcher {
    /// Returns false if the line found no room.
    fn push(&self, line: &[u8], size: usize) -> bool {
        let mut pending = self.pending();
        let notice = if pending.skipped > 0 {
            format!("skipped={}\n", pending.skipped)
        } else {
            String::new()
        };
        if pending.lines.len() + notice.len() + line.len() > size {
            pending.skipped += 1;
            return false;
        }
        pending.skipped = 0;
        // Lines that are there already have notified the connection, which takes all at once.
        let first = pending.lines.is_empty();
        pending.lines.extend_from_slice(notice.as_bytes());
        pending.lines.extend_from_slice(line);
        drop(pending);
        if first {
            self.notifier.notify();
        }
        true
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A watcher's own end; dropping it ends the subscription.
#[derive(Debug)]
pub(crate) struct Subscription {
    hub: Arc<Hub>,
    watcher: Arc<Watcher>,
    /// The lines taken last; its memory is used again.
    taken: Vec<u8>,
}

impl Subscription {
    /// Takes all lines that there are. The watcher's lock is held only to exchange two buffers.
    pub(crate) fn take(&mut self) -> &[u8] {
        self.taken.clear();
        mem::swap(&mut self.taken, &mut self.watcher.pending().lines);
        &self.taken
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut watchers = self.hub.watchers();
        watchers.retain(|watcher| !Arc::ptr_eq(watcher, &self.watcher));
        self.hub.recount(&watchers);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn subscribe(hub: &Arc<Hub>, kinds: Kinds) -> Option<Subscription> {
        let mut on = io::Loop::new(io::Config::default()).unwrap();
        let notifier = on.run(async { io::Stream::pair().0.notifier().remote() });
        hub.subscribe(kinds, notifier)
    }

    fn take(subscription: &mut Subscription) -> String {
        String::from_utf8(subscription.take().to_vec()).unwrap()
    }

    #[test]
    fn watchers_get_the_kinds_that_they_asked_for() {
        let hub = Arc::new(Hub::new(1024));
        let mut fetchers = subscribe(&hub, Kinds::FETCHERS).unwrap();
        let mut both = subscribe(&hub, Kinds::FETCHERS.with(Kinds::DELETIONS)).unwrap();
        hub.publish(Kinds::FETCHERS, |line, id| {
            line.extend_from_slice(format!("get {id}\n").as_bytes())
        });
        hub.publish(Kinds::DELETIONS, |line, id| {
            line.extend_from_slice(format!("delete {id}\n").as_bytes())
        });
        hub.publish(Kinds::MUTATIONS, |_, _| panic!("nobody watches mutations"));
        assert_eq!(take(&mut fetchers), "get 1\n");
        assert_eq!(take(&mut both), "get 1\ndelete 2\n");
        drop(both);
        assert_eq!(hub.wanted(), Kinds::FETCHERS);
    }

    #[test]
    fn a_full_buffer_drops_lines_and_says_how_many() {
        let hub = Arc::new(Hub::new(30));
        let mut watcher = subscribe(&hub, Kinds::FETCHERS).unwrap();
        let publish =
            |text: &'static [u8]| hub.publish(Kinds::FETCHERS, |line, _| line.extend_from_slice(text));
        (0..5).for_each(|_| publish(b"0123456789\n"));
        assert_eq!(take(&mut watcher), "0123456789\n0123456789\n");
        publish(b"next\n");
        assert_eq!(take(&mut watcher), "skipped=3\nnext\n");
        assert_eq!(hub.counts(), (1, 3, 3));
    }

    #[test]
    fn watchers_are_limited() {
        let hub = Arc::new(Hub::new(30));
        let all: Vec<_> = (0..WATCHERS_MAX)
            .map(|_| subscribe(&hub, Kinds::FETCHERS).unwrap())
            .collect();
        assert!(subscribe(&hub, Kinds::FETCHERS).is_none());
        drop(all);
        assert!(subscribe(&hub, Kinds::FETCHERS).is_some());
    }
}
