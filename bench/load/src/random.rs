//! Random numbers: a small generator and Zipf's distribution over any number of keys.

/// SplitMix64: one chain of multiplications per number; every seed is equally good.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number below `bound`, by multiplication instead of division; the bias is below 2^-32 for any bound in use here.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in (0, 1].
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

/// Spreads the bits of a number over all bits.
pub(crate) fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    number ^ (number >> 31)
}

/// Ranks of keys: uniform, or Zipf with `P(rank) ~ 1 / rank^exponent`.
///
/// Zipf is sampled by rejection from the integral of its envelope (W. Hörmann and G. Derflinger, "Rejection-inversion to
/// generate variates from monotone discrete distributions", 1996): constant time and no table for any number of keys.
#[derive(Debug, Clone)]
pub(crate) struct Ranks {
    count: u64,
    exponent: f64,
    head: f64,
    tail: f64,
    shortcut: f64,
}

impl Ranks {
    /// Ranks of `count` keys; exponent 0 is uniform.
    pub(crate) fn new(count: u64, exponent: f64) -> Ranks {
        let mut ranks = Ranks {
            count,
            exponent,
            head: 0.0,
            tail: 0.0,
            shortcut: 0.0,
        };
        ranks.head = ranks.integral(1.5) - 1.0;
        ranks.tail = ranks.integral(count as f64 + 0.5);
        ranks.shortcut = 2.0 - ranks.inverse(ranks.integral(2.5) - ranks.density(2.0));
        ranks
    }

    /// A rank from 0, the most frequent, to `count - 1`.
    pub(crate) fn sample(&self, random: &mut Random) -> u64 {
        if self.exponent == 0.0 {
            return random.below(self.count);
        }
        loop {
            let area = self.tail + random.unit() * (self.head - self.tail);
            let position = self.inverse(area);
            let rank = position.round().clamp(1.0, self.count as f64);
            if rank - position <= self.shortcut || area >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64 - 1;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// The integral of the density, in a form without a special case for the exponent 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        expm1_over((1.0 - self.exponent) * log) * log
    }

    fn inverse(&self, area: f64) -> f64 {
        let term = (area * (1.0 - self.exponent)).max(-1.0);
        (ln_1p_over(term) * area).exp()
    }
}

/// `(e^x - 1) / x`, also near 0.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        x.exp_m1() / x
    } else {
        1.0 + x / 2.0
    }
}

/// `ln(1 + x) / x`, also near 0.
fn ln_1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        x.ln_1p() / x
    } else {
        1.0 - x / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frequencies of the first ranks against the exact distribution.
    fn agrees(count: u64, exponent: f64) {
        let samples = 400_000;
        let ranks = Ranks::new(count, exponent);
        let mut random = Random::new(7);
        let mut seen = vec![0u32; count as usize];
        for _ in 0..samples {
            seen[ranks.sample(&mut random) as usize] += 1;
        }
        let norm: f64 = (1..=count).map(|rank| (rank as f64).powf(-exponent)).sum();
        for rank in [1, 2, 3, 5, 10, 50] {
            let expected = (rank as f64).powf(-exponent) / norm * f64::from(samples);
            let found = f64::from(seen[rank - 1]);
            let tolerance = 5.0 * expected.sqrt() + 1.0;
            assert!(
                (found - expected).abs() < tolerance,
                "s={exponent} rank {rank}: {found}, expected {expected}"
            );
        }
    }

    #[test]
    fn zipf_has_its_frequencies() {
        agrees(1_000, 0.99);
        agrees(1_000, 1.0);
        agrees(1_000, 0.5);
        agrees(100, 2.0);
    }

    #[test]
    fn uniform_is_uniform() {
        agrees(100, 0.0);
    }

    #[test]
    fn one_key_is_always_the_same() {
        let mut random = Random::new(3);
        for exponent in [0.0, 0.99, 1.0, 3.0] {
            let ranks = Ranks::new(1, exponent);
            assert!((0..1000).all(|_| ranks.sample(&mut random) == 0));
        }
    }

    #[test]
    fn a_seed_repeats_its_sequence() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            (0..16).map(|_| random.next()).collect::<Vec<_>>()
        };
        assert_eq!(draw(9), draw(9));
        assert_ne!(draw(9), draw(10));
    }
}
