//! The folder of a store, and the file in it that describes the store.
//!
//! `docs/formats/store.md` describes the files.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use log::Error;
use log::storage::{Lock, Storage, read_whole, write_whole};

use crate::hash::{PARTITIONS_MAX, murmur2};

const NAME: &str = "store";
const LOCK_NAME: &str = "LOCK";
const VERSION: u32 = 1;
/// The file has about 80 bytes.
const BYTES_MAX: u64 = 4096;

/// The engine that a folder belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Hash,
    Tree,
}

impl Kind {
    /// The first word of the file.
    fn magic(self) -> &'static str {
        match self {
            Kind::Hash => "hikyaku-store",
            Kind::Tree => "hikyaku-tree",
        }
    }

    /// Why a file of the other kind is refused.
    fn refusal(self) -> &'static str {
        match self {
            Kind::Hash => "it is a hash store; name it hash:PATH",
            Kind::Tree => "it is a tree store; name it tree:PATH",
        }
    }
}

/// The content of the folder's own file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meta {
    pub(crate) partitions: u32,
    /// How often the store was opened. It is a part of every CAS, so that none is given out twice.
    pub(crate) epoch: u32,
    /// A random number, fixed when the store is created. It tells the store's files from those of another store.
    pub(crate) id: u64,
}

/// A folder that this process has locked.
#[derive(Debug)]
pub(crate) struct Folder {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    kind: Kind,
    _lock: Lock,
}

impl Folder {
    /// Locks a folder and creates it if need be.
    ///
    /// # Errors
    /// It is in use, or cannot be created.
    pub(crate) fn lock(storage: Arc<dyn Storage>, path: &Path, kind: Kind) -> Result<Folder, Error> {
        let fail = |doing, source| failed(doing, path, source);
        storage
            .create_folder(path)
            .map_err(|error| fail("create the folder", error))?;
        let name = path.join(LOCK_NAME);
        let note = format!("{}\n", std::process::id());
        match storage.lock(&name, note.as_bytes()) {
            Ok(lock) => Ok(Folder {
                storage,
                path: path.to_owned(),
                kind,
                _lock: lock,
            }),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(Error::Locked {
                path: path.to_owned(),
                pid: read_whole(&*storage, &name, BYTES_MAX)
                    .ok()
                    .and_then(|note| str::from_utf8(&note).ok()?.trim().parse().ok()),
            }),
            Err(error) => Err(fail("lock", error)),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of a partition's log.
    pub(crate) fn partition(&self, number: u32) -> PathBuf {
        self.path.join(number.to_string())
    }

    /// Reads the folder's own file; `None` if the folder is new.
    ///
    /// # Errors
    /// The file is damaged, of another program or of a newer version, or the folder has other files.
    pub(crate) fn read(&self) -> Result<Option<Meta>, Error> {
        let path = self.path.join(NAME);
        let bytes = match read_whole(&*self.storage, &path, BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return self.refuse_others().map(|()| None),
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return Err(foreign(&path, &error.to_string()));
            }
            Err(error) => return Err(failed("read", &path, error)),
        };
        let text = str::from_utf8(&bytes).map_err(|_| foreign(&path, "it is not text"))?;
        parse(&path, self.kind, text).map(Some)
    }

    /// Replaces the file in one step, and makes that durable.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn write(&self, meta: Meta) -> Result<(), Error> {
        let path = self.path.join(NAME);
        write_whole(&*self.storage, &path, meta.text(self.kind).as_bytes())
            .and_then(|()| self.storage.sync_folder(&self.path))
            .map_err(|error| failed("write", &path, error))
    }

    /// Checks that the folder of this store and those of its logs are still there: files whose folder was removed can be written to,
    /// and are lost.
    ///
    /// # Errors
    /// One was removed, or belongs to another process.
    pub(crate) fn check(&self, partitions: u32) -> Result<(), Error> {
        let folders = (0..partitions).map(|number| self.partition(number));
        for folder in folders.chain([self.path.clone()]) {
            let path = folder.join(LOCK_NAME);
            let note = match read_whole(&*self.storage, &path, BYTES_MAX) {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    return Err(failed("find", &path, error));
                }
                // It says nothing about the folder, such as that too many files are open.
                Err(_) => continue,
                Ok(note) => note,
            };
            let pid = str::from_utf8(&note)
                .ok()
                .and_then(|note| note.trim().parse().ok());
            if pid.is_some_and(|pid| pid != std::process::id()) {
                return Err(Error::Locked { path: folder, pid });
            }
        }
        Ok(())
    }

    /// A folder without the store's file has nothing else, but for what an interrupted creation left.
    fn refuse_others(&self) -> Result<(), Error> {
        let names = self
            .storage
            .list(&self.path)
            .map_err(|error| failed("list", &self.path, error))?;
        let known = |name: &String| name == LOCK_NAME || name == &format!("{NAME}.new");
        match names.iter().find(|name| !known(name)) {
            Some(name) => Err(foreign(
                &self.path,
                &format!("it has {name:?} and no file {NAME:?}"),
            )),
            None => Ok(()),
        }
    }
}

impl Meta {
    /// The content for a new store.
    pub(crate) fn first(partitions: u32) -> Meta {
        Meta {
            partitions,
            epoch: 1,
            id: random(),
        }
    }

    /// The content for the next opening.
    pub(crate) fn next(self) -> Meta {
        Meta {
            epoch: self.epoch + 1,
            ..self
        }
    }

    fn text(&self, kind: Kind) -> String {
        let Meta {
            partitions,
            epoch,
            id,
        } = self;
        let magic = kind.magic();
        let text = format!("{magic} {VERSION}\npartitions {partitions}\nepoch {epoch}\nid {id:016x}\n");
        format!("{text}check {:08x}\n", murmur2(text.as_bytes()))
    }
}

fn parse(path: &Path, kind: Kind, text: &str) -> Result<Meta, Error> {
    let mut lines = text.lines();
    let (word, version) = lines
        .next()
        .and_then(|line| line.split_once(' '))
        .unwrap_or_default();
    if let Some(other) = [Kind::Hash, Kind::Tree]
        .into_iter()
        .find(|other| *other != kind && other.magic() == word)
    {
        return Err(foreign(path, other.refusal()));
    }
    let version = version.trim().parse().ok().filter(|_| word == kind.magic());
    let version: u32 =
        version.ok_or_else(|| foreign(path, &format!("it does not begin with {:?}", kind.magic())))?;
    if version > VERSION {
        return Err(Error::FutureVersion {
            path: path.to_owned(),
            found: version,
            supported: VERSION,
        });
    }
    let mut field = |name: &str| lines.next()?.strip_prefix(name);
    let mut fields = || {
        Some(Meta {
            partitions: field("partitions ")?.parse().ok()?,
            epoch: field("epoch ")?.parse().ok()?,
            id: u64::from_str_radix(field("id ")?, 16).ok()?,
        })
    };
    let meta = fields();
    // Written again, it is the same text: nothing of it was changed.
    match meta.filter(|meta| meta.text(kind) == text && (1..=PARTITIONS_MAX).contains(&meta.partitions)) {
        Some(meta) => Ok(meta),
        None => Err(foreign(path, "it is damaged")),
    }
}

/// A number that no one can guess.
pub(crate) fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}

fn foreign(path: &Path, reason: &str) -> Error {
    Error::Foreign {
        path: path.to_owned(),
        reason: reason.to_owned(),
    }
}

/// An error of the system.
pub(crate) fn failed(doing: &'static str, path: &Path, source: io::Error) -> Error {
    Error::io(doing, path, source)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_change_of_a_byte_is_noticed() {
        let meta = Meta {
            partitions: 8,
            epoch: 41,
            id: 0x0123_4567_89ab_cdef,
        };
        let path = Path::new("store");
        let text = meta.text(Kind::Hash);
        assert_eq!(parse(path, Kind::Hash, &text).unwrap(), meta);
        for at in 0..text.len() {
            for bit in 0..7 {
                let mut bytes = text.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                let changed = String::from_utf8(bytes).unwrap();
                assert!(parse(path, Kind::Hash, &changed).is_err(), "{changed:?}");
            }
            assert!(parse(path, Kind::Hash, &text[..at]).is_err(), "{at}");
        }
    }

    #[test]
    fn a_newer_version_is_named() {
        let text = "hikyaku-store 2\nsomething else\n";
        let error = parse(Path::new("x/store"), Kind::Hash, text).unwrap_err();
        assert!(matches!(
            error,
            Error::FutureVersion {
                found: 2,
                supported: 1,
                ..
            }
        ));
    }

    #[test]
    fn a_store_of_another_engine_is_named() {
        let meta = Meta::first(1);
        let path = Path::new("store");
        let error = parse(path, Kind::Hash, &meta.text(Kind::Tree)).unwrap_err();
        assert!(error.to_string().contains("it is a tree store"), "{error}");
        let error = parse(path, Kind::Tree, &meta.text(Kind::Hash)).unwrap_err();
        assert!(error.to_string().contains("it is a hash store"), "{error}");
    }
}
