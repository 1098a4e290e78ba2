//! The mapping from values to pixels along one axis.

/// Values from `low` to `high` over a length of pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    logarithmic: bool,
    length: f64,
}

/// The smallest value that a logarithmic scale shows.
const LOW_MIN: f64 = 1e-3;
/// The number of steps that a linear axis has at least.
const STEPS_MIN: f64 = 4.0;

impl Scale {
    /// Whole decades around the values.
    pub(crate) fn decades(values: impl Iterator<Item = f64>, length: f64) -> Scale {
        let (low, high) = range(values.map(|value| value.max(LOW_MIN).log10()));
        let (low, high) = (low.floor(), high.ceil().max(low.floor() + 1.0));
        Scale {
            low,
            high,
            logarithmic: true,
            length,
        }
    }

    /// From nothing to a round number above the values.
    pub(crate) fn from_zero(values: impl Iterator<Item = f64>, length: f64) -> Scale {
        let (_, high) = range(values.chain([0.0]));
        let step = step(high);
        let high = (high / step).ceil().max(1.0) * step;
        Scale {
            low: 0.0,
            high,
            logarithmic: false,
            length,
        }
    }

    /// From the smallest of the values to the largest.
    pub(crate) fn exact(values: impl Iterator<Item = f64>, logarithmic: bool, length: f64) -> Scale {
        let transform = |value: f64| {
            if logarithmic {
                value.max(LOW_MIN).log10()
            } else {
                value
            }
        };
        let (low, high) = range(values.map(transform));
        Scale {
            low,
            high: if high > low { high } else { low + 1.0 },
            logarithmic,
            length,
        }
    }

    /// Pixels from the start of the axis; values beyond its ends lie at the ends.
    pub(crate) fn position(&self, value: f64) -> f64 {
        let value = if self.logarithmic {
            value.max(LOW_MIN).log10()
        } else {
            value
        };
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0) * self.length
    }

    /// The values at which the axis is labelled.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            return (self.low as i32..=self.high as i32)
                .map(|decade| 10_f64.powi(decade))
                .collect();
        }
        let step = step(self.high);
        (0..=(self.high / step).round() as u32)
            .map(|count| f64::from(count) * step)
            .collect()
    }
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
    if low <= high { (low, high) } else { (0.0, 1.0) }
}

/// A step of 1, 2 or 5 times a power of ten that divides the value into at least four parts.
fn step(value: f64) -> f64 {
    let rough = (value / STEPS_MIN).max(LOW_MIN);
    let decade = 10_f64.powf(rough.log10().floor());
    let times = [5.0, 2.0]
        .into_iter()
        .find(|times| times * decade <= rough)
        .unwrap_or(1.0);
    times * decade
}

/// A tick's label, without digits that say nothing: 0.5, 20, 10k, 2M.
pub(crate) fn label(value: f64) -> String {
    let (value, suffix) = match value {
        value if value >= 1e6 => (value / 1e6, "M"),
        value if value >= 1e4 => (value / 1e3, "k"),
        value => (value, ""),
    };
    // Multiples of a decimal step are inexact, such as 0.30000000000000004.
    format!("{}{suffix}", (value * 1e4).round() / 1e4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decades_enclose_the_values() {
        let scale = Scale::decades([20.0, 4000.0].into_iter(), 300.0);
        assert_eq!(scale.ticks(), [10.0, 100.0, 1000.0, 10_000.0]);
        assert_eq!(scale.position(10.0), 0.0);
        assert!((scale.position(100.0) - 100.0).abs() < 1e-9);
        assert_eq!(scale.position(1e9), 300.0);
    }

    #[test]
    fn a_linear_scale_ends_at_a_round_number() {
        let scale = Scale::from_zero([3.3, 8.1].into_iter(), 90.0);
        assert_eq!(scale.ticks(), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(scale.position(5.0), 45.0);
        let small = Scale::from_zero([0.9].into_iter(), 90.0);
        assert_eq!(
            small.ticks().into_iter().map(label).collect::<Vec<_>>(),
            ["0", "0.2", "0.4", "0.6", "0.8", "1"]
        );
    }

    #[test]
    fn no_values_and_equal_values_have_a_scale_too() {
        for values in [vec![], vec![0.0], vec![7.0, 7.0], vec![f64::NAN]] {
            for scale in [
                Scale::decades(values.iter().copied(), 10.0),
                Scale::from_zero(values.iter().copied(), 10.0),
                Scale::exact(values.iter().copied(), true, 10.0),
            ] {
                assert!(scale.position(3.0).is_finite(), "{values:?}");
                assert!(scale.ticks().len() < 20, "{values:?}");
            }
        }
    }

    #[test]
    fn labels_are_short() {
        for (value, expected) in [
            (0.30000000000000004, "0.3"),
            (1000.0, "1000"),
            (10_000.0, "10k"),
            (2e6, "2M"),
        ] {
            assert_eq!(label(value), expected);
        }
    }
}
