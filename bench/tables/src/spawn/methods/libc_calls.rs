//! The C library's functions: `posix_spawn`, `system`, `popen`.
#![allow(unsafe_code)]

use super::raw::{environment, pipe, pointers, read_all, said, split, wait};
use super::{Context, ended_well, last_error};
use std::ffi::{CStr, c_char, c_int};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// `posix_spawn` without attributes or file actions.
pub(super) fn posix_spawn(context: &Context) -> Result<Duration, String> {
    let began = Instant::now();
    let pid = start(context, context.argv().as_ptr(), None)?;
    let blocked = began.elapsed();
    wait(pid)?;
    Ok(blocked)
}

/// `posix_spawn`, with the child's output read through a pipe.
pub(super) fn posix_spawn_pipe(context: &Context) -> Result<Duration, String> {
    read_from(context, context.argv().as_ptr())
}

/// The same, with the command split at its blanks.
pub(super) fn posix_spawn_split(context: &Context) -> Result<Duration, String> {
    let words = split(context);
    read_from(context, pointers(&words).as_ptr())
}

fn read_from(context: &Context, argv: *const *const c_char) -> Result<Duration, String> {
    let (reader, writer) = pipe()?;
    let began = Instant::now();
    let pid = start(context, argv, Some(&writer))?;
    let blocked = began.elapsed();
    drop(writer);
    read_all(reader)?;
    wait(pid)?;
    Ok(blocked)
}

fn start(
    context: &Context,
    argv: *const *const c_char,
    output: Option<&OwnedFd>,
) -> Result<libc::pid_t, String> {
    let mut pid = 0;
    // SAFETY: the file actions are made before they are used and destroyed after; path and argv outlive the call.
    let error = unsafe {
        let mut actions = MaybeUninit::<libc::posix_spawn_file_actions_t>::uninit();
        let mut given = std::ptr::null();
        if let Some(output) = output {
            libc::posix_spawn_file_actions_init(actions.as_mut_ptr());
            libc::posix_spawn_file_actions_adddup2(actions.as_mut_ptr(), output.as_raw_fd(), 1);
            given = actions.as_ptr();
        }
        let path = context.path.as_ptr();
        let error = libc::posix_spawn(
            &raw mut pid,
            path,
            given,
            std::ptr::null(),
            argv.cast(),
            environment(),
        );
        if !given.is_null() {
            libc::posix_spawn_file_actions_destroy(actions.as_mut_ptr());
        }
        error
    };
    match error {
        0 => Ok(pid),
        error => Err(format!(
            "posix_spawn: {}",
            std::io::Error::from_raw_os_error(error)
        )),
    }
}

/// `system`, which blocks its caller until the child has ended.
pub(super) fn system(context: &Context) -> Result<Duration, String> {
    run(&context.command)
}

/// `system` with a command that only a shell can run.
pub(super) fn system_shell(context: &Context) -> Result<Duration, String> {
    run(&context.shell_command)
}

/// Forks a process that calls `system` so often, and exits. It has this process's copy of a library that was never called.
pub(super) fn forked<const COMMANDS: usize>(context: &Context) -> Result<Duration, String> {
    let began = Instant::now();
    // SAFETY: this process has one thread, so its copy may call any function.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let failed = (0..COMMANDS).any(|_| run(&context.command).is_err());
        // SAFETY: ends the copy without running what belongs to the original.
        unsafe { libc::_exit(failed.into()) }
    }
    if pid < 0 {
        return Err(last_error("fork"));
    }
    let blocked = began.elapsed();
    wait(pid)?;
    Ok(blocked)
}

fn run(command: &CStr) -> Result<Duration, String> {
    let began = Instant::now();
    // SAFETY: a string that ends in NUL.
    let status = unsafe { libc::system(command.as_ptr()) };
    let blocked = began.elapsed();
    if status < 0 {
        return Err(last_error("system"));
    }
    ended_well(status)?;
    Ok(blocked)
}

/// `popen`, its stream read to the end, `pclose`.
pub(super) fn popen(context: &Context) -> Result<Duration, String> {
    let began = Instant::now();
    // SAFETY: two strings that end in NUL.
    let stream = unsafe { libc::popen(context.command.as_ptr(), c"r".as_ptr()) };
    let blocked = began.elapsed();
    if stream.is_null() {
        return Err(last_error("popen"));
    }
    read_stream(stream)?;
    // SAFETY: the stream is open and comes from popen.
    let status = unsafe { libc::pclose(stream) };
    closed(status, "pclose")?;
    Ok(blocked)
}

/// Reads a C stream to its end and checks the child's output.
pub(super) fn read_stream(stream: *mut libc::FILE) -> Result<(), String> {
    let mut buffer = [0u8; 64];
    // SAFETY: the stream is open; the buffer takes as many bytes as are asked for.
    let length = unsafe { libc::fread(buffer.as_mut_ptr().cast(), 1, buffer.len(), stream) };
    said(&buffer[..length])
}

/// Checks the status that closing a stream returned.
pub(super) fn closed(status: c_int, call: &str) -> Result<(), String> {
    if status < 0 {
        return Err(last_error(call));
    }
    ended_well(status)
}
