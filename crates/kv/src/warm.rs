//! Entries that were fetched for calls which would have had to wait.
//!
//! ```text
//!   update(a) ─▶ Cold      want(a) want(b) want(b) ─▶ fetch(warm) ──await──▶ warm: a×1 b×2
//!   update(a) ─▶ Ready     read(b) read(b)                                   warm: nothing left
//! ```
//!
//! **Invariant:** an entry is used at most as often as it was wanted before the fetch began.
//! **Invariant:** what an entry holds (bytes, pinned memory, a file) is held until the entry is used up or the set is dropped.

#![cfg_attr(
    not(feature = "simulated"),
    allow(dead_code, reason = "only other machines are sent conditional writes")
)]

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::hash::Located;
use crate::owned::OwnedEntry;
use crate::{Cursor, Need, StoreError};

/// The wants of one caller, and what was fetched for them.
#[derive(Default)]
pub struct Warm {
    wants: RefCell<Wants>,
    entries: RefCell<HashMap<Box<[u8]>, Warmed>>,
    page: RefCell<Option<(Cursor, Result<Page, StoreError>)>>,
    /// Updates only begin, see [`begin_writes`](Warm::begin_writes).
    beginning: Cell<bool>,
}

/// The wants of a fetch.
#[derive(Default)]
pub(crate) struct Wants {
    pub(crate) items: HashMap<Box<[u8]>, Wanted>,
    /// Conditional writes to send.
    pub(crate) writes: Vec<Write>,
    /// A part of a scan: its beginning, the number of steps, and what of each item is needed.
    pub(crate) page: Option<(Cursor, usize, Need)>,
}

/// The want of an item.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    /// What of it is needed.
    pub(crate) need: Need,
    /// How often.
    uses: u32,
    /// The number of items that were wanted before it.
    pub(crate) order: usize,
}

/// A write on the condition that the item is still the one that a closure has seen.
pub(crate) struct Write {
    pub(crate) key: Box<[u8]>,
    pub(crate) seen: Option<Arc<OwnedEntry>>,
    /// The item that replaces it; `None` removes it.
    pub(crate) new: Option<Arc<OwnedEntry>>,
}

/// The result for one key.
pub(crate) enum Fetched {
    /// The item, if there is one.
    Item(Option<Arc<OwnedEntry>>),
    /// A conditional write to this item was applied; its commit is that point in the order of writes.
    Applied {
        seen: Option<Arc<OwnedEntry>>,
        cas: u64,
        commit: u64,
    },
    /// The item, if there is one, as of a version of its stripe.
    Dated {
        item: Option<Arc<OwnedEntry>>,
        version: u64,
    },
    /// A record of a log, which is the item for as long as it is the newest of its key.
    Record(Located),
    Failed(StoreError),
}

/// Items of a scan, and where it goes on.
pub(crate) struct Page {
    pub(crate) items: Vec<Arc<OwnedEntry>>,
    pub(crate) next: Option<Cursor>,
}

/// Everything that was fetched, and what it was fetched for.
pub(crate) struct Delivery {
    pub(crate) wants: Wants,
    pub(crate) entries: Vec<(Box<[u8]>, Fetched)>,
    pub(crate) page: Option<Result<Page, StoreError>>,
}

struct Warmed {
    fetched: Fetched,
    /// How much of the item was fetched.
    need: Need,
    uses: u32,
}

impl Wants {
    fn is_empty(&self) -> bool {
        self.items.is_empty() && self.writes.is_empty() && self.page.is_none()
    }
}

impl Warm {
    /// An empty set.
    #[must_use]
    pub fn new() -> Warm {
        Warm::default()
    }

    /// True if nothing is wanted and nothing was fetched.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.wants.borrow().is_empty() && self.entries.borrow().is_empty() && self.page.borrow().is_none()
    }

    /// Drops all entries, and keeps the wants.
    pub fn clear(&self) {
        self.entries.borrow_mut().clear();
        *self.page.borrow_mut() = None;
    }

    /// The number of items that are wanted and not fetched yet.
    #[must_use]
    pub fn wanted(&self) -> usize {
        self.wants.borrow().items.len()
    }

    /// Lets updates with this set, while `f` runs, do no more than note the conditional writes that they come to, so that the next
    /// fetch sends them together. Each is [`Cold`](crate::Answer::Cold) and is to be repeated in its turn. Only for engines that
    /// [send conditional writes](crate::Engine::sends_conditional_writes), and for the first command of each key: a later one
    /// depends on it.
    pub fn begin_writes(&self, f: impl FnOnce()) {
        self.beginning.set(true);
        f();
        self.beginning.set(false);
    }

    /// True if updates only begin.
    pub(crate) fn is_beginning(&self) -> bool {
        self.beginning.get()
    }

    /// The item of a key that was fetched, and that no write has begun for, without using it.
    pub(crate) fn peek_unwritten(&self, key: &[u8], need: Need) -> Option<Option<Arc<OwnedEntry>>> {
        if self.wants.borrow().writes.iter().any(|write| *write.key == *key) {
            return None;
        }
        let entries = self.entries.borrow();
        match entries.get(key).filter(|warmed| warmed.need >= need)?.fetched {
            Fetched::Item(ref item) => Some(item.clone()),
            _ => None,
        }
    }

    /// Notes that an item is needed once more.
    pub(crate) fn want(&self, key: &[u8], need: Need) {
        let mut wants = self.wants.borrow_mut();
        let order = wants.items.len();
        match wants.items.get_mut(key) {
            Some(wanted) => {
                wanted.need = need.max(wanted.need);
                wanted.uses += 1;
            }
            None => drop(wants.items.insert(key.into(), Wanted { need, uses: 1, order })),
        }
    }

    /// Notes a conditional write. The caller comes back for its result.
    pub(crate) fn want_write(&self, write: Write) {
        self.wants.borrow_mut().writes.push(write);
    }

    /// Notes a part of a scan.
    pub(crate) fn want_page(&self, from: &Cursor, steps: usize, need: Need) {
        self.wants.borrow_mut().page = Some((from.clone(), steps, need));
    }

    /// Uses an entry once.
    pub(crate) fn take(&self, key: &[u8], need: Need) -> Option<Fetched> {
        let mut entries = self.entries.borrow_mut();
        let warmed = entries.get_mut(key).filter(|warmed| warmed.need >= need)?;
        if warmed.uses > 1 {
            let again = match &warmed.fetched {
                Fetched::Item(item) => Some(Fetched::Item(item.clone())),
                Fetched::Dated { item, version } => Some(Fetched::Dated {
                    item: item.clone(),
                    version: *version,
                }),
                Fetched::Applied { .. } | Fetched::Record(_) | Fetched::Failed(_) => None,
            };
            if again.is_some() {
                warmed.uses -= 1;
                return again;
            }
        }
        entries.remove(key).map(|warmed| warmed.fetched)
    }

    /// The record that was fetched for a key. It is no longer the item's as soon as there is a newer one, so it is not used up.
    pub(crate) fn record(&self, key: &[u8]) -> Option<Result<Located, StoreError>> {
        match &self.entries.borrow().get(key)?.fetched {
            Fetched::Record(record) => Some(Ok(record.clone())),
            Fetched::Failed(error) => Some(Err(*error)),
            _ => None,
        }
    }

    /// Forgets an entry that a write has made old.
    pub(crate) fn forget(&self, key: &[u8]) {
        self.entries.borrow_mut().remove(key);
    }

    /// Uses a fetched part of a scan.
    pub(crate) fn take_page(&self, from: &Cursor) -> Option<Result<Page, StoreError>> {
        let page = self.page.borrow_mut().take();
        page.filter(|(begin, _)| begin == from).map(|(_, page)| page)
    }

    /// Puts fetched entries into the set.
    fn deliver(&mut self, delivery: Delivery) {
        let entries = self.entries.get_mut();
        for (key, fetched) in delivery.entries {
            // The result of a conditional write is for the one call that comes back for it.
            let wanted = delivery.wants.items.get(&key);
            let (need, uses) = wanted.map_or((Need::Value, 1), |wanted| (wanted.need, wanted.uses));
            entries.insert(key, Warmed { fetched, need, uses });
        }
        let from = delivery.wants.page.map(|(from, _, _)| from);
        *self.page.get_mut() = from.zip(delivery.page);
    }
}

impl fmt::Debug for Warm {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Warm")
            .field("wanted", &self.wanted())
            .field("entries", &self.entries.borrow().len())
            .finish_non_exhaustive()
    }
}

/// Fetches the wants of a set; made by [`Engine::fetch`](crate::Engine::fetch). It may be dropped at any time; what it has sent
/// to another machine may be carried out all the same.
#[must_use = "futures do nothing unless awaited"]
pub struct Fetch {
    warm: Warm,
    delivery: Option<Pin<Box<dyn Future<Output = Delivery> + Send>>>,
}

impl Fetch {
    /// A fetch of nothing.
    pub(crate) fn done(warm: Warm) -> Fetch {
        Fetch { warm, delivery: None }
    }

    /// A fetch of everything that `begin` is given.
    pub(crate) fn new<F>(warm: Warm, begin: impl FnOnce(Wants) -> F) -> Fetch
    where
        F: Future<Output = Delivery> + Send + 'static,
    {
        let wants = warm.wants.take();
        if wants.is_empty() {
            return Fetch::done(warm);
        }
        Fetch {
            delivery: Some(Box::pin(begin(wants))),
            warm,
        }
    }
}

impl Future for Fetch {
    type Output = Warm;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Warm> {
        let this = &mut *self;
        if let Some(delivery) = &mut this.delivery {
            let Poll::Ready(delivery) = delivery.as_mut().poll(context) else {
                return Poll::Pending;
            };
            this.delivery = None;
            this.warm.deliver(delivery);
        }
        Poll::Ready(std::mem::take(&mut this.warm))
    }
}

impl fmt::Debug for Fetch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Fetch")
            .field("in_flight", &self.delivery.is_some())
            .finish_non_exhaustive()
    }
}
