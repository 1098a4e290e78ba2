//! A line a second while a run goes on, on standard error.

use crate::plan::Plan;
use crate::tally::Tally;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_secs(1);

/// What happened since the last line.
pub(crate) struct Progress {
    shown: bool,
    names: Vec<String>,
    start: Instant,
    last: Instant,
    recent: Vec<Recent>,
    stored: Vec<u64>,
}

struct Recent {
    tally: Tally,
    cpu: Duration,
}

impl Progress {
    pub(crate) fn new(plan: &Plan) -> Progress {
        let now = Instant::now();
        Progress {
            shown: plan.progress || std::io::stderr().is_terminal(),
            names: plan.servers.iter().map(|server| server.name.clone()).collect(),
            start: now,
            last: now,
            recent: plan.servers.iter().map(|_| Recent::new()).collect(),
            stored: vec![0; plan.servers.len()],
        }
    }

    /// A piece of filling is done.
    pub(crate) fn filled(&mut self, server: usize, tally: &Tally) {
        self.stored[server] += tally.keys;
        if self.shown {
            eprintln!(
                "{:6.1} s  {}: {} keys stored",
                self.elapsed(),
                self.names[server],
                self.stored[server]
            );
        }
    }

    /// A measured phase is over.
    pub(crate) fn measured(&mut self, server: usize, tally: &Tally, cpu: Option<Duration>) {
        if !self.shown {
            return;
        }
        self.recent[server].tally.append(tally);
        self.recent[server].cpu += cpu.unwrap_or_default();
        if server + 1 == self.recent.len() && self.last.elapsed() >= INTERVAL {
            self.line();
            self.last = Instant::now();
        }
    }

    fn line(&mut self) {
        let servers: Vec<String> = self
            .names
            .iter()
            .zip(&self.recent)
            .map(|(name, recent)| recent.text(name))
            .collect();
        eprintln!("{:6.1} s  {}", self.elapsed(), servers.join("  |  "));
        self.recent.iter_mut().for_each(|recent| *recent = Recent::new());
    }

    fn elapsed(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

impl Recent {
    fn new() -> Recent {
        Recent {
            tally: Tally::new(),
            cpu: Duration::ZERO,
        }
    }

    fn text(&self, name: &str) -> String {
        let requests = self.tally.requests as f64;
        let cpu = match self.cpu {
            Duration::ZERO => String::new(),
            cpu => format!(" {:.2} µs CPU", cpu.as_secs_f64() * 1e6 / requests),
        };
        format!(
            "{name} {:.0}/s p50 {:.1} p99 {:.1} µs{cpu}",
            requests / self.tally.elapsed.as_secs_f64(),
            self.tally.percentile_us(50.0),
            self.tally.percentile_us(99.0),
        )
    }
}
