//! The stages of starting a process, for error values.

use std::fmt;

/// The stage at which starting a process failed.
///
/// The parent performs the first ones, before the child exists. The child performs those from [`Handlers`](Stage::Handlers) on,
/// mostly in this order.
#[non_exhaustive]
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Allocating memory for the child's instructions.
    Memory,
    /// Opening a file, `/dev/null` or a pipe for the child.
    Stream,
    /// Mapping the child's stack.
    Stack,
    /// Making the process: `clone3` or `clone`.
    Clone,
    /// Entering the control group.
    Cgroup,
    /// Sending the request to a zygote.
    Zygote,
    /// Queuing the job for a spawner; `ESRCH` if the spawner belongs to another process.
    Spawner,
    /// Setting signal dispositions.
    Handlers,
    /// Creating a session.
    Session,
    /// Entering a process group.
    ProcessGroup,
    /// In a zygote, entering the working directory of the process that sent the request.
    CallerDirectory,
    /// Setting up a descriptor.
    Descriptor,
    /// Acquiring the controlling terminal.
    Terminal,
    /// Setting the file mode mask.
    Umask,
    /// Setting the niceness.
    Nice,
    /// Setting a resource limit.
    Limit,
    /// Setting the supplementary groups.
    Groups,
    /// Changing to the group.
    Group,
    /// Changing to the user.
    User,
    /// Changing to the working directory.
    Directory,
    /// Setting the capabilities.
    Capabilities,
    /// Setting `no_new_privs`.
    NoNewPrivileges,
    /// Setting the parent-death signal; `ESRCH` if the parent has died already.
    ParentDeath,
    /// Closing the other descriptors.
    Close,
    /// Setting the signal mask.
    SignalMask,
    /// `execve`, for each candidate in `PATH`.
    Exec,
}

/// All stages with their names, in numerical order.
const STAGES: [(Stage, &str); 26] = [
    (Stage::Memory, "allocating memory"),
    (Stage::Stream, "opening its streams"),
    (Stage::Stack, "mapping its stack"),
    (Stage::Clone, "clone"),
    (Stage::Cgroup, "entering the control group"),
    (Stage::Zygote, "asking the zygote"),
    (Stage::Spawner, "queuing the job for the spawner"),
    (Stage::Handlers, "setting signal dispositions"),
    (Stage::Session, "setsid"),
    (Stage::ProcessGroup, "setpgid"),
    (Stage::CallerDirectory, "entering the caller's directory"),
    (Stage::Descriptor, "setting up descriptor"),
    (Stage::Terminal, "acquiring the controlling terminal"),
    (Stage::Umask, "umask"),
    (Stage::Nice, "setting the niceness"),
    (Stage::Limit, "setting limit"),
    (Stage::Groups, "setgroups"),
    (Stage::Group, "setting the group"),
    (Stage::User, "setting the user"),
    (Stage::Directory, "changing to the directory"),
    (Stage::Capabilities, "setting the capabilities"),
    (Stage::NoNewPrivileges, "setting no_new_privs"),
    (Stage::ParentDeath, "setting the parent-death signal"),
    (Stage::Close, "closing other descriptors"),
    (Stage::SignalMask, "setting the signal mask"),
    (Stage::Exec, "execve"),
];

impl Stage {
    /// The stage with that number, if there is one.
    pub(crate) fn from_number(number: u32) -> Option<Stage> {
        STAGES.get(number as usize).map(|(stage, _)| *stage)
    }

    /// The stage as a phrase for messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        STAGES[self as usize].1
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_stands_at_its_number() {
        for (number, (stage, _)) in STAGES.iter().enumerate() {
            assert_eq!(*stage as usize, number, "{stage:?}");
            assert_eq!(Stage::from_number(number as u32), Some(*stage));
        }
        assert_eq!(Stage::Exec as usize + 1, STAGES.len(), "a stage has no name");
        assert_eq!(Stage::from_number(STAGES.len() as u32), None);
    }
}
