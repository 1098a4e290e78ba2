//! What is to be started: the program and everything about its process.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::environment::Environment;
use crate::stdio::Kind;
use crate::{Capabilities, Error, Resource, SignalSet, Stdio, Step};

/// What the child's signal mask is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mask {
    Inherit,
    Set(SignalSet),
}

/// Everything about the process but its program, environment and descriptors.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) directory: Option<Vec<u8>>,
    /// The directory from which `directory` starts, of whoever asked a zygote.
    pub(crate) home: Option<OwnedFd>,
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

    /// Whether a signal that ends other processes is to be ignored, or kept until it is asked for.
    pub(crate) fn survives_signals(&self) -> bool {
        self.ignored_signals != SignalSet::EMPTY
            || !matches!(self.mask, Mask::Inherit | Mask::Set(SignalSet::EMPTY))
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            directory: None,
            home: None,
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

/// A program to start, and all about the process that it will be. Used again, it starts another.
///
/// Whatever is not said is as for `std::process::Command`: the environment, directory, user and limits are this process's,
/// the standard streams are inherited, the signal mask is empty and `SIGPIPE` kills. Only the other descriptors are not
/// inherited, with `FD_CLOEXEC` or without: [`inherit_descriptors`](Command::inherit_descriptors) has it otherwise.
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
    /// Of the numbers 0, 1 and 2, if said.
    pub(crate) standard: [Option<Stdio>; 3],
    pub(crate) descriptors: Vec<(i32, Stdio)>,
    pub(crate) options: Options,
}

impl Command {
    /// A program: a path if there is a slash in the name, else a name that is looked for in `PATH` as `execvp` does. That
    /// `PATH` is the child's own, or `/bin:/usr/bin` if it has none.
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

    /// What the program is told that it is called; its name as it was given, unless this says otherwise.
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

    /// Whether a file that is executable and in no format the kernel knows is run as a script of `/bin/sh`, as `execvp`
    /// does and as is the default, or fails with `ENOEXEC`, as `posix_spawnp` has it.
    pub fn shell_scripts(&mut self, on: bool) -> &mut Command {
        self.options.shell_scripts = on;
        self
    }

    // ── descriptors ──────────────────────────────────────────────────────────────────────────────────────────────

    /// What standard input is.
    pub fn stdin(&mut self, stdio: impl Into<Stdio>) -> &mut Command {
        self.descriptor(0, stdio)
    }

    /// What standard output is.
    pub fn stdout(&mut self, stdio: impl Into<Stdio>) -> &mut Command {
        self.descriptor(1, stdio)
    }

    /// What standard error is.
    pub fn stderr(&mut self, stdio: impl Into<Stdio>) -> &mut Command {
        self.descriptor(2, stdio)
    }

    /// What the child's descriptor `target` is, whatever the number. Targets and sources may overlap in any way: each
    /// target is what its source is in this process.
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

    /// Whether the child inherits descriptors that nobody named, as `execve` has it: all without `FD_CLOEXEC`. Otherwise,
    /// as is the default, it has none.
    pub fn inherit_descriptors(&mut self, on: bool) -> &mut Command {
        self.options.close_others = !on;
        self
    }

    // ── where and how it runs ────────────────────────────────────────────────────────────────────────────────────

    /// The working directory. It is entered as the child's user.
    pub fn current_dir(&mut self, directory: impl AsRef<Path>) -> &mut Command {
        self.options.directory = Some(directory.as_ref().as_os_str().as_bytes().to_vec());
        self
    }

    /// The file mode mask.
    pub fn umask(&mut self, mask: u32) -> &mut Command {
        self.options.umask = Some(mask);
        self
    }

    /// The niceness, from -20, which is first served, to 19.
    pub fn nice(&mut self, niceness: i32) -> &mut Command {
        self.options.nice = Some(niceness);
        self
    }

    /// A resource limit, soft and hard. [`UNLIMITED`](crate::UNLIMITED) is none.
    pub fn limit(&mut self, resource: Resource, soft: u64, hard: u64) -> &mut Command {
        self.options.limits.retain(|(other, _, _)| *other != resource);
        self.options.limits.push((resource, soft, hard));
        self
    }

    /// The control group (version 2), as its directory. The child begins its life there.
    pub fn cgroup(&mut self, directory: impl Into<OwnedFd>) -> &mut Command {
        self.options.cgroup = Some(directory.into());
        self
    }

    // ── privileges ───────────────────────────────────────────────────────────────────────────────────────────────

    /// The user: real, effective and saved. Unless [`groups`](Command::groups) says otherwise, a process with the rights
    /// of root gives up its supplementary groups too.
    pub fn user(&mut self, id: u32) -> &mut Command {
        self.options.user = Some(id);
        self
    }

    /// The group: real, effective and saved.
    pub fn group(&mut self, id: u32) -> &mut Command {
        self.options.group = Some(id);
        self
    }

    /// The supplementary groups.
    pub fn groups(&mut self, ids: &[u32]) -> &mut Command {
        self.options.groups = Some(ids.to_vec());
        self
    }

    /// Capabilities that the program has without being root, and passes on: they are made inheritable and ambient. With a
    /// change of [user](Command::user) they are the only ones that are left.
    pub fn ambient_capabilities(&mut self, set: Capabilities) -> &mut Command {
        self.options.capabilities = Some(set);
        self
    }

    /// Has `execve` of programs that are set-user-ID, or have capabilities as files, give nothing to the child and to
    /// whatever it starts.
    pub fn no_new_privileges(&mut self) -> &mut Command {
        self.options.no_new_privileges = true;
        self
    }

    // ── signals, groups and sessions ─────────────────────────────────────────────────────────────────────────────

    /// A signal that the child gets when the *thread* that starts it ends, which is what the kernel calls its parent. It
    /// is asked for after the change of user, which would undo it; a parent that has died by then fails the start.
    /// Programs that are set-user-ID or have capabilities as files undo it as well.
    pub fn parent_death_signal(&mut self, signal: i32) -> &mut Command {
        self.options.parent_death_signal = Some(signal);
        self
    }

    /// The process group; 0 is one of the child's own.
    pub fn process_group(&mut self, group: i32) -> &mut Command {
        self.options.process_group = Some(group);
        self
    }

    /// A session, and so a process group, of the child's own, without a controlling terminal.
    pub fn new_session(&mut self) -> &mut Command {
        self.options.session = true;
        self
    }

    /// A session of the child's own, and as its controlling terminal the one that the child has at this descriptor.
    pub fn controlling_terminal(&mut self, target: i32) -> &mut Command {
        self.options.session = true;
        self.options.terminal = Some(target);
        self
    }

    /// The signals that are blocked; none, unless this is called.
    pub fn signal_mask(&mut self, blocked: SignalSet) -> &mut Command {
        self.options.mask = Mask::Set(blocked);
        self
    }

    /// Has the child block the signals that the thread which starts it blocks.
    pub fn inherit_signal_mask(&mut self) -> &mut Command {
        self.options.mask = Mask::Inherit;
        self
    }

    /// Signals that do what they do by default even if this process ignores them; `SIGPIPE` alone, unless this is called.
    /// Those that this process handles do so anyway.
    pub fn default_signals(&mut self, signals: SignalSet) -> &mut Command {
        self.options.default_signals = signals;
        self
    }

    /// Signals that the child ignores.
    pub fn ignore_signals(&mut self, signals: SignalSet) -> &mut Command {
        self.options.ignored_signals = signals;
        self
    }

    /// What a descriptor is, if said.
    pub(crate) fn kind(&self, target: usize) -> Option<&Kind> {
        self.standard[target].as_ref().map(|stdio| &stdio.0)
    }

    // ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────

    /// The program, for messages.
    pub(crate) fn program_name(&self) -> String {
        String::from_utf8_lossy(&self.program).into_owned()
    }

    pub(crate) fn failed(&self, step: Step, about: String, source: io::Error) -> Error {
        Error::Start {
            program: self.program_name(),
            step,
            about,
            source,
        }
    }
}
