//! `hikyaku kv import`, `export` and `scan --store`: work on the folder of a store that no daemon has open.
//!
//! ```text
//!   FILE.tch, FILE.tcb ─▶ tokyo ─┐                            ┌─▶ export ─▶ JSON lines
//!   JSON lines ─────────▶ lines ─┴─▶ import ─▶ store ─ items ─┴─▶ scan ──▶ keys
//! ```
//!
//! **Invariant**: a store is closed, and everything in it committed, before a command succeeds.

mod error;
mod export;
mod import;
mod lines;
mod range;
mod scan;
mod tokyo;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use clap::{Args, ValueEnum};
use kv::{Access, Answer, Cursor, Decision, Engine, Entry, Need, New, Now, Specification, Store, Warm};

use crate::config::Config;
use crate::{USAGE, fail, written};
use error::Error;
pub(crate) use range::{Range, Side};

/// Items that a scan visits at a time.
const STEPS: usize = 256;

/// The store that a command works on.
#[derive(Args, Debug)]
pub(crate) struct Folder {
    /// Store: hash:PATH, tree:PATH, or Tokyo Cabinet's PATH.tch or PATH.tcb
    #[arg(long, value_name = "URI")]
    store: String,
    /// Folder of durable data, to which PATH is relative; default: hikyaku-data
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// Store the items of a file in a store that no daemon has open
///
/// JSON lines have the fields that export writes. A file of Tokyo Cabinet is read with Debian's tokyocabinet-bin; its records have no
/// flags and no expiry. An item replaces one with the same key.
#[derive(Args, Debug)]
pub(crate) struct Import {
    #[command(flatten)]
    folder: Folder,
    /// Format; default: tokyo for FILE.tch and FILE.tcb, otherwise jsonl
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// The file; - is standard input
    file: PathBuf,
}

/// Print the items of a store that no daemon has open as JSON lines
///
/// A line is {"key": …, "value": …, "flags": …, "exptime": …}. Bytes that are not UTF-8 are base64, in "key64" and "value64". The exptime
/// is in seconds since 1970; 0 is never.
#[derive(Args, Debug)]
pub(crate) struct Export {
    #[command(flatten)]
    folder: Folder,
}

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A hash or B+ tree database of Tokyo Cabinet
    Tokyo,
    /// JSON lines
    Jsonl,
}

/// Runs `import`.
pub(crate) fn import(asked: &Import, json: bool) -> ExitCode {
    end(import::run(asked, json))
}

/// Runs `export`.
pub(crate) fn export(asked: &Export) -> ExitCode {
    end(export::run(asked))
}

/// Runs `scan` on a folder.
pub(crate) fn scan(store: &str, data: Option<&Path>, range: &Range, json: bool) -> ExitCode {
    let folder = Folder {
        store: store.to_owned(),
        data: data.map(Path::to_owned),
    };
    end(scan::run(&folder, range, json))
}

fn end(result: Result<(), Error>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Output(error)) => written(Err(error)),
        Err(error) if error.is_usage() => {
            fail(error);
            ExitCode::from(USAGE)
        }
        Err(error) => fail(error),
    }
}

impl Folder {
    fn specification(&self) -> Result<Specification, Error> {
        let specification = Specification::parse(&self.store).map_err(Error::Specification)?;
        match specification.folder() {
            Some(_) => Ok(specification),
            None => Err(Error::Memory),
        }
    }

    /// Opens the store and runs a command on it. An existing store is wanted, unless one may be created.
    fn with<R, W>(&self, create: bool, work: W) -> Result<R, Error>
    where
        W: AsyncFnOnce(&Opened) -> Result<R, Error>,
    {
        let specification = self.specification()?;
        let data = self.data.clone().unwrap_or(Config::default().data);
        let path = data.join(specification.folder().unwrap_or(Path::new("")));
        if !create && !path.exists() {
            return Err(Error::Absent { path });
        }
        let (store, notices) = specification
            .open_under(&data)
            .map_err(|source| Error::Open { source })?;
        for notice in specification.notices().iter().chain(&notices) {
            eprintln!("hikyaku: {notice}");
        }
        let now = Now::from(SystemTime::now());
        store.tick(now, 0);
        let opened = Opened {
            store,
            now,
            is_ordered: specification.is_ordered(),
        };
        let config = io::Config {
            workers: 1,
            ..io::Config::default()
        };
        let mut own = io::Loop::new(config).map_err(Error::Loop)?;
        let result = own.run(work(&opened));
        let closed = opened.store.close().map_err(Error::Commit);
        result.and_then(|result| closed.map(|()| result))
    }
}

/// An open store.
struct Opened {
    store: Store,
    now: Now,
    is_ordered: bool,
}

impl Opened {
    /// Stores an item.
    async fn put(&self, key: &[u8], new: New<'_>) -> Result<(), kv::StoreError> {
        let mut warm = Warm::new();
        loop {
            let access = Access {
                now: self.now,
                need: Need::Nothing,
                warm: Some(&warm),
            };
            let key = self.store.key(key);
            match self.store.update(&key, access, |_| (Decision::Put(new), ()))? {
                Answer::Ready(_) => return Ok(()),
                Answer::Cold => warm = self.store.fetch(warm).await,
            }
        }
    }

    /// Visits all items behind a cursor, until `visit` returns false.
    async fn visit(
        &self,
        from: Cursor,
        mut visit: impl FnMut(&Entry<'_>) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let mut cursor = Some(from);
        let mut result = Ok(true);
        while let Some(from) = cursor {
            let mut warm = Warm::new();
            cursor = loop {
                let access = Access {
                    now: self.now,
                    need: Need::Value,
                    warm: Some(&warm),
                };
                let scanned = self.store.scan(&from, STEPS, access, |entry| {
                    if let Ok(true) = result {
                        result = visit(entry);
                    }
                });
                match scanned.map_err(Error::Read)? {
                    Answer::Ready(next) => break next,
                    Answer::Cold => warm = self.store.fetch(warm).await,
                }
            };
            match result {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
