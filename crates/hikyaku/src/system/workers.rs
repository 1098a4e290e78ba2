//! How many loops to run when no one says.

use std::path::Path;

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use super::cgroup;

/// Loops that a configuration may ask for.
pub(crate) const WORKERS_MAX: usize = 1024;

/// A loop for every core that affinity and the control groups leave to this process, and at least one.
pub(crate) fn auto() -> usize {
    let allowed = affinity().unwrap_or(1);
    cgroup::cores(Path::new("/"))
        .map_or(allowed, |quota| allowed.min(quota))
        .clamp(1, WORKERS_MAX)
}

fn affinity() -> Option<usize> {
    let set = sched_getaffinity(Pid::from_raw(0)).ok()?;
    Some(
        (0..CpuSet::count())
            .filter(|cpu| set.is_set(*cpu) == Ok(true))
            .count(),
    )
}

#[cfg(test)]
mod tests {
    use nix::sched::{CpuSet, sched_setaffinity};
    use nix::unistd::Pid;

    #[test]
    fn affinity_of_the_thread_counts() {
        let mut one = CpuSet::new();
        let first = nix::sched::sched_getaffinity(Pid::from_raw(0)).expect("affinity");
        let cpu = (0..CpuSet::count())
            .find(|cpu| first.is_set(*cpu) == Ok(true))
            .expect("a cpu");
        one.set(cpu).expect("a valid cpu");
        // A pid of 0 is the calling thread, and every test has a thread of its own.
        sched_setaffinity(Pid::from_raw(0), &one).expect("narrowing is always allowed");
        assert_eq!(super::affinity(), Some(1));
        assert_eq!(super::auto(), 1);
    }
}
