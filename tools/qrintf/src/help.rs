//! `--qrintf-help`: what this program would do here, for a user who wonders.

use std::path::Path;

use crate::error::Error;
use crate::headers;
use crate::invocation::Invocation;

/// What the headers of this build are known by. A compiler cache that looks at this program's bytes sees that another
/// header came with it.
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
qrintf-cc {version} compiles C with formats of sprintf and its family read at compile time.

Usage: qrintf-cc [COMPILER] [--qrintf-report] ARGUMENTS...
  make CC=\"qrintf-cc gcc\"

  COMPILER            gcc 11 or clang 14, or a later one; else $QRINTF_CC, else cc
  --qrintf-report     list each call, its format, and whether it is specialized
  -DQRINTF_DISABLE    leave all as it is
  -DQRINTF_CXX        specialize C++ too

Environment: QRINTF_CC=COMPILER, QRINTF_REPORT=FILE
Compiler:    {compiler}
Headers:     {headers} ({FINGERPRINT})
"
    )
}
