//! Finds a program as `execvp` does, but never this one.
//!
//! A link to `qrintf-cc` may be named `gcc` and stand first in `PATH`; what it runs is the next `gcc`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The result of a search.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The first that `PATH` has, or the path itself.
    First(PathBuf),
    /// One behind this program: it must be called by its path, as its name leads here.
    Behind(PathBuf),
    /// A file of this name that is not executable.
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
        self.walk(name, None, OsStr::new(""))
    }

    /// Looks for the `name` that a link to this program stands for: in what follows the link's `directory` in `PATH`, so
    /// that links which stand before it are not run in turns with this one; then, as that may not be in `PATH` at all,
    /// everywhere.
    ///
    /// Those that `ran` lists, as `PATH` lists directories, are passed over. This program has become them already on the
    /// way here: a cache behind the link, which looked for its compiler and found the link again, must not be run again.
    pub(crate) fn find_behind(&self, name: &OsStr, directory: Option<&Path>, ran: &OsStr) -> Found {
        let found = match self.walk(name, directory, ran) {
            Found::Missing | Found::Itself => self.walk(name, None, ran),
            found => found,
        };
        match found {
            Found::First(path) => Found::Behind(path),
            other => other,
        }
    }

    fn walk(&self, name: &OsStr, after: Option<&Path>, ran: &OsStr) -> Found {
        let mut rest = std::env::split_paths(self.path);
        if after.is_some_and(|after| !rest.any(|directory| directory == after)) {
            return Found::Missing;
        }
        let mut skipped = false;
        let mut best = Found::Missing;
        for path in rest.map(|directory| directory.join(name)) {
            match self.judge(&path, skipped) {
                Found::Missing => {}
                Found::Itself => {
                    skipped = true;
                    best = Found::Itself;
                }
                Found::Forbidden(path) => best = Found::Forbidden(path),
                Found::First(path) | Found::Behind(path)
                    if std::env::split_paths(ran).any(|other| other == path) => {}
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
