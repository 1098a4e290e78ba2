//! Why a command on a store's folder failed.

use std::path::PathBuf;

/// An error of `import`, `export` or `scan --store`.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("--store: {0}")]
    Specification(kv::Error),
    #[error("--store: a memory store has no folder; ask its daemon, with --server")]
    Memory,
    #[error(
        "--store: {engine} stores keep no order, so they have no ranges; use a tree store, or a prefix without --from and --to"
    )]
    Unordered { engine: &'static str },
    #[error("{source}{}", held(source))]
    Open { source: kv::Error },
    #[error("{} does not exist; name the store's folder in --store and the folder above it in --data", path.display())]
    Absent { path: PathBuf },
    #[error("cannot start an event loop: {0}")]
    Loop(io::Error),
    #[error("cannot read the store: {0}")]
    Read(kv::StoreError),
    #[error("the last items may be lost: {0}")]
    Commit(kv::StoreError),
    #[error("cannot read {}: {source}", path.display())]
    Input { path: PathBuf, source: std::io::Error },
    #[error("{}:{line}: {reason}", path.display())]
    Line {
        path: PathBuf,
        line: u64,
        reason: String,
    },
    #[error("{}:{line}: cannot store the item: {source}{}; {stored} items before it are stored", path.display(), remedy(source))]
    Store {
        path: PathBuf,
        line: u64,
        source: kv::StoreError,
        stored: u64,
    },
    #[error("{program} reads files of Tokyo Cabinet, and is not installed: apt-get install tokyocabinet-bin")]
    NoTokyo { program: &'static str },
    #[error("{program} cannot read {}: {reason}", path.display())]
    Tokyo {
        program: &'static str,
        path: PathBuf,
        reason: String,
    },
    #[error("{} is neither a .tch nor a .tcb file; rename it, so that its kind is known", .0.display())]
    TokyoKind(PathBuf),
    #[error("cannot write: {0}")]
    Output(std::io::Error),
}

impl Error {
    /// Returns true if the command line is wrong.
    pub(super) fn is_usage(&self) -> bool {
        matches!(
            self,
            Error::Specification(_) | Error::Memory | Error::Unordered { .. } | Error::TokyoKind(_)
        )
    }
}

/// The remedy if a daemon has the store open.
fn held(error: &kv::Error) -> &'static str {
    match error {
        kv::Error::Log(log::Error::Locked { .. }) => ", or ask that daemon: hikyaku kv … --server ADDRESS",
        _ => "",
    }
}

fn remedy(error: &kv::StoreError) -> &'static str {
    match error {
        kv::StoreError::TooLarge { .. } => ", which item_size_max in the URI raises",
        _ => "",
    }
}
