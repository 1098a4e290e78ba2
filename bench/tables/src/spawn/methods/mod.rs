//! The ways of starting a process, one function per row: it starts the child, waits for it, and returns how long the
//! start blocked the calling thread.

mod libc_calls;
mod limited;
mod noshell;
mod own;
mod raw;
mod standard;

use limited::Cgroup;
use noshell::Library;
use own::Zygotes;
use spawn::Spawner;
use std::cell::{OnceCell, RefCell};
use std::ffi::{CString, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Starts the child once and waits for it.
pub(super) type Method = fn(&Context) -> Result<Duration, String>;

const METHODS: &[(&str, Method)] = &[
    ("vfork", raw::vfork_exec),
    ("vfork-pipe", raw::vfork_exec_pipe),
    ("fork", raw::fork_exec),
    ("fork-pipe", raw::fork_exec_pipe),
    ("fork-split", raw::fork_exec_split),
    ("posix-spawn", libc_calls::posix_spawn),
    ("posix-spawn-pipe", libc_calls::posix_spawn_pipe),
    ("posix-spawn-split", libc_calls::posix_spawn_split),
    ("system", libc_calls::system),
    ("popen", libc_calls::popen),
    ("system-shell", libc_calls::system_shell),
    ("system-preloaded", libc_calls::system),
    ("popen-preloaded", libc_calls::popen),
    ("system-shell-preloaded", libc_calls::system_shell),
    ("fork-nothing", libc_calls::forked::<0>),
    ("first-system", libc_calls::forked::<1>),
    ("first-system-preloaded", libc_calls::forked::<1>),
    ("first-two-preloaded", libc_calls::forked::<2>),
    ("popen-noshell", noshell::popen),
    ("system-noshell", noshell::system),
    ("std-status", standard::status),
    ("std-output", standard::output),
    ("std-pre-exec", standard::pre_exec),
    ("std-limits", limited::standard),
    ("spawn", own::sync),
    ("spawn-status", own::status),
    ("spawn-output", own::output),
    ("spawn-async", own::asynchronous),
    ("spawn-starter", own::starter),
    ("spawn-zygote", own::zygote),
    ("spawn-limits", limited::ours),
    ("spawn-noshell", noshell::spawn),
];

/// The method of a row.
pub(super) fn find(row: &str) -> Result<Method, String> {
    let found = METHODS.iter().find(|(key, _)| *key == row);
    found
        .map(|(_, method)| *method)
        .ok_or_else(|| format!("there is no row {row}"))
}

/// The inputs of all methods, created once.
pub(super) struct Context {
    child: PathBuf,
    /// The child's path for C.
    path: CString,
    /// The child as a command of a shell.
    command: CString,
    /// A command that only a shell can run: the child, then nothing.
    shell_command: CString,
    library: Result<Library, String>,
    zygotes: Zygotes,
    /// Exists only while `spawn-starter` is measured, since system calls are cheaper in a process with one thread.
    starter: RefCell<Option<Spawner>>,
    cgroup: OnceCell<Result<Cgroup, String>>,
}

impl Context {
    pub(super) fn new(child: &Path, noshell: Option<&Path>, zygotes: usize) -> Result<Self, String> {
        let text = child.as_os_str().as_bytes();
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-".contains(byte);
        if !text.iter().all(plain) {
            return Err(format!(
                "{} has characters that a shell would read; set TMPDIR to another folder",
                child.display()
            ));
        }
        let c_string = |suffix: &str| {
            let bytes = [text, suffix.as_bytes()].concat();
            CString::new(bytes).map_err(|_| "a path with a NUL byte".to_owned())
        };
        Ok(Self {
            child: child.to_owned(),
            path: c_string("")?,
            command: c_string("")?,
            shell_command: c_string("; :")?,
            library: noshell.ok_or_else(no_library).and_then(Library::open),
            zygotes: Zygotes::start(zygotes)?,
            starter: RefCell::new(None),
            cgroup: OnceCell::new(),
        })
    }

    /// The argument vector of the child, ended by a null pointer.
    fn argv(&self) -> [*const c_char; 2] {
        [self.path.as_ptr(), std::ptr::null()]
    }

    /// The control group of the children, created on first use.
    fn cgroup(&self) -> Result<&Cgroup, String> {
        self.cgroup
            .get_or_init(Cgroup::new)
            .as_ref()
            .map_err(Clone::clone)
    }

    /// Ends the helpers of a row. Waiting for zygotes counts their CPU time.
    pub(super) fn settle(&self) {
        self.zygotes.settle();
        self.starter.take();
    }
}

/// The reason for a missing library.
pub(super) fn no_library() -> String {
    "libnoshell.so is not beside this program; make build makes it, --noshell FILE names it".into()
}

/// Makes a call and returns its result, with the time that it blocked this thread.
fn timed<T, E: ToString>(call: impl FnOnce() -> Result<T, E>) -> Result<(T, Duration), String> {
    let began = Instant::now();
    let result = call().map_err(|error| error.to_string())?;
    Ok((result, began.elapsed()))
}

/// Checks the status of a child that must succeed.
fn succeeded(status: std::process::ExitStatus) -> Result<(), String> {
    match status.success() {
        true => Ok(()),
        false => Err(format!("the child ended with {status}")),
    }
}

/// Checks the wait status of a child that must succeed.
fn ended_well(status: i32) -> Result<(), String> {
    if status == 0 {
        Ok(())
    } else {
        Err(format!("the child ended with wait status {status:#x}"))
    }
}

/// The last system error, with the failed call.
fn last_error(call: &str) -> String {
    format!("{call}: {}", std::io::Error::last_os_error())
}
