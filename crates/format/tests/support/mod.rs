//! Random numbers for the tests, the same in every run.
#![allow(dead_code, reason = "each test uses some of it")]

/// Marsaglia's xorshift, multiplied.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn word(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number of random length, or one beside a power of two or ten.
    pub(crate) fn number(&mut self) -> u64 {
        let word = self.word();
        match word % 8 {
            0 => (1 << (word >> 32 & 63)) - (word >> 40 & 1),
            1 => 10u64.pow((word >> 32) as u32 % 20) - (word >> 40 & 1),
            2 => (word >> 32) % 1000,
            _ => self.word() >> (word >> 32 & 63),
        }
    }

    /// A double of any magnitude, often one that people write.
    pub(crate) fn double(&mut self) -> f64 {
        let word = self.word();
        match word % 8 {
            0 => f64::from_bits(self.word()),
            1 => (self.word() % 20_000_001) as f64 / 10f64.powi((word >> 32) as i32 % 8) - 10_000.0,
            2 => (self.number() as f64) / (1u64 << (word >> 32 & 63)) as f64,
            3 => [
                0.0,
                -0.0,
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::NAN,
                f64::MIN_POSITIVE,
                f64::MAX,
                5e-324,
                0.5,
                1.5,
                2.5,
                0.25,
                0.125,
                999.9995,
                9.995,
                1e15,
                1e16,
                1e17,
                1e-5,
                18_446_744_073_709_551_615.0,
            ][(word >> 32) as usize % 20],
            4 => -(self.number() as f64),
            _ => {
                let value = (self.word() >> 11) as f64 / (1u64 << 53) as f64;
                value * 10f64.powi((word >> 32) as i32 % 40 - 20)
            }
        }
    }

    /// A text of up to 12 characters, some of them longer than a byte.
    pub(crate) fn text(&mut self) -> String {
        let length = self.word() % 13;
        (0..length)
            .map(|_| ['a', 'Z', '0', ' ', '\\', '"', '\n', 'é', '飛', '🏃'][self.word() as usize % 10])
            .collect()
    }
}
