//! `--help`: what this program is, and which compiler and headers it would use here.

use std::path::Path;

use crate::error::Error;
use crate::headers;
use crate::invocation::Invocation;

/// A fingerprint of the headers. It is part of this program's bytes, so a compiler cache that hashes them notices a
/// changed header.
const FINGERPRINT: &str = env!("QRINTF_HEADERS");

/// The text, for a program at `own` that found this compiler.
pub(crate) fn text(own: &Path, found: Result<Invocation, Error>) -> String {
    let compiler = match found {
        Ok(invocation) => {
            let words = std::iter::once(invocation.program.as_os_str())
                .chain(invocation.leading.iter().map(AsRef::as_ref));
            words
                .map(|word| word.display().to_string())
                .collect::<Vec<_>>()
                .join(" ")
        }
        Err(error) => format!("none: {error}"),
    };
    let headers = match headers::directory(own) {
        Ok(directory) => directory.display().to_string(),
        Err(expected) => format!("none in {}", expected.display()),
    };
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "\
qrintf-cc {version}: compile C with printf formats read at compile time

Usage: qrintf-cc [COMPILER] [--qrintf-report] ARGUMENTS...
  make CC=\"qrintf-cc gcc\"

  COMPILER            gcc 11, clang 14, or later [default: $QRINTF_CC, else cc]
  --qrintf-report     List each call, its format, and whether it is specialized
  -DQRINTF_DISABLE    Specialize nothing
  -DQRINTF_CXX        Specialize C++ too
  --help              Print this; `qrintf-cc gcc --help` prints gcc's help
  --version           Print the compiler's version and this program's

Environment: QRINTF_CC=COMPILER, QRINTF_REPORT=FILE, QRINTF_STRICT=1
Compiler:    {compiler}
Headers:     {headers} ({FINGERPRINT})
"
    )
}
