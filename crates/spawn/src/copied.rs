//! A child with a copy of our memory: where the kernel is an emulator's, which knows no other.
//!
//! qemu, when it runs programs of another processor, has neither `clone3` nor a `clone` that shares memory. So the child is
//! forked, on the same stack and with the same code, and writes what failed to a pipe, which closes when it runs its program.
//!
//! **Invariant:** the child's end of the pipe has a number that no descriptor of the child will get.
#![allow(unsafe_code)]

use std::io::{PipeReader, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use libc::{ENOSYS, SIGCHLD};

use crate::block::{Block, Operation, address};
use crate::clone::{Made, Wait};
use crate::stack::Stack;
use crate::{calls, newborn, sys};

/// The child's report on its way: step and one more, detail, errno.
const REPORT_SIZE: usize = 12;

/// Makes a child that carries out `block`.
///
/// # Errors
/// With the errno. No child exists then.
pub(crate) fn make(block: &mut Block, stack: &Stack, wait: Wait) -> Result<Made, i32> {
    let errno = |error: std::io::Error| error.raw_os_error().unwrap_or(ENOSYS);
    let (answer, theirs) = std::io::pipe().map_err(errno)?;
    let mut theirs = OwnedFd::from(theirs);
    while is_target(block, theirs.as_raw_fd()) {
        theirs = calls::copy_from(theirs.as_fd(), theirs.as_raw_fd() + 1).map_err(errno)?;
    }
    block.pipe = theirs.as_raw_fd();
    let top = stack.bottom() + stack.size();
    let call = [SIGCHLD as usize, top, 0, 0, 0];
    // SAFETY: the child has a copy of everything, and the stack in it is its own; `main` is made for less.
    let pid = unsafe {
        sys::clone_onto(
            libc::SYS_clone as usize,
            call,
            newborn::main,
            address(&raw const *block),
        )
    };
    if let Some(errno) = sys::failure(pid) {
        return Err(errno);
    }
    *block.present.get_mut() = 0;
    drop(theirs);
    let made = hold(pid as i32)?;
    block.answer = Some(answer);
    if wait == Wait::UntilExec {
        block.await_answer();
    }
    Ok(made)
}

/// Whether the child puts something at this number.
fn is_target(block: &Block, fd: RawFd) -> bool {
    // SAFETY: there are so many, by the block's invariant.
    let operations = unsafe { std::slice::from_raw_parts(block.operations, block.operation_count) };
    operations.iter().any(|operation| match *operation {
        Operation::Call {
            number, arguments, ..
        } => number == libc::SYS_dup3 as usize && arguments[1] == fd as usize,
        Operation::Restore { to } => to == fd,
        _ => false,
    })
}

/// The child's pidfd. Its number is its own until somebody waits for it.
fn hold(pid: i32) -> Result<Made, i32> {
    match calls::pidfd_open(pid) {
        Ok(pidfd) => Ok(Made { pid, pidfd }),
        Err(error) => {
            calls::kill_and_reap(pid);
            Err(error.raw_os_error().unwrap_or(ENOSYS))
        }
    }
}

/// What came through the pipe when it closed: the step and one more, detail and errno, or nothing.
pub(crate) fn hear(mut answer: &PipeReader) -> Option<(u32, i32, i32)> {
    let mut report = [0_u8; REPORT_SIZE];
    // A child that is killed on its way has not failed to begin: it has ended.
    answer.read_exact(&mut report).ok()?;
    let word = |index: usize| {
        let bytes = report.get(index * 4..index * 4 + 4)?;
        bytes.try_into().map(i32::from_ne_bytes).ok()
    };
    Some((word(0)? as u32, word(1)?, word(2)?))
}

/// Whether the pipe has closed, or something came.
pub(crate) fn has_answered(answer: &PipeReader, block: bool) -> bool {
    let deadline = (!block).then(std::time::Instant::now);
    let mut poll = [calls::poll_for(answer.as_fd(), libc::POLLIN)];
    // It fails for want of memory, and then we ask again.
    calls::poll(&mut poll, deadline).unwrap_or(false)
}
