//! Which compiler a name stands for, and whether it can fold what the headers give it.
//!
//! The compiler is never asked: that would be a second process for each file. Its name tells, or the name that links
//! lead to (`cc` → `gcc-12`), or the version's directory that is installed with it. The rest is left to
//! the headers, which look at the compiler's own macros and step aside for one that they do not know.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::{fs, iter};

/// The two families that fold, each with the oldest major version that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Gcc,
    Clang,
}

impl Family {
    fn oldest(self) -> u32 {
        match self {
            Self::Gcc => 11,
            Self::Clang => 14,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Gcc => "gcc",
            Self::Clang => "clang",
        })
    }
}

/// Why a compiler gets its words unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unfit {
    #[error("{name} is {family} {major}, older than {family} {}", family.oldest())]
    TooOld {
        name: String,
        family: Family,
        major: u32,
    },
    #[error("{name} is neither gcc nor clang")]
    Unknown { name: String },
}

/// Names of programs that take a compiler's whole command line and run it elsewhere, or not at all.
const LAUNCHERS: &[&str] = &["ccache", "distcc", "sccache", "icecc", "buildcache"];

/// The compiler that a file name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    /// Of this family, and perhaps of this major version.
    As(Family, Option<u32>),
    /// `cc` and its like: whichever compiler the system has.
    Any,
    /// A compiler, but of another make.
    Other,
    /// No compiler that we know of.
    Nothing,
}

/// Whether `name` is one of the programs that run a compiler which is named after them.
pub(crate) fn is_launcher(name: &OsStr) -> bool {
    file_name(name).is_some_and(|name| LAUNCHERS.contains(&name))
}

/// Whether `name`, be it a path or not, is named like a compiler.
pub(crate) fn is_compiler(name: &OsStr) -> bool {
    file_name(name).is_some_and(|name| named(name) != Named::Nothing)
}

/// Whether `name` is that of a compiler which takes every source for C++.
pub(crate) fn is_cxx(name: &OsStr) -> bool {
    file_name(name).is_some_and(|name| split_version(name).0.ends_with("++"))
}

/// Judges the compiler that was called `name` and found at `path`.
pub(crate) fn judge(name: &OsStr, path: &Path) -> Result<(), Unfit> {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.into());
    let called = file_name(name).unwrap_or_default();
    let linked = file_name(real.as_os_str()).unwrap_or_default();
    let (family, major) = match (named(called), named(linked)) {
        (_, Named::As(family, Some(major))) => (family, Some(major)),
        (Named::As(family, Some(major)), _) => (family, Some(major)),
        (_, Named::As(family, None)) => (family, installed_major(family, &real)),
        (Named::As(family, None), _) => (family, None),
        (Named::Any, Named::Any | Named::Nothing) => return Ok(()),
        _ => return Err(Unfit::Unknown { name: called.into() }),
    };
    match major {
        Some(major) if major < family.oldest() => Err(Unfit::TooOld {
            name: called.into(),
            family,
            major,
        }),
        _ => Ok(()),
    }
}

fn file_name(name: &OsStr) -> Option<&str> {
    Path::new(name).file_name()?.to_str()
}

fn named(name: &str) -> Named {
    let (base, major) = split_version(name);
    // The part before the last hyphen is a target or a dialect: `aarch64-linux-gnu-gcc`, `c99-gcc`.
    match base.rsplit('-').next().unwrap_or(base) {
        "gcc" | "g++" => Named::As(Family::Gcc, major),
        "clang" | "clang++" => Named::As(Family::Clang, major),
        "cc" | "c++" | "c89" | "c99" | "c11" | "c17" => Named::Any,
        // `a.cc` is a source.
        other if other.contains('.') => Named::Nothing,
        other if other.ends_with("cc") || matches!(other, "icx" | "icpx" | "nvc" | "clang-cl" | "zig") => {
            Named::Other
        }
        _ => Named::Nothing,
    }
}

/// `gcc-12` and `clang-14.0.6` and `gcc12` in a name and its major version. The digits of `c99` are none.
fn split_version(name: &str) -> (&str, Option<u32>) {
    let base = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let digits = name[base.len()..].split('.').next().unwrap_or_default();
    match digits.parse() {
        Ok(major) if !base.ends_with("c") || base.ends_with("cc") => {
            (base.strip_suffix('-').unwrap_or(base), Some(major))
        }
        _ => (name, None),
    }
}

/// The newest version that has a directory beside the compiler, as `/usr/lib/gcc/x86_64-redhat-linux/8` has: were there
/// several, the newest is the one which must not be taken for too old.
fn installed_major(family: Family, real: &Path) -> Option<u32> {
    let prefix = real.parent()?.parent()?;
    // `/usr/lib/llvm-14/bin/clang`.
    let of_prefix = file_name(prefix.as_os_str())
        .and_then(|name| name.strip_prefix("llvm-"))
        .and_then(|version| version.parse().ok());
    let libraries = || {
        ["lib", "lib64", "libexec"]
            .into_iter()
            .map(|name| prefix.join(name))
    };
    let versions: Vec<PathBuf> = match family {
        Family::Clang => libraries().map(|library| library.join("clang")).collect(),
        Family::Gcc => libraries()
            .flat_map(|library| entries(&library.join("gcc")))
            .collect(),
    };
    let installed = versions.iter().flat_map(|directory| entries(directory));
    let majors = installed.filter_map(|path| file_name(path.as_os_str())?.split('.').next()?.parse().ok());
    majors.chain(iter::once(of_prefix).flatten()).max()
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    entries.flatten().map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_tell_families_and_versions() {
        let gcc = |major| Named::As(Family::Gcc, major);
        let clang = |major| Named::As(Family::Clang, major);
        for (name, expected) in [
            ("gcc", gcc(None)),
            ("gcc-12", gcc(Some(12))),
            ("gcc-12.2.0", gcc(Some(12))),
            ("gcc12", gcc(Some(12))),
            ("g++-9", gcc(Some(9))),
            ("aarch64-linux-gnu-gcc-11", gcc(Some(11))),
            ("x86_64-linux-musl-gcc", gcc(None)),
            ("musl-gcc", gcc(None)),
            ("c99-gcc", gcc(None)),
            ("clang", clang(None)),
            ("clang++-14", clang(Some(14))),
            ("cc", Named::Any),
            ("c99", Named::Any),
            ("c++", Named::Any),
            ("x86_64-alpine-linux-musl-cc", Named::Any),
            ("tcc", Named::Other),
            ("icc", Named::Other),
            ("emcc", Named::Other),
            ("gcc-ar", Named::Nothing),
            ("clang-format-14", Named::Nothing),
            ("a.out", Named::Nothing),
            ("a.cc", Named::Nothing),
            ("my-file.cc", Named::Nothing),
            ("main", Named::Nothing),
        ] {
            assert_eq!(named(name), expected, "{name}");
        }
        assert!(is_cxx(OsStr::new("/usr/bin/aarch64-linux-gnu-g++-12")));
        assert!(is_launcher(OsStr::new("/usr/bin/ccache")));
    }

    #[test]
    fn directories_tell_what_names_do_not() {
        let root = std::env::temp_dir().join(format!("qrintf-compiler-{}", std::process::id()));
        let gcc = root.join("bin/gcc");
        fs::create_dir_all(root.join("lib/gcc/x86_64-redhat-linux/8")).unwrap();
        fs::create_dir_all(gcc.parent().unwrap()).unwrap();
        fs::write(&gcc, "").unwrap();
        let old = judge(OsStr::new("gcc"), &gcc).unwrap_err();
        assert_eq!(old.to_string(), "gcc is gcc 8, older than gcc 11");
        fs::create_dir_all(root.join("lib/gcc/x86_64-redhat-linux/12")).unwrap();
        assert_eq!(judge(OsStr::new("gcc"), &gcc), Ok(()));
        fs::remove_dir_all(root).unwrap();
    }
}
