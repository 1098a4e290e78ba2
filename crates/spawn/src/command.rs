//! The description of a process to start: its program and all its attributes.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::environment::Environment;
use crate::stdio::Kind;
use crate::{Capabilities, Error, Resource, SignalSet, Stage, Stdio};

/// The child's signal mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mask {
    Inherit,
    Set(SignalSet),
}

/// All attributes but program, environment and descriptors.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) directory: Option<Vec<u8>>,
    /// In a zygote, the working directory of the process that sent the request; `directory` is relative to it.
    pub(crate) caller_directory: Option<OwnedFd>,
    pub(crate) umask: Option<u32>,
    pub(crate) nice: Option<i32>,
    pub(crate) limits: Vec<(Resource, u64, u64)>,
    pub(crate) user: Option<u32>,
    pub(crate) group: Option<u32>,
    pub(crate) groups: Option<Vec<u32>>,
    pub(crate) capabilities: Option<Capabilities>,
    pub(crate) no_new_privileges: bool,
    pub(crate) parent_death_signal: Option<i32>,
    pub(crate) process_group: Option<i32>,
    pub(crate) session: bool,
    pub(crate) terminal: Option<i32>,
    pub(crate) mask: Mask,
    pub(crate) default_signals: SignalSet,
    pub(crate) ignored_signals: SignalSet,
    pub(crate) cgroup: Option<OwnedFd>,
    pub(crate) close_others: bool,
    pub(crate) shell_scripts: bool,
}

impl Options {
    pub(crate) fn changes_credentials(&self) -> bool {
        self.user.is_some() || self.group.is_some() || self.groups.is_some() || self.capabilities.is_some()
    }

    /// Returns whether the child ignores or blocks any signal.
    pub(crate) fn survives_signals(&self) -> bool {
        self.ignored_signals != SignalSet::EMPTY
            || !matches!(self.mask, Mask::Inherit | Mask::Set(SignalSet::EMPTY))
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            directory: None,
            caller_directory: None,
            umask: None,
            nice: None,
            limits: Vec::new(),
            user: None,
            group: None,
            groups: None,
            capabilities: None,
            no_new_privileges: false,
            parent_death_signal: None,
            process_group: None,
            session: false,
            terminal: None,
            mask: Mask::Set(SignalSet::EMPTY),
            default_signals: SignalSet::EMPTY.with(libc::SIGPIPE),
            ignored_signals: SignalSet::EMPTY,
            cgroup: None,
            close_others: true,
            shell_scripts: true,
        }
    }
}

/// A program and the attributes of its process. A command may be started any number of times.
///
/// The defaults are those of `std::process::Command`: the child inherits environment, directory, user, limits and standard
/// streams, its signal mask is empty, and `SIGPIPE` has its default action. Unlike there, the child inherits no other descriptor,
/// with or without `FD_CLOEXEC`, unless [`inherit_descriptors`](Command::inherit_descriptors) is set.
///
/// ```
/// # fn main() -> Result<(), spawn::Error> {
/// let output = spawn::Command::new("sh").args(["-c", "echo $((6 * 7))"]).output()?;
/// assert_eq!(output.stdout, b"42\n");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Command {
    pub(crate) program: Vec<u8>,
    pub(crate) arg0: Option<Vec<u8>>,
    pub(crate) arguments: crate::strings::Strings,
    pub(crate) environment: Environment,
    /// Descriptors 0, 1 and 2, where they were given.
    pub(crate) standard: [Option<Stdio>; 3],
    pub(crate) descriptors: Vec<(i32, Stdio)>,
    pub(crate) options: Options,
}

impl Command {
    /// A program: a path if the name contains a slash, otherwise a name to search for in `PATH`, as `execvp` does. The search
    /// uses the child's `PATH`, or `/bin:/usr/bin` if it has none.
    ///
    /// A relative path is relative to the child's [directory](Command::current_dir).
    #[must_use]
    pub fn new(program: impl AsRef<OsStr>) -> Command {
        Command {
            program: program.as_ref().as_bytes().to_vec(),
            arg0: None,
            arguments: crate::strings::Strings::default(),
            environment: Environment::default(),
            standard: [None, None, None],
            descriptors: Vec::new(),
            options: Options::default(),
        }
    }

    // ── arguments and environment ────────────────────────────────────────────────────────────────────────────────

    /// Appends an argument.
    pub fn arg(&mut self, argument: impl AsRef<OsStr>) -> &mut Command {
        self.arguments.push(&[argument.as_ref().as_bytes()]);
        self
    }

    /// Appends arguments.
    pub fn args<I: IntoIterator<Item: AsRef<OsStr>>>(&mut self, arguments: I) -> &mut Command {
        for argument in arguments {
            self.arg(argument);
        }
        self
    }

    /// Sets `argv[0]`, by default the program as it was given.
    pub fn arg0(&mut self, name: impl AsRef<OsStr>) -> &mut Command {
        self.arg0 = Some(name.as_ref().as_bytes().to_vec());
        self
    }

    /// Sets a variable of the environment.
    pub fn env(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &mut Command {
        self.environment
            .set(name.as_ref().as_bytes(), value.as_ref().as_bytes());
        self
    }

    /// Sets variables.
    pub fn envs<N, V>(&mut self, variables: impl IntoIterator<Item = (N, V)>) -> &mut Command
    where
        N: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        for (name, value) in variables {
            self.env(name, value);
        }
        self
    }

    /// Removes a variable.
    pub fn env_remove(&mut self, name: impl AsRef<OsStr>) -> &mut Command {
        self.environment.remove(name.as_ref().as_bytes());
        self
    }

    /// Removes all variables, also those that were set before.
    pub fn env_clear(&mut self) -> &mut Command {
        self.environment.clear();
        self
    }

    /// Sets how to treat an executable file in a format that the kernel does not know. `/bin/sh` runs it, as with `execvp`, if
    /// `on`, the default; otherwise the start fails with `ENOEXEC`, as with `posix_spawnp`.
    pub fn shell_scripts(&mut self, on: bool) -> &mut Command {
        self.options.shell_scripts = on;
        self
    }

    // ── descriptors ──────────────────────────────────────────────────────────────────────────────────────────────

    /// Sets standard input.
    pub fn stdin(&mut self, stdio: impl Into<Stdio>) -> &mut Command {
        self.descriptor(0, stdio)
    }

    /// Sets standard output.
    pub fn stdout(&mut self, stdio: impl Into<Stdio>) -> &mut Command {
        self.descriptor(1, stdio)
    }

    /// Sets standard error.
    pub fn stderr(&mut self, stdio: impl Into<Stdio>) -> &mut Command {
        self.descriptor(2, stdio)
    }

    /// Sets the child's descriptor `target`, whatever its number. Targets and sources may overlap in any way: each target is
    /// a copy of what its source is in this process.
    pub fn descriptor(&mut self, target: i32, stdio: impl Into<Stdio>) -> &mut Command {
        let stdio = stdio.into();
        if let Some(standard) = usize::try_from(target)
            .ok()
            .and_then(|n| self.standard.get_mut(n))
        {
            *standard = Some(stdio);
            return self;
        }
        self.descriptors.retain(|(other, _)| *other != target);
        self.descriptors.push((target, stdio));
        self
    }

    /// Sets whether the child inherits all other descriptors without `FD_CLOEXEC`, as with a plain `execve`. By default it
    /// inherits none.
    pub fn inherit_descriptors(&mut self, on: bool) -> &mut Command {
        self.options.close_others = !on;
        self
    }

    // ── where and how it runs ────────────────────────────────────────────────────────────────────────────────────

    /// Sets the working directory, which the child enters as its own user.
    pub fn current_dir(&mut self, directory: impl AsRef<Path>) -> &mut Command {
        self.options.directory = Some(directory.as_ref().as_os_str().as_bytes().to_vec());
        self
    }

    /// Sets the file mode mask.
    pub fn umask(&mut self, mask: u32) -> &mut Command {
        self.options.umask = Some(mask);
        self
    }

    /// Sets the niceness, from -20 (the highest priority) to 19, whatever the parent's is. Less than the parent's takes
    /// `CAP_SYS_NICE`.
    pub fn nice(&mut self, niceness: i32) -> &mut Command {
        self.options.nice = Some(niceness);
        self
    }

    /// Sets a resource limit, soft and hard. [`UNLIMITED`](crate::UNLIMITED) removes it.
    pub fn limit(&mut self, resource: Resource, soft: u64, hard: u64) -> &mut Command {
        self.options.limits.retain(|(other, _, _)| *other != resource);
        self.options.limits.push((resource, soft, hard));
        self
    }

    /// Sets the control group (version 2), given by its directory. The child is created in it.
    pub fn cgroup(&mut self, directory: impl Into<OwnedFd>) -> &mut Command {
        self.options.cgroup = Some(directory.into());
        self
    }

    // ── privileges ───────────────────────────────────────────────────────────────────────────────────────────────

    /// Sets the real, effective and saved user ID. If this process runs as root, the child also drops the supplementary
    /// groups, unless [`groups`](Command::groups) sets them.
    pub fn user(&mut self, id: u32) -> &mut Command {
        self.options.user = Some(id);
        self
    }

    /// Sets the real, effective and saved group ID.
    pub fn group(&mut self, id: u32) -> &mut Command {
        self.options.group = Some(id);
        self
    }

    /// Sets the supplementary groups.
    pub fn groups(&mut self, ids: &[u32]) -> &mut Command {
        self.options.groups = Some(ids.to_vec());
        self
    }

    /// Makes capabilities inheritable and ambient, so that a program without root's user ID has them and passes them on. With
    /// a change of [user](Command::user), the child loses all others.
    pub fn ambient_capabilities(&mut self, set: Capabilities) -> &mut Command {
        self.options.capabilities = Some(set);
        self
    }

    /// Sets `no_new_privs`: set-user-ID programs and file capabilities have no effect in the child and its descendants.
    pub fn no_new_privileges(&mut self) -> &mut Command {
        self.options.no_new_privileges = true;
        self
    }

    // ── signals, groups and sessions ─────────────────────────────────────────────────────────────────────────────

    /// Sets the signal that the child gets when the *thread* that starts it exits; to the kernel, that thread is the parent.
    /// A change of user would reset it, so it is set afterwards, and the start fails if the parent has died by then. Executing a
    /// set-user-ID program or one with file capabilities resets it too.
    pub fn parent_death_signal(&mut self, signal: i32) -> &mut Command {
        self.options.parent_death_signal = Some(signal);
        self
    }

    /// Sets the process group; 0 creates a new one.
    pub fn process_group(&mut self, group: i32) -> &mut Command {
        self.options.process_group = Some(group);
        self
    }

    /// Creates a session, and with it a process group, without a controlling terminal.
    pub fn new_session(&mut self) -> &mut Command {
        self.options.session = true;
        self
    }

    /// Creates a session whose controlling terminal is the child's descriptor `target`.
    pub fn controlling_terminal(&mut self, target: i32) -> &mut Command {
        self.options.session = true;
        self.options.terminal = Some(target);
        self
    }

    /// Sets the blocked signals, by default none.
    pub fn signal_mask(&mut self, blocked: SignalSet) -> &mut Command {
        self.options.mask = Mask::Set(blocked);
        self
    }

    /// Lets the child inherit the signal mask of the thread that starts it.
    pub fn inherit_signal_mask(&mut self) -> &mut Command {
        self.options.mask = Mask::Inherit;
        self
    }

    /// Sets the signals that get their default action even if this process ignores them, by default only `SIGPIPE`. Signals
    /// that this process handles get it anyway.
    pub fn default_signals(&mut self, signals: SignalSet) -> &mut Command {
        self.options.default_signals = signals;
        self
    }

    /// Sets the signals that the child ignores.
    pub fn ignore_signals(&mut self, signals: SignalSet) -> &mut Command {
        self.options.ignored_signals = signals;
        self
    }

    /// The source of a standard stream, if given.
    pub(crate) fn kind(&self, target: usize) -> Option<&Kind> {
        self.standard[target].as_ref().map(|stdio| &stdio.0)
    }

    // ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────

    /// The program, for messages.
    pub(crate) fn program_name(&self) -> String {
        String::from_utf8_lossy(&self.program).into_owned()
    }

    pub(crate) fn failed(&self, stage: Stage, about: String, source: io::Error) -> Error {
        Error::Start {
            program: self.program_name(),
            stage,
            about,
            source,
        }
    }
}
