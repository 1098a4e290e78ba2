//! Making the process: `clone3` onto a separate stack, or `clone` where `clone3` is missing.
//!
//! **Invariant:** no signal handler of the program runs in the child. `clone3` resets the handlers; with `clone`, all signals stay
//! blocked until the child has reset them.
#![allow(unsafe_code)]

use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use libc::{
    CLONE_CHILD_CLEARTID, CLONE_FILES, CLONE_PIDFD, CLONE_VFORK, CLONE_VM, E2BIG, EINVAL, ENOSYS, EPERM,
};

use crate::block::{Block, address};
use crate::stack::Stack;
use crate::stage::Stage;
use crate::{calls, child_side, copied, sys};

const CLONE_CLEAR_SIGHAND: u64 = 1 << 32;
const CLONE_INTO_CGROUP: u64 = 1 << 33;

/// The arguments of `clone3`, as of Linux 5.7.
#[repr(C)]
#[derive(Default)]
struct Arguments {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    /// Zero, so that a child that fails before `execve` raises no `SIGCHLD`. `execve` sets it to `SIGCHLD`.
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

/// The size of [`Arguments`] before Linux 5.7, without the last three fields.
const SIZE_FIRST: usize = 64;

/// Set once `clone3` is known to be missing or refused by a filter.
static NO_CLONE3: AtomicBool = AtomicBool::new(false);

/// Makes all further children by `clone`, as on kernels without `clone3`. For tests of that path.
#[doc(hidden)]
pub fn force_legacy_clone(on: bool) {
    NO_CLONE3.store(on, Ordering::Relaxed);
}

/// How long the parent waits in `clone`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    UntilExec,
    NotAtAll,
}

/// A process that has just been made.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) pid: i32,
    pub(crate) pidfd: OwnedFd,
}

/// Makes a child on `stack` that carries out `block`.
///
/// # Errors
/// With the stage and the errno. No child exists then.
///
/// # Safety
/// Until the child has left our memory, `block` and all that it points to must live, and only the child may use `stack`.
/// With [`Wait::UntilExec`] that is when this returns, with [`Wait::NotAtAll`] when the block says so.
pub(crate) unsafe fn make(
    block: &mut Block,
    stack: &Stack,
    cgroup: Option<i32>,
    wait: Wait,
) -> Result<Made, (Stage, i32)> {
    let mut flags = (CLONE_VM | CLONE_PIDFD) as u64;
    match wait {
        Wait::UntilExec => flags |= CLONE_VFORK as u64,
        Wait::NotAtAll => {
            flags |= CLONE_CHILD_CLEARTID as u64;
            *block.present.get_mut() = 1;
        }
    }
    if !NO_CLONE3.load(Ordering::Relaxed) {
        // SAFETY: as the caller's.
        let made = masked(block.quiet, || unsafe { clone3(block, stack, flags, cgroup) });
        match made {
            Err(errno) if is_missing(errno) => {}
            Err(errno) => return Err((blame(errno, cgroup), errno)),
            Ok(made) => return Ok(made),
        }
    }
    block.legacy = true;
    block.cgroup = cgroup.unwrap_or(-1);
    // SAFETY: as the caller's.
    let made = masked(true, || unsafe { clone(block, stack, flags) });
    match made {
        // No kernel returns these for our flags.
        Err(EINVAL) => masked(true, || copied::make(block, stack, wait)),
        made => made,
    }
    .map_err(|errno| (Stage::Clone, errno))
}

/// Makes a child that begins with all signals blocked, or with those that this thread blocks.
fn masked<T>(quiet: bool, make: impl FnOnce() -> T) -> T {
    let before = quiet.then(|| sys::exchange_signal_mask(!0));
    let made = make();
    if let Some(before) = before {
        sys::exchange_signal_mask(before);
    }
    made
}

/// Returns whether an error means that the kernel or a filter does not know the call or its flags. If our arguments are wrong,
/// `clone` fails as well, and that error is final.
fn is_missing(errno: i32) -> bool {
    if errno == ENOSYS {
        NO_CLONE3.store(true, Ordering::Relaxed);
    }
    matches!(errno, ENOSYS | EPERM | EINVAL | E2BIG)
}

/// Errors of `clone3` that only a control group causes.
fn blame(errno: i32, cgroup: Option<i32>) -> Stage {
    let of_cgroup = matches!(
        errno,
        libc::EACCES | libc::EBUSY | libc::EOPNOTSUPP | libc::EBADF | libc::ENODEV
    );
    if cgroup.is_some() && of_cgroup {
        Stage::Cgroup
    } else {
        Stage::Clone
    }
}

/// # Safety
/// As [`make`].
unsafe fn clone3(block: &Block, stack: &Stack, flags: u64, cgroup: Option<i32>) -> Result<Made, i32> {
    let mut pidfd = -1;
    let mut arguments = Arguments {
        flags: flags | CLONE_CLEAR_SIGHAND,
        pidfd: (&raw mut pidfd) as u64,
        child_tid: address(&raw const block.present) as u64,
        stack: stack.bottom() as u64,
        stack_size: stack.size() as u64,
        ..Arguments::default()
    };
    if block.parts {
        arguments.flags |= CLONE_FILES as u64;
    }
    let mut size = SIZE_FIRST;
    if let Some(cgroup) = cgroup {
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = cgroup as u64;
        size = size_of::<Arguments>();
    }
    let call = [address(&raw const arguments), size, 0, 0, 0];
    // SAFETY: the arguments live through the call and name a stack that is the child's alone, as the caller says; `main`
    // is made for such a child.
    let answer =
        unsafe { sys::clone_onto(libc::SYS_clone3 as usize, call, child_side::main, address(block)) };
    made(answer, pidfd)
}

/// # Safety
/// As [`make`].
unsafe fn clone(block: &Block, stack: &Stack, flags: u64) -> Result<Made, i32> {
    let mut pidfd = -1_i32;
    let top = stack.bottom() + stack.size();
    let present = address(&raw const block.present);
    let pidfd_at = (&raw mut pidfd) as usize;
    #[cfg(target_arch = "x86_64")]
    let call = [flags as usize, top, pidfd_at, present, 0];
    #[cfg(target_arch = "aarch64")]
    let call = [flags as usize, top, pidfd_at, 0, present];
    // SAFETY: as in `clone3`.
    let answer = unsafe { sys::clone_onto(libc::SYS_clone as usize, call, child_side::main, address(block)) };
    made(answer, pidfd)
}

fn made(answer: isize, pidfd: i32) -> Result<Made, i32> {
    if let Some(errno) = sys::failure(answer) {
        return Err(errno);
    }
    let pid = answer as i32;
    // Before Linux 5.2 `clone` ignores the flag, so there would be no pidfd for the child.
    if pidfd < 0 {
        calls::kill_and_reap(pid);
        return Err(ENOSYS);
    }
    Ok(Made {
        pid,
        // SAFETY: the kernel has just made this descriptor for us.
        pidfd: unsafe { OwnedFd::from_raw_fd(pidfd) },
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Command;
    use crate::plan::{Defaults, Pace, Plan};

    /// Runs a child's code on a separate stack, in a copy of our memory, and returns its exit status.
    ///
    /// User-mode emulators support only this form of `clone`, so the stubs for other processors are tested with it.
    fn run_in_a_copy(command: &mut Command) -> i32 {
        let plan = Plan::new(command.env_clear(), Defaults::INHERIT, Pace::GoesOn).unwrap();
        let stack = Stack::take().unwrap();
        let top = stack.bottom() + stack.size();
        let call = [libc::SIGCHLD as usize, top, 0, 0, 0];
        // SAFETY: without `CLONE_VM` the child has a copy of everything, and the stack is its own.
        let pid = unsafe {
            sys::clone_onto(
                libc::SYS_clone as usize,
                call,
                child_side::main,
                address(&raw const plan.block),
            )
        };
        assert!(pid > 0, "{pid}");
        let mut status = 0;
        // SAFETY: the kernel writes one status; the child is ours.
        let waited = unsafe { libc::waitpid(pid as i32, &raw mut status, 0) };
        assert_eq!((waited as isize, libc::WIFEXITED(status)), (pid, true));
        libc::WEXITSTATUS(status)
    }

    #[test]
    fn a_child_begins_on_its_stack_and_becomes_the_program() {
        assert_eq!(run_in_a_copy(Command::new("/bin/sh").args(["-c", "exit 42"])), 42);
        let script = "[ $(umask) = 0071 ] && [ $(pwd) = / ] && read x <&5 && [ $x = y ] && exit 43";
        let mut command = Command::new("sh");
        command.args(["-c", script]).umask(0o71).current_dir("/");
        command
            .descriptor(5, crate::Stdio::bytes("y\n"))
            .descriptor(6, crate::Stdio::same_as(5));
        assert_eq!(run_in_a_copy(&mut command), 43);
        assert_eq!(run_in_a_copy(&mut Command::new("/no/such")), 127);
    }
}
