//! Pseudo-random numbers, the same in every run.

/// A xorshift generator: fast, repeatable, and good enough for garbage.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of this seed.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below the bound.
    ///
    /// # Panics
    /// If the bound is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let number = self.number() % u64::try_from(bound).expect("64 bits hold it");
        usize::try_from(number).expect("it is below a usize")
    }

    /// `count` random bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.number().to_le_bytes()[3]).collect()
    }

    /// A random element.
    ///
    /// # Panics
    /// If the slice is empty.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}
