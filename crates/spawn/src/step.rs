//! The steps of starting a process, for errors that say which one failed.

use std::fmt;

/// What was being done when starting a process failed.
///
/// The first ones happen in the parent, before there is a child; from [`Handlers`](Step::Handlers) on in the child,
/// mostly in this order.
#[non_exhaustive]
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// Allocating what the child needs to know.
    Memory,
    /// Opening a file, `/dev/null` or a pipe for the child.
    Stream,
    /// Mapping the child's stack.
    Stack,
    /// `clone3` or `clone`: the process itself.
    Clone,
    /// Entering the control group.
    Cgroup,
    /// Asking a zygote.
    Zygote,
    /// Handing it to a starter's thread; `ESRCH` when that is another process's.
    Starter,
    /// Setting what signals do.
    Handlers,
    /// Beginning a session.
    Session,
    /// Entering a process group.
    ProcessGroup,
    /// Making the working directory the one of whoever asked a zygote.
    Home,
    /// Putting a descriptor in its place.
    Descriptor,
    /// Getting the controlling terminal.
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
    /// Giving up new privileges.
    NoNewPrivileges,
    /// Asking for a signal when the parent dies; `ESRCH` when it is dead already.
    ParentDeath,
    /// Closing the other descriptors.
    Close,
    /// Setting the signal mask.
    SignalMask,
    /// `execve`, of every candidate in `PATH`.
    Exec,
}

/// Every step and what it is called, in the order of their numbers.
const STEPS: [(Step, &str); 26] = [
    (Step::Memory, "allocating memory"),
    (Step::Stream, "opening its streams"),
    (Step::Stack, "mapping its stack"),
    (Step::Clone, "clone"),
    (Step::Cgroup, "entering the control group"),
    (Step::Zygote, "asking the zygote"),
    (Step::Starter, "handing it to the starter"),
    (Step::Handlers, "setting what signals do"),
    (Step::Session, "setsid"),
    (Step::ProcessGroup, "setpgid"),
    (Step::Home, "going where the caller is"),
    (Step::Descriptor, "placing descriptor"),
    (Step::Terminal, "taking the controlling terminal"),
    (Step::Umask, "umask"),
    (Step::Nice, "setting the niceness"),
    (Step::Limit, "setting limit"),
    (Step::Groups, "setgroups"),
    (Step::Group, "setting the group"),
    (Step::User, "setting the user"),
    (Step::Directory, "changing to the directory"),
    (Step::Capabilities, "setting the capabilities"),
    (Step::NoNewPrivileges, "setting no_new_privs"),
    (Step::ParentDeath, "asking for a signal when the parent dies"),
    (Step::Close, "closing other descriptors"),
    (Step::SignalMask, "setting the signal mask"),
    (Step::Exec, "execve"),
];

impl Step {
    /// The step with that number, if there is one.
    pub(crate) fn from_number(number: u32) -> Option<Step> {
        STEPS.get(number as usize).map(|(step, _)| *step)
    }

    /// What is being done, as a phrase for messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        STEPS[self as usize].1
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_stands_at_its_number() {
        for (number, (step, _)) in STEPS.iter().enumerate() {
            assert_eq!(*step as usize, number, "{step:?}");
            assert_eq!(Step::from_number(number as u32), Some(*step));
        }
        assert_eq!(Step::Exec as usize + 1, STEPS.len(), "a step has no name");
        assert_eq!(Step::from_number(STEPS.len() as u32), None);
    }
}
