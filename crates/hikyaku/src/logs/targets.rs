//! The targets that a path names: a segment, a log, or a folder with logs in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Error;

/// Folders within folders that are searched for logs.
const DEPTH_MAX: usize = 4;

/// Something to look at.
pub(super) enum Target {
    Segment(PathBuf),
    Log(PathBuf),
}

impl Target {
    /// The log's folder; `None` for a segment that belongs to no log.
    pub(super) fn log(&self) -> Option<PathBuf> {
        match self {
            Target::Log(folder) => Some(folder.clone()),
            Target::Segment(file) => {
                let folder = file.canonicalize().ok()?.parent()?.to_owned();
                is_log(&folder).then_some(folder)
            }
        }
    }
}

/// All logs of a path, in order of their names.
pub(super) fn find(path: &Path) -> Result<Vec<Target>, Error> {
    let explain = |source| Error::Path {
        path: path.to_owned(),
        source,
    };
    if !fs::metadata(path).map_err(explain)?.is_dir() {
        return Ok(vec![Target::Segment(path.to_owned())]);
    }
    let mut logs = Vec::new();
    search(path, DEPTH_MAX, &mut logs).map_err(explain)?;
    if logs.is_empty() {
        return Err(Error::NoLog(path.to_owned()));
    }
    Ok(logs)
}

fn search(folder: &Path, depth: usize, logs: &mut Vec<Target>) -> io::Result<()> {
    if is_log(folder) {
        logs.push(Target::Log(folder.to_owned()));
        return Ok(());
    }
    let mut inside = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<Vec<PathBuf>>>()?;
    inside.sort();
    for path in inside {
        let is_folder = path.symlink_metadata().is_ok_and(|facts| facts.is_dir());
        if depth > 0 && is_folder {
            search(&path, depth - 1, logs)?;
        }
    }
    Ok(())
}

/// Returns true if a folder has a checkpoint or a segment in it.
fn is_log(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else {
        return false;
    };
    entries.flatten().any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let digits = name.strip_suffix(".log").is_some_and(|stem| {
            stem.len() == "00000000000000000000".len() && stem.bytes().all(|byte| byte.is_ascii_digit())
        });
        digits || name == "checkpoint"
    })
}
