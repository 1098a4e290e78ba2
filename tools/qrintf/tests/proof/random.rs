//! Numbers that a seed decides, the same on every machine.

/// SplitMix64 (Steele, Lea and Flood, 2014): small, and any seed is a good one.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not zero.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).expect("usize has at most 64 bits");
        usize::try_from(self.next() % end).expect("it is below a usize")
    }

    /// A number from `first` to `last`, both included.
    pub(crate) fn between(&mut self, first: i64, last: i64) -> i64 {
        let span = usize::try_from(last - first + 1).expect("first is not above last");
        first + i64::try_from(self.below(span)).expect("it is below the span")
    }

    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.below(of.len())]
    }
}
