//! The notes that `qrintf_report.h` leaves in an object file, one for each call.

use std::fmt;

use super::object::{self, Order};

/// The record of one call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Note {
    file: String,
    line: u32,
    function: String,
    format: String,
    outcome: u32,
}

const MAGIC: u32 = 0x5446_5251;
const SPECIALIZED: u32 = 0;
/// Where the texts begin: the name of the function, in twelve bytes, then file and format.
const FUNCTION: usize = 16;
const FILE: usize = FUNCTION + 12;

/// All notes in `object`, by file and line.
pub(super) fn read_all(object: &[u8]) -> Vec<Note> {
    let Some((order, sections)) = object::sections(object, b"qrintf_report") else {
        return Vec::new();
    };
    let mut notes = Vec::new();
    for section in sections {
        let mut rest = section;
        while let Some((note, size)) = Note::read(order, rest) {
            notes.push(note);
            rest = rest.get(size..).unwrap_or_default();
        }
    }
    notes.sort();
    notes
}

impl Note {
    /// The note at the start of `bytes`, and its length.
    fn read(order: Order, bytes: &[u8]) -> Option<(Self, usize)> {
        if order.u32(bytes, 0)? != MAGIC {
            return None;
        }
        let size = usize::try_from(order.u32(bytes, 4)?).ok()?;
        let record = bytes.get(..size)?;
        let texts = record.get(FILE..)?;
        let file = texts.split(|byte| *byte == 0).next()?;
        let format = texts.get(file.len() + 1..)?.split(|byte| *byte == 0).next()?;
        let function = record.get(FUNCTION..FILE)?.split(|byte| *byte == 0).next()?;
        let note = Self {
            file: String::from_utf8_lossy(file).into_owned(),
            line: order.u32(record, 8)?,
            function: String::from_utf8_lossy(function).into_owned(),
            format: format.escape_ascii().to_string().replace("\\'", "'"),
            outcome: order.u32(record, 12)?,
        };
        Some((note, size))
    }

    pub(super) fn is_specialized(&self) -> bool {
        self.outcome == SPECIALIZED
    }

    /// Why the headers left the whole file, if this is a note about that.
    pub(super) fn about_the_file(&self) -> Option<&'static str> {
        match self.outcome {
            8 => Some("QRINTF_DISABLE is defined in it"),
            9 => Some("the compiler, the system or the dialect is none that is specialized for"),
            _ => None,
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.file, self.line, self.function)?;
        if !self.format.is_empty() {
            write!(out, " \"{}\"", self.format)?;
        }
        match self.outcome {
            SPECIALIZED => write!(out, ": specialized"),
            1 => write!(out, ": left: the format is not a string literal"),
            2 => write!(out, ": left: there is nothing to format"),
            3 => write!(out, ": left: more than 16 arguments"),
            4 => write!(out, ": left: the format has a conversion that stays with libc"),
            5 => write!(out, ": left: more or fewer arguments than the format wants"),
            6 => write!(
                out,
                ": left: an argument is not of the type that the format wants"
            ),
            7 => write!(
                out,
                ": left: a width, a precision, the flags or the text are too long"
            ),
            other => write!(out, ": left: reason {other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_a_line() {
        let mut bytes = Vec::new();
        for number in [MAGIC, 40, 12, 4] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(b"snprintf\0\0\0\0a.c\0\"%n'\n\0\0\0");
        let (note, size) = Note::read(Order::Little, &bytes).expect("a note");
        assert_eq!(size, bytes.len());
        assert_eq!(
            note.to_string(),
            r#"a.c:12: snprintf "\"%n'\n": left: the format has a conversion that stays with libc"#
        );
        for length in 0..bytes.len() {
            assert_eq!(Note::read(Order::Little, &bytes[..length]), None, "{length}");
        }
    }
}
