//! The parts of a file that are known to be in the page cache, in windows of 64 KiB.
//!
//! A window is learned when its bytes have just been written, or read with all checks; it is forgotten when the kernel is found to
//! have evicted a page of it.
//!
//! **Invariant:** the bytes of a known window were whole when they came from the device.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes of a window.
pub(super) const WINDOW: u64 = 64 << 10;

/// One bit per window of a file.
#[derive(Debug)]
pub(super) struct Windows(Box<[AtomicU64]>);

impl Windows {
    /// For a file of at most `length` bytes, none of which is known.
    pub(super) fn new(length: u64) -> Windows {
        let words = length.div_ceil(WINDOW).div_ceil(64);
        Windows((0..words).map(|_| AtomicU64::new(0)).collect())
    }

    /// True if the window of this number is known.
    #[inline]
    fn has(&self, window: u64) -> bool {
        let word = self.0.get((window / 64) as usize);
        word.is_some_and(|word| word.load(Relaxed) >> (window % 64) & 1 == 1)
    }

    /// True if all windows that have any byte of a range are known.
    #[inline]
    pub(super) fn know(&self, range: Range<u64>) -> bool {
        let (first, last) = (range.start / WINDOW, range.end.saturating_sub(1) / WINDOW);
        self.has(first) && (first >= last || (first + 1..=last).all(|window| self.has(window)))
    }

    /// Learns the windows that begin in a range. Those who append to a file, or read it from one end to the other, thus learn
    /// every window when they come to it.
    #[inline]
    pub(super) fn learn_from(&self, range: Range<u64>) {
        for window in range.start.div_ceil(WINDOW)..range.end.div_ceil(WINDOW) {
            self.set(window);
        }
    }

    /// Learns the windows that have any byte of a range.
    pub(super) fn learn(&self, range: Range<u64>) {
        for window in range.start / WINDOW..range.end.div_ceil(WINDOW) {
            self.set(window);
        }
    }

    fn set(&self, window: u64) {
        if let Some(word) = self.0.get((window / 64) as usize) {
            word.fetch_or(1 << (window % 64), Relaxed);
        }
    }

    /// Forgets the windows that have any byte of a range.
    pub(super) fn forget(&self, range: Range<u64>) {
        for window in range.start / WINDOW..range.end.div_ceil(WINDOW) {
            if let Some(word) = self.0.get((window / 64) as usize) {
                word.fetch_and(!(1 << (window % 64)), Relaxed);
            }
        }
    }

    /// The windows that are known.
    pub(super) fn known(&self) -> impl Iterator<Item = u64> + '_ {
        let words = self.0.iter().enumerate();
        words.flat_map(|(number, word)| {
            let mut bits = word.load(Relaxed);
            std::iter::from_fn(move || {
                let bit = bits.trailing_zeros();
                bits &= bits.wrapping_sub(1);
                (bit < 64).then_some(number as u64 * 64 + u64::from(bit))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_known_if_each_of_its_windows_is() {
        let windows = Windows::new(200 * WINDOW - 5);
        windows.learn(3 * WINDOW..5 * WINDOW + 1);
        windows.learn(199 * WINDOW + 7..199 * WINDOW + 8);
        assert_eq!(windows.known().collect::<Vec<_>>(), [3, 4, 5, 199]);
        assert!(windows.know(3 * WINDOW..6 * WINDOW));
        assert!(!windows.know(3 * WINDOW..6 * WINDOW + 1));
        assert!(!windows.know(3 * WINDOW - 1..4 * WINDOW));
        assert!(windows.know(4 * WINDOW..4 * WINDOW));
        windows.forget(4 * WINDOW + 9..4 * WINDOW + 10);
        assert_eq!(windows.known().collect::<Vec<_>>(), [3, 5, 199]);
        assert!(!windows.know(3 * WINDOW..6 * WINDOW));
    }

    #[test]
    fn what_is_appended_is_known_from_the_first_whole_window_on() {
        let windows = Windows::new(100 * WINDOW);
        windows.learn_from(10..20);
        windows.learn_from(WINDOW - 1..WINDOW);
        assert_eq!(windows.known().count(), 0);
        windows.learn_from(WINDOW - 1..WINDOW + 1);
        windows.learn_from(WINDOW + 1..3 * WINDOW);
        assert_eq!(windows.known().collect::<Vec<_>>(), [1, 2]);
        windows.learn_from(0..1);
        assert!(windows.know(0..3 * WINDOW));
    }

    #[test]
    fn nothing_is_known_behind_the_end() {
        let windows = Windows::new(10);
        windows.learn(0..100 * WINDOW);
        assert!(windows.know(0..10));
        assert!(!windows.know(0..65 * WINDOW));
    }
}
