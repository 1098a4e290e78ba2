//! Which items share arenas: those that end at about the same time, large and small ones apart, protected and new ones apart.
//!
//! Times to live fall into classes, two to an octave in a large store, coarser in a small one, so that open arenas never
//! take more than a small part of the memory.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::{Expiry, Now};

/// Half octaves of the longest time to live that has a class of its own (about 97 days).
const HALF_OCTAVES: u32 = 46;

/// How many classes there may be. A store that divides coarsely leaves most of them out.
pub(super) const COUNT: usize = 1 + HALF_OCTAVES as usize;

/// How times to live are divided.
#[derive(Debug)]
pub(super) struct Classes {
    /// Half octaves that share a class; zero if there's one class for everything.
    width: AtomicU32,
}

impl Classes {
    /// As fine as a store with this number of arenas affords.
    pub(super) fn for_arenas(arenas: usize) -> Self {
        Classes {
            width: AtomicU32::new(width(arenas)),
        }
    }

    /// Divides as finely as another number of arenas affords. Arenas keep the class that they have.
    pub(super) fn resize(&self, arenas: usize) {
        self.width.store(width(arenas), Relaxed);
    }

    /// The class of an item. Zero is for those that never expire.
    #[inline]
    pub(super) fn of(&self, expiry: Expiry, now: Now) -> u8 {
        let width = self.width.load(Relaxed);
        match expiry {
            Expiry::At(second) if width != 0 => {
                let ttl = second.saturating_sub(now.0).max(1);
                let octave = ttl.ilog2();
                let half = if octave == 0 { 0 } else { ttl >> (octave - 1) & 1 };
                let half = (2 * octave + half).min(HALF_OCTAVES - 1);
                // The widths are powers of two, so classes of one width are among those of a smaller one.
                1 + (half & !(width - 1)) as u8
            }
            _ => 0,
        }
    }
}

/// The half octaves per class that this number of arenas affords.
fn width(arenas: usize) -> u32 {
    let affordable = (arenas / 16) as u32;
    let width = [1u32, 2, 4, 8]
        .into_iter()
        .find(|&width| HALF_OCTAVES.div_ceil(width) < affordable);
    width.unwrap_or(0)
}

/// The least time to live of a class; `None` for the one of items that never expire.
pub(super) fn ttl_min(class: u8) -> Option<u32> {
    let half = u32::from(class).checked_sub(1)?;
    let octave = half / 2;
    Some(if half.is_multiple_of(2) {
        1 << octave
    } else {
        (1 << octave) + (1 << octave >> 1)
    })
}

/// A sequence of arenas: one class, either large or small items, either new or protected ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Queue(pub(super) u8);

/// How many queues a class has.
pub(super) const QUEUES_A_CLASS: usize = 4;

impl Queue {
    #[inline]
    pub(super) fn new(class: u8, large: bool, protected: bool) -> Self {
        Queue(class << 2 | u8::from(large) << 1 | u8::from(protected))
    }

    #[inline]
    pub(super) fn class(self) -> u8 {
        self.0 >> 2
    }

    #[inline]
    pub(super) fn large(self) -> bool {
        self.0 & 2 != 0
    }

    #[inline]
    pub(super) fn protected(self) -> bool {
        self.0 & 1 != 0
    }

    /// Where items of this queue go that have protected themselves.
    #[inline]
    pub(super) fn promoted(self) -> Self {
        Queue(self.0 | 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_ordered_and_bounded() {
        const { assert!(COUNT * QUEUES_A_CLASS <= 256) };
        let classes = Classes::for_arenas(0);
        for arenas in [4, 64, 100, 200, 400, 1000, 100_000, 100, 4] {
            classes.resize(arenas);
            let mut used = vec![0];
            for ttl in (1..5000).chain([86_400, 2_592_000, u32::MAX]) {
                let class = classes.of(Expiry::At(ttl), Now(0));
                assert!(used.last().is_some_and(|&last| class >= last) && usize::from(class) < COUNT);
                assert!(class == 0 || ttl_min(class).is_some_and(|least| least <= ttl));
                used.push(class);
            }
            used.dedup();
            assert!(used.len() == 1 || used.len() * 16 <= arenas);
            assert_eq!(classes.of(Expiry::Never, Now(7)), 0);
        }
    }
}
