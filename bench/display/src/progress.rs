//! Lines about a long run, on standard error.

use std::fmt::Arguments;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Lines are at least this far apart.
const INTERVAL: Duration = Duration::from_secs(1);

/// Prints lines while a run goes on, if standard error is a terminal or if the user asked for them.
#[derive(Debug, Clone)]
pub struct Progress {
    shown: bool,
    start: Instant,
    last: Instant,
}

impl Progress {
    /// Progress of a run that starts now. `always` shows it without a terminal too.
    pub fn new(always: bool) -> Progress {
        let now = Instant::now();
        Progress {
            shown: always || std::io::stderr().is_terminal(),
            start: now,
            last: now,
        }
    }

    /// Returns true if lines are printed at all.
    pub fn is_shown(&self) -> bool {
        self.shown
    }

    /// Returns true if a line is due, at most once per interval.
    pub fn is_due(&mut self) -> bool {
        let due = self.shown && self.last.elapsed() >= INTERVAL;
        if due {
            self.last = Instant::now();
        }
        due
    }

    /// Prints a line with the time since the start before it.
    pub fn print(&self, line: Arguments<'_>) {
        if self.shown {
            eprintln!("{:6.1} s  {line}", self.start.elapsed().as_secs_f64());
        }
    }
}
