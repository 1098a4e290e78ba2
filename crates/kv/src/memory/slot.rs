//! One word of the index.
//!
//! ```text
//!   63        52 51      44 43                                   0
//!   ┌───────────┬──────────┬──────────────────────────────────────┐
//!   │ tag    12 │ worth  8 │ location in units of 8 bytes      44 │
//!   └───────────┴──────────┴──────────────────────────────────────┘
//! ```
//! A location of zero means no item: the whole word zero is an empty slot, anything else is a *ghost*, the frequency of an evicted
//! item, which lasts until the slot is needed.

/// Where an item lies, in units of eight bytes. Zero is nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Location(u64);

const LOCATION_BITS: u32 = 44;
const LOCATION_MASK: u64 = (1 << LOCATION_BITS) - 1;
const FREQUENCY_SHIFT: u32 = LOCATION_BITS;
const TAG_SHIFT: u32 = 52;

/// Address space that locations reach.
pub(super) const REACH: usize = 1 << (LOCATION_BITS + 3);

impl Location {
    #[inline]
    pub(super) fn from_offset(offset: usize) -> Self {
        debug_assert!(offset.is_multiple_of(8) && offset > 0 && offset < REACH);
        Location(offset as u64 >> 3)
    }

    #[inline]
    pub(super) fn offset(self) -> usize {
        (self.0 as usize) << 3
    }
}

/// The contents of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot(pub(super) u64);

impl Slot {
    pub(super) const EMPTY: Slot = Slot(0);

    #[inline]
    pub(super) fn tag_of(hash: u64) -> u64 {
        hash >> TAG_SHIFT
    }

    /// A slot for an item with this hash, without a location yet.
    #[inline]
    pub(super) fn vacant(hash: u64, frequency: u8) -> Self {
        Slot(Slot::tag_of(hash) << TAG_SHIFT | u64::from(frequency) << FREQUENCY_SHIFT)
    }

    #[inline]
    pub(super) fn tag(self) -> u64 {
        self.0 >> TAG_SHIFT
    }

    #[inline]
    pub(super) fn frequency(self) -> u8 {
        (self.0 >> FREQUENCY_SHIFT) as u8
    }

    #[inline]
    pub(super) fn location(self) -> Option<Location> {
        let location = self.0 & LOCATION_MASK;
        (location != 0).then_some(Location(location))
    }

    #[inline]
    pub(super) fn is_live(self) -> bool {
        self.0 & LOCATION_MASK != 0
    }

    #[inline]
    pub(super) fn with_frequency(self, frequency: u8) -> Self {
        Slot(self.0 & !(0xff << FREQUENCY_SHIFT) | u64::from(frequency) << FREQUENCY_SHIFT)
    }

    #[inline]
    pub(super) fn with_location(self, location: Location) -> Self {
        Slot(self.0 & !LOCATION_MASK | location.0)
    }

    /// The ghost of an evicted item.
    #[inline]
    pub(super) fn ghost(self) -> Self {
        Slot(self.0 & !LOCATION_MASK)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn fields_do_not_touch_each_other() {
        let far = Location::from_offset(REACH - 8);
        let slot = Slot::vacant(!0, 0).with_location(far);
        assert_eq!(
            (slot.tag(), slot.frequency(), slot.location()),
            (0xfff, 0, Some(far))
        );
        let slot = slot.with_frequency(255).with_location(Location::from_offset(8));
        assert_eq!(
            (slot.tag(), slot.frequency(), slot.location().unwrap().offset()),
            (0xfff, 255, 8)
        );
        let ghost = slot.ghost();
        assert_eq!(
            (ghost.tag(), ghost.frequency(), ghost.is_live()),
            (0xfff, 255, false)
        );
    }
}
