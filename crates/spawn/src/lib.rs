//! Processes: started fast, with every guarantee. Linux 5.4 or later, x86-64 and aarch64.
//!
//! ```
//! use std::time::Duration;
//! use spawn::{Capture, Command, Resource, Stdio};
//!
//! # fn main() -> Result<(), spawn::Error> {
//! let mut sort = Command::new("sort");
//! sort.stdin(Stdio::bytes("b\na\n")) // a file in memory: nobody has to feed a pipe
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
//! It is fast only as long as `posix_spawn` can do what is asked. For another user, a closure before `execve`, and so for
//! limits, capabilities or a control group, it forks: 50 ms from a process with 2 GiB of memory. Here every option is one
//! more system call of a child that shares its parent's memory, and costs the same whatever the parent's size.
//!
//! | | std | here |
//! |---|---|---|
//! | user, group, process group, directory | forks for users and groups | yes |
//! | limits, niceness, umask, capabilities, `no_new_privs`, control group, parent-death signal | by a closure, which forks | yes |
//! | descriptors other than 0, 1, 2 | no | any map; all others closed |
//! | waiting for a while, ending politely | no | [`Child::wait_timeout`], [`Child::terminate`] |
//! | output with a limit | no | [`Capture`] |
//! | what failed | an errno | the [`Step`] and the errno |
//! | without blocking the thread | no | [`Starter`], [`Command::start`], [`Zygote`] |
//! | a child that is dropped | a zombie, or runs on | is killed and reaped |
//!
//! # The picture
//!
//! ```text
//!   Command ──(all that can be decided or allocated)──> Plan: operations, arguments, environment, open streams
//!                                                         │  block of memory, shared
//!   parent: clone3(VM | VFORK | PIDFD | CLEAR_SIGHAND | FILES) onto a stack of its own
//!                                                         │
//!   child:  signals · session · descriptors · limits · user · capabilities · directory · mask · execve
//!                                                         │  each a raw system call; the first that fails is written down
//!   parent: Child, or Error::Start { step, source }  <────┘
//! ```
//!
//! # What holds
//!
//! * **The child runs no code but ours**: no libc, no allocation, no lock, no handler of the program's. Other threads of the
//!   parent may hold whatever locks they like.
//! * **Nothing leaks.** Of descriptors the child has those that were named. A child that failed to start is reaped before
//!   the error is returned, and no `SIGCHLD` tells of it.
//! * **No zombies**: see [`Child`] for what dropping does.
//! * **The same on older kernels**, and behind filters that do not know `clone3`: then `clone` does it, and the child makes
//!   up for what `clone` does not do. In emulators that know neither, the child is forked.
//! * The calling thread waits for the end, [`Command::status`]; until the child has left its memory, [`Command::spawn`]; or
//!   makes it and goes on, [`Command::start`]; or has it made by a [`Starter`], a thread beside an event loop, or by a
//!   [`Zygote`], for daemons that give up their rights.
//!
//! `SIGCHLD` belongs to the program: a handler that reaps everything takes statuses from us too, and so does ignoring it.
//! From Linux 6.15 on they are known all the same; before, [`Error::StatusTaken`] says what happened.

mod block;
mod calls;
mod capability;
mod child;
mod clone;
mod command;
mod copied;
mod descriptors;
mod dumpable;
mod environment;
mod error;
mod lent;
mod newborn;
mod order;
mod output;
mod path;
mod plan;
mod process;
mod reaper;
mod resource;
mod signals;
mod stack;
mod start;
mod starter;
mod starting;
mod stdio;
mod step;
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
pub use resource::{Resource, UNLIMITED};
pub use signals::SignalSet;
pub use starter::Starter;
pub use starting::Starting;
pub use stdio::{End, Stdio};
pub use step::Step;
pub use zygote::{Requested, Rules, Zygote};
