//! A child with another user, a resource limit and its own control group, as servers start programs.
#![allow(unsafe_code)]

use super::{Context, own, standard};
use spawn::Resource;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::time::Duration;

const NOBODY: u32 = 65534;
const FILES_MAX: u64 = 256;

/// A control group (version 2) for the children, removed on drop.
pub(super) struct Cgroup {
    path: PathBuf,
    directory: File,
    processes: File,
}

impl Cgroup {
    /// Creates one below the mounted hierarchy. The error is the reason why it cannot.
    pub(super) fn new() -> Result<Self, String> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let fields = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let mounted = mounts
            .lines()
            .map(fields)
            .find(|fields| fields.get(2).is_some_and(|kind| kind == "cgroup2"));
        let root = mounted
            .ok_or("no control groups of version 2 are mounted")?
            .swap_remove(1);
        let path = PathBuf::from(root).join(format!("hikyaku-spawn-{}", std::process::id()));
        let failed = |error: io::Error| format!("{}: {error}; this row takes root", path.display());
        fs::create_dir(&path).map_err(failed)?;
        let directory = File::open(&path).map_err(failed)?;
        let processes = File::options()
            .write(true)
            .open(path.join("cgroup.procs"))
            .map_err(failed)?;
        Ok(Self {
            path,
            directory,
            processes,
        })
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // Its processes have been waited for. If removing fails, an empty folder stays.
        let _ = fs::remove_dir(&self.path);
    }
}

/// With our `spawn`.
pub(super) fn ours(context: &Context) -> Result<Duration, String> {
    let cgroup = context.cgroup()?;
    let directory = cgroup.directory.try_clone().map_err(|error| error.to_string())?;
    let mut command = spawn::Command::new(&context.child);
    command
        .cgroup(directory)
        .limit(Resource::OPEN_FILES, FILES_MAX, FILES_MAX)
        .group(NOBODY)
        .user(NOBODY);
    own::start_and_wait(&command)
}

/// With std, where only `pre_exec` can set a limit and a control group.
pub(super) fn standard(context: &Context) -> Result<Duration, String> {
    let cgroup = context.cgroup()?;
    let mut processes = cgroup.processes.try_clone().map_err(|error| error.to_string())?;
    let mut command = std::process::Command::new(&context.child);
    let limit = libc::rlimit {
        rlim_cur: FILES_MAX,
        rlim_max: FILES_MAX,
    };
    let check = |result: i32| {
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    };
    // SAFETY: the closure only makes system calls, on values created before the fork.
    unsafe {
        command.pre_exec(move || {
            processes.write_all(b"0")?;
            check(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit))?;
            check(libc::setgroups(0, std::ptr::null()))?;
            check(libc::setgid(NOBODY))?;
            check(libc::setuid(NOBODY))
        });
    }
    standard::start_and_wait(&mut command)
}
