//! A line per second while a run goes on: throughput, latency and CPU time since the last one.

use crate::plan::Plan;
use crate::tally::Tally;
use std::time::Duration;

/// The numbers since the last line.
pub(crate) struct Progress {
    lines: display::Progress,
    names: Vec<String>,
    recent: Vec<Recent>,
    stored: Vec<u64>,
}

struct Recent {
    tally: Tally,
    cpu: Duration,
}

impl Progress {
    pub(crate) fn new(plan: &Plan) -> Progress {
        Progress {
            lines: display::Progress::new(plan.progress),
            names: plan.servers.iter().map(|server| server.name.clone()).collect(),
            recent: plan.servers.iter().map(|_| Recent::new()).collect(),
            stored: vec![0; plan.servers.len()],
        }
    }

    /// A server has stored some more keys.
    pub(crate) fn filled(&mut self, server: usize, tally: &Tally) {
        self.stored[server] += tally.keys;
        let (name, stored) = (&self.names[server], self.stored[server]);
        self.lines.print(format_args!("{name}: {stored} keys stored"));
    }

    /// A measured phase is over.
    pub(crate) fn measured(&mut self, server: usize, tally: &Tally, cpu: Option<Duration>) {
        if !self.lines.is_shown() {
            return;
        }
        self.recent[server].tally.append(tally);
        self.recent[server].cpu += cpu.unwrap_or_default();
        if server + 1 == self.recent.len() && self.lines.is_due() {
            self.print();
        }
    }

    fn print(&mut self) {
        let servers: Vec<String> = self
            .names
            .iter()
            .zip(&self.recent)
            .map(|(name, recent)| recent.text(name))
            .collect();
        self.lines.print(format_args!("{}", servers.join("  |  ")));
        self.recent.iter_mut().for_each(|recent| *recent = Recent::new());
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
