//! Read-modify-write: from a decision to a record.
//!
//! **Invariant:** the index changes only after the log has taken the record, so a refused write leaves the item as it was.

use super::Hash;
use super::index::{FETCHED, Found, Guard, Slot, WON};
use super::lookup::{Buffer, Part};
use crate::decision::Cas;
use crate::record::Facts;
use crate::{
    Access, Answer, Change, Commit, Decision, Edit, Engine, Entry, Key, Need, New, Payload, StoreError,
    Stored,
};

/// A record to be written.
struct Draft<'p> {
    parts: &'p [&'p [u8]],
    facts: Facts,
    marks: u8,
    last_access: u32,
}

/// The result of a write, with the closure's answer.
fn stored<R>(done: Answer<(u64, Commit)>, answer: R) -> Answer<Stored<R>> {
    match done {
        Answer::Ready((cas, commit)) => Answer::Ready(Stored { answer, cas, commit }),
        Answer::Cold => Answer::Cold,
    }
}

/// The item that a write is about: its slot, and the memory that its record is copied to.
struct Old<'b> {
    found: Found,
    buffer: &'b mut Buffer,
}

impl Hash {
    pub(super) fn write<'v, R>(
        &self,
        key: &Key<'_>,
        access: Access<'_>,
        f: impl FnMut(Option<&Entry<'_>>) -> (Decision<'v>, R),
    ) -> Result<Answer<Stored<R>>, StoreError> {
        self.check_writes()?;
        self.pass_time(access.now)?;
        let mut buffer = Buffer::take();
        let guard = self.lock(key);
        let answer = match access.need {
            Need::Nothing => self.write_blindly(guard, key, access, &mut buffer, f),
            _ => self.write_if(guard, key, access, &mut buffer, f),
        };
        if let (Ok(Answer::Cold), Some(warm)) = (&answer, access.warm) {
            // A decision may need more than its caller said.
            warm.want(key.bytes, Need::Value);
        }
        answer
    }

    /// A write that does not depend on what there is.
    #[inline]
    fn write_blindly<'v, R>(
        &self,
        guard: Guard<'_>,
        key: &Key<'_>,
        access: Access<'_>,
        buffer: &mut Buffer,
        mut f: impl FnMut(Option<&Entry<'_>>) -> (Decision<'v>, R),
    ) -> Result<Answer<Stored<R>>, StoreError> {
        let (decision, answer) = f(None);
        let found = match &decision {
            Decision::Put(_) | Decision::Remove => guard.find_blindly(self.fingerprint(key)),
            _ => match self.find(&guard, key, access, buffer)? {
                Answer::Ready(found) => found,
                Answer::Cold => return Ok(Answer::Cold),
            },
        };
        if !matches!(decision, Decision::Put(_)) {
            self.shared.damage.check(&guard, key.bytes, found)?;
        }
        let old = found.map(|found| Old { found, buffer });
        let done = self.decide(guard, key, access, old, decision)?;
        Ok(stored(done, answer))
    }

    fn write_if<'v, R>(
        &self,
        mut guard: Guard<'_>,
        key: &Key<'_>,
        access: Access<'_>,
        buffer: &mut Buffer,
        mut f: impl FnMut(Option<&Entry<'_>>) -> (Decision<'v>, R),
    ) -> Result<Answer<Stored<R>>, StoreError> {
        let Answer::Ready(mut found) = self.find(&guard, key, access, buffer)? else {
            return Ok(Answer::Cold);
        };
        self.shared.damage.check(&guard, key.bytes, found)?;
        let mut seen = None;
        if let Some(there) = found {
            let Answer::Ready(item) = guard.load(there, access.need.into(), buffer)? else {
                return Ok(Answer::Cold);
            };
            if item.facts.expiry.passed(access.now) {
                self.remove_expired(&mut guard, there, false);
                found = None;
            } else {
                seen = Some(Hash::with_entry(there, &item, |entry| f(Some(entry))));
            }
        }
        let (decision, answer) = seen.unwrap_or_else(|| f(None));
        let old = found.map(|found| Old { found, buffer });
        let done = self.decide(guard, key, access, old, decision)?;
        Ok(stored(done, answer))
    }

    fn decide(
        &self,
        mut guard: Guard<'_>,
        key: &Key<'_>,
        access: Access<'_>,
        old: Option<Old<'_>>,
        decision: Decision<'_>,
    ) -> Result<Answer<(u64, Commit)>, StoreError> {
        let Some(old) = old else {
            return match decision {
                Decision::Put(new) => self.put(guard, key, access, None, &new),
                _ => Ok(Answer::Ready((0, Commit::NONE))),
            };
        };
        let with_value = Part::Bytes;
        match decision {
            Decision::Put(new) => self.put(guard, key, access, Some(old.found), &new),
            Decision::Keep => Ok(match guard.load(old.found, Part::Facts, old.buffer)? {
                Answer::Ready(item) => Answer::Ready((item.facts.cas, Commit::NONE)),
                Answer::Cold => Answer::Cold,
            }),
            Decision::Remove => {
                let journal = self.shared.journals.of(key.bytes);
                journal.append_tombstone(&self.shared.maps, access.now, key.bytes)?;
                guard.remove(old.found);
                Ok(Answer::Ready((0, self.shared.durability.appended())))
            }
            Decision::Change(change) => self.change(guard, key, access, old, &change),
            Decision::Append(edit) => self.edit(guard, key, access, old, &edit, with_value, |old, new| {
                vec![old, new]
            }),
            Decision::Prepend(edit) => self.edit(guard, key, access, old, &edit, with_value, |old, new| {
                vec![new, old]
            }),
            Decision::Rewrite(edit) => {
                self.edit(guard, key, access, old, &edit, Part::Facts, |_, new| vec![new])
            }
        }
    }

    fn put(
        &self,
        mut guard: Guard<'_>,
        key: &Key<'_>,
        access: Access<'_>,
        found: Option<Found>,
        new: &New<'_>,
    ) -> Result<Answer<(u64, Commit)>, StoreError> {
        let pinned;
        let parts = match new.value {
            Payload::Parts(parts) => parts,
            Payload::Pinned(value) => {
                pinned = [value.as_ref()];
                &pinned[..]
            }
        };
        let facts = Facts {
            flags: new.flags,
            expiry: new.expiry,
            cas: new.cas.unwrap_or_else(|| self.next_cas()),
            stale: new.stale,
        };
        let draft = Draft {
            parts,
            facts,
            marks: if new.won { WON } else { 0 },
            last_access: access.now.0,
        };
        let slot = self.append(key, access, &draft)?;
        guard.place(found, slot);
        self.shared.counters.stored();
        Ok(Answer::Ready((facts.cas, self.shared.durability.appended())))
    }

    /// Writes a record with another value, made of the given part of the old one.
    #[expect(
        clippy::too_many_arguments,
        reason = "they are those of a write, and the decision"
    )]
    fn edit(
        &self,
        mut guard: Guard<'_>,
        key: &Key<'_>,
        access: Access<'_>,
        Old { found, buffer }: Old<'_>,
        edit: &Edit<'_>,
        part: Part,
        join: impl for<'p> Fn(&'p [u8], &'p [u8]) -> Vec<&'p [u8]>,
    ) -> Result<Answer<(u64, Commit)>, StoreError> {
        let joined;
        let new = match edit.value {
            Payload::Parts([whole]) => whole,
            Payload::Parts(parts) => {
                joined = parts.concat();
                &joined[..]
            }
            Payload::Pinned(value) => value.as_ref(),
        };
        let Answer::Ready(old) = guard.load(found, part, buffer)? else {
            return Ok(Answer::Cold);
        };
        let facts = Facts {
            cas: edit.cas.unwrap_or_else(|| self.next_cas()),
            ..old.facts
        };
        let draft = Draft {
            parts: &join(old.value.bytes(), new),
            facts,
            marks: found.slot.marks(),
            last_access: found.slot.last_access,
        };
        let slot = self.append(key, access, &draft)?;
        guard.place(Some(found), slot);
        Ok(Answer::Ready((facts.cas, self.shared.durability.appended())))
    }

    /// Changes an item but not its value. If the log stores what changes, it gets a new record with the old value.
    fn change(
        &self,
        mut guard: Guard<'_>,
        key: &Key<'_>,
        access: Access<'_>,
        Old { found, buffer }: Old<'_>,
        change: &Change,
    ) -> Result<Answer<(u64, Commit)>, StoreError> {
        let Answer::Ready(old) = guard.load(found, Part::Facts, buffer)? else {
            return Ok(Answer::Cold);
        };
        let old_facts = old.facts;
        let facts = Facts {
            expiry: change.expiry.unwrap_or(old_facts.expiry),
            stale: change.stale.unwrap_or(old_facts.stale),
            cas: match change.cas {
                Cas::Same => old_facts.cas,
                Cas::Next => self.next_cas(),
                Cas::Exactly(cas) => cas,
            },
            ..old_facts
        };
        let mut marks = found.slot.marks();
        let mut last_access = found.slot.last_access;
        match change.won {
            Some(true) => marks |= WON,
            Some(false) => marks &= !WON,
            None => {}
        }
        if change.accessed {
            marks |= FETCHED;
            last_access = access.now.0;
        }
        let (slot, commit) = if facts == old_facts {
            let mut slot = found.slot;
            slot.set_marks(marks);
            slot.last_access = last_access;
            (slot, Commit::NONE)
        } else {
            let Answer::Ready(old) = guard.load(found, Part::Bytes, buffer)? else {
                return Ok(Answer::Cold);
            };
            let draft = Draft {
                parts: &[old.value.bytes()],
                facts,
                marks,
                last_access,
            };
            let slot = self.append(key, access, &draft)?;
            (slot, self.shared.durability.appended())
        };
        guard.place(Some(found), slot);
        Ok(Answer::Ready((facts.cas, commit)))
    }

    fn append(&self, key: &Key<'_>, access: Access<'_>, draft: &Draft<'_>) -> Result<Slot, StoreError> {
        let length: u64 = draft.parts.iter().map(|part| part.len() as u64).sum();
        self.fits(key.bytes.len(), length)?;
        let journal = self.shared.journals.of(key.bytes);
        let location = journal.append(&self.shared.maps, access.now, key.bytes, draft.parts, draft.facts)?;
        let fingerprint = self.fingerprint(key);
        let mut slot = Slot::new(
            key.hash,
            fingerprint,
            location,
            key.bytes.len(),
            draft.last_access,
        );
        slot.set_marks(draft.marks);
        Ok(slot)
    }

    /// Removes an item that has expired. The log keeps the record: it is the newest one of its key, so a restart finds it, and that
    /// it has expired.
    #[cold]
    pub(super) fn remove_expired(&self, guard: &mut Guard<'_>, found: Found, read: bool) {
        self.shared
            .counters
            .expired(found.slot.marks() & FETCHED != 0, read);
        guard.remove(found);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::{Read as _, Seek as _, SeekFrom, Write as _};

    use super::super::tests::{Scratch, get, set, small, try_get};
    use super::*;
    use crate::Now;

    const NOW: Now = Now(1_700_000_000);

    fn set_blindly(hash: &Hash, key: &[u8], value: &[u8]) {
        let access = Access {
            now: NOW,
            need: Need::Nothing,
            warm: None,
        };
        let parts = [value];
        let put = |_: Option<&Entry<'_>>| (Decision::Put(New::new(&parts)), ());
        let _ = hash.update(&hash.key(key), access, put).unwrap();
    }

    /// Changes the bytes of the first segment file of the only partition.
    fn damage(scratch: &Scratch, from: &[u8], to: &[u8]) {
        let path = scratch.0.join("0/00000000000000000000.log");
        let mut file = std::fs::File::options()
            .read(true)
            .write(true)
            .open(path)
            .unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        let at = bytes
            .windows(from.len())
            .position(|window| window == from)
            .unwrap();
        file.seek(SeekFrom::Start(at as u64)).unwrap();
        file.write_all(to).unwrap();
    }

    #[test]
    fn a_blind_write_does_not_read_what_it_overwrites() {
        let scratch = Scratch::new();
        let hash = scratch.open(super::super::Settings {
            partitions: Some(1),
            ..small()
        });
        set(&hash, b"overwritten", b"old");
        // A read of the old record fails.
        damage(&scratch, b"overwritten", b"unreadable!");
        assert_eq!(try_get(&hash, b"overwritten", NOW), Err(StoreError::Damaged));
        set_blindly(&hash, b"overwritten", b"new");
        assert_eq!(get(&hash, b"overwritten", NOW).unwrap(), b"new");
        assert_eq!(hash.statistics().items, 1);
    }

    #[test]
    fn uploads_in_flight_are_bounded_in_sum() {
        const LENGTH: u64 = 1 << 20;
        let scratch = Scratch::new();
        let hash = scratch.open(super::super::Settings {
            item_size_max: 4 * crate::uploads::UPLOADS_BYTES_MAX,
            ..small()
        });
        let reserve = |length| hash.reserve(length, NOW);
        let mut uploads: Vec<_> = (0..).map_while(|_| reserve(LENGTH).ok()).collect();
        assert_eq!(uploads.len() as u64, crate::uploads::UPLOADS_BYTES_MAX / LENGTH);
        assert!(matches!(reserve(1), Err(StoreError::UploadsFull)));
        // One ends by being stored, the others because their clients have gone.
        drop(uploads.pop().unwrap().freeze());
        assert!(reserve(LENGTH).is_ok());
        uploads.clear();
        let large = reserve(2 * crate::uploads::UPLOADS_BYTES_MAX);
        assert!(large.is_ok(), "a value alone may be larger than the bound");
    }
}
