//! How this program was called, and so which compiler it stands for.
//!
//! - `qrintf-cc gcc-13 -O2 …`: the first word, if it names a compiler; a launcher such as `ccache` may stand before it.
//! - `aarch64-linux-gnu-qrintf-cc -O2 …`: the compiler of that target.
//! - `aarch64-linux-gnu-gcc -O2 …`, a link to this program: the next of that name in `PATH`.
//! - `qrintf-cc -O2 …`: `QRINTF_CC`, else `cc`, `gcc` or `clang`.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::compiler;
use crate::error::Error;
use crate::search::{Found, Search};

/// The environment variable that lists programs which were run in the place of links to this one.
pub(crate) const RAN: &str = "QRINTF_RAN";

/// The program to run and how to call it.
#[derive(Debug)]
pub(crate) struct Invocation {
    /// The program: the compiler, or the launcher before it.
    pub(crate) program: PathBuf,
    /// The name that the program is to know itself by.
    pub(crate) arg0: OsString,
    /// Words that come first: launchers' names, and the compiler's after them.
    pub(crate) leading: Vec<OsString>,
    /// What `RAN` is to hold for it, if this program was called by a link.
    pub(crate) ran: Option<OsString>,
    /// The compiler as it was named, and where it was found; nothing when a launcher stands alone.
    pub(crate) compiler: Option<(OsString, PathBuf)>,
}

impl Invocation {
    /// The command as far as the compiler's own words.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg0(&self.arg0).args(&self.leading);
        command.envs(self.ran.as_ref().map(|ran| (RAN, ran)));
        command
    }
}

/// True if this program was called by its own name, with a target before it or not, and not by a compiler's.
pub(crate) fn has_own_name(called: &OsStr) -> bool {
    called.as_bytes().ends_with(b"qrintf-cc")
}

/// Takes from `words` those that name the compiler, and finds it.
pub(crate) fn read(
    called: &OsStr,
    words: &mut VecDeque<OsString>,
    configured: Option<OsString>,
    search: &Search<'_>,
) -> Result<Invocation, Error> {
    let name = Path::new(called).file_name().unwrap_or(called);
    let target = match name.as_bytes().strip_suffix(b"qrintf-cc") {
        None => return behind(called, name, search),
        Some(target) => OsStr::from_bytes(target),
    };
    let mut chosen = take_compiler(words, search);
    if chosen.is_empty() && target.is_empty() {
        chosen = configured_compiler(words, &configured.unwrap_or_default());
    }
    if chosen.is_empty() {
        chosen.push(default_compiler(target, search));
    }
    start(chosen, search)
}

/// The launchers and the compiler in `text`, which a user wrote in a variable; flags after them go before the `words`.
fn configured_compiler(words: &mut VecDeque<OsString>, text: &OsStr) -> Vec<OsString> {
    let parts = text.as_bytes().split(u8::is_ascii_whitespace);
    let mut parts: Vec<OsString> = parts
        .filter(|part| !part.is_empty())
        .map(|part| OsStr::from_bytes(part).into())
        .collect();
    let launchers = parts
        .iter()
        .take_while(|part| compiler::is_launcher(part))
        .count();
    let flags = parts.split_off(parts.len().min(launchers + 1));
    for flag in flags.into_iter().rev() {
        words.push_front(flag);
    }
    parts
}

/// The words at the front that name launchers and a compiler.
fn take_compiler(words: &mut VecDeque<OsString>, search: &Search<'_>) -> Vec<OsString> {
    let mut taken = Vec::new();
    while let Some(word) = words.front() {
        let launcher = compiler::is_launcher(word);
        if !launcher && !names_program(word, search) {
            break;
        }
        taken.extend(words.pop_front());
        if !launcher {
            break;
        }
    }
    taken
}

/// True if a first word is a compiler, not an input: it is named like one, or it can be executed and has no suffix
/// of something to compile or link.
fn names_program(word: &OsStr, search: &Search<'_>) -> bool {
    let bytes = word.as_bytes();
    if bytes.is_empty() || bytes.starts_with(b"-") || bytes.starts_with(b"@") {
        return false;
    }
    if compiler::is_compiler(word) {
        return true;
    }
    let name = Path::new(word).file_name().unwrap_or(word);
    if name.as_bytes().contains(&b'.') {
        return false;
    }
    if bytes.contains(&b'/') {
        return std::fs::metadata(word)
            .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
    }
    !Path::new(word).exists() && matches!(search.find(word), Found::First(_) | Found::Behind(_))
}

fn default_compiler(target: &OsStr, search: &Search<'_>) -> OsString {
    let name = |compiler: &str| {
        let mut name = target.to_owned();
        name.push(compiler);
        name
    };
    let wanted = if target.is_empty() {
        ["cc", "gcc", "clang"]
    } else {
        ["gcc", "clang", "cc"]
    };
    let found = |name: &OsString| matches!(search.find(name), Found::First(_) | Found::Behind(_));
    wanted
        .map(name)
        .into_iter()
        .find(found)
        .unwrap_or(name(wanted[0]))
}

/// This program has the compiler's name: the next program of that name is meant.
fn behind(called: &OsStr, name: &OsStr, search: &Search<'_>) -> Result<Invocation, Error> {
    let directory = Path::new(called)
        .parent()
        .filter(|directory| *directory != Path::new(""));
    let ran = std::env::var_os(RAN).unwrap_or_default();
    let program = resolve(name, search.find_behind(name, directory, &ran))?.1;
    Ok(Invocation {
        arg0: program.clone().into(),
        leading: Vec::new(),
        ran: std::env::join_paths(std::env::split_paths(&ran).chain([program.clone()])).ok(),
        compiler: Some((name.into(), program.clone())),
        program,
    })
}

fn start(mut chosen: Vec<OsString>, search: &Search<'_>) -> Result<Invocation, Error> {
    let first = chosen.remove(0);
    let (arg0, program) = resolve(&first, search.find(&first))?;
    let mut at = &first;
    if compiler::is_launcher(&first) {
        let own = |word: &&OsString| !compiler::is_launcher(word);
        let Some(next) = chosen.iter().find(own) else {
            return Ok(Invocation {
                program,
                arg0,
                leading: chosen,
                ran: None,
                compiler: None,
            });
        };
        at = next;
    }
    // Behind a launcher the compiler is looked up only to be judged; that it is missing is the launcher's to say.
    let path = match search.find(at) {
        Found::First(path) | Found::Behind(path) => path,
        _ => PathBuf::from(at),
    };
    Ok(Invocation {
        compiler: Some((at.clone(), path)),
        program,
        arg0,
        leading: chosen,
        ran: None,
    })
}

/// The program and the name to call it by, if it can be called at all.
fn resolve(name: &OsStr, found: Found) -> Result<(OsString, PathBuf), Error> {
    let name = || name.to_owned();
    match found {
        Found::First(path) => Ok((name(), path)),
        Found::Behind(path) => Ok((OsString::from_vec(path.as_os_str().as_bytes().to_vec()), path)),
        Found::Forbidden(path) => Err(Error::Forbidden { path }),
        Found::Itself => Err(Error::Itself { name: name() }),
        Found::Missing => Err(Error::Missing { name: name() }),
    }
}
