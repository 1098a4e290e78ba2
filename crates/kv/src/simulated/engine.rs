//! The engine's side: what is asked of the machine, and what its answers mean.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use parking_lot::{Mutex, RwLock};

use super::machine::{Fault, Machine};
use super::network::{Network, Request};
use crate::commits::Commits;
use crate::mailbox::{Delivered, Mailbox, refuse};
use crate::observer::Observers;
use crate::owned::{OwnedEntry, OwnedValue};
use crate::warm::{Fetched, Write};
use crate::{
    Access, Answer, Cas, Change, Commit, Committed, Cursor, Decision, Edit, Engine, Entry, Extent, Fetch,
    KEY_LENGTH_MAX, Key, Marks, Need, New, Now, Observation, Observer, Payload, Statistics, StoreError,
    Stored, Warm,
};

/// The largest item.
const ITEM_SIZE_MAX: u64 = 64 << 20;
/// Bits of a CAS that count the writes of one connection. Those above are the connection's number, so that a CAS is never given
/// twice.
const WRITE_BITS: u32 = 40;

/// A store on a [`Machine`].
#[derive(Debug)]
pub struct Simulated {
    machine: Arc<Machine>,
    /// `None` after closing.
    network: RwLock<Option<Network>>,
    commits: Arc<Commits>,
    /// Held while a number is taken and its request sent, so that requests arrive in the order of their numbers.
    order: Mutex<()>,
    connection: u64,
    writes: AtomicU64,
    /// When everything shall be flushed; `u32::MAX` is never.
    flush_at: AtomicU32,
    observers: Arc<Observers>,
}

/// What a decision comes to.
enum Effect {
    Keep,
    Replace(Option<Arc<OwnedEntry>>),
}

impl Simulated {
    /// Connects to a machine.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn connect(machine: &Arc<Machine>) -> std::io::Result<Simulated> {
        let commits = Arc::default();
        Ok(Simulated {
            network: RwLock::new(Some(Network::new(machine, &commits)?)),
            commits,
            machine: machine.clone(),
            order: Mutex::default(),
            connection: machine.connect(),
            writes: AtomicU64::new(0),
            flush_at: AtomicU32::new(u32::MAX),
            observers: Arc::default(),
        })
    }

    /// Sends a write and returns its number.
    fn send(&self, write: Request) -> Result<Commit, StoreError> {
        let _in_order = self.order.lock();
        let number = self.writes.fetch_add(1, Relaxed) + 1;
        let network = self.network.read();
        network.as_ref().ok_or(StoreError::Unavailable)?.send(write);
        Ok(Commit(number))
    }

    fn next_cas(&self) -> u64 {
        self.connection << WRITE_BITS | (self.writes.load(Relaxed) + 1)
    }

    /// Why no write is taken.
    fn refuses_writes(&self) -> Option<StoreError> {
        match self.machine.fault() {
            Some(Fault::Write(error)) => Some(error),
            _ => self.commits.failed().map(|_| StoreError::Unavailable),
        }
    }

    fn pass_time(&self, now: Now) {
        let at = self.flush_at.load(Relaxed);
        if now.0 >= at
            && self
                .flush_at
                .compare_exchange(at, u32::MAX, Relaxed, Relaxed)
                .is_ok()
        {
            // The second has come; an error here is met again by the next call.
            let _ = self.send(Request::Flush);
        }
    }

    /// The item of a key, if it was fetched.
    fn look<R>(
        &self,
        key: &Key<'_>,
        access: Access<'_>,
        f: impl FnOnce(Option<&Entry<'_>>) -> R,
    ) -> Result<Answer<R>, StoreError> {
        self.pass_time(access.now);
        let Some(warm) = access.warm else {
            return Ok(Answer::Cold);
        };
        match warm.take(key.bytes, access.need) {
            Some(Fetched::Item(item)) => {
                let item = item.filter(|item| !item.expiry.passed(access.now));
                let with_value = access.need == Need::Value;
                let entry = item.as_ref().map(|item| item.entry(with_value));
                Ok(Answer::Ready(f(entry.as_ref())))
            }
            Some(Fetched::Failed(error)) => Err(error),
            Some(Fetched::Applied { .. } | Fetched::Dated { .. } | Fetched::Record(_)) | None => {
                warm.want(key.bytes, access.need);
                Ok(Answer::Cold)
            }
        }
    }

    /// A write that does not depend on what there is.
    fn write_blindly<'v, R>(
        &self,
        key: &Key<'_>,
        access: Access<'_>,
        f: &mut impl FnMut(Option<&Entry<'_>>) -> (Decision<'v>, R),
    ) -> Result<Answer<Stored<R>>, StoreError> {
        if let Some(error) = self.refuses_writes() {
            return Err(error);
        }
        let (decision, answer) = f(None);
        let new = match decision {
            Decision::Put(new) => Some(self.put(key, access.now, &new)?),
            Decision::Remove => None,
            _ => {
                return Ok(Answer::Ready(Stored {
                    answer,
                    cas: 0,
                    commit: Commit::NONE,
                }));
            }
        };
        if let Some(warm) = access.warm {
            warm.forget(key.bytes);
        }
        let cas = new.as_ref().map_or(0, |item| item.cas);
        let commit = self.send(Request::Write(key.bytes.into(), new))?;
        Ok(Answer::Ready(Stored { answer, cas, commit }))
    }

    /// A write that depends on the item that was fetched.
    fn write_if<'v, R>(
        &self,
        key: &Key<'_>,
        access: Access<'_>,
        f: &mut impl FnMut(Option<&Entry<'_>>) -> (Decision<'v>, R),
    ) -> Result<Answer<Stored<R>>, StoreError> {
        let Some(warm) = access.warm else {
            return Ok(Answer::Cold);
        };
        let mut look = |item: &Option<Arc<OwnedEntry>>| {
            let item = item.as_ref().filter(|item| !item.expiry.passed(access.now));
            // The machine joins values by itself, so a closure that needs the facts sees no more.
            let entry = item.map(|item| item.entry(access.need == Need::Value));
            f(entry.as_ref())
        };
        if warm.is_beginning() {
            if let Some(seen) = warm.peek_unwritten(key.bytes, access.need) {
                let (decision, _) = look(&seen);
                self.begin_write(key, access.now, seen, decision, warm);
            }
            return Ok(Answer::Cold);
        }
        let fetched = warm.take(key.bytes, access.need);
        if let Some(Fetched::Applied { seen, cas, commit }) = fetched {
            let (_, answer) = look(&seen);
            let commit = Commit(commit);
            return Ok(Answer::Ready(Stored { answer, cas, commit }));
        }
        if let Some(error) = self.refuses_writes() {
            return Err(error);
        }
        match fetched {
            Some(Fetched::Item(seen)) => {
                let (decision, answer) = look(&seen);
                let live = seen.as_ref().filter(|item| !item.expiry.passed(access.now));
                let cas = live.map_or(0, |item| item.cas);
                match self.effect(key, access.now, live, decision)? {
                    Effect::Keep => Ok(Answer::Ready(Stored {
                        answer,
                        cas,
                        commit: Commit::NONE,
                    })),
                    Effect::Replace(new) => {
                        let key = key.bytes.into();
                        warm.want_write(Write { key, seen, new });
                        Ok(Answer::Cold)
                    }
                }
            }
            Some(Fetched::Failed(error)) => Err(error),
            Some(Fetched::Applied { .. } | Fetched::Dated { .. } | Fetched::Record(_)) | None => {
                warm.want(key.bytes, Need::Value);
                Ok(Answer::Cold)
            }
        }
    }

    /// Notes a conditional write to be sent, unless it changes nothing or is refused: its command finds that out in its turn.
    fn begin_write(
        &self,
        key: &Key<'_>,
        now: Now,
        seen: Option<Arc<OwnedEntry>>,
        decision: Decision<'_>,
        warm: &Warm,
    ) {
        let live = seen.as_ref().filter(|item| !item.expiry.passed(now));
        if self.refuses_writes().is_none()
            && let Ok(Effect::Replace(new)) = self.effect(key, now, live, decision)
        {
            // What was fetched for later commands will be old by then.
            warm.forget(key.bytes);
            let key = key.bytes.into();
            warm.want_write(Write { key, seen, new });
        }
    }

    fn effect(
        &self,
        key: &Key<'_>,
        now: Now,
        old: Option<&Arc<OwnedEntry>>,
        decision: Decision<'_>,
    ) -> Result<Effect, StoreError> {
        let new = match (decision, old) {
            (Decision::Put(new), _) => self.put(key, now, &new)?,
            (Decision::Keep, _) | (_, None) => return Ok(Effect::Keep),
            (Decision::Remove, Some(_)) => return Ok(Effect::Replace(None)),
            (Decision::Change(change), Some(old)) => Arc::new(self.changed(old, now, &change)),
            (Decision::Rewrite(edit), Some(old)) => self.edited(key, old, &edit, &bytes(edit.value))?,
            (Decision::Append(edit), Some(old)) => {
                let value = [self.value(old)?, bytes(edit.value)].concat();
                self.edited(key, old, &edit, &value)?
            }
            (Decision::Prepend(edit), Some(old)) => {
                let value = [bytes(edit.value), self.value(old)?].concat();
                self.edited(key, old, &edit, &value)?
            }
        };
        Ok(Effect::Replace(Some(new)))
    }

    fn put(&self, key: &Key<'_>, now: Now, new: &New<'_>) -> Result<Arc<OwnedEntry>, StoreError> {
        self.fits(key.bytes.len(), new.value.len())?;
        Ok(Arc::new(OwnedEntry {
            key: key.bytes.into(),
            value: self.machine.keep(&bytes(new.value))?,
            flags: new.flags,
            cas: new.cas.unwrap_or_else(|| self.next_cas()),
            expiry: new.expiry,
            last_access: now.0,
            marks: Marks {
                fetched: false,
                stale: new.stale,
                won: new.won,
            },
        }))
    }

    fn edited(
        &self,
        key: &Key<'_>,
        old: &OwnedEntry,
        edit: &Edit<'_>,
        value: &[u8],
    ) -> Result<Arc<OwnedEntry>, StoreError> {
        self.fits(key.bytes.len(), value.len() as u64)?;
        Ok(Arc::new(OwnedEntry {
            value: self.machine.keep(value)?,
            cas: edit.cas.unwrap_or_else(|| self.next_cas()),
            ..old.clone()
        }))
    }

    fn changed(&self, old: &OwnedEntry, now: Now, change: &Change) -> OwnedEntry {
        let mut new = old.clone();
        new.expiry = change.expiry.unwrap_or(old.expiry);
        new.marks.stale = change.stale.unwrap_or(old.marks.stale);
        new.marks.won = change.won.unwrap_or(old.marks.won);
        if change.accessed {
            new.marks.fetched = true;
            new.last_access = now.0;
        }
        match change.cas {
            Cas::Same => {}
            Cas::Next => new.cas = self.next_cas(),
            Cas::Exactly(cas) => new.cas = cas,
        }
        new
    }

    fn value(&self, item: &OwnedEntry) -> Result<Vec<u8>, StoreError> {
        use std::os::unix::fs::FileExt;
        match &item.value {
            OwnedValue::Bytes(bytes) => Ok(bytes.to_vec()),
            OwnedValue::Shared(pinned) => Ok(pinned.as_ref().to_vec()),
            OwnedValue::Length(_) => Err(StoreError::Io(std::io::ErrorKind::Other)),
            OwnedValue::File(range) => {
                let mut value = vec![0; range.length as usize];
                let read = range.file.read_exact_at(&mut value, range.offset);
                read.map(|()| value).map_err(|error| StoreError::Io(error.kind()))
            }
        }
    }
}

fn bytes(payload: Payload<'_>) -> Vec<u8> {
    match payload {
        Payload::Parts(parts) => parts.concat(),
        Payload::Pinned(pinned) => pinned.as_ref().to_vec(),
    }
}

impl Engine for Simulated {
    fn key<'a>(&self, bytes: &'a [u8]) -> Key<'a> {
        Key { bytes, hash: 0 }
    }

    fn prefetch(&self, _: &Key<'_>) {}

    fn prefetch_item(&self, _: &Key<'_>) {}

    fn read<'w, R>(
        &self,
        key: &Key<'_>,
        access: impl Into<Access<'w>>,
        f: impl FnOnce(Option<&Entry<'_>>) -> R,
    ) -> Result<Answer<R>, StoreError> {
        self.look(key, access.into(), f)
    }

    fn peek<'w, R>(
        &self,
        key: &Key<'_>,
        access: impl Into<Access<'w>>,
        f: impl FnOnce(Option<&Entry<'_>>) -> R,
    ) -> Result<Answer<R>, StoreError> {
        self.look(key, access.into(), f)
    }

    fn update<'v, 'w, R>(
        &self,
        key: &Key<'_>,
        access: impl Into<Access<'w>>,
        mut f: impl FnMut(Option<&Entry<'_>>) -> (Decision<'v>, R),
    ) -> Result<Answer<Stored<R>>, StoreError> {
        let access = access.into();
        self.pass_time(access.now);
        match access.need {
            Need::Nothing => self.write_blindly(key, access, &mut f),
            _ => self.write_if(key, access, &mut f),
        }
    }

    fn want(&self, key: &Key<'_>, need: Need, warm: &Warm) {
        if need != Need::Nothing {
            warm.want(key.bytes, need);
        }
    }

    fn fetch(&self, warm: Warm) -> Fetch {
        Fetch::new(warm, |wants| {
            let mailbox = Arc::new(Mailbox::default());
            let _in_order = self.order.lock();
            match self.network.read().as_ref() {
                Some(network) => {
                    let first = self.writes.fetch_add(wants.writes.len() as u64, Relaxed) + 1;
                    let points = (first..).take(wants.writes.len()).collect();
                    network.send(Request::Fetch(wants, points, mailbox.clone()));
                }
                None => mailbox.put(refuse(wants, StoreError::Unavailable)),
            }
            Delivered(mailbox)
        })
    }

    fn sends_conditional_writes(&self) -> bool {
        true
    }

    fn begin_commit(&self) {
        let _in_order = self.order.lock();
        if let Some(network) = self.network.read().as_ref() {
            network.send(Request::Commit(self.writes.load(Relaxed)));
        }
    }

    fn sync(&self) -> Result<Commit, StoreError> {
        match self.commits.failed() {
            Some(error) => Err(error),
            None => Ok(Commit(self.writes.load(Relaxed))),
        }
    }

    fn committed(&self, upto: Commit) -> Committed {
        self.commits.wait(upto)
    }

    fn is_cache(&self) -> bool {
        false
    }

    fn close(&self) -> Result<(), StoreError> {
        self.begin_commit();
        drop(self.network.write().take());
        let failed = self.commits.failed();
        self.commits.fail(StoreError::Unavailable);
        failed.map_or(Ok(()), Err)
    }

    fn large_value(&self) -> u64 {
        self.machine.large
    }

    fn fits(&self, key_length: usize, value_length: u64) -> Result<(), StoreError> {
        let size = value_length.saturating_add(key_length as u64);
        if key_length > KEY_LENGTH_MAX {
            return Err(StoreError::KeyTooLong { length: key_length });
        }
        if size > ITEM_SIZE_MAX {
            let max = ITEM_SIZE_MAX;
            return Err(StoreError::TooLarge { size, max });
        }
        Ok(())
    }

    fn reserve(&self, length: u64, _: Now) -> Result<Extent, StoreError> {
        self.fits(0, length)?;
        match self.refuses_writes() {
            Some(error) => Err(error),
            None => Ok(Extent::owned(length as usize, None)),
        }
    }

    fn flush(&self, at: Option<u32>, now: Now) -> Result<Commit, StoreError> {
        if let Some(error) = self.refuses_writes() {
            return Err(error);
        }
        match at.filter(|second| *second > now.0) {
            Some(second) => {
                self.flush_at.store(second, Relaxed);
                Ok(Commit::NONE)
            }
            None => self.send(Request::Flush),
        }
    }

    fn scan<'w>(
        &self,
        from: &Cursor,
        steps: usize,
        access: impl Into<Access<'w>>,
        mut f: impl FnMut(&Entry<'_>),
    ) -> Result<Answer<Option<Cursor>>, StoreError> {
        let access = access.into();
        let Some(warm) = access.warm else {
            return Ok(Answer::Cold);
        };
        let Some(page) = warm.take_page(from) else {
            warm.want_page(from, steps, access.need);
            return Ok(Answer::Cold);
        };
        let page = page?;
        for item in page.items.iter().filter(|item| !item.expiry.passed(access.now)) {
            f(&item.entry(access.need == Need::Value));
        }
        Ok(Answer::Ready(page.next))
    }

    fn tick(&self, now: Now, _: usize) -> bool {
        self.pass_time(now);
        false
    }

    fn resize(&self, capacity: u64) -> Result<(), StoreError> {
        Err(StoreError::CapacityOutOfBounds {
            capacity,
            min: 0,
            max: 0,
        })
    }

    fn observe(&self, observer: Arc<dyn Observer>) -> Observation {
        self.observers.add(observer)
    }

    fn statistics(&self) -> Statistics {
        Statistics {
            engine: "simulated",
            items: self.machine.len() as u64,
            total_items: self.writes.load(Relaxed),
            item_size_max: ITEM_SIZE_MAX,
            ..Statistics::default()
        }
    }
}
