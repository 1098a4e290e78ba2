//! Gives the program a fingerprint of the headers it comes with.
//!
//! Compiler caches know a compiler by its binary. With the fingerprint inside, a changed header is a changed binary, so
//! what was compiled with the old header is not taken for what the new one would make.

use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=include");
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut files = Vec::new();
    list(&manifest.join("include"), &mut files)?;
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        let name = file.strip_prefix(&manifest).unwrap_or(&file);
        hasher.write(name.as_os_str().as_encoded_bytes());
        hasher.write(&fs::read(&file)?);
    }
    println!("cargo::rustc-env=QRINTF_HEADERS={:016x}", hasher.finish());
    Ok(())
}

fn list(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
