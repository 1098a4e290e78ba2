//! What can go wrong, and at which step.

use std::io;
use std::time::Duration;

use crate::step::Step;

/// Why a process could not be started, or its end not be told.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A step of starting the process failed. No process is left.
    #[error("cannot start `{program}`: {step}{about}: {source}")]
    Start {
        /// The program, as it was given.
        program: String,
        /// What was being done.
        step: Step,
        /// What it was about, with a space before it: a path, a descriptor, a limit; empty when the step says it all.
        about: String,
        /// What the kernel answered.
        source: io::Error,
    },
    /// A string for the kernel has a zero byte in it, where the kernel would end it.
    #[error("cannot start `{program}`: {what} has a NUL byte; remove it")]
    Nul {
        /// The program, as it was given.
        program: String,
        /// Which string.
        what: &'static str,
    },
    /// A variable of the environment without a name, or with `=` in it.
    #[error("cannot start `{program}`: `{name}` is no name of a variable; give one without `=`")]
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
        /// What the kernel answered.
        source: io::Error,
    },
    /// Somebody else in this program has taken the process's status, by `wait` or by ignoring `SIGCHLD`, and the kernel
    /// (before Linux 6.15) does not tell it twice. The process has ended.
    #[error("the status of process {pid} was taken by another wait in this program")]
    StatusTaken {
        /// The process.
        pid: u32,
    },
    /// The process wrote more than [`Capture::limit_bytes`](crate::Capture::limit_bytes) to one stream, and was killed.
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
    /// The process ran longer than [`Capture::timeout`](crate::Capture::timeout), and was ended.
    #[error("process {pid} ran longer than {after:?} and was ended")]
    TimedOut {
        /// The process.
        pid: u32,
        /// The time-out.
        after: Duration,
    },
    /// A starter's thread cannot be started.
    #[error("starting a thread that starts processes: {source}")]
    Starter {
        /// What the kernel answered.
        source: io::Error,
    },
    /// The zygote has ended, or was never reachable.
    #[error("the zygote has ended; start the program again to have another")]
    ZygoteGone,
    /// A system call about the zygote's socket failed.
    #[error("{operation} to the zygote: {source}")]
    ZygoteSocket {
        /// The call.
        operation: &'static str,
        /// What the kernel answered.
        source: io::Error,
    },
    /// A zygote can only be made of a process that has one thread.
    #[error("a zygote must be started before any thread; there are {threads} threads")]
    ZygoteThreads {
        /// How many there are.
        threads: usize,
    },
    /// A request to the zygote is larger than it takes.
    #[error("the request to the zygote has {size} bytes, of which {max} are allowed")]
    ZygoteRequest {
        /// Its size.
        size: usize,
        /// The bound.
        max: usize,
    },
}

impl Error {
    /// The errno, as libc's functions would have left it; `EINVAL` for what no kernel was asked for.
    #[must_use]
    pub fn errno(&self) -> i32 {
        match self {
            Error::Start { source, .. }
            | Error::Process { source, .. }
            | Error::Starter { source }
            | Error::ZygoteSocket { source, .. } => source.raw_os_error().unwrap_or(libc::EIO),
            Error::StatusTaken { .. } => libc::ECHILD,
            Error::OutputLimit { .. } => libc::EFBIG,
            Error::TimedOut { .. } => libc::ETIMEDOUT,
            Error::ZygoteGone => libc::EPIPE,
            Error::ZygoteRequest { .. } => libc::E2BIG,
            Error::Nul { .. } | Error::Variable { .. } | Error::ZygoteThreads { .. } => libc::EINVAL,
        }
    }

    /// The step that failed, when a step of starting did.
    #[must_use]
    pub fn step(&self) -> Option<Step> {
        match self {
            Error::Start { step, .. } => Some(*step),
            _ => None,
        }
    }
}

impl From<Error> for io::Error {
    /// Of the same kind, with the error as its source.
    fn from(error: Error) -> io::Error {
        io::Error::new(io::Error::from_raw_os_error(error.errno()).kind(), error)
    }
}
