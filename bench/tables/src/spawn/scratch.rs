//! A folder for what the measurement writes, which goes when the measurement ends.

use crate::Error;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of one process below the machine's place for temporary files.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    pub(super) fn new() -> Result<Self, Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("hikyaku-spawn-{}-{number}", std::process::id()));
        match fs::create_dir(&path) {
            Ok(()) => Ok(Self { path }),
            Err(source) => Err(Error::File { path, source }),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file, and says where it is.
    pub(super) fn file(&self, name: &str, content: &[u8]) -> Result<PathBuf, Error> {
        let path = self.path.join(name);
        match fs::write(&path, content) {
            Ok(()) => Ok(path),
            Err(source) => Err(Error::File { path, source }),
        }
    }

    /// Writes a program, and says where it is.
    pub(super) fn program(&self, name: &str, content: &[u8]) -> Result<PathBuf, Error> {
        let path = self.path.join(name);
        write_program(&path, content).map(|()| path)
    }
}

/// Writes a file that everybody may execute.
pub(super) fn write_program(path: &Path, content: &[u8]) -> Result<(), Error> {
    fs::write(path, content)
        .and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(0o755)))
        .map_err(|source| Error::File {
            path: path.to_owned(),
            source,
        })
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed lies in a folder for temporary files; nobody is left to tell.
        let _ = fs::remove_dir_all(&self.path);
    }
}
