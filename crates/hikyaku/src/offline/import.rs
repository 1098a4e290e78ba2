//! `hikyaku kv import`.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, stdin};
use std::path::Path;

use kv::New;

use super::error::Error;
use super::lines::{self, Line};
use super::tokyo::Tokyo;
use super::{Format, Import, Opened};

/// The longest line: that of a value as large as a store takes, with every byte escaped, fits.
const LINE_BYTES_MAX: u64 = 16 << 30;

/// The items of a file, with the number of the line or the record that each is.
trait Source {
    /// The next item; `None` at the end.
    fn next(&mut self) -> Result<Option<(u64, Line)>, Error>;
}

pub(super) fn run(asked: &Import, json: bool) -> Result<(), Error> {
    let extension = asked.file.extension().and_then(|extension| extension.to_str());
    let format = asked.format.unwrap_or(match extension {
        Some("tch" | "tcb") => Format::Tokyo,
        _ => Format::Jsonl,
    });
    asked.folder.specification()?;
    let mut source: Box<dyn Source> = match format {
        Format::Tokyo => Box::new(Tokyo::open(&asked.file)?),
        Format::Jsonl => Box::new(Lines::open(&asked.file)?),
    };
    let counts = asked.folder.with(true, async |opened| {
        store(&asked.file, opened, &mut *source).await
    })?;
    if json {
        println!("{{\"stored\":{},\"expired\":{}}}", counts.stored, counts.expired);
    } else {
        println!(
            "{} items stored, {} expired ones left out",
            counts.stored, counts.expired
        );
    }
    Ok(())
}

/// The numbers of items, by outcome.
#[derive(Default)]
struct Counts {
    stored: u64,
    expired: u64,
}

async fn store(path: &Path, opened: &Opened, source: &mut dyn Source) -> Result<Counts, Error> {
    let mut counts = Counts::default();
    while let Some((number, line)) = source.next()? {
        if line.expiry.passed(opened.now) {
            counts.expired += 1;
            continue;
        }
        let parts = [&line.value[..]];
        let new = New {
            flags: line.flags,
            expiry: line.expiry,
            ..New::new(&parts)
        };
        let done = opened.put(&line.key, new).await;
        done.map_err(|source| Error::Store {
            path: path.to_owned(),
            line: number,
            source,
            stored: counts.stored,
        })?;
        counts.stored += 1;
    }
    Ok(counts)
}

/// JSON lines.
struct Lines<'p> {
    path: &'p Path,
    input: Box<dyn BufRead>,
    number: u64,
}

impl Lines<'_> {
    fn open(path: &Path) -> Result<Lines<'_>, Error> {
        let input: Box<dyn BufRead> = match path.to_str() {
            Some("-") => Box::new(stdin().lock()),
            _ => match File::open(path) {
                Ok(file) => Box::new(BufReader::new(file)),
                Err(source) => {
                    let path = path.to_owned();
                    return Err(Error::Input { path, source });
                }
            },
        };
        Ok(Lines {
            path,
            input,
            number: 0,
        })
    }
}

impl Source for Lines<'_> {
    fn next(&mut self) -> Result<Option<(u64, Line)>, Error> {
        let path = || self.path.to_owned();
        loop {
            let mut line = Vec::new();
            let mut limited = (&mut self.input).take(LINE_BYTES_MAX);
            let read = limited.read_until(b'\n', &mut line);
            let read = read.map_err(|source| Error::Input { path: path(), source })?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            if line.trim_ascii().is_empty() {
                continue;
            }
            let parsed = lines::parse(&line).map_err(|reason| Error::Line {
                path: path(),
                line: self.number,
                reason,
            })?;
            return Ok(Some((self.number, parsed)));
        }
    }
}

impl Source for Tokyo<'_> {
    fn next(&mut self) -> Result<Option<(u64, Line)>, Error> {
        let record = self.read()?;
        Ok(record.map(|record| {
            let line = Line {
                key: record.key,
                value: record.value,
                flags: 0,
                expiry: kv::Expiry::Never,
            };
            (record.number, line)
        }))
    }
}
