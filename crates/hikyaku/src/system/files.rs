//! How many connections the limit of open files leaves room for.

/// Descriptors that are kept for what is not a connection: listeners, loops, logs, configuration files.
const RESERVED: usize = 64;

/// Raises the limit of open files to its hard limit and tells how many connections then fit.
pub(crate) fn connections_max() -> usize {
    io::open_files_max().saturating_sub(RESERVED).max(1)
}
