//! Names of resource limits.

use std::fmt;

/// A resource that can be limited, by the kernel's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Resource(pub(crate) u32);

macro_rules! resources {
    ($($(#[$doc:meta])* $name:ident = $constant:ident;)*) => {
        impl Resource {
            $($(#[$doc])* pub const $name: Resource = Resource(libc::$constant as u32);)*
        }

        const NAMES: &[(Resource, &str)] = &[$((Resource::$name, stringify!($constant))),*];
    };
}

resources! {
    /// Bytes of address space.
    ADDRESS_SPACE = RLIMIT_AS;
    /// Bytes of a core dump.
    CORE = RLIMIT_CORE;
    /// Seconds of processor time.
    CPU = RLIMIT_CPU;
    /// Bytes of data and heap.
    DATA = RLIMIT_DATA;
    /// Bytes of a file that is written.
    FILE_SIZE = RLIMIT_FSIZE;
    /// Bytes of locked memory.
    LOCKED_MEMORY = RLIMIT_MEMLOCK;
    /// Bytes in POSIX message queues.
    MESSAGE_QUEUES = RLIMIT_MSGQUEUE;
    /// Twenty less the lowest niceness that may be asked for.
    NICE = RLIMIT_NICE;
    /// One more than the highest descriptor.
    OPEN_FILES = RLIMIT_NOFILE;
    /// Processes and threads of the user.
    PROCESSES = RLIMIT_NPROC;
    /// The highest real-time priority.
    REALTIME_PRIORITY = RLIMIT_RTPRIO;
    /// Microseconds of processor time between blocking calls at real-time priority.
    REALTIME_TIME = RLIMIT_RTTIME;
    /// Signals that wait.
    PENDING_SIGNALS = RLIMIT_SIGPENDING;
    /// Bytes of the stack; a quarter of it bounds arguments and environment.
    STACK = RLIMIT_STACK;
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(resource, _)| resource == self) {
            Some((_, name)) => f.write_str(name),
            None => write!(f, "{}", self.0),
        }
    }
}

/// No limit, for [`Command::limit`](crate::Command::limit).
pub const UNLIMITED: u64 = libc::RLIM64_INFINITY;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_have_the_names_of_the_manual() {
        assert_eq!(Resource::OPEN_FILES.to_string(), "RLIMIT_NOFILE");
        assert_eq!(Resource(99).to_string(), "99");
    }
}
