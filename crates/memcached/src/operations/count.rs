//! Arithmetic on values: incr, decr, ma and the binary commands.

use kv::{Decision, Edit, Entry, Expiry, Key, Need, New, Payload};

use super::number::{self, NUMBER_LENGTH_MAX, Numbers, Parts};
use super::{Exchange, Failure, StoreFailure};

/// An operation on a number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Count {
    pub(crate) increment: bool,
    pub(crate) delta: u64,
    /// The cas that the item must have; 0 names none.
    pub(crate) compare: u64,
    /// The cas that the item gets; else the store's next.
    pub(crate) cas: Option<u64>,
    /// The expiry that an existing item gets; else it stays.
    pub(crate) expiry: Option<Expiry>,
    /// The number that is created where there is none, and its expiry; else nothing is.
    pub(crate) create: Option<(u64, Expiry)>,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    Number {
        number: u64,
        cas: u64,
        /// The item's expiry as it was before; absent if the item is new.
        expiry: Option<Expiry>,
    },
    NotFound,
    Exists,
    NotNumeric,
    NoMemory,
    /// The store failed, or the operation has to be carried out later.
    Failed(Failure),
}

/// The decision for an item.
enum Outcome {
    Ended(Counted),
    /// The store called the closure more often than `Numbers` has slots.
    Again,
}

impl Exchange<'_> {
    /// Adds to or subtracts from a number.
    pub(crate) fn count(&self, key: &Key<'_>, count: &Count) -> Counted {
        let counted = loop {
            let numbers = Numbers::default();
            let parts = Parts::default();
            match self.update(key, Need::Value, |entry| decide(entry, count, &numbers, &parts)) {
                Ok((Outcome::Ended(counted), cas)) => break counted.with_cas(cas),
                Ok((Outcome::Again, _)) => {}
                Err(Failure::Store(StoreFailure::TooLarge | StoreFailure::NoMemory)) => {
                    break Counted::NoMemory;
                }
                Err(failure) => break Counted::Failed(failure),
            }
        };
        self.tally(count.increment, counted);
        counted
    }

    fn tally(&self, increment: bool, counted: Counted) {
        let counters = self.counters;
        let counter = match (counted, increment) {
            (Counted::Number { expiry: Some(_), .. }, true) => &counters.incr_hits,
            (Counted::Number { expiry: Some(_), .. }, false) => &counters.decr_hits,
            (Counted::NotFound, true) => &counters.incr_misses,
            (Counted::NotFound, false) => &counters.decr_misses,
            _ => return,
        };
        counter.add(1);
    }
}

impl Counted {
    fn with_cas(self, cas: u64) -> Counted {
        match self {
            Counted::Number { number, expiry, .. } => Counted::Number { number, cas, expiry },
            other => other,
        }
    }
}

fn decide<'v>(
    entry: Option<&Entry<'_>>,
    count: &Count,
    numbers: &'v Numbers,
    parts: &'v Parts<'v>,
) -> (Decision<'v>, Outcome) {
    let keep = |counted| (Decision::Keep, Outcome::Ended(counted));
    let Some(entry) = entry else {
        let Some((initial, expiry)) = count.create else {
            return keep(Counted::NotFound);
        };
        let put = |value| {
            Decision::Put(New {
                expiry,
                cas: count.cas,
                ..New::new(value)
            })
        };
        return written(put, initial, 0, None, numbers, parts);
    };
    let Some(number) = read(entry) else {
        return keep(Counted::NotNumeric);
    };
    if count.compare != 0 && count.compare != entry.cas() {
        return keep(Counted::Exists);
    }
    let number = match count.increment {
        true => number.wrapping_add(count.delta),
        false => number.saturating_sub(count.delta),
    };
    let (flags, stale, won) = (entry.flags(), entry.stale(), entry.won());
    let decide = |parts| match count.expiry {
        None => Decision::Rewrite(Edit {
            value: Payload::Parts(parts),
            cas: count.cas,
        }),
        Some(expiry) => Decision::Put(New {
            flags,
            expiry,
            cas: count.cas,
            stale,
            won,
            ..New::new(parts)
        }),
    };
    written(decide, number, entry.len(), Some(entry.expiry()), numbers, parts)
}

/// Writes the number where the store can read it.
fn written<'v>(
    decision: impl FnOnce(&'v [&'v [u8]]) -> Decision<'v>,
    number: u64,
    width: u64,
    expiry: Option<Expiry>,
    numbers: &'v Numbers,
    parts: &'v Parts<'v>,
) -> (Decision<'v>, Outcome) {
    match numbers.write(number).and_then(|digits| parts.pad(digits, width)) {
        Some(parts) => (
            decision(parts),
            Outcome::Ended(Counted::Number {
                number,
                cas: 0,
                expiry,
            }),
        ),
        None => (Decision::Keep, Outcome::Again),
    }
}

fn read(entry: &Entry<'_>) -> Option<u64> {
    match entry.value() {
        kv::Value::Bytes(value) if entry.len() <= NUMBER_LENGTH_MAX => number::parse(value),
        _ => None,
    }
}
