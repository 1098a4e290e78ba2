//! Errors that occur before the compiler runs. Later ones are reported by the compiler.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// Why no compiler was run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    /// No file of this name.
    #[error("{}: there is no such compiler; name one (`qrintf-cc gcc …`) or set QRINTF_CC", name.display())]
    Missing { name: OsString },
    /// A file of this name that cannot be executed.
    #[error("{}: this compiler is not executable", path.display())]
    Forbidden { path: PathBuf },
    /// The name leads back here.
    #[error("{}: leads to qrintf-cc itself and to no compiler behind it", name.display())]
    Itself { name: OsString },
    /// The system refused to run it.
    #[error("{}: {source}", path.display())]
    Run { path: PathBuf, source: io::Error },
}

impl Error {
    /// The status that `env` and shells have for this.
    pub(crate) fn status(&self) -> u8 {
        match self {
            Self::Missing { .. } | Self::Itself { .. } => 127,
            Self::Run { source, .. } if source.kind() == io::ErrorKind::NotFound => 127,
            Self::Forbidden { .. } | Self::Run { .. } => 126,
        }
    }
}
