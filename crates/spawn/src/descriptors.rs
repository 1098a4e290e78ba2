//! The calls that set up the child's descriptors, and their order.
//!
//! The mappings from numbers in the child to descriptors of the parent may overlap (1 to 2 while 3 to 1) and may have cycles (1 and
//! 2 swapped). A target is replaced once no remaining mapping needs it as a source. When only cycles remain, one descriptor is
//! saved to a spare number, which breaks its cycle, so one spare number is enough.
//!
//! **Invariant:** each target ends up as a copy of its source in the parent.

use crate::block::Operation;
use crate::stage::Stage;

/// A descriptor number in the child, and its source in the parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) target: i32,
    pub(crate) source: i32,
    pub(crate) state: State,
}

/// The state of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Open.
    Named,
    /// The parent's descriptor of the same number, which may be closed.
    Inherited,
    /// The same, but `FD_CLOEXEC` is respected.
    Untouched,
}

/// Appends the operations for all mappings, whose targets must differ.
pub(crate) fn arrange(mappings: &[Mapping], operations: &mut Vec<Operation>) {
    let stays = |mapping: &&Mapping| mapping.source == mapping.target && mapping.state != State::Untouched;
    for mapping in mappings.iter().filter(stays) {
        operations.push(keep_open(*mapping));
    }
    let mut pending: Vec<Mapping> = mappings
        .iter()
        .copied()
        .filter(|mapping| mapping.source != mapping.target)
        .collect();
    let highest = mappings
        .iter()
        .map(|mapping| mapping.target.max(mapping.source))
        .max();
    let spare = highest.unwrap_or(2).saturating_add(1);
    let mut saved_for = None;
    while !pending.is_empty() {
        let needed = |target: i32| {
            pending.iter().any(|other| {
                other.source == target && other.target != target && saved_for != Some(other.target)
            })
        };
        let free = pending.iter().position(|mapping| !needed(mapping.target));
        match free {
            Some(index) => {
                let mapping = pending.swap_remove(index);
                if saved_for == Some(mapping.target) {
                    saved_for = None;
                    operations.push(Operation::Restore { to: mapping.target });
                } else {
                    operations.push(put(mapping));
                }
            }
            None => {
                // All remaining targets are sources too, so the mappings form cycles. This breaks one.
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

fn put(mapping: Mapping) -> Operation {
    Operation::Call {
        number: libc::SYS_dup3 as usize,
        arguments: [mapping.source as usize, mapping.target as usize, 0, 0, 0],
        stage: Stage::Descriptor,
        detail: mapping.target,
        tolerated: 0,
    }
}

/// A descriptor that has its number already only has to survive `execve`.
fn keep_open(mapping: Mapping) -> Operation {
    Operation::Call {
        number: libc::SYS_fcntl as usize,
        arguments: [mapping.target as usize, libc::F_SETFD as usize, 0, 0, 0],
        stage: Stage::Descriptor,
        detail: mapping.target,
        tolerated: match mapping.state {
            State::Named => 0,
            _ => libc::EBADF,
        },
    }
}

/// One more than the highest source.
pub(crate) fn end(mappings: &[Mapping]) -> u32 {
    let sources = mappings.iter().map(|mapping| mapping.source as u32 + 1);
    sources.max().unwrap_or(0)
}

/// Appends the operations that close all descriptors but the targets. From `end` on, only targets are open.
pub(crate) fn close_others(mappings: &[Mapping], end: u32, operations: &mut Vec<Operation>) {
    let mut kept: Vec<u32> = mappings.iter().map(|mapping| mapping.target as u32).collect();
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

    fn mapping(target: i32, source: i32) -> Mapping {
        Mapping {
            target,
            source,
            state: State::Named,
        }
    }

    /// Simulates the operations on a table of descriptors.
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
            let mappings: Vec<_> = (0..4)
                .map(|target| mapping(target, (code / 6_usize.pow(target as u32) % 6) as i32))
                .collect();
            let mut operations = Vec::new();
            arrange(&mappings, &mut operations);
            let table = carry_out(&operations, &open);
            for mapping in &mappings {
                assert_eq!(
                    table[&mapping.target], mapping.source,
                    "{mappings:?}: {operations:?}"
                );
            }
        }
    }

    #[test]
    fn what_lies_between_the_targets_is_closed() {
        let mappings = [mapping(7, 3), mapping(0, 0), mapping(2, 9)];
        let mut operations = Vec::new();
        close_others(&mappings, !0, &mut operations);
        let close = |first, last| Operation::Close { first, last };
        assert_eq!(operations, [close(1, 1), close(3, 6), close(8, !0)]);
    }

    #[test]
    fn what_was_never_shared_need_not_be_closed() {
        assert_eq!((end(&[]), end(&[mapping(7, 3), mapping(0, 0)])), (0, 4));
        let mut operations = Vec::new();
        let standard = [mapping(0, 0), mapping(1, 1), mapping(2, 2)];
        close_others(&standard, end(&standard), &mut operations);
        assert_eq!(operations, []);
        let moved = [mapping(0, 5), mapping(1, 1), mapping(2, 2)];
        close_others(&moved, end(&moved), &mut operations);
        assert_eq!(operations, [Operation::Close { first: 3, last: !0 }]);
    }
}
