//! Files of Tokyo Cabinet, read by its own tools.
//!
//! `tchmgr list -px -pv` and `tcbmgr list -px -pv` print a record per line: key, tab, value, all in hexadecimal. They come with the
//! library, so every version of its format can be read, and a damaged file can end only them.

use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

use super::error::Error;

/// Bytes of the tool's errors that are kept.
const ERRORS_MAX: u64 = 4096;

/// A file that is being read.
pub(super) struct Tokyo<'p> {
    path: &'p Path,
    program: &'static str,
    child: Child,
    output: BufReader<ChildStdout>,
    /// Reads what the tool writes to standard error.
    errors: Option<JoinHandle<String>>,
    number: u64,
}

/// A record of a database.
pub(super) struct Record {
    pub(super) number: u64,
    pub(super) key: Vec<u8>,
    pub(super) value: Vec<u8>,
}

impl Tokyo<'_> {
    /// Starts the tool for a file.
    ///
    /// # Errors
    /// The name does not tell the kind of file, the file cannot be read, or the tool is not there.
    pub(super) fn open(path: &Path) -> Result<Tokyo<'_>, Error> {
        let program = match path.extension().and_then(|extension| extension.to_str()) {
            Some("tch") => "tchmgr",
            Some("tcb") => "tcbmgr",
            _ => return Err(Error::TokyoKind(path.to_owned())),
        };
        // The tool's own message does not say why.
        std::fs::File::open(path).map_err(|source| Error::Input {
            path: path.to_owned(),
            source,
        })?;
        // A name that begins with a hyphen would be an option.
        let name = match path.is_absolute() {
            true => path.to_owned(),
            false => Path::new(".").join(path),
        };
        let failed = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound => Error::NoTokyo { program },
            _ => Error::Tokyo {
                program,
                path: path.to_owned(),
                reason: error.to_string(),
            },
        };
        let mut child = Command::new(program)
            .args(["list", "-px", "-pv"])
            .arg(name)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let missing = || failed(ErrorKind::BrokenPipe.into());
        let output = child.stdout.take().ok_or_else(missing)?;
        let errors = child.stderr.take().map(|errors| {
            std::thread::spawn(move || {
                let mut text = String::new();
                // The error is reported without the text if it cannot be read.
                let _ = errors.take(ERRORS_MAX).read_to_string(&mut text);
                text
            })
        });
        Ok(Tokyo {
            path,
            program,
            child,
            output: BufReader::with_capacity(1 << 16, output),
            errors,
            number: 0,
        })
    }

    /// The next record; `None` at the end.
    ///
    /// # Errors
    /// The tool failed.
    pub(super) fn read(&mut self) -> Result<Option<Record>, Error> {
        let mut line = Vec::new();
        let read = self.output.read_until(b'\n', &mut line);
        let read = read.map_err(|error| self.failed(&error.to_string()))?;
        if read == 0 {
            return self.end().map(|()| None);
        }
        self.number += 1;
        let record = line.strip_suffix(b"\n").and_then(|line| {
            let tab = line.iter().position(|byte| *byte == b'\t')?;
            Some((decode(&line[..tab])?, decode(&line[tab + 1..])?))
        });
        match record {
            Some((key, value)) => Ok(Some(Record {
                number: self.number,
                key,
                value,
            })),
            None => match self.end() {
                Err(error) => Err(error),
                Ok(()) => Err(self.failed(&format!("its record {} cannot be understood", self.number))),
            },
        }
    }

    /// Waits for the tool to end.
    fn end(&mut self) -> Result<(), Error> {
        let status = self
            .child
            .wait()
            .map_err(|error| self.failed(&error.to_string()))?;
        if status.success() {
            return Ok(());
        }
        let errors = self.errors.take().and_then(|errors| errors.join().ok());
        let errors = errors.unwrap_or_default();
        match errors.trim() {
            "" => Err(self.failed(&status.to_string())),
            text => Err(self.failed(text)),
        }
    }

    fn failed(&self, reason: &str) -> Error {
        Error::Tokyo {
            program: self.program,
            path: self.path.to_owned(),
            reason: reason.to_owned(),
        }
    }
}

impl Drop for Tokyo<'_> {
    /// Ends the tool if the file was not read to its end.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Decodes bytes in hexadecimal, separated by spaces.
fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    if text.is_empty() {
        return Some(Vec::new());
    }
    let mut bytes = Vec::with_capacity(text.len() / 3 + 1);
    for byte in text.chunks(3) {
        let (high, low) = match byte {
            [high, low] | [high, low, b' '] => (digit(*high)?, digit(*low)?),
            _ => return None,
        };
        bytes.push((high * 16 + low) as u8);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn bytes_are_decoded() {
        assert_eq!(decode(b""), Some(Vec::new()));
        assert_eq!(decode(b"00 FF 0a"), Some(vec![0, 255, 10]));
        for wrong in [&b"0"[..], b"00FF", b"0G", b"00  FF", b"00 F"] {
            assert_eq!(decode(wrong), None, "{wrong:?}");
        }
    }
}
