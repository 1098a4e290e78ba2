//! Compiles one source once more, for its notes or its messages alone.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::Stdio;

use crate::arguments::{Arguments, Word};
use crate::invocation::Invocation;

/// The object that `source` becomes with the words `ours` before the user's; nothing if it does not compile. Messages go
/// to `messages`.
pub(crate) fn compile(
    invocation: &Invocation,
    ours: &[OsString],
    arguments: &Arguments,
    source: &OsStr,
    messages: Stdio,
) -> io::Result<Option<Vec<u8>>> {
    let scratch = Scratch::new()?;
    let object = scratch.0.join("note.o");
    let mut command = invocation.command();
    command.args(ours);
    for word in arguments.words.iter().filter(|word| is_kept(word)) {
        command.arg(&word.text).args(&word.argument);
    }
    command.arg("-c").arg("-o").arg(&object).arg(source);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(messages);
    match command.status()?.success() {
        true => fs::read(&object).map(Some),
        false => Ok(None),
    }
}

/// True if a word belongs to this compilation too: not if it names an input or asks for a file beside the object, and
/// not if it makes an error of what is a warning to the user, or something else than machine code of the object.
fn is_kept(word: &Word) -> bool {
    const WORDS: &[&str] = &[
        "-c",
        "-o",
        "--output",
        "--",
        "-MD",
        "-MMD",
        "-MP",
        "-MG",
        "-MF",
        "-MT",
        "-MQ",
        "-MJ",
        "-aux-info",
        "-emit-llvm",
        "-pedantic-errors",
        "--pedantic-errors",
        "--coverage",
        "-ftest-coverage",
        "-gsplit-dwarf",
        "-fstack-usage",
        "-serialize-diagnostics",
        "--serialize-diagnostics",
        "-dependency-file",
    ];
    const STARTS: &[&str] = &[
        "-flto",
        "-save-temps",
        "--save-temps",
        "-fdump-",
        "-fcallgraph-info",
        "-Werror",
        "-Wp,-M",
    ];
    let text = word.text.as_encoded_bytes();
    text.starts_with(b"-")
        && !WORDS.iter().any(|other| text == other.as_bytes())
        && !STARTS.iter().any(|start| text.starts_with(start.as_bytes()))
}

/// A directory of our own, which goes when the value does.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> io::Result<Self> {
        let name = format!("qrintf-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // An existing one was left behind by a killed process.
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_dir_all(&path)?;
                DirBuilder::new().mode(0o700).create(&path)?;
            }
            created => created?,
        }
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // On failure a small temporary file stays behind.
        let _ = fs::remove_dir_all(&self.0);
    }
}
