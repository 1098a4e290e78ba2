//! Latencies of many operations, and their percentiles.

use hdrhistogram::Histogram;
use serde::Serialize;
use std::time::Duration;

/// Longer latencies are counted as this.
const LATENCY_MAX_NS: u64 = 600_000_000_000;

/// Latencies of a row over all rounds.
pub(super) struct Samples {
    ns: Histogram<u64>,
    measured: Duration,
}

/// Percentiles of latency in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Percentiles {
    pub p50_us: f64,
    pub p90_us: f64,
    pub p99_us: f64,
    pub p999_us: f64,
    pub max_us: f64,
}

impl Samples {
    pub(super) fn new() -> Self {
        // Fails only for invalid bounds or more than five digits; these are constants.
        let ns = Histogram::new_with_bounds(1, LATENCY_MAX_NS, 3).expect("valid bounds");
        Self {
            ns,
            measured: Duration::ZERO,
        }
    }

    pub(super) fn record(&mut self, latency: Duration) {
        self.ns.saturating_record(latency.as_nanos() as u64);
    }

    /// Adds the duration of the latest operations.
    pub(super) fn add_time(&mut self, time: Duration) {
        self.measured += time;
    }

    pub(super) fn count(&self) -> u64 {
        self.ns.len()
    }

    pub(super) fn per_second(&self) -> f64 {
        self.ns.len() as f64 / self.measured.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    pub(super) fn percentiles(&self) -> Percentiles {
        let at = |percentile| self.ns.value_at_percentile(percentile) as f64 / 1e3;
        Percentiles {
            p50_us: at(50.0),
            p90_us: at(90.0),
            p99_us: at(99.0),
            p999_us: at(99.9),
            max_us: self.ns.max() as f64 / 1e3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_all_samples() {
        let mut samples = Samples::new();
        (1..=1000).for_each(|us| samples.record(Duration::from_micros(us)));
        samples.add_time(Duration::from_millis(250));
        samples.add_time(Duration::from_millis(250));
        let Percentiles {
            p50_us,
            p99_us,
            p999_us,
            max_us,
            ..
        } = samples.percentiles();
        for (found, expected) in [
            (p50_us, 500.0),
            (p99_us, 990.0),
            (p999_us, 999.0),
            (max_us, 1000.0),
        ] {
            assert!((found / expected - 1.0).abs() < 0.002, "{found} {expected}");
        }
        assert_eq!((samples.count(), samples.per_second()), (1000, 2000.0));
    }

    #[test]
    fn a_latency_beyond_the_scale_is_counted_at_its_end() {
        let mut samples = Samples::new();
        samples.record(Duration::from_secs(6000));
        assert!(samples.percentiles().max_us >= 599e6);
    }
}
