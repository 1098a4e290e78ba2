//! The names of a log's files, other than its segments, and what is done to files by name.

use std::path::{Path, PathBuf};

use crate::checkpoint;
use crate::error::{Doing, Error};
use crate::segment::{base_of, base_of_index, index_paths};
use crate::storage::{Storage, TEMPORARY_SUFFIX};

/// The file that a failed sync leaves.
pub(crate) const FAILED_NAME: &str = "failed";

/// The file that is locked while a log is open. It has the process's number.
pub(crate) const LOCK_NAME: &str = "LOCK";

/// The suffix for segments that were set aside, and for cut bytes.
const ASIDE_SUFFIX: &str = ".cut";

/// Returns true for the names that a log gives to files.
pub(crate) fn is_own(name: &str) -> bool {
    let stem = name.strip_suffix(TEMPORARY_SUFFIX).unwrap_or(name);
    let stem = stem.split_once(ASIDE_SUFFIX).map_or(stem, |(stem, _)| stem);
    base_of(stem).is_some()
        || base_of_index(stem).is_some()
        || [checkpoint::NAME, LOCK_NAME, FAILED_NAME].contains(&stem)
}

/// Removes a segment and its indexes. The indexes go first, so that no index is ever left without its segment for long.
pub(crate) fn remove_segment_files(storage: &dyn Storage, path: &Path) -> Result<(), Error> {
    for index in index_paths(path) {
        match storage.remove(&index) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io("remove", &index, error));
            }
            _ => {}
        }
    }
    storage.remove(path).doing("remove", path)
}

/// A name beside a file's that is not taken.
pub(crate) fn aside(storage: &dyn Storage, folder: &Path, path: &Path) -> Result<PathBuf, Error> {
    let names = storage.list(folder).doing("list", folder)?;
    let stem = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mut name = format!("{stem}{ASIDE_SUFFIX}");
    let mut number = 1;
    while names.contains(&name) {
        number += 1;
        name = format!("{stem}{ASIDE_SUFFIX}{number}");
    }
    Ok(folder.join(name))
}
