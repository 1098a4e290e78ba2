//! A forked child, for user-mode emulators.
//!
//! qemu's emulation of other processors supports neither `clone3` nor a `clone` that shares memory. So the child is forked. It runs
//! the same code on the same stack, but reports errors through a pipe, which closes when it executes its program.
//!
//! **Invariant:** the child's end of the pipe has a number that no other descriptor of the child gets.
#![allow(unsafe_code)]

use std::io::{PipeReader, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use libc::{ENOSYS, SIGCHLD};

use crate::block::{Block, Operation, address};
use crate::clone::{Made, Wait};
use crate::stack::Stack;
use crate::{calls, child_side, sys};

/// The child's report in the pipe: stage plus one, detail, errno.
const REPORT_SIZE: usize = 12;

/// Makes a child that executes `block`.
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
            child_side::main,
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

/// Returns whether the child's operations replace this descriptor.
fn is_target(block: &Block, fd: RawFd) -> bool {
    // SAFETY: the block's invariant guarantees this number of operations.
    let operations = unsafe { std::slice::from_raw_parts(block.operations, block.operation_count) };
    operations.iter().any(|operation| match *operation {
        Operation::Call {
            number, arguments, ..
        } => number == libc::SYS_dup3 as usize && arguments[1] == fd as usize,
        Operation::Restore { to } => to == fd,
        _ => false,
    })
}

/// Opens the child's pidfd. The process ID is the child's until it is reaped.
fn hold(pid: i32) -> Result<Made, i32> {
    match calls::pidfd_open(pid) {
        Ok(pidfd) => Ok(Made { pid, pidfd }),
        Err(error) => {
            calls::kill_and_reap(pid);
            Err(error.raw_os_error().unwrap_or(ENOSYS))
        }
    }
}

/// Reads the report from the pipe: stage plus one, detail and errno, or nothing if the pipe was closed.
pub(crate) fn hear(mut answer: &PipeReader) -> Option<(u32, i32, i32)> {
    let mut report = [0_u8; REPORT_SIZE];
    // A child that was killed before its report has not failed to start: it has ended.
    answer.read_exact(&mut report).ok()?;
    let word = |index: usize| {
        let bytes = report.get(index * 4..index * 4 + 4)?;
        bytes.try_into().map(i32::from_ne_bytes).ok()
    };
    Some((word(0)? as u32, word(1)?, word(2)?))
}

/// Returns whether the pipe is closed or readable.
pub(crate) fn has_answered(answer: &PipeReader, block: bool) -> bool {
    let deadline = (!block).then(std::time::Instant::now);
    let mut poll = [calls::poll_for(answer.as_fd(), libc::POLLIN)];
    // poll fails only for lack of memory; the caller repeats it.
    calls::poll(&mut poll, deadline).unwrap_or(false)
}
