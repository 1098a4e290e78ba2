//! Read-modify-write: from a decision to a write.
//!
//! **Invariant:** cache and pending writes change only after the log has taken the write, so a refused write leaves the item as
//! it was.

use std::sync::Arc;

use super::Tree;
use super::journal::Write;
use super::locks::Stripe;
use super::pending::Found;
use crate::decision::Cas;
use crate::owned::{OwnedEntry, OwnedValue};
use crate::{
    Access, Answer, Change, Commit, Decision, Edit, Engine, Entry, Key, Marks, Need, New, Payload,
    StoreError, Stored,
};

/// The effect of a decision.
enum Draft {
    /// Nothing changes. The item has this CAS; 0 if there is none.
    Nothing(u64),
    Remove,
    /// A new item, which replaces the old one.
    Put(Box<OwnedEntry>),
    /// The old item with another value.
    Edit(Box<OwnedEntry>),
    /// The old item, changed.
    Change(Box<OwnedEntry>, Change),
    /// The old item, which was accessed. It has this CAS.
    Access(u64, Change),
    /// The old item with other marks, which the log does not record.
    Mark(Box<OwnedEntry>, Change),
}

/// The caller's knowledge of an item.
#[derive(Clone, Copy)]
enum Seen<'s, 'e> {
    /// It has not looked.
    Nothing,
    Item(Option<&'s Entry<'e>>),
}

impl Tree {
    pub(super) fn write<'v, R>(
        &self,
        key: &Key<'_>,
        access: Access<'_>,
        mut f: impl FnMut(Option<&Entry<'_>>) -> (Decision<'v>, R),
    ) -> Result<Answer<Stored<R>>, StoreError> {
        self.check_writes()?;
        self.pass_time(access.now)?;
        if self.shared.merging.must_wait(&self.shared)? {
            // Any want makes the caller wait for its fetch, which waits for room.
            access.warm.inspect(|warm| warm.want(key.bytes, Need::Facts));
            return Ok(Answer::Cold);
        }
        let stripe = self.shared.stripes.lock(key.hash);
        let mut draft = |seen: Seen<'_, '_>| {
            let entry = match seen {
                Seen::Nothing => None,
                Seen::Item(entry) => entry,
            };
            let (decision, answer) = f(entry);
            (self.draft(key, access, seen, decision), answer)
        };
        if access.need == Need::Nothing {
            let cached = self.cache.peek(key, access.now, |entry| entry.is_some())?;
            let existed = (cached == Answer::Ready(true)).then_some(true);
            let (draft, answer) = draft(Seen::Nothing);
            return self.carry_out(stripe, key, access, existed, draft?, answer);
        }
        let cached = self.cache.peek(key, access.now, |entry| {
            entry.map(|entry| draft(Seen::Item(Some(entry))))
        })?;
        if let Answer::Ready(Some((draft, answer))) = cached {
            return self.carry_out(stripe, key, access, Some(true), draft?, answer);
        }
        let item = match self.shared.pending.find(key.bytes) {
            Found::Item(item) => Some(item),
            Found::Removed => None,
            Found::Unknown if !self.shared.pages_have_items() => None,
            Found::Unknown => match self.fetched(key, access, stripe.version())? {
                Some(item) => item,
                None => return Ok(Answer::Cold),
            },
        };
        let item = item.filter(|item| self.is_live(key, item, access.now, false));
        let existed = Some(item.is_some());
        let entry = item.as_deref().map(|item| item.entry(true));
        let (draft, answer) = draft(Seen::Item(entry.as_ref()));
        self.carry_out(stripe, key, access, existed, draft?, answer)
    }

    fn draft(
        &self,
        key: &Key<'_>,
        access: Access<'_>,
        seen: Seen<'_, '_>,
        decision: Decision<'_>,
    ) -> Result<Draft, StoreError> {
        let old = match (decision, seen) {
            (Decision::Put(new), _) => return self.put(key, access, &new),
            (Decision::Remove, Seen::Nothing) => return Ok(Draft::Remove),
            (_, Seen::Nothing | Seen::Item(None)) => return Ok(Draft::Nothing(0)),
            (_, Seen::Item(Some(old))) => old,
        };
        match decision {
            Decision::Put(_) | Decision::Keep => Ok(Draft::Nothing(old.cas())),
            Decision::Remove => Ok(Draft::Remove),
            Decision::Change(change) => Ok(self.change(access, old, change)),
            Decision::Append(edit) => self.edit(key, old, &edit, |new| [old.bytes(), new].concat()),
            Decision::Prepend(edit) => self.edit(key, old, &edit, |new| [new, old.bytes()].concat()),
            Decision::Rewrite(edit) => self.edit(key, old, &edit, <[u8]>::to_vec),
        }
    }

    fn put(&self, key: &Key<'_>, access: Access<'_>, new: &New<'_>) -> Result<Draft, StoreError> {
        self.fits(key.bytes.len(), new.value.len())?;
        let value = match new.value {
            Payload::Parts([whole]) => OwnedValue::new(whole, self.shared.large),
            Payload::Parts(parts) => OwnedValue::new(&parts.concat(), self.shared.large),
            Payload::Pinned(pinned) => match pinned.holder() {
                // Its memory counts against another store.
                Some(_) => OwnedValue::new(pinned.as_ref(), self.shared.large),
                None => OwnedValue::Shared(pinned.clone()),
            },
        };
        Ok(Draft::Put(Box::new(OwnedEntry {
            key: key.bytes.into(),
            value,
            flags: new.flags,
            cas: new.cas.unwrap_or_else(|| self.next_cas()),
            expiry: new.expiry,
            last_access: access.now.0,
            marks: Marks {
                fetched: false,
                stale: new.stale,
                won: new.won,
            },
        })))
    }

    fn edit(
        &self,
        key: &Key<'_>,
        old: &Entry<'_>,
        edit: &Edit<'_>,
        join: impl FnOnce(&[u8]) -> Vec<u8>,
    ) -> Result<Draft, StoreError> {
        let joined;
        let new = match edit.value {
            Payload::Parts([whole]) => whole,
            Payload::Parts(parts) => {
                joined = parts.concat();
                &joined[..]
            }
            Payload::Pinned(value) => value.as_ref(),
        };
        let value = join(new);
        self.fits(key.bytes.len(), value.len() as u64)?;
        let cas = edit.cas.unwrap_or_else(|| self.next_cas());
        let value = OwnedValue::new(&value, self.shared.large);
        Ok(Draft::Edit(Box::new(copy(old, value, cas))))
    }

    fn change(&self, access: Access<'_>, old: &Entry<'_>, change: Change) -> Draft {
        let cas = match change.cas {
            Cas::Same => old.cas(),
            Cas::Next => self.next_cas(),
            Cas::Exactly(cas) => cas,
        };
        let marks = Marks {
            fetched: old.fetched() || change.accessed,
            stale: change.stale.unwrap_or(old.stale()),
            won: change.won.unwrap_or(old.won()),
        };
        let expiry = change.expiry.unwrap_or(old.expiry());
        let logged = (cas, expiry, marks.stale) != (old.cas(), old.expiry(), old.stale());
        if !logged && marks.won == old.won() {
            return match change.accessed {
                true => Draft::Access(cas, change),
                false => Draft::Nothing(cas),
            };
        }
        let mut item = copy(old, OwnedValue::new(old.bytes(), self.shared.large), cas);
        (item.expiry, item.marks) = (expiry, marks);
        if change.accessed {
            item.last_access = access.now.0;
        }
        let change = Change {
            cas: Cas::Exactly(cas),
            ..change
        };
        match logged {
            true => Draft::Change(Box::new(item), change),
            false => Draft::Mark(Box::new(item), change),
        }
    }

    fn carry_out<R>(
        &self,
        mut stripe: Stripe<'_>,
        key: &Key<'_>,
        access: Access<'_>,
        existed: Option<bool>,
        draft: Draft,
        answer: R,
    ) -> Result<Answer<Stored<R>>, StoreError> {
        let stored = |cas, commit| Ok(Answer::Ready(Stored { answer, cas, commit }));
        let (item, change) = match draft {
            Draft::Nothing(cas) => return stored(cas, Commit::NONE),
            Draft::Access(cas, change) => {
                self.apply_to_cache(key, access.now, |_| Decision::Change(change));
                return stored(cas, Commit::NONE);
            }
            Draft::Remove => (None, None),
            Draft::Put(item) => (Some((item, false)), None),
            Draft::Edit(item) => (Some((item, true)), None),
            Draft::Change(item, change) => (Some((item, true)), Some(change)),
            Draft::Mark(item, change) => {
                let (cas, item) = (item.cas, Arc::from(item));
                self.shared.pending.put(key.bytes, Some(item), existed);
                self.apply_to_cache(key, access.now, |_| Decision::Change(change));
                return stored(cas, Commit::NONE);
            }
        };
        stripe.change();
        access.warm.inspect(|warm| warm.forget(key.bytes));
        let shared = &self.shared;
        let Some((item, keeps_marks)) = item else {
            let write = Write::Removal(key.bytes);
            let pend = || shared.pending.put(key.bytes, None, existed);
            shared.journal.append(write, access.now, pend)?;
            self.apply_to_cache(key, access.now, |_| Decision::Remove);
            return stored(0, shared.durability.appended());
        };
        let item: Arc<OwnedEntry> = item.into();
        let pend = || shared.pending.put(key.bytes, Some(item.clone()), existed);
        shared.journal.append(Write::Item(&item), access.now, pend)?;
        let value = [item.value.bytes()];
        self.apply_to_cache(key, access.now, |is_cached| match change {
            Some(change) if is_cached => Decision::Change(change),
            None if is_cached && keeps_marks => Decision::Rewrite(Edit {
                value: Payload::Parts(&value),
                cas: Some(item.cas),
            }),
            _ => Decision::Put(whole(&item, &value)),
        });
        if !keeps_marks {
            shared
                .counters
                .stored
                .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        stored(item.cas, shared.durability.appended())
    }
}

/// An item as the cache is given it.
pub(super) fn whole<'v>(item: &OwnedEntry, value: &'v [&'v [u8]]) -> New<'v> {
    New {
        flags: item.flags,
        expiry: item.expiry,
        cas: Some(item.cas),
        stale: item.marks.stale,
        won: item.marks.won,
        ..New::new(value)
    }
}

fn copy(old: &Entry<'_>, value: OwnedValue, cas: u64) -> OwnedEntry {
    OwnedEntry {
        key: old.key().into(),
        value,
        flags: old.flags(),
        cas,
        expiry: old.expiry(),
        last_access: old.last_access(),
        marks: old.marks(),
    }
}
