//! Finds a program as `execvp` does, but never this one.
//!
//! A link to `qrintf-cc` may be named `gcc` and stand first in `PATH`; what it runs is the next `gcc`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// What a name led to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The first that `PATH` has, or the path itself.
    First(PathBuf),
    /// One behind this program: it must be called by its path, as its name leads here.
    Behind(PathBuf),
    /// Something of this name that nobody may execute.
    Forbidden(PathBuf),
    /// Nothing but this program has the name.
    Itself,
    /// Nothing has the name.
    Missing,
}

/// Where programs are looked for, and which one is left out.
pub(crate) struct Search<'a> {
    /// The value of `PATH`.
    pub(crate) path: &'a OsStr,
    /// This program, with links followed.
    pub(crate) own: &'a Path,
}

impl Search<'_> {
    /// Looks for `name`, from the start of `PATH`.
    pub(crate) fn find(&self, name: &OsStr) -> Found {
        if name.as_encoded_bytes().contains(&b'/') {
            return self.judge(Path::new(name), false);
        }
        self.walk(name, Path::new(""))
    }

    /// Looks for `name` in what follows `directory` in `PATH`, so that links which stand before it are not run in turns
    /// with this one; then, as it may not be in `PATH` at all, everywhere.
    pub(crate) fn find_after(&self, name: &OsStr, directory: &Path) -> Found {
        match self.walk(name, directory) {
            Found::First(path) => Found::Behind(path),
            Found::Missing | Found::Itself => match self.walk(name, Path::new("")) {
                Found::First(path) => Found::Behind(path),
                other => other,
            },
            other => other,
        }
    }

    fn walk(&self, name: &OsStr, after: &Path) -> Found {
        let mut rest = std::env::split_paths(self.path);
        if after != Path::new("") && !rest.any(|directory| directory == after) {
            return Found::Missing;
        }
        let mut skipped = false;
        let mut best = Found::Missing;
        for directory in rest {
            match self.judge(&directory.join(name), skipped) {
                Found::Missing => {}
                Found::Itself => {
                    skipped = true;
                    best = Found::Itself;
                }
                Found::Forbidden(path) => best = Found::Forbidden(path),
                found => return found,
            }
        }
        best
    }

    fn judge(&self, path: &Path, skipped: bool) -> Found {
        let Ok(status) = fs::metadata(path) else {
            return Found::Missing;
        };
        if status.is_dir() || status.permissions().mode() & 0o111 == 0 {
            return Found::Forbidden(path.into());
        }
        let same = |own: fs::Metadata| own.dev() == status.dev() && own.ino() == status.ino();
        if fs::metadata(self.own).is_ok_and(same) {
            Found::Itself
        } else if skipped {
            Found::Behind(path.into())
        } else {
            Found::First(path.into())
        }
    }
}
