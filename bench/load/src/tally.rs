//! Counts and latencies of answered requests.

use crate::report::Latency;
use hdrhistogram::Histogram;
use std::time::Duration;

/// Counts and latencies of one phase, or of many added up.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    pub(crate) requests: u64,
    pub(crate) keys: u64,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) errors: u64,
    pub(crate) first_error: Option<String>,
    pub(crate) wrong: u64,
    /// From the first request to the last reply.
    pub(crate) elapsed: Duration,
    /// The generator's own CPU time.
    pub(crate) own_cpu: Duration,
    /// Nanoseconds per request.
    latency: Histogram<u64>,
}

/// Longer latencies are counted as this.
const LATENCY_MAX_NS: u64 = 60_000_000_000;

impl Tally {
    pub(crate) fn new() -> Tally {
        // Fails only for invalid bounds or more than five digits; these are constants.
        let latency = Histogram::new_with_bounds(1, LATENCY_MAX_NS, 3).expect("valid bounds");
        Tally {
            requests: 0,
            keys: 0,
            hits: 0,
            misses: 0,
            errors: 0,
            first_error: None,
            wrong: 0,
            elapsed: Duration::ZERO,
            own_cpu: Duration::ZERO,
            latency,
        }
    }

    /// Counts requests that were answered together.
    pub(crate) fn answered(&mut self, requests: usize, latency: Duration) {
        self.requests += requests as u64;
        self.latency
            .saturating_record_n(latency.as_nanos() as u64, requests as u64);
    }

    /// Counts an error reply.
    pub(crate) fn error(&mut self, reply: &[u8]) {
        self.errors += 1;
        self.first_error.get_or_insert_with(|| printable(reply));
    }

    /// Adds the counts of another thread for the same time.
    pub(crate) fn join(&mut self, other: &Tally) {
        self.add_counts(other);
        self.elapsed = self.elapsed.max(other.elapsed);
    }

    /// Adds the counts of another phase.
    pub(crate) fn append(&mut self, other: &Tally) {
        self.add_counts(other);
        self.elapsed += other.elapsed;
    }

    fn add_counts(&mut self, other: &Tally) {
        self.requests += other.requests;
        self.keys += other.keys;
        self.hits += other.hits;
        self.misses += other.misses;
        self.errors += other.errors;
        self.wrong += other.wrong;
        self.own_cpu += other.own_cpu;
        if self.first_error.is_none() {
            self.first_error.clone_from(&other.first_error);
        }
        // Fails only if the bounds differ; all tallies have the same.
        self.latency.add(&other.latency).expect("equal bounds");
    }

    /// A percentile of latency in microseconds.
    pub(crate) fn percentile_us(&self, percentile: f64) -> f64 {
        self.latency.value_at_percentile(percentile) as f64 / 1e3
    }

    pub(crate) fn latency(&self) -> Latency {
        Latency {
            mean: self.latency.mean() / 1e3,
            p50: self.percentile_us(50.0),
            p90: self.percentile_us(90.0),
            p99: self.percentile_us(99.0),
            p999: self.percentile_us(99.9),
            p9999: self.percentile_us(99.99),
            max: self.latency.max() as f64 / 1e3,
        }
    }
}

/// The start of a reply, escaped for a message.
pub(crate) fn printable(reply: &[u8]) -> String {
    const SHOWN_MAX: usize = 60;
    reply[..reply.len().min(SHOWN_MAX)].escape_ascii().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(latencies_us: &[u64]) -> Tally {
        let mut tally = Tally::new();
        for latency in latencies_us {
            tally.answered(1, Duration::from_micros(*latency));
        }
        tally.elapsed = Duration::from_secs(1);
        tally
    }

    fn near(found: f64, expected: f64) -> bool {
        (found / expected - 1.0).abs() < 0.002
    }

    #[test]
    fn merged_histograms_have_the_percentiles_of_all_samples() {
        let all: Vec<u64> = (1..=1000).collect();
        let (low, high) = all.split_at(300);
        let mut merged = tally(low);
        merged.append(&tally(high));
        let whole = tally(&all);
        for percentile in [1.0, 30.0, 50.0, 90.0, 99.0, 99.9] {
            assert_eq!(merged.percentile_us(percentile), whole.percentile_us(percentile));
            assert!(near(merged.percentile_us(percentile), percentile * 10.0));
        }
        assert!(near(merged.latency().max, 1000.0));
        assert!(near(merged.latency().mean, 500.5));
        assert_eq!(merged.requests, 1000);
    }

    #[test]
    fn threads_share_time_and_phases_add_it() {
        let mut joined = tally(&[1]);
        joined.join(&tally(&[2, 3]));
        assert_eq!((joined.requests, joined.elapsed), (3, Duration::from_secs(1)));
        joined.append(&tally(&[4]));
        assert_eq!((joined.requests, joined.elapsed), (4, Duration::from_secs(2)));
    }

    #[test]
    fn the_first_error_is_kept() {
        let mut one = tally(&[]);
        let mut two = tally(&[]);
        two.error(b"SERVER_ERROR a\r\n");
        two.error(b"SERVER_ERROR b\r\n");
        one.join(&two);
        assert_eq!(one.errors, 2);
        assert_eq!(one.first_error.as_deref(), Some("SERVER_ERROR a\\r\\n"));
    }

    #[test]
    fn a_latency_beyond_the_scale_is_counted_at_its_end() {
        let mut tally = tally(&[]);
        tally.answered(2, Duration::from_secs(600));
        assert!(tally.latency().p50 >= 59.9e6);
        assert_eq!(tally.requests, 2);
    }
}
