//! Numbers that are handed out and come back, the lowest first, so that the highest pages of them fall free.
//!
//! A word a page of 64 numbers, a bit set for each that is free; and a word for 64 such words, a bit set for each that
//! isn't zero, so that finding the lowest is quick.
//!
//! **Invariant:** a bit of `summary` is set exactly if the word of `pages` that it stands for isn't zero.

/// Numbers of a page.
pub(super) const A_PAGE: u32 = u64::BITS;

/// The numbers of some pages, the free ones marked. Number zero is never handed out.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    pages: Vec<u64>,
    summary: Vec<u64>,
    /// No word of the summary before this one has a bit.
    first: usize,
    free: u32,
}

impl Numbers {
    /// How many pages there are.
    pub(super) fn pages(&self) -> u32 {
        self.pages.len() as u32
    }

    /// How many numbers are handed out; zero counts as one.
    pub(super) fn used(&self) -> u32 {
        self.pages() * A_PAGE - self.free
    }

    /// Adds a page of free numbers.
    pub(super) fn grow(&mut self) {
        let page = self.pages.len();
        self.pages.push(0);
        self.summary.resize(self.pages.len().div_ceil(64), 0);
        self.mark(page, if page == 0 { !1 } else { !0 });
    }

    /// Drops the last page, if all its numbers are free; answers which it was.
    pub(super) fn shrink(&mut self) -> Option<u32> {
        let page = self
            .pages
            .len()
            .checked_sub(1)
            .filter(|&page| self.pages[page] == !0)?;
        self.pages.pop();
        self.summary[page / 64] &= !(1 << (page % 64));
        self.summary.truncate(self.pages.len().div_ceil(64));
        self.free -= A_PAGE;
        Some(page as u32)
    }

    /// The lowest free number.
    pub(super) fn take(&mut self) -> Option<u32> {
        self.take_below(u32::MAX)
    }

    /// The lowest free number, if it's below `bound`.
    pub(super) fn take_below(&mut self, bound: u32) -> Option<u32> {
        while self.summary.get(self.first) == Some(&0) {
            self.first += 1;
        }
        let page = self.first * 64 + self.summary.get(self.first)?.trailing_zeros() as usize;
        let bit = self.pages[page].trailing_zeros();
        let number = page as u32 * A_PAGE + bit;
        if number >= bound {
            return None;
        }
        self.pages[page] &= !(1 << bit);
        self.free -= 1;
        if self.pages[page] == 0 {
            self.summary[page / 64] &= !(1 << (page % 64));
        }
        Some(number)
    }

    /// Takes a number back.
    pub(super) fn give(&mut self, number: u32) {
        debug_assert!(number != 0, "number zero was never handed out");
        self.mark((number / A_PAGE) as usize, 1 << (number % A_PAGE));
    }

    fn mark(&mut self, page: usize, bits: u64) {
        debug_assert_eq!(self.pages[page] & bits, 0, "a number came back twice");
        self.pages[page] |= bits;
        self.summary[page / 64] |= 1 << (page % 64);
        self.first = self.first.min(page / 64);
        self.free += bits.count_ones();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_number_is_handed_out() {
        let mut numbers = Numbers::default();
        assert_eq!(numbers.take(), None);
        (0..130).for_each(|_| numbers.grow());
        let taken: Vec<u32> = std::iter::from_fn(|| numbers.take()).collect();
        assert_eq!(taken, (1..130 * A_PAGE).collect::<Vec<_>>());
        for number in [8000, 70, 5000] {
            numbers.give(number);
        }
        assert_eq!(numbers.used(), 130 * A_PAGE - 3);
        assert_eq!(numbers.take_below(70), None);
        assert_eq!(numbers.take_below(71), Some(70));
        assert_eq!(numbers.take(), Some(5000));
        assert_eq!(numbers.take(), Some(8000));
        assert_eq!(numbers.take(), None);
    }

    #[test]
    fn only_pages_whose_numbers_are_all_free_go() {
        let mut numbers = Numbers::default();
        (0..66).for_each(|_| numbers.grow());
        let all: Vec<u32> = std::iter::from_fn(|| numbers.take()).collect();
        assert_eq!(numbers.shrink(), None);
        all.iter()
            .filter(|&&number| number != 100)
            .for_each(|&number| numbers.give(number));
        let gone: Vec<u32> = std::iter::from_fn(|| numbers.shrink()).collect();
        assert_eq!(gone, (2..66).rev().collect::<Vec<_>>());
        assert_eq!((numbers.used(), numbers.take()), (2, Some(1)));
        numbers.grow();
        assert_eq!(numbers.take_below(2), None);
        assert_eq!(numbers.take(), Some(2));
    }
}
