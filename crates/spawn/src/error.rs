//! The errors of this crate.

use std::io;
use std::time::Duration;

use crate::stage::Stage;

/// Why a process could not be started, or its status not be determined.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Starting the process failed. No process exists.
    #[error("cannot start `{program}`: {stage}{about}: {source}")]
    Start {
        /// The program, as it was given.
        program: String,
        /// The stage that failed.
        stage: Stage,
        /// The subject with a leading space: a path, a descriptor, a limit; or empty.
        about: String,
        /// The system's error.
        source: io::Error,
    },
    /// A string for the kernel contains a zero byte.
    #[error("cannot start `{program}`: {what} has a NUL byte; remove it")]
    Nul {
        /// The program, as it was given.
        program: String,
        /// Which string.
        what: &'static str,
    },
    /// A variable of the environment without a name, or with `=` in it.
    #[error("cannot start `{program}`: `{name}` is not a variable name; use one without `=`")]
    Variable {
        /// The program, as it was given.
        program: String,
        /// The name.
        name: String,
    },
    /// A system call about a running process failed.
    #[error("{operation} of process {pid}: {source}")]
    Process {
        /// The process.
        pid: u32,
        /// The call.
        operation: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// Other code of this program has taken the process's status, by `wait` or by ignoring `SIGCHLD`, and the kernel (before Linux
    /// 6.15) provides it only once. The process has ended.
    #[error("the status of process {pid} was taken by another wait in this program")]
    StatusTaken {
        /// The process.
        pid: u32,
    },
    /// The process wrote more than [`Capture::limit_bytes`](crate::Capture::limit_bytes) to one stream and was killed.
    #[error(
        "process {pid} wrote more than {limit_bytes} bytes to {stream}; raise the limit or have the rest cut off"
    )]
    OutputLimit {
        /// The process.
        pid: u32,
        /// `standard output` or `standard error`.
        stream: &'static str,
        /// The limit.
        limit_bytes: usize,
    },
    /// The process ran longer than [`Capture::timeout`](crate::Capture::timeout) and was terminated.
    #[error("process {pid} ran longer than {after:?} and was ended")]
    TimedOut {
        /// The process.
        pid: u32,
        /// The time-out.
        after: Duration,
    },
    /// A spawner's thread could not be started.
    #[error("cannot start the spawner's thread: {source}")]
    Spawner {
        /// The system's error.
        source: io::Error,
    },
    /// The zygote has ended.
    #[error("the zygote has ended; start the program again to have another")]
    ZygoteGone,
    /// A system call about the zygote's socket failed.
    #[error("{operation} to the zygote: {source}")]
    ZygoteSocket {
        /// The call.
        operation: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A zygote can only be forked from a process with a single thread.
    #[error("a zygote must be started before any thread; there are {threads} threads")]
    ZygoteThreads {
        /// The number of threads.
        threads: usize,
    },
    /// A request exceeds the zygote's limit.
    #[error("the request to the zygote has {size} bytes; the limit is {max}")]
    ZygoteRequest {
        /// Its size.
        size: usize,
        /// The limit.
        max: usize,
    },
}

impl Error {
    /// The error number that a libc function would have set; `EINVAL` if the command was rejected before any system call.
    #[must_use]
    pub fn errno(&self) -> i32 {
        match self {
            Error::Start { source, .. }
            | Error::Process { source, .. }
            | Error::Spawner { source }
            | Error::ZygoteSocket { source, .. } => source.raw_os_error().unwrap_or(libc::EIO),
            Error::StatusTaken { .. } => libc::ECHILD,
            Error::OutputLimit { .. } => libc::EFBIG,
            Error::TimedOut { .. } => libc::ETIMEDOUT,
            Error::ZygoteGone => libc::EPIPE,
            Error::ZygoteRequest { .. } => libc::E2BIG,
            Error::Nul { .. } | Error::Variable { .. } | Error::ZygoteThreads { .. } => libc::EINVAL,
        }
    }

    /// The stage that failed, for [`Error::Start`].
    #[must_use]
    pub fn stage(&self) -> Option<Stage> {
        match self {
            Error::Start { stage, .. } => Some(*stage),
            _ => None,
        }
    }
}

impl From<Error> for io::Error {
    /// Keeps the kind and makes the error the source.
    fn from(error: Error) -> io::Error {
        io::Error::new(io::Error::from_raw_os_error(error.errno()).kind(), error)
    }
}
