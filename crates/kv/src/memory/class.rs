//! Which items share segments: those that end at about the same time, large and small ones apart, proven and new ones apart.
//!
//! Times to live fall into classes, two to an octave in a large store, coarser in a small one, so that open segments never
//! take more than a small part of the memory.

use crate::{Expiry, Now};

/// Half octaves of the longest time to live that has a class of its own (about 97 days).
const HALF_OCTAVES: u32 = 46;

/// How times to live are divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Classes {
    /// Half octaves a class; zero if there's one class for everything.
    width: u32,
}

impl Classes {
    /// As fine as a store of so many segments affords.
    pub(super) fn for_segments(segments: usize) -> Self {
        let affordable = (segments / 16) as u32;
        let width = [1, 2, 4, 8]
            .into_iter()
            .find(|&width| HALF_OCTAVES.div_ceil(width) < affordable);
        Classes {
            width: width.unwrap_or(0),
        }
    }

    /// How many there are.
    pub(super) fn count(self) -> usize {
        match self.width {
            0 => 1,
            width => 1 + HALF_OCTAVES.div_ceil(width) as usize,
        }
    }

    /// The class of an item. Zero is for those that never expire.
    #[inline]
    pub(super) fn of(self, expiry: Expiry, now: Now) -> u8 {
        match expiry {
            Expiry::At(second) if self.width != 0 => {
                let ttl = second.saturating_sub(now.0).max(1);
                let octave = ttl.ilog2();
                let half = if octave == 0 { 0 } else { ttl >> (octave - 1) & 1 };
                1 + ((2 * octave + half).min(HALF_OCTAVES - 1) / self.width) as u8
            }
            _ => 0,
        }
    }

    /// The least time to live of a class; `None` for the one of items that never expire.
    pub(super) fn ttl_min(self, class: u8) -> Option<u32> {
        let step = u32::from(class).checked_sub(1)? * self.width;
        let octave = step / 2;
        Some(if step.is_multiple_of(2) {
            1 << octave
        } else {
            (1 << octave) + (1 << octave >> 1)
        })
    }
}

/// A sequence of segments: one class, either large or small items, either new or proven ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Queue(pub(super) u8);

/// How many queues a class has.
pub(super) const QUEUES_A_CLASS: usize = 4;

impl Queue {
    #[inline]
    pub(super) fn new(class: u8, large: bool, proven: bool) -> Self {
        Queue(class << 2 | u8::from(large) << 1 | u8::from(proven))
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
    pub(super) fn proven(self) -> bool {
        self.0 & 1 != 0
    }

    /// Where items of this queue go that have proven themselves.
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
        for segments in [4, 64, 100, 200, 400, 1000, 100_000] {
            let classes = Classes::for_segments(segments);
            assert!(classes.count() == 1 || classes.count() * 16 <= segments);
            assert!(classes.count() * QUEUES_A_CLASS <= 256);
            let mut last = 0;
            for ttl in (1..5000).chain([86_400, 2_592_000, u32::MAX]) {
                let class = classes.of(Expiry::At(ttl), Now(0));
                assert!(class >= last && usize::from(class) < classes.count());
                assert!(class == 0 || classes.ttl_min(class).is_some_and(|least| least <= ttl));
                last = class;
            }
            assert_eq!(classes.of(Expiry::Never, Now(7)), 0);
        }
    }
}
