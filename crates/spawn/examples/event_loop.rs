//! Starts processes from an event loop without blocking it: a `Spawner` makes them, and `poll` waits for their descriptors.
//!
//! ```console
//! $ cargo run -p hikyaku-spawn --example event_loop
//! 3 processes ended: exit status: 0, exit status: 3, signal: 15 (SIGTERM)
//! ```
//!
//! A loop of `hikyaku-io` waits in the same way with `io::Descriptor`.
#![allow(unsafe_code)]

use spawn::{Child, Command, Error, PendingChild, Spawner};
use std::os::fd::{AsFd, AsRawFd};

/// A process that the loop waits for.
enum Process {
    Pending(PendingChild),
    Running(Child),
}

impl Process {
    fn number(&self) -> i32 {
        match self {
            Process::Pending(pending) => pending.as_fd().as_raw_fd(),
            Process::Running(child) => child.as_fd().as_raw_fd(),
        }
    }
}

fn main() -> Result<(), Error> {
    let spawner = Spawner::new()?;
    let scripts = ["exit 0", "exit 3", "kill -TERM $$"];
    let mut processes = Vec::new();
    for script in scripts {
        processes.push(Process::Pending(
            spawner.start(Command::new("sh").args(["-c", script]))?,
        ));
    }
    let mut ends = Vec::new();
    while !processes.is_empty() {
        wait_for_any(&processes);
        let mut remaining = Vec::new();
        for process in processes {
            match advance(process)? {
                Ok(process) => remaining.push(process),
                Err(status) => ends.push(status.to_string()),
            }
        }
        processes = remaining;
    }
    ends.sort();
    println!("{} processes ended: {}", ends.len(), ends.join(", "));
    Ok(())
}

/// Moves a process to its next state if its descriptor is readable: the process, or its status.
fn advance(process: Process) -> Result<Result<Process, std::process::ExitStatus>, Error> {
    match process {
        Process::Pending(mut pending) => Ok(Ok(match pending.poll() {
            Some(child) => Process::Running(child?),
            None => Process::Pending(pending),
        })),
        Process::Running(mut child) => Ok(match child.try_wait()? {
            Some(status) => Err(status),
            None => Ok(Process::Running(child)),
        }),
    }
}

/// Blocks until a descriptor is readable.
fn wait_for_any(processes: &[Process]) {
    let entry = |process: &Process| libc::pollfd {
        fd: process.number(),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut polls: Vec<_> = processes.iter().map(entry).collect();
    // SAFETY: the kernel reads and writes `polls.len()` entries.
    unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, -1) };
}
