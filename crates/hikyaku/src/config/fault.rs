//! Faults of a configuration, and their origins.
//!
//! **Invariant**: a text reads `FAULT; REMEDY`.

use std::fmt;

/// Where a value was written: a line of the file, or the flag that gave it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// A line of the configuration file, counted from 1.
    Line(usize),
    /// A flag of the command line, such as `--store`.
    Flag(&'static str),
    /// A default, which no one wrote.
    Default,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fault {
    pub(crate) origin: Origin,
    pub(crate) text: String,
}

/// Everything that is wrong with one configuration; shown a line each, in the order of the file.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// The file as the user named it; empty if there is none.
    file: String,
    list: Vec<Fault>,
}

impl Faults {
    /// No faults yet, of the file by that name.
    pub(crate) fn of(file: &str) -> Faults {
        Faults {
            file: file.to_owned(),
            list: Vec::new(),
        }
    }

    /// Notes a fault.
    pub(crate) fn add(&mut self, origin: Origin, text: impl Into<String>) {
        self.list.push(Fault {
            origin,
            text: text.into(),
        });
    }

    /// Forgets the faults of that line of the file and those below.
    pub(crate) fn forget_from(&mut self, first: &Origin) {
        self.list
            .retain(|fault| !matches!(fault.origin, Origin::Line(_)) || fault.origin < *first);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// `value` if nothing is wrong.
    pub(crate) fn or<T>(self, value: T) -> Result<T, Faults> {
        if self.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted: Vec<&Fault> = self.list.iter().collect();
        sorted.sort();
        for fault in sorted {
            match &fault.origin {
                Origin::Line(line) => writeln!(out, "{}:{line}: {}", self.file, fault.text)?,
                Origin::Flag(flag) => writeln!(out, "{flag}: {}", fault.text)?,
                Origin::Default => writeln!(out, "default: {}", fault.text)?,
            }
        }
        Ok(())
    }
}
