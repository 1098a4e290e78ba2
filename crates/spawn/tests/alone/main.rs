//! Cases that each need a process of their own: with one thread, or with a state that others must not share.
//!
//! This program runs itself once for each case. As with other tests, an argument selects the cases that have it in their
//! names. `SPAWN_COUNT` says how many processes the case that counts them starts.
#![allow(clippy::unwrap_used, unsafe_code)]

#[path = "../checks/mod.rs"]
mod checks;
mod filter;
mod hygiene;
mod legacy;
mod scarcity;
mod spawner;
mod zygote;

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::{Child, Command, ExitCode};

type Case = (&'static str, fn());

/// How long a case may take before it is held to hang; a long run has more time.
fn timeout() -> std::time::Duration {
    let is_long = std::env::var_os("SPAWN_COUNT").is_some();
    std::time::Duration::from_secs(if is_long { 1800 } else { 120 })
}

fn cases() -> Vec<Case> {
    [
        zygote::CASES,
        legacy::CASES,
        scarcity::CASES,
        hygiene::CASES,
        spawner::CASES,
    ]
    .concat()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name] = arguments.as_slice()
        && flag == "--case"
    {
        let cases = cases();
        let (_, case) = cases.iter().find(|(known, _)| known == name).unwrap();
        case();
        return ExitCode::SUCCESS;
    }
    let wanted: Vec<&String> = arguments.iter().filter(|one| !one.starts_with('-')).collect();
    let chosen = cases().into_iter().map(|(name, _)| name);
    let chosen =
        chosen.filter(|name| wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str())));
    let failed: Vec<&str> = chosen.filter(|name| !passes(name)).collect();
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("failed: {failed:?}");
    ExitCode::FAILURE
}

/// Returns whether the process ends in time, when its pidfd becomes readable.
fn ends_within(child: &Child, limit: std::time::Duration) -> bool {
    // SAFETY: takes no memory. The number is the child's as long as it has not been waited for.
    let pidfd = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) };
    assert!(pidfd >= 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the kernel has just made this descriptor, so nothing else owns it.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd as i32) };
    let mut poll = libc::pollfd {
        fd: pidfd.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one structure, as the count says.
    unsafe { libc::poll(&raw mut poll, 1, limit.as_millis() as i32) == 1 }
}

fn passes(name: &str) -> bool {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--case", name])
        .spawn()
        .unwrap();
    if !ends_within(&child, timeout()) {
        child.kill().unwrap();
    }
    // A case that was killed has not succeeded.
    let passed = child.wait().unwrap().success();
    println!("case {name} ... {}", if passed { "ok" } else { "FAILED" });
    passed
}
