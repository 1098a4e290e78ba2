//! Fast and safe process creation for Linux 5.4 or later, on x86-64 and aarch64.
//!
//! ```
//! use std::time::Duration;
//! use spawn::{Capture, Command, Resource, Stdio};
//!
//! # fn main() -> Result<(), spawn::Error> {
//! let mut sort = Command::new("sort");
//! sort.stdin(Stdio::bytes("b\na\n")) // a file in memory, which needs no writer
//!     .limit(Resource::CPU, 10, 10)
//!     .no_new_privileges();
//! let within = Capture {
//!     timeout: Some(Duration::from_secs(20)),
//!     ..Capture::default()
//! };
//! assert_eq!(sort.output_within(&within)?.stdout, b"a\nb\n");
//! # Ok(())
//! # }
//! ```
//!
//! # Why not `std::process::Command`
//!
//! It is fast only while `posix_spawn` supports the options. To change the user, or to run a closure before `execve` (for limits,
//! capabilities or a control group), it forks, which takes 50 ms in a process with 2 GiB of memory. Here each option is a system
//! call in a child that shares its parent's memory, so its cost does not depend on the parent's size.
//!
//! | | std | here |
//! |---|---|---|
//! | user, group, process group, directory | forks for users and groups | yes |
//! | limits, niceness, umask, capabilities, `no_new_privs`, control group, parent-death signal | by a closure, which forks | yes |
//! | descriptors other than 0, 1, 2 | no | any map; all others closed |
//! | waiting with a timeout, terminating gracefully | no | [`Child::wait_timeout`], [`Child::terminate`] |
//! | output with a limit | no | [`Capture`] |
//! | error reports | an errno | the [`Stage`] and the errno |
//! | without blocking the caller | no | [`Spawner`], [`Command::start`], [`Zygote`] |
//! | dropping a child | leaves it running, or a zombie | kills and reaps it |
//!
//! # How it works
//!
//! ```text
//!   Command ──(decide and allocate everything)──> Plan: operations, arguments, environment, open streams
//!                                                         │  shared block
//!   parent: clone3(VM | VFORK | PIDFD | CLEAR_SIGHAND | FILES) onto a stack of its own
//!                                                         │
//!   child:  signals · session · descriptors · limits · user · capabilities · directory · mask · execve
//!                                                         │  raw system calls; the first failure is recorded
//!   parent: Child, or Error::Start { stage, source }  <────┘
//! ```
//!
//! # Guarantees
//!
//! * **The child runs only this crate's code** before `execve`: no libc, allocation, lock or signal handler. Other threads of the
//!   parent may hold any lock.
//! * **No leaks.** The child has only the descriptors that the command names. A child that failed to start is reaped before the
//!   error is returned, and raises no `SIGCHLD`.
//! * **No zombies**: see [`Child`] for the effect of dropping it.
//! * **The same behaviour on older kernels** and behind filters that refuse `clone3`: there the crate uses `clone`, and the child
//!   does the rest of `clone3`'s work. Under emulators that support neither, it forks.
//!
//! # Which call blocks for how long
//!
//! * [`Command::status`] waits for the end of the process.
//! * [`Command::spawn`] waits until the child executes the program.
//! * [`Command::start`] makes the child and returns.
//! * [`Spawner::start`] queues a job for a thread, for event loops.
//! * [`Zygote::request`] sends a request to a helper process, for daemons that drop privileges.
//!
//! `SIGCHLD` belongs to the program. If its handler reaps every child, or if it ignores the signal, this crate cannot wait for the
//! status. From Linux 6.15 on, it gets the status in another way; on older kernels it returns [`Error::StatusTaken`].

mod block;
mod calls;
mod capability;
mod child;
mod child_side;
mod clone;
mod command;
mod copied;
mod descriptors;
mod dumpable;
mod environment;
mod error;
mod job;
mod launch;
mod output;
mod path;
mod pending;
mod plan;
mod process;
mod reaper;
mod resource;
mod signals;
mod spawner;
mod stack;
mod stage;
mod start;
mod stdio;
mod strings;
mod sys;
mod zygote;

pub use capability::{Capabilities, UnknownCapability};
pub use child::Child;
#[doc(hidden)]
pub use clone::force_legacy_clone;
pub use command::Command;
pub use error::Error;
pub use output::{Capture, Excess, Output};
pub use pending::PendingChild;
pub use resource::{Resource, UNLIMITED};
pub use signals::SignalSet;
pub use spawner::Spawner;
pub use stage::Stage;
pub use stdio::{End, Stdio};
pub use zygote::{PendingZygoteChild, Rules, Zygote};

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
