//! The states in which a crash may leave a store: for each partition, a prefix of its history with at least the durable writes.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::ops::RangeInclusive;

use crate::Expiry;
use crate::hash::partition::partition_of;

/// The items of a store, by key.
pub(super) type Items = BTreeMap<Vec<u8>, Item>;

/// An item as a client sees it.
#[derive(Clone, PartialEq)]
pub(super) struct Item {
    pub(super) value: Vec<u8>,
    pub(super) flags: u32,
    pub(super) expiry: Expiry,
    /// `None` if the write failed, so that the store did not tell it.
    pub(super) cas: Option<u64>,
    pub(super) stale: bool,
}

impl Item {
    fn is(&self, seen: &Item) -> bool {
        let known = Item {
            cas: self.cas.or(seen.cas),
            ..self.clone()
        };
        known == *seen
    }
}

impl fmt::Debug for Item {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Item { value, cas, .. } = self;
        let first = value.first().copied().unwrap_or_default();
        write!(
            out,
            "{} bytes from {first} on, CAS {:x}",
            value.len(),
            cas.unwrap_or_default()
        )
    }
}

/// A record of a partition.
#[derive(Clone)]
pub(super) enum Event {
    Put(Vec<u8>, Item),
    Remove(Vec<u8>),
    /// In the first partition only: everything is gone before these places in the histories.
    Flush(Vec<usize>),
}

impl fmt::Debug for Event {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Put(key, item) => write!(out, "{}: {item:?}", key.escape_ascii()),
            Event::Remove(key) => write!(out, "{}: removed", key.escape_ascii()),
            Event::Flush(places) => write!(out, "flushed before {places:?}"),
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Partition {
    events: Vec<Event>,
    /// Events that the store acknowledged, and those that are durable.
    acknowledged: usize,
    durable: usize,
}

/// The histories of all partitions.
#[derive(Clone, Debug)]
pub(super) struct Model {
    partitions: Vec<Partition>,
    /// Every CAS that was given out.
    cas: HashSet<u64>,
    /// True once a sync has failed: then the device may have lost what was not durable.
    pub(super) device_failed: bool,
}

impl Model {
    pub(super) fn new(partitions: u32) -> Model {
        Model {
            partitions: vec![Partition::default(); partitions as usize],
            cas: HashSet::new(),
            device_failed: false,
        }
    }

    fn of(&mut self, event: &Event) -> &mut Partition {
        let count = self.partitions.len() as u32;
        let number = match event {
            Event::Put(key, _) | Event::Remove(key) => partition_of(key, count),
            Event::Flush(_) => 0,
        };
        &mut self.partitions[number as usize]
    }

    /// A flush of everything so far.
    pub(super) fn flush(&self) -> Event {
        Event::Flush(self.partitions.iter().map(|one| one.events.len()).collect())
    }

    /// The store has acknowledged a write.
    pub(super) fn acknowledge(&mut self, event: Event) {
        if let Event::Put(key, Item { cas: Some(cas), .. }) = &event
            && self.items().get(key).is_none_or(|old| old.cas != Some(*cas))
        {
            assert!(self.cas.insert(*cas), "CAS {cas} was given out before");
        }
        let partition = self.of(&event);
        partition.events.push(event);
        partition.acknowledged = partition.events.len();
    }

    /// The store stopped during a write.
    pub(super) fn attempt(&mut self, event: Event) {
        self.of(&event).events.push(event);
    }

    /// All acknowledged writes are durable.
    pub(super) fn sync(&mut self) {
        for partition in &mut self.partitions {
            partition.durable = partition.acknowledged;
        }
    }

    /// The items of the running store.
    pub(super) fn items(&self) -> Items {
        let lengths: Vec<usize> = self.partitions.iter().map(|one| one.acknowledged).collect();
        let flushed = self.flushed(lengths[0]);
        let parts = self.partitions.iter().zip(flushed).zip(lengths);
        parts
            .flat_map(|((one, from), to)| replay(&one.events, from, to))
            .collect()
    }

    /// The places before which everything is gone, after these events of the first partition.
    fn flushed(&self, length: usize) -> Vec<usize> {
        let last = self.partitions[0].events[..length].iter().rev();
        let last = last.filter_map(|event| match event {
            Event::Flush(places) => Some(places.clone()),
            _ => None,
        });
        last.take(1)
            .next()
            .unwrap_or_else(|| vec![0; self.partitions.len()])
    }

    /// The store was opened again and has these items. `power_cut` tells whether unsynced writes may be gone. The histories end
    /// where the store has them end.
    pub(super) fn reopen(&mut self, seen: &Items, power_cut: bool) -> Result<(), String> {
        let all_may_go = power_cut || self.device_failed;
        let least: Vec<usize> = self
            .partitions
            .iter()
            .map(|one| match all_may_go {
                true => one.durable,
                false => one.acknowledged,
            })
            .collect();
        let count = self.partitions.len() as u32;
        let mut parts = vec![Items::new(); self.partitions.len()];
        for (key, item) in seen {
            parts[partition_of(key, count) as usize].insert(key.clone(), item.clone());
        }
        let lengths = (least[0]..=self.partitions[0].events.len())
            .rev()
            .find_map(|first| {
                let flushed = self.flushed(first);
                let fits = |number: usize| {
                    let most = if number == 0 {
                        first
                    } else {
                        self.partitions[number].events.len()
                    };
                    let from = if number == 0 { first } else { least[number] };
                    let events = &self.partitions[number].events;
                    longest(events, flushed[number], from..=most, &parts[number])
                };
                (0..self.partitions.len())
                    .map(fits)
                    .collect::<Option<Vec<usize>>>()
            });
        let Some(lengths) = lengths else {
            let seen: Vec<String> = seen
                .iter()
                .map(|(key, item)| format!("{}: {item:?}", key.escape_ascii()))
                .collect();
            return Err(format!(
                "at least {least:?} of {:#?}; found {seen:#?}",
                self.partitions
            ));
        };
        self.end_at(&lengths, seen, power_cut);
        Ok(())
    }

    fn end_at(&mut self, lengths: &[usize], seen: &Items, power_cut: bool) {
        for (partition, &length) in self.partitions.iter_mut().zip(lengths) {
            partition.events.truncate(length);
            partition.acknowledged = length;
            partition.durable = if power_cut {
                length
            } else {
                partition.durable.min(length)
            };
            for event in &mut partition.events {
                match event {
                    // Writes behind a flush are not flushed, even if records before it are lost.
                    Event::Flush(places) => {
                        places
                            .iter_mut()
                            .zip(lengths)
                            .for_each(|(place, length)| *place = (*place).min(*length));
                    }
                    Event::Put(key, item) if item.cas.is_none() => {
                        item.cas = seen
                            .get(key)
                            .filter(|seen| item.is(seen))
                            .and_then(|seen| seen.cas);
                        self.cas.extend(item.cas);
                    }
                    _ => {}
                }
            }
        }
        self.device_failed = false;
    }
}

/// The items after the events of a range.
fn replay(events: &[Event], from: usize, to: usize) -> Items {
    let mut items = Items::new();
    events
        .get(from..to)
        .unwrap_or_default()
        .iter()
        .for_each(|event| apply(event, &mut items));
    items
}

fn apply(event: &Event, items: &mut Items) {
    match event {
        Event::Put(key, item) => drop(items.insert(key.clone(), item.clone())),
        Event::Remove(key) => drop(items.remove(key)),
        Event::Flush(_) => {}
    }
}

/// The greatest of these lengths at which the events from `flushed` on lead to the items.
fn longest(events: &[Event], flushed: usize, lengths: RangeInclusive<usize>, seen: &Items) -> Option<usize> {
    let mut items = replay(events, flushed, *lengths.start());
    let mut found = None;
    for length in lengths.clone() {
        if length > *lengths.start() && length > flushed {
            apply(&events[length - 1], &mut items);
        }
        let same =
            items.len() == seen.len() && items.iter().zip(seen).all(|(a, b)| a.0 == b.0 && a.1.is(b.1));
        if same {
            found = Some(length);
        }
    }
    found
}
