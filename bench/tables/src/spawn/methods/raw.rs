//! `vfork` and `fork`, followed by `execve`.
#![allow(unsafe_code)]

use super::{Context, ended_well, last_error};
use std::ffi::{CString, c_char};
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// `vfork`, `execve` and nothing else: no signal is blocked, no descriptor closed. This is the lower bound.
pub(super) fn vfork_exec(context: &Context) -> Result<Duration, String> {
    let began = Instant::now();
    let pid = vfork(context, None)?;
    let blocked = began.elapsed();
    wait(pid)?;
    Ok(blocked)
}

/// The same with the child's output read through a pipe: the lower bound for `popen`.
pub(super) fn vfork_exec_pipe(context: &Context) -> Result<Duration, String> {
    let (reader, writer) = pipe()?;
    let began = Instant::now();
    let pid = vfork(context, Some(&writer))?;
    let blocked = began.elapsed();
    drop(writer);
    read_all(reader)?;
    wait(pid)?;
    Ok(blocked)
}

fn vfork(context: &Context, output: Option<&OwnedFd>) -> Result<libc::pid_t, String> {
    let argv = context.argv();
    let output = output.map_or(-1, AsRawFd::as_raw_fd);
    // SAFETY: `Context` terminates path and argv. They outlive the call, as does the environment, since no other thread runs.
    let pid = unsafe { vfork_execve(context.path.as_ptr(), argv.as_ptr(), environ, output) };
    if pid < 0 {
        let error = std::io::Error::from_raw_os_error(-pid as i32);
        return Err(format!("vfork: {error}"));
    }
    Ok(pid as libc::pid_t)
}

/// Returns the child's process number, or an error number below zero. The child's standard output is the descriptor
/// `output`, unless that is negative. A child that cannot execute exits with 127.
///
/// The child shares this stack until `execve`, so it must not write to it: it runs the few instructions below, which use
/// only registers, and does not return.
///
/// # Safety
/// `path` ends with a zero byte, `argv` and `envp` are lists of such strings that end with a null pointer, and all of
/// them outlive the call.
#[cfg(target_arch = "x86_64")]
unsafe fn vfork_execve(
    path: *const c_char,
    argv: *const *const c_char,
    envp: *const *const c_char,
    output: i32,
) -> isize {
    let pid: isize;
    // SAFETY: the child uses only registers, and the parent has its own; the kernel overwrites rcx and r11.
    unsafe {
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "test edi, edi",
            "js 3f",
            "mov esi, 1",
            "xor edx, edx",
            "mov eax, {dup3}",
            "syscall",
            "3:",
            "mov rdi, r8",
            "mov rsi, r9",
            "mov rdx, r10",
            "mov eax, {execve}",
            "syscall",
            "mov edi, 127",
            "mov eax, {exit_group}",
            "syscall",
            "2:",
            dup3 = const libc::SYS_dup3,
            execve = const libc::SYS_execve,
            exit_group = const libc::SYS_exit_group,
            inlateout("rax") libc::SYS_vfork as isize => pid,
            in("rdi") output as isize,
            in("r8") path,
            in("r9") argv,
            in("r10") envp,
            out("rcx") _,
            out("r11") _,
        );
    }
    pid
}

/// As on x86-64; this processor has `vfork` only as flags of `clone`.
///
/// # Safety
/// As on x86-64.
#[cfg(target_arch = "aarch64")]
unsafe fn vfork_execve(
    path: *const c_char,
    argv: *const *const c_char,
    envp: *const *const c_char,
    output: i32,
) -> isize {
    let pid: isize;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the child uses only registers, and the parent has its own.
    unsafe {
        std::arch::asm!(
            "svc #0",
            "cbnz x0, 2f",
            "tbnz w12, #31, 3f",
            "mov w0, w12",
            "mov x1, #1",
            "mov x2, #0",
            "mov x8, {dup3}",
            "svc #0",
            "3:",
            "mov x0, x9",
            "mov x1, x10",
            "mov x2, x11",
            "mov x8, {execve}",
            "svc #0",
            "mov x0, #127",
            "mov x8, {exit_group}",
            "svc #0",
            "2:",
            dup3 = const libc::SYS_dup3,
            execve = const libc::SYS_execve,
            exit_group = const libc::SYS_exit_group,
            inlateout("x0") flags as isize => pid,
            in("x1") 0,
            in("x2") 0,
            in("x3") 0,
            in("x4") 0,
            in("x8") libc::SYS_clone,
            in("x9") path,
            in("x10") argv,
            in("x11") envp,
            in("x12") output as isize,
        );
    }
    pid
}

/// `fork`, then `execve`.
pub(super) fn fork_exec(context: &Context) -> Result<Duration, String> {
    let argv = context.argv();
    let began = Instant::now();
    let pid = fork(context, argv.as_ptr(), None)?;
    let blocked = began.elapsed();
    wait(pid)?;
    Ok(blocked)
}

/// `fork`, then `execve`, with the child's output read through a pipe.
pub(super) fn fork_exec_pipe(context: &Context) -> Result<Duration, String> {
    fork_exec_read(context, context.argv().as_ptr())
}

/// The same, with the command split at its blanks.
pub(super) fn fork_exec_split(context: &Context) -> Result<Duration, String> {
    let words = split(context);
    fork_exec_read(context, pointers(&words).as_ptr())
}

fn fork_exec_read(context: &Context, argv: *const *const c_char) -> Result<Duration, String> {
    let (reader, writer) = pipe()?;
    let began = Instant::now();
    let pid = fork(context, argv, Some(&writer))?;
    let blocked = began.elapsed();
    drop(writer);
    read_all(reader)?;
    wait(pid)?;
    Ok(blocked)
}

fn fork(
    context: &Context,
    argv: *const *const c_char,
    output: Option<&OwnedFd>,
) -> Result<libc::pid_t, String> {
    // SAFETY: between fork and execve the child calls only async-signal-safe functions, on memory prepared before.
    unsafe {
        let pid = libc::fork();
        if pid == 0 {
            if let Some(output) = output {
                libc::dup2(output.as_raw_fd(), 1);
            }
            libc::execve(context.path.as_ptr(), argv, environ);
            libc::_exit(127);
        }
        if pid < 0 { Err(last_error("fork")) } else { Ok(pid) }
    }
}

/// The words of the child's command, separated by blanks, as popen-noshell splits it.
pub(super) fn split(context: &Context) -> Vec<CString> {
    let words = context.command.to_bytes().split(u8::is_ascii_whitespace);
    words.filter_map(|word| CString::new(word).ok()).collect()
}

/// An argument vector, ended by a null pointer.
pub(super) fn pointers(words: &[CString]) -> Vec<*const c_char> {
    words
        .iter()
        .map(|word| word.as_ptr())
        .chain([std::ptr::null()])
        .collect()
}

/// A pipe whose ends children do not inherit: the reading end and the writing end.
pub(super) fn pipe() -> Result<(OwnedFd, OwnedFd), String> {
    let (reader, writer) = std::io::pipe().map_err(|error| format!("pipe: {error}"))?;
    Ok((reader.into(), writer.into()))
}

/// Reads a pipe to its end and checks the child's output.
pub(super) fn read_all(reader: OwnedFd) -> Result<(), String> {
    let mut found = Vec::new();
    std::fs::File::from(reader)
        .read_to_end(&mut found)
        .map_err(|error| format!("read: {error}"))?;
    said(&found)
}

/// Checks the child's output.
pub(super) fn said(found: &[u8]) -> Result<(), String> {
    if found == super::super::child::TEXT {
        Ok(())
    } else {
        Err(format!(
            "the child wrote {} bytes that are not its text",
            found.len()
        ))
    }
}

/// Waits for a child that must succeed.
pub(super) fn wait(pid: libc::pid_t) -> Result<(), String> {
    let mut status = 0;
    // SAFETY: the kernel writes the status into a local variable.
    if unsafe { libc::waitpid(pid, &raw mut status, 0) } < 0 {
        return Err(last_error("waitpid"));
    }
    ended_well(status)
}

/// The environment, as C functions take it.
pub(super) fn environment() -> *const *mut c_char {
    // SAFETY: reads a pointer; this program never changes its environment.
    unsafe { environ.cast() }
}
