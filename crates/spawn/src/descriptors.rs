//! Which descriptors the child has, and the order of the calls that puts them in their places.
//!
//! A map from numbers in the child to descriptors of the parent may overlap itself (1 goes to 2 while 3 goes to 1) and
//! may have cycles (1 and 2 change places). A descriptor is put in its place as soon as nobody needs what lies there. When
//! all that is left are cycles, one descriptor is saved elsewhere, which opens its cycle; so one spare number is enough.
//!
//! **Invariant:** whatever the order, each target ends up with what its source was in the parent.

use crate::block::Operation;
use crate::step::Step;

/// A number in the child and the descriptor of the parent that it is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) target: i32,
    pub(crate) source: i32,
    pub(crate) state: State,
}

/// What is known of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It is open.
    Named,
    /// It has the target's number. If nothing is open there, nothing shall be.
    Inherited,
    /// The same, and what is to be closed by `execve` shall be closed.
    Untouched,
}

/// Appends the operations that put every descriptor in its place. No two places have the same target.
pub(crate) fn arrange(places: &[Place], operations: &mut Vec<Operation>) {
    let stays = |place: &&Place| place.source == place.target && place.state != State::Untouched;
    for place in places.iter().filter(stays) {
        operations.push(keep_open(*place));
    }
    let mut pending: Vec<Place> = places
        .iter()
        .copied()
        .filter(|place| place.source != place.target)
        .collect();
    let highest = places.iter().map(|place| place.target.max(place.source)).max();
    let spare = highest.unwrap_or(2).saturating_add(1);
    let mut saved_for = None;
    while !pending.is_empty() {
        let needed = |target: i32| {
            pending.iter().any(|other| {
                other.source == target && other.target != target && saved_for != Some(other.target)
            })
        };
        let free = pending.iter().position(|place| !needed(place.target));
        match free {
            Some(index) => {
                let place = pending.swap_remove(index);
                if saved_for == Some(place.target) {
                    saved_for = None;
                    operations.push(Operation::Restore { to: place.target });
                } else {
                    operations.push(put(place));
                }
            }
            None => {
                // Each target that is left is a source too, so they are cycles: this opens one.
                let first = pending[0];
                operations.push(Operation::Save {
                    from: first.source,
                    minimum: spare,
                });
                saved_for = Some(first.target);
            }
        }
    }
}

fn put(place: Place) -> Operation {
    Operation::Call {
        number: libc::SYS_dup3 as usize,
        arguments: [place.source as usize, place.target as usize, 0, 0, 0],
        step: Step::Descriptor,
        detail: place.target,
        tolerated: 0,
    }
}

/// A descriptor that is in its place has only to stay open by `execve`.
fn keep_open(place: Place) -> Operation {
    Operation::Call {
        number: libc::SYS_fcntl as usize,
        arguments: [place.target as usize, libc::F_SETFD as usize, 0, 0, 0],
        step: Step::Descriptor,
        detail: place.target,
        tolerated: match place.state {
            State::Named => 0,
            _ => libc::EBADF,
        },
    }
}

/// The number from which on nobody needs a descriptor of the parent.
pub(crate) fn end(places: &[Place]) -> u32 {
    let sources = places.iter().map(|place| place.source as u32 + 1);
    sources.max().unwrap_or(0)
}

/// Appends the operations that close everything but the targets, where nothing is open from `end` on but targets.
pub(crate) fn close_others(places: &[Place], end: u32, operations: &mut Vec<Operation>) {
    let mut kept: Vec<u32> = places.iter().map(|place| place.target as u32).collect();
    kept.sort_unstable();
    let mut first = 0;
    for target in kept {
        if target > first {
            operations.push(Operation::Close {
                first,
                last: target - 1,
            });
        }
        first = target + 1;
    }
    if first < end {
        operations.push(Operation::Close { first, last: !0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn place(target: i32, source: i32) -> Place {
        Place {
            target,
            source,
            state: State::Named,
        }
    }

    /// Carries the operations out on a table of numbers, each of which holds what the parent had there.
    fn carry_out(operations: &[Operation], open: &[i32]) -> BTreeMap<i32, i32> {
        let mut table: BTreeMap<i32, i32> = open.iter().map(|&fd| (fd, fd)).collect();
        let mut saved = None;
        for operation in operations {
            match *operation {
                Operation::Save { from, minimum } => {
                    assert!(saved.is_none(), "one spare number is enough");
                    assert!(minimum > 3, "no target comes to lie where it was saved");
                    saved = Some(table[&from]);
                }
                Operation::Restore { to } => {
                    table.insert(to, saved.take().expect("something was saved"));
                }
                Operation::Call {
                    number, arguments, ..
                } if number == libc::SYS_dup3 as usize => {
                    let source = table[&(arguments[0] as i32)];
                    table.insert(arguments[1] as i32, source);
                }
                _ => {}
            }
        }
        table
    }

    #[test]
    fn every_map_of_few_descriptors_comes_out_right() {
        // All maps of the targets 0 to 3, each to one of six sources: 1,296 with every overlap and cycle there is.
        let open = [0, 1, 2, 3, 4, 5];
        for code in 0..6_usize.pow(4) {
            let places: Vec<_> = (0..4)
                .map(|target| place(target, (code / 6_usize.pow(target as u32) % 6) as i32))
                .collect();
            let mut operations = Vec::new();
            arrange(&places, &mut operations);
            let table = carry_out(&operations, &open);
            for place in &places {
                assert_eq!(table[&place.target], place.source, "{places:?}: {operations:?}");
            }
        }
    }

    #[test]
    fn what_lies_between_the_targets_is_closed() {
        let places = [place(7, 3), place(0, 0), place(2, 9)];
        let mut operations = Vec::new();
        close_others(&places, !0, &mut operations);
        let close = |first, last| Operation::Close { first, last };
        assert_eq!(operations, [close(1, 1), close(3, 6), close(8, !0)]);
    }

    #[test]
    fn what_was_never_shared_need_not_be_closed() {
        assert_eq!((end(&[]), end(&[place(7, 3), place(0, 0)])), (0, 4));
        let mut operations = Vec::new();
        let standard = [place(0, 0), place(1, 1), place(2, 2)];
        close_others(&standard, end(&standard), &mut operations);
        assert_eq!(operations, []);
        let moved = [place(0, 5), place(1, 1), place(2, 2)];
        close_others(&moved, end(&moved), &mut operations);
        assert_eq!(operations, [Operation::Close { first: 3, last: !0 }]);
    }
}
