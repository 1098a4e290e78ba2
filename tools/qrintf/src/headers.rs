//! Where the headers are that a compiler is to find before its own.
//!
//! Installed, they stand beside the program: `PREFIX/bin/qrintf-cc` and `PREFIX/lib/qrintf/include`. A program that
//! cargo has just built takes them from the sources. Either is found from the program's own place, with links followed,
//! so it is the same however the program was called, and so is what debug information and dependency files name.

use std::path::{Path, PathBuf};

/// The directory with the shadow `stdio.h`, for a program at `program`; where it should have been, if it is nowhere.
pub(crate) fn directory(program: &Path) -> Result<PathBuf, PathBuf> {
    let bin = program.parent().unwrap_or(Path::new("/"));
    let prefix = bin.parent().unwrap_or(Path::new("/"));
    let installed = prefix.join("lib/qrintf/include");
    // Only beside a file of cargo's: an installed program must not search a directory that another user may create.
    let built = prefix.join("CACHEDIR.TAG").exists() || bin.join(".cargo-lock").exists();
    let sources = built.then(|| {
        let nearby = prefix.parent().map(|root| root.join("tools/qrintf/include"));
        let written = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
        nearby.into_iter().chain([written])
    });
    let mut candidates = std::iter::once(installed.clone()).chain(sources.into_iter().flatten());
    candidates
        .find(|candidate| candidate.join("stdio.h").is_file())
        .ok_or(installed)
}
