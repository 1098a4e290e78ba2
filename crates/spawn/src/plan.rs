//! Turning a command into the block that its child executes. All decisions and allocations happen here, before the child exists.
//!
//! **Invariant:** a plan owns all memory that its block points to, except for variables of this process's environment if they
//! need not be copied.

use std::collections::TryReserveError;
use std::ffi::c_char;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;

use crate::block::{Block, Operation, address};
use crate::command::{Command, Mask};
use crate::descriptors::{self, arrange, close_others};
use crate::stage::Stage;
use crate::stdio::{Kind, Streams};
use crate::strings::Strings;
use crate::sys::{Action, SIGNAL_SET_SIZE};
use crate::{Error, Resource, calls, path, sys};

const SHELL: &std::ffi::CStr = c"/bin/sh";

static DEFAULT_ACTION: Action = Action::new(libc::SIG_DFL);
static IGNORE_ACTION: Action = Action::new(libc::SIG_IGN);

/// A child's instructions, and the parent's ends of its streams.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) block: Block,
    pub(crate) streams: Streams,
    /// The child changes its credentials, which the kernel records in the shared memory descriptor.
    pub(crate) changes_credentials: bool,
    /// The memory that the block points to. Only the first strings are read from here.
    _operations: Vec<Operation>,
    strings: Strings,
    _variables: Strings,
    _pointers: [Vec<*const c_char>; 2],
    _limits: Vec<libc::rlimit64>,
    _groups: Vec<u32>,
}

/// The default sources of standard streams.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Defaults {
    pub(crate) input: fn() -> Kind,
    pub(crate) output: fn() -> Kind,
}

impl Defaults {
    pub(crate) const INHERIT: Defaults = Defaults {
        input: || Kind::Untouched,
        output: || Kind::Untouched,
    };
    pub(crate) const CAPTURE: Defaults = Defaults {
        input: || Kind::Null,
        output: || Kind::Pipe,
    };
}

/// How long a plan must stay valid, which decides what has to be copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// The caller waits until the child has used it.
    Waits,
    /// The caller continues once the child is made. The child has its descriptors by then, but needs a copy of the environment.
    GoesOn,
    /// The child is made later, so the command's descriptors must be duplicated as well.
    Later,
}

impl Plan {
    /// Makes the plan.
    pub(crate) fn new(command: &Command, defaults: Defaults, pace: Pace) -> Result<Plan, Error> {
        let streams = streams(command, defaults, pace)?;
        Plan::build(command, streams, pace).map_err(|_| {
            let source = io::Error::from_raw_os_error(libc::ENOMEM);
            command.failed(Stage::Memory, String::new(), source)
        })
    }

    fn build(command: &Command, streams: Streams, pace: Pace) -> Result<Plan, TryReserveError> {
        let copy = pace != Pace::Waits;
        let options = &command.options;
        let (mut strings, argument_count) = strings(command)?;
        path::candidates(
            &command.program,
            || command.environment.search_path(),
            &mut strings,
        )?;
        let mut variables = Strings::default();
        let (envp, variables_of_its_own) = match command.environment.unchanged().filter(|_| !copy) {
            Some(own) => (own, Vec::new()),
            None => {
                let built = command.environment.build(copy, &mut variables)?;
                (built.as_ptr(), built)
            }
        };

        let directory = strings.pointers().nth(1).filter(|_| options.directory.is_some());
        let mut pointers = pointers(&strings, argument_count)?;
        let (candidates_at, shell_at) = (argument_count + 1, strings.len());

        let limits: Vec<_> = options
            .limits
            .iter()
            .map(|&(_, soft, hard)| rlimit(soft, hard))
            .collect();
        let groups = options.groups.clone().unwrap_or_default();
        let mut operations = Vec::with_capacity(6 + streams.mappings.len());
        let mut list = List {
            command,
            operations: &mut operations,
        };
        list.relations();
        // A child that no thread waits for needs its descriptors before the parent closes them.
        let parts = options.close_others && pace == Pace::Waits;
        list.descriptors(&streams, parts);
        list.resources(&limits);
        list.credentials(&groups);
        list.last(directory);

        let mut block = Block::empty();
        block.parts = parts;
        block.quiet = options.survives_signals();
        block.operations = operations.as_ptr();
        block.operation_count = operations.len();
        block.argv = pointers.as_ptr();
        block.candidates = pointers[candidates_at..].as_ptr();
        block.envp = envp;
        if options.shell_scripts {
            block.shell_argv = pointers[shell_at..].as_mut_ptr();
        }
        block.signal_mask = match options.mask {
            Mask::Set(set) => set.bits(),
            Mask::Inherit => sys::signal_mask(),
        };
        Ok(Plan {
            block,
            streams,
            changes_credentials: options.changes_credentials(),
            _operations: operations,
            strings,
            _variables: variables,
            _pointers: [pointers, variables_of_its_own],
            _limits: limits,
            _groups: groups,
        })
    }

    /// The error that the child reported, if any.
    pub(crate) fn failure(&self) -> Option<Error> {
        let (stage, detail, errno) = self.block.failure()?;
        let about = match stage {
            Stage::Descriptor | Stage::Group | Stage::User | Stage::Handlers => format!(" {detail}"),
            Stage::Limit => format!(" {}", Resource(detail as u32)),
            Stage::Directory => format!(" `{}`", self.text(1)),
            _ => String::new(),
        };
        Some(self.failed(stage, about, io::Error::from_raw_os_error(errno)))
    }

    /// An error of this launch.
    pub(crate) fn failed(&self, stage: Stage, about: String, source: io::Error) -> Error {
        Error::Start {
            program: self.text(0),
            stage,
            about,
            source,
        }
    }

    /// One of the strings, for messages.
    fn text(&self, index: usize) -> String {
        let text = self.strings.iter().nth(index).unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }
}

/// Checks a command and opens its streams.
pub(crate) fn streams(command: &Command, defaults: Defaults, pace: Pace) -> Result<Streams, Error> {
    check(command)?;
    let mut streams = Streams::new(pace == Pace::Later);
    open_streams(command, defaults, &mut streams)?;
    Ok(streams)
}

/// Rejects commands that no kernel could execute.
fn check(command: &Command) -> Result<(), Error> {
    let nul = |what| Error::Nul {
        program: command.program_name(),
        what,
    };
    if command.program.contains(&0) {
        return Err(nul("the program's name"));
    }
    if command.arguments.has_nul() || command.arg0.as_ref().is_some_and(|name| name.contains(&0)) {
        return Err(nul("an argument"));
    }
    if command.environment.has_nul() {
        return Err(nul("the environment"));
    }
    if command
        .options
        .directory
        .as_ref()
        .is_some_and(|path| path.contains(&0))
    {
        return Err(nul("the directory"));
    }
    match command.environment.wrong_name() {
        None => Ok(()),
        Some(name) => Err(Error::Variable {
            program: command.program_name(),
            name: String::from_utf8_lossy(name).into_owned(),
        }),
    }
}

fn open_streams(command: &Command, defaults: Defaults, streams: &mut Streams) -> Result<(), Error> {
    let standard: [Option<Kind>; 3] = std::array::from_fn(|target| {
        let default = if target == 0 {
            defaults.input
        } else {
            defaults.output
        };
        command.kind(target).is_none().then(default)
    });
    let said = command.standard.iter().zip(&standard).enumerate();
    let said = said.filter_map(|(target, (said, default))| {
        let kind = said.as_ref().map(|stdio| &stdio.0).or(default.as_ref());
        kind.map(|kind| (target as i32, kind))
    });
    let all = said.chain(
        command
            .descriptors
            .iter()
            .map(|(target, stdio)| (*target, &stdio.0)),
    );
    // Copies of other descriptors come after those.
    let is_same = |kind: &Kind| matches!(kind, Kind::SameAs(_));
    let (same, own): (Vec<_>, Vec<_>) = all.partition(|(_, kind)| is_same(kind));
    for (target, kind) in own.into_iter().chain(same) {
        let opened = if target < 0 {
            Err(io::Error::from_raw_os_error(libc::EBADF))
        } else {
            streams.open(target, kind)
        };
        opened.map_err(|source| {
            let about = match kind {
                Kind::Read(path) | Kind::Write(path) | Kind::Append(path) => format!(" `{}`", path.display()),
                _ => format!(" (descriptor {target})"),
            };
            command.failed(Stage::Stream, about, source)
        })?;
    }
    Ok(())
}

/// The program as it was given, the directory (or an empty string) and the arguments from `argv[0]` on; and the number of arguments.
fn strings(command: &Command) -> Result<(Strings, usize), TryReserveError> {
    let mut strings = Strings::default();
    // Enough for most: the arguments, and a few mappings to look for the program.
    let bytes = command.arguments.size() + 2 * command.program.len() + 100;
    strings.try_reserve(bytes, command.arguments.len() + 12)?;
    strings.try_push(&[&command.program])?;
    strings.try_push(&[command.options.directory.as_deref().unwrap_or_default()])?;
    strings.try_push(&[command.arg0.as_deref().unwrap_or(&command.program)])?;
    for argument in command.arguments.iter() {
        strings.try_push(&[argument])?;
    }
    Ok((strings, command.arguments.len() + 1))
}

/// One array of three lists, each ended by a null: the arguments, the candidates, and the arguments of a shell that runs a
/// script. The last list holds the shell, a slot for the script, and the arguments after `argv[0]`.
fn pointers(strings: &Strings, argument_count: usize) -> Result<Vec<*const c_char>, TryReserveError> {
    let mut pointers = Vec::new();
    pointers.try_reserve(strings.len() + argument_count + 4)?;
    // Before the arguments are the program and the directory.
    pointers.extend(strings.pointers().skip(2).take(argument_count));
    pointers.push(ptr::null());
    pointers.extend(strings.pointers().skip(2 + argument_count));
    pointers.push(ptr::null());
    pointers.extend([SHELL.as_ptr(), ptr::null()]);
    pointers.extend_from_within(1..argument_count);
    pointers.push(ptr::null());
    Ok(pointers)
}

fn rlimit(soft: u64, hard: u64) -> libc::rlimit64 {
    libc::rlimit64 {
        rlim_cur: soft,
        rlim_max: hard,
    }
}

/// The operations under construction.
struct List<'a> {
    command: &'a Command,
    operations: &'a mut Vec<Operation>,
}

impl List<'_> {
    fn call(&mut self, stage: Stage, number: libc::c_long, arguments: [usize; 5]) {
        self.call_about(stage, 0, number, arguments);
    }

    fn call_about(&mut self, stage: Stage, detail: i32, number: libc::c_long, arguments: [usize; 5]) {
        self.operations.push(Operation::Call {
            number: number as usize,
            arguments,
            stage,
            detail,
            tolerated: 0,
        });
    }

    /// Signals, session and process group.
    fn relations(&mut self) {
        let options = &self.command.options;
        let sets = [
            (options.default_signals, &DEFAULT_ACTION),
            (options.ignored_signals, &IGNORE_ACTION),
        ];
        for (set, action) in sets {
            // The dispositions of these two cannot be set.
            for signal in set.without(libc::SIGKILL).without(libc::SIGSTOP).iter() {
                let change = [signal as usize, address(action), 0, SIGNAL_SET_SIZE, 0];
                self.call_about(Stage::Handlers, signal, libc::SYS_rt_sigaction, change);
            }
        }
        if options.session {
            self.call(Stage::Session, libc::SYS_setsid, [0; 5]);
        }
        if let Some(group) = options.process_group {
            self.call(
                Stage::ProcessGroup,
                libc::SYS_setpgid,
                [0, group as usize, 0, 0, 0],
            );
        }
        if let Some(caller_directory) = &options.caller_directory {
            self.call(
                Stage::CallerDirectory,
                libc::SYS_fchdir,
                [caller_directory.as_raw_fd() as usize, 0, 0, 0, 0],
            );
        }
    }

    /// Descriptors, before a limit could forbid a number.
    fn descriptors(&mut self, streams: &Streams, parts: bool) {
        let end = if parts {
            descriptors::end(&streams.mappings)
        } else {
            u32::MAX
        };
        if parts {
            self.operations.push(Operation::Unshare { first: end });
        }
        arrange(&streams.mappings, self.operations);
        let options = &self.command.options;
        if options.close_others {
            close_others(&streams.mappings, end, self.operations);
        } else {
            // The standard streams that the command closes.
            let closed =
                (0..3).filter(|target| !streams.mappings.iter().any(|mapping| mapping.target == *target));
            for target in closed {
                let (first, last) = (target as u32, target as u32);
                self.operations.push(Operation::Close { first, last });
            }
        }
        if let Some(target) = options.terminal {
            let take = [target as usize, libc::TIOCSCTTY as usize, 0, 0, 0];
            self.call(Stage::Terminal, libc::SYS_ioctl, take);
        }
    }

    /// Limits and priorities that only root may raise, before the change of user.
    fn resources(&mut self, limits: &[libc::rlimit64]) {
        let options = &self.command.options;
        if let Some(mask) = options.umask {
            self.call(Stage::Umask, libc::SYS_umask, [mask as usize, 0, 0, 0, 0]);
        }
        if let Some(niceness) = options.nice {
            let set = [libc::PRIO_PROCESS as usize, 0, niceness as usize, 0, 0];
            self.call(Stage::Nice, libc::SYS_setpriority, set);
        }
        for ((resource, _, _), limit) in options.limits.iter().zip(limits) {
            let set = [0, resource.0 as usize, address(limit), 0, 0];
            self.call_about(Stage::Limit, resource.0 as i32, libc::SYS_prlimit64, set);
        }
    }

    fn credentials(&mut self, groups: &[u32]) {
        let options = &self.command.options;
        let drops_groups = options.user.is_some() && options.groups.is_none() && calls::is_privileged();
        if options.groups.is_some() || drops_groups {
            let set = [groups.len(), address(groups.as_ptr()), 0, 0, 0];
            self.call(Stage::Groups, libc::SYS_setgroups, set);
        }
        if let Some(id) = options.group {
            let id = id as usize;
            self.call_about(Stage::Group, id as i32, libc::SYS_setresgid, [id, id, id, 0, 0]);
        }
        if options.user.is_some() && options.capabilities.is_some() {
            let keep = [libc::PR_SET_KEEPCAPS as usize, 1, 0, 0, 0];
            self.call(Stage::Capabilities, libc::SYS_prctl, keep);
        }
        if let Some(id) = options.user {
            let id = id as usize;
            self.call_about(Stage::User, id as i32, libc::SYS_setresuid, [id, id, id, 0, 0]);
        }
        if let Some(set) = options.capabilities {
            let narrow = options.user.is_some();
            let set_bits = set.bits();
            self.operations.push(Operation::Capabilities {
                set: set_bits,
                narrow,
            });
            for number in set.numbers() {
                let raise = [
                    libc::PR_CAP_AMBIENT as usize,
                    libc::PR_CAP_AMBIENT_RAISE as usize,
                    number,
                    0,
                    0,
                ];
                self.call(Stage::Capabilities, libc::SYS_prctl, raise);
            }
        }
    }

    /// The operations after the change of user.
    fn last(&mut self, directory: Option<*const c_char>) {
        let options = &self.command.options;
        if let Some(directory) = directory {
            self.call(
                Stage::Directory,
                libc::SYS_chdir,
                [address(directory), 0, 0, 0, 0],
            );
        }
        if options.no_new_privileges {
            let set = [libc::PR_SET_NO_NEW_PRIVS as usize, 1, 0, 0, 0];
            self.call(Stage::NoNewPrivileges, libc::SYS_prctl, set);
        }
        if let Some(signal) = options.parent_death_signal {
            let set = [libc::PR_SET_PDEATHSIG as usize, signal as usize, 0, 0, 0];
            self.call(Stage::ParentDeath, libc::SYS_prctl, set);
            let parent = std::process::id() as i32;
            self.operations.push(Operation::CheckParent { parent });
        }
    }
}
