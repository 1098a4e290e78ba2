//! Deleting, and changing when an item ends.

use kv::{Cas, Change, Decision, Entry, Expiry, Key, Need, New};

use super::{Exchange, Failure};
use crate::watch::{Kinds, line};

/// How to delete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Removal {
    /// The command's name, for watchers.
    pub(crate) command: &'static str,
    /// The cas that the item must have, if any.
    pub(crate) compare: Option<u64>,
    /// The cas of what stays.
    pub(crate) cas: Option<u64>,
    /// The item stays, without its value, with these flags and this expiry.
    pub(crate) hollow: Option<(u32, Expiry)>,
    /// The item stays, marked stale; with a new expiry, if there is one.
    pub(crate) stale: Option<Option<Expiry>>,
}

impl Removal {
    /// A plain deletion.
    pub(crate) fn plain(command: &'static str, compare: Option<u64>) -> Removal {
        Removal {
            command,
            compare,
            cas: None,
            hollow: None,
            stale: None,
        }
    }
}

/// How a deletion ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removed {
    Done,
    NotFound,
    Exists,
    /// The store failed, or the operation has to be carried out later.
    Failed(Failure),
}

impl Exchange<'_> {
    /// Deletes an item, or leaves of it what was asked.
    pub(crate) fn remove(&self, key: &Key<'_>, removal: &Removal) -> Removed {
        let (removed, length) = match self.update(key, Need::Facts, |entry| decide(entry, removal)) {
            Ok((outcome, _)) => outcome,
            Err(failure) => return Removed::Failed(failure),
        };
        if self.detailed {
            self.service.detail.delete(key.bytes());
        }
        match removed {
            Removed::Done if removal.stale.is_none() => {
                self.counters.delete_hits.add(1);
                let publish =
                    |out: &mut Vec<u8>, id| line::deleted(out, id, key.bytes(), removal.command, length);
                self.service.hub.publish(Kinds::DELETIONS, publish);
            }
            Removed::Done => {}
            _ => self.counters.delete_misses.add(1),
        }
        removed
    }

    /// Changes when an item ends; answers whether there is one.
    pub(crate) fn touch(&self, key: &Key<'_>, expiry: Expiry) -> Result<bool, Failure> {
        let touch = |entry: Option<&Entry<'_>>| (Decision::touch(expiry), entry.map(Entry::len));
        let found = match self.update(key, Need::Facts, touch) {
            Ok((length, _)) => length,
            // A touch moves the item at most, and what cannot be moved stays as it was: not touched.
            Err(failure) => failure.or_miss()?,
        };
        self.touched(key.bytes(), found);
        Ok(found.is_some())
    }
}

fn decide(entry: Option<&Entry<'_>>, removal: &Removal) -> (Decision<'static>, (Removed, u64)) {
    let Some(entry) = entry else {
        return (Decision::Keep, (Removed::NotFound, 0));
    };
    if removal.compare.is_some_and(|cas| cas != entry.cas()) {
        return (Decision::Keep, (Removed::Exists, 0));
    }
    let decision = match (removal.hollow, removal.stale) {
        (None, None) => Decision::Remove,
        (None, Some(expiry)) => Decision::Change(Change {
            expiry,
            stale: Some(true),
            won: Some(false),
            cas: removal.cas.map_or(Cas::Next, Cas::Exactly),
            ..Change::default()
        }),
        (Some((flags, expiry)), None) => {
            // Without a new cas the hollow keeps the old one, as in memcached.
            let cas = Some(removal.cas.unwrap_or(entry.cas()));
            Decision::Put(New {
                flags,
                expiry,
                cas,
                ..New::new(&[])
            })
        }
        (Some((flags, expiry)), Some(_)) => Decision::Put(New {
            flags,
            expiry,
            cas: removal.cas,
            stale: true,
            ..New::new(&[])
        }),
    };
    (decision, (Removed::Done, entry.len()))
}
