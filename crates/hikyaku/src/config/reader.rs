//! Reads a TOML document key by key and notes everything that is wrong on the way, each with its line.
//!
//! A [`Section`] is asked for the keys that its reader understands; what was never asked for is an unknown key. So the
//! vocabulary is written down once, where it is read, and the proposals for misspelt keys come from the same list.
//!
//! **Invariant**: no fault ends the reading; a key that is wrong counts as absent.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::de::{DeTable, DeValue};

use super::fault::{Faults, Origin};
use super::spelling;

/// Byte offsets to line numbers.
pub(crate) struct Lines {
    ends: Vec<usize>,
}

impl Lines {
    pub(crate) fn of(source: &str) -> Lines {
        Lines {
            ends: source
                .bytes()
                .enumerate()
                .filter(|(_, byte)| *byte == b'\n')
                .map(|(at, _)| at)
                .collect(),
        }
    }

    /// The line, counted from 1, that holds the byte.
    pub(crate) fn at(&self, offset: usize) -> Origin {
        Origin::Line(1 + self.ends.partition_point(|end| *end < offset))
    }
}

/// A value, and where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Located<T> {
    pub(crate) value: T,
    pub(crate) origin: Origin,
}

/// A table of the document.
pub(crate) struct Section<'d> {
    name: String,
    table: &'d DeTable<'d>,
    origin: Origin,
    lines: &'d Lines,
    faults: &'d RefCell<Faults>,
    asked: Vec<&'static str>,
    /// Keys of later versions, which remedies do not propose.
    later: Vec<&'static str>,
}

impl<'d> Section<'d> {
    /// The document itself.
    pub(crate) fn root(table: &'d DeTable<'d>, lines: &'d Lines, faults: &'d RefCell<Faults>) -> Section<'d> {
        Section {
            name: String::new(),
            table,
            origin: Origin::Line(1),
            lines,
            faults,
            asked: Vec::new(),
            later: Vec::new(),
        }
    }

    /// Where the table begins.
    pub(crate) fn origin(&self) -> Origin {
        self.origin.clone()
    }

    /// Notes a fault of this table.
    pub(crate) fn fault(&self, origin: Origin, text: impl Into<String>) {
        self.faults.borrow_mut().add(origin, text);
    }

    /// The value of `key` as `kind` reads it. A value that `kind` refuses is noted and counts as absent.
    pub(crate) fn take<T>(
        &mut self,
        key: &'static str,
        kind: impl FnOnce(&DeValue<'_>) -> Result<T, String>,
    ) -> Option<Located<T>> {
        let (value, origin) = self.ask(key)?;
        match kind(value) {
            Ok(value) => Some(Located { value, origin }),
            Err(text) => {
                self.fault(origin, format!("{key}: {text}"));
                None
            }
        }
    }

    /// Returns true if the table has the key, with a valid value or not.
    pub(crate) fn holds(&self, key: &str) -> bool {
        self.table.get(key).is_some()
    }

    /// Returns true if the key's value is a list.
    pub(crate) fn holds_list(&self, key: &str) -> bool {
        self.table
            .get(key)
            .is_some_and(|value| value.get_ref().is_array())
    }

    /// The text under `key`, valid or not.
    pub(crate) fn text_of(&self, key: &str) -> Option<&'d str> {
        self.table.get(key)?.get_ref().as_str()
    }

    /// The table under `key`, shown as `name` in messages.
    pub(crate) fn table(&mut self, key: &'static str, name: &str) -> Option<Section<'d>> {
        let (value, origin) = self.ask(key)?;
        self.section(value, origin, name)
    }

    /// The tables by name under `key`: `[store.default]`, `[store.sessions]`.
    pub(crate) fn tables(&mut self, key: &'static str) -> Vec<(String, Section<'d>)> {
        let Some((value, origin)) = self.ask(key) else {
            return Vec::new();
        };
        let DeValue::Table(named) = value else {
            self.fault(
                origin,
                format!("{key}: is {}; write [{key}.NAME]", kind_of(value)),
            );
            return Vec::new();
        };
        let mut found = Vec::new();
        for (name, value) in named {
            let origin = self.lines.at(name.span().start);
            let shown = format!("[{key}.{}]", name.get_ref());
            if let Some(section) = self.section(value.get_ref(), origin, &shown) {
                found.push((name.get_ref().to_string(), section));
            }
        }
        found
    }

    /// The tables in a row under `key`: every `[[listen]]`.
    pub(crate) fn rows(&mut self, key: &'static str) -> Vec<Section<'d>> {
        let Some((value, origin)) = self.ask(key) else {
            return Vec::new();
        };
        let DeValue::Array(rows) = value else {
            self.fault(
                origin,
                format!("{key}: is {}; write [[{key}]], with two brackets", kind_of(value)),
            );
            return Vec::new();
        };
        let shown = format!("[[{key}]]");
        rows.iter()
            .filter_map(|row| self.section(row.get_ref(), self.lines.at(row.span().start), &shown))
            .collect()
    }

    /// Answers a key which a later version will understand by saying so.
    pub(crate) fn later(&mut self, key: &'static str, shown: &str) {
        self.later.push(key);
        if let Some((_, origin)) = self.ask(key) {
            self.fault(origin, format!("{shown} is not in this version; remove it"));
        }
    }

    /// Notes every key that was never asked for.
    pub(crate) fn finish(self) {
        for (key, _) in self.table {
            let key_text: &str = key.get_ref();
            if self.asked.contains(&key_text) {
                continue;
            }
            let here = if self.name.is_empty() {
                String::new()
            } else {
                format!(" in {}", self.name)
            };
            let known = self.asked.iter().filter(|key| !self.later.contains(key));
            let remedy = spelling::remedy(key_text, known.copied());
            self.fault(
                self.lines.at(key.span().start),
                format!("unknown key {key_text:?}{here}; {remedy}"),
            );
        }
    }

    /// The value of a key and its origin; from now on the key is known.
    fn ask(&mut self, key: &'static str) -> Option<(&'d DeValue<'d>, Origin)> {
        self.asked.push(key);
        let (key, value) = self.table.get_key_value(key)?;
        // A table's own span may begin with its body; the key stands where the reader of the file looks for it.
        let at = if value.get_ref().is_table() || value.get_ref().is_array() {
            key.span()
        } else {
            value.span()
        };
        Some((value.get_ref(), self.lines.at(at.start)))
    }

    fn section(&self, value: &'d DeValue<'d>, origin: Origin, name: &str) -> Option<Section<'d>> {
        let DeValue::Table(table) = value else {
            self.fault(
                origin,
                format!("{name} is {}; write a table of keys and values", kind_of(value)),
            );
            return None;
        };
        Some(Section {
            name: name.to_owned(),
            table,
            origin,
            lines: self.lines,
            faults: self.faults,
            asked: Vec::new(),
            later: Vec::new(),
        })
    }
}

/// A text that is not empty.
pub(crate) fn text(value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) if text.is_empty() => {
            Err("is empty; write a text, or remove the key".to_owned())
        }
        DeValue::String(text) => Ok(text.to_string()),
        other => Err(format!(
            "{} is {}; write it in quotes",
            shown(other),
            kind_of(other)
        )),
    }
}

/// A file; one without a leading `/` lies in `folder`.
pub(crate) fn file_in(folder: &Path) -> impl FnOnce(&DeValue<'_>) -> Result<PathBuf, String> {
    move |value| text(value).map(|name| folder.join(name))
}

/// `true` or `false`.
pub(crate) fn boolean(value: &DeValue<'_>) -> Result<bool, String> {
    match value {
        DeValue::Boolean(value) => Ok(*value),
        other => Err(format!(
            "{} is {}; write true or false, without quotes",
            shown(other),
            kind_of(other)
        )),
    }
}

/// A whole number above zero.
pub(crate) fn count(value: &DeValue<'_>) -> Result<usize, String> {
    let read = match value {
        DeValue::Integer(number) => usize::from_str_radix(number.as_str(), number.radix()).ok(),
        _ => None,
    };
    read.filter(|number| *number > 0).ok_or_else(|| {
        let what = if matches!(value, DeValue::Integer(_)) {
            "out of range"
        } else {
            kind_of(value)
        };
        format!("{} is {what}; write a whole number above 0", shown(value))
    })
}

/// `"auto"` as `None`, or a whole number above zero.
pub(crate) fn auto_or_count(value: &DeValue<'_>) -> Result<Option<usize>, String> {
    match value {
        DeValue::String(text) if text == "auto" => Ok(None),
        DeValue::Integer(_) => count(value).map(Some).map_err(|fault| fault + " or \"auto\""),
        other => Err(format!(
            "{} is {}; write \"auto\" or a whole number above 0",
            shown(other),
            kind_of(other)
        )),
    }
}

/// A duration, with its unit.
pub(crate) fn duration(value: &DeValue<'_>) -> Result<Duration, String> {
    match value {
        DeValue::Integer(number) => Err(format!("{number} has no unit; write \"{number}s\"")),
        other => kv::parse_duration(&text(other)?),
    }
}

/// A text that `parse` understands.
pub(crate) fn parsed<T>(
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> impl FnOnce(&DeValue<'_>) -> Result<T, String> {
    move |value| parse(&text(value)?)
}

fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a fraction",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// The value as the file has it, as far as that is short.
fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("{text:?}"),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(value) => value.to_string(),
        _ => "what stands here".to_owned(),
    }
}
