//! A folder for the files of the measurement, removed at its end.

use crate::Error;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of this process, removed when dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// A folder below the system's folder for temporary files.
    pub(crate) fn new() -> Result<Self, Error> {
        Self::below(&std::env::temp_dir())
    }

    /// A folder below `parent`.
    pub(crate) fn below(parent: &Path) -> Result<Self, Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("hikyaku-bench-{}-{number}", std::process::id()));
        match fs::create_dir(&path) {
            Ok(()) => Ok(Self { path }),
            Err(source) => Err(Error::File { path, source }),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file and returns its path.
    pub(crate) fn file(&self, name: &str, content: &[u8]) -> Result<PathBuf, Error> {
        let path = self.path.join(name);
        match fs::write(&path, content) {
            Ok(()) => Ok(path),
            Err(source) => Err(Error::File { path, source }),
        }
    }

    /// Writes an executable file and returns its path.
    pub(crate) fn program(&self, name: &str, content: &[u8]) -> Result<PathBuf, Error> {
        let path = self.path.join(name);
        write_program(&path, content).map(|()| path)
    }
}

/// Writes a file that every user may execute.
pub(crate) fn write_program(path: &Path, content: &[u8]) -> Result<(), Error> {
    fs::write(path, content)
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o755)))
        .map_err(|source| Error::File {
            path: path.to_owned(),
            source,
        })
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If removing fails, the files stay there.
        let _ = fs::remove_dir_all(&self.path);
    }
}
