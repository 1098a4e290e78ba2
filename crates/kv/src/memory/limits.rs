//! Every size that follows from the capacity.

use crate::{KEY_LENGTH_MAX, StoreError};

/// The least capacity.
pub(crate) const CAPACITY_MIN: u64 = 64 << 10;
/// The largest capacity. A store reserves about twice its capacity of address space, and a process has 128 TiB of it.
pub const CAPACITY_MAX: u64 = 32 << 40;
/// The default of `item_size_max`.
pub(crate) const ITEM_SIZE_DEFAULT: u64 = 1 << 20;
/// The least `item_size_max`.
pub(crate) const ITEM_SIZE_MIN: u64 = 1 << 10;
/// The most that `item_size_max` may be.
pub(crate) const ITEM_SIZE_MAX: u64 = 4 << 30;

const ARENA_SHIFT_MIN: u32 = 13;
const ARENA_SHIFT_MAX: u32 = 18;
/// A store has about this many arenas before they grow.
const ARENAS_WANTED: usize = 128;
/// A store with fewer arenas could hardly move an item.
const ARENAS_MIN: usize = 8;
/// Where a store's ceiling ends whatever the machine has: address space isn't endless, and arenas have 32-bit numbers.
const CEILING_MAX: usize = 4 << 40;
const ARENA_NUMBER_BITS: u32 = 30;

/// The bytes that memcached adds to key and value when it compares an item with `item_size_max`: its header, a CAS, the key's zero
/// and the value's line end.
const MEMCACHED_OVERHEAD: u64 = 48 + 8 + 1 + 2;

/// The limits of one store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) item_size_max: u64,
    pub(super) evict: bool,
    pub(super) arena_shift: u32,
    /// The upper limit of the capacity, ever.
    pub(super) ceiling: usize,
    /// Arenas of small items there may ever be.
    pub(super) arenas: usize,
    /// The most arenas of large items, in addition.
    pub(super) large_arenas: usize,
    /// Longer values get a block of their own.
    pub(super) small_max: usize,
}

impl Limits {
    /// The limits of a store that begins with `capacity` and may get `ceiling`, if that's more.
    pub(super) fn new(capacity: usize, ceiling: usize, item_size_max: u64, evict: bool) -> Self {
        let arena_shift = (capacity / ARENAS_WANTED)
            .max(1)
            .ilog2()
            .clamp(ARENA_SHIFT_MIN, ARENA_SHIFT_MAX);
        let arena = 1usize << arena_shift;
        let ceiling = capacity.max(ceiling.min(CEILING_MAX).min(arena << ARENA_NUMBER_BITS));
        Limits {
            item_size_max,
            evict,
            arena_shift,
            ceiling,
            arenas: ceiling / arena,
            large_arenas: ceiling / arena / 4 + 64,
            small_max: (arena / 8).max(4096.min(arena * 3 / 8)),
        }
    }

    /// An arena of large items is closed when their blocks take this.
    pub(super) fn blocks_max(&self, capacity: usize) -> usize {
        (capacity / ARENAS_WANTED).max(1 << self.arena_shift)
    }

    /// Refuses capacities that the store can't be given any more.
    pub(super) fn check_capacity(&self, capacity: u64) -> Result<usize, StoreError> {
        let arenas_min = (ARENAS_MIN as u64) << self.arena_shift;
        let min = arenas_min.max(self.item_size_max * 2).max(CAPACITY_MIN);
        let max = self.ceiling as u64;
        usize::try_from(capacity)
            .ok()
            .filter(|_| (min..=max).contains(&capacity))
            .ok_or(StoreError::CapacityOutOfBounds { capacity, min, max })
    }

    /// True if an item may be stored at all.
    pub(super) fn check(&self, key: usize, value: u64) -> Result<(), StoreError> {
        if key > KEY_LENGTH_MAX {
            return Err(StoreError::KeyTooLong { length: key });
        }
        let size = value.saturating_add(key as u64 + MEMCACHED_OVERHEAD);
        if size > self.item_size_max {
            return Err(StoreError::TooLarge {
                size,
                max: self.item_size_max,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_just_the_limit_is_refused_as_by_memcached() {
        let limits = Limits::new(64 << 20, 0, 1 << 20, true);
        assert!(limits.check(3, (1 << 20) - 1024).is_ok());
        assert!(matches!(
            limits.check(3, 1 << 20),
            Err(StoreError::TooLarge { max: 1_048_576, .. })
        ));
        assert!(matches!(
            limits.check(256, 1),
            Err(StoreError::KeyTooLong { length: 256 })
        ));
        assert!(limits.check(3, u64::MAX).is_err());
    }

    #[test]
    fn capacities_are_bounded_by_items_arenas_and_reservation() {
        let limits = Limits::new(64 << 20, 1 << 30, 1 << 20, true);
        assert_eq!(limits.check_capacity(2 << 20), Ok(2 << 20));
        assert_eq!(limits.check_capacity(1 << 30), Ok(1 << 30));
        for capacity in [0, (2 << 20) - 1, (1 << 30) + 1, u64::MAX] {
            let error = StoreError::CapacityOutOfBounds {
                capacity,
                min: 2 << 20,
                max: 1 << 30,
            };
            assert_eq!(limits.check_capacity(capacity), Err(error));
        }
        assert_eq!(Limits::new(64 << 20, 1 << 20, 1 << 20, true).ceiling, 64 << 20);
        assert!(Limits::new(64 << 10, usize::MAX, 1 << 10, true).ceiling >> 13 <= 1 << 30);
    }

    #[test]
    fn the_largest_small_item_fits_a_arena_at_every_capacity() {
        for shift in 16..44 {
            let limits = Limits::new(1 << shift, 0, 1 << 20, true);
            assert!(limits.small_max + KEY_LENGTH_MAX + 64 <= 1 << limits.arena_shift);
            assert!(limits.small_max <= super::super::item::TAIL_MAX);
        }
    }
}
