//! CPU quotas of the control groups of this process, in both versions of the kernel's interface.
//!
//! A limit may be set at any level between the process's own group and the root, so every level is looked at and the
//! strictest counts. A container sees a part of the hierarchy mounted; the mount's root says which.
//!
//! **Invariant**: files that are missing or unreadable limit nothing; this never fails.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// A fraction of the machine's cores, as microseconds of CPU in a period of microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Quota {
    quota: u64,
    period: u64,
}

impl Quota {
    /// Whole cores that the quota keeps busy: a part of a core still needs a loop to use it.
    fn cores(self) -> usize {
        usize::try_from(self.quota.div_ceil(self.period))
            .unwrap_or(usize::MAX)
            .max(1)
    }
}

/// Cores that the CPU quotas leave to this process; `None` if nothing limits it. `root` is `/`, but in tests.
pub(crate) fn cores(root: &Path) -> Option<usize> {
    let groups = read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let mounts = read_to_string(root.join("proc/self/mountinfo")).unwrap_or_default();
    let unified =
        hierarchy(&groups, &mounts, Version::Two).and_then(|hierarchy| strictest(root, &hierarchy, quota_v2));
    let legacy =
        hierarchy(&groups, &mounts, Version::One).and_then(|hierarchy| strictest(root, &hierarchy, quota_v1));
    unified.into_iter().chain(legacy).min()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// Where a hierarchy is mounted, and where below it the process's group is.
#[derive(Debug, PartialEq, Eq)]
struct Hierarchy {
    mount: PathBuf,
    group: PathBuf,
}

/// Finds the hierarchy that has the `cpu` controller.
fn hierarchy(groups: &str, mounts: &str, version: Version) -> Option<Hierarchy> {
    let path = groups.lines().find_map(|line| group_path(line, version))?;
    let (mount, mount_root) = mounts.lines().find_map(|line| mount_point(line, version))?;
    // Below a container's mount the path is relative to the mount's root; outside of it only the mount itself is seen.
    let group = Path::new(path).strip_prefix(mount_root).unwrap_or(Path::new(""));
    let group = group.strip_prefix("/").unwrap_or(group);
    Some(Hierarchy {
        mount: PathBuf::from(mount),
        group: group.to_owned(),
    })
}

/// The path of `ID:CONTROLLERS:PATH` if the line is of the hierarchy that is looked for.
fn group_path(line: &str, version: Version) -> Option<&str> {
    let mut fields = line.splitn(3, ':');
    let (id, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let wanted = match version {
        Version::Two => id == "0" && controllers.is_empty(),
        Version::One => controllers.split(',').any(|controller| controller == "cpu"),
    };
    wanted.then_some(path)
}

/// The mount point and the mount's root of a line of mountinfo, whose fields after ` - ` are type, source and options.
fn mount_point(line: &str, version: Version) -> Option<(&str, &str)> {
    let (before, after) = line.split_once(" - ")?;
    let mut after = after.split(' ');
    let (kind, options) = (after.next()?, after.nth(1).unwrap_or_default());
    let wanted = match version {
        Version::Two => kind == "cgroup2",
        Version::One => kind == "cgroup" && options.split(',').any(|option| option == "cpu"),
    };
    let mut before = before.split(' ').skip(3);
    let (root, point) = (before.next()?, before.next()?);
    wanted.then_some((point, root))
}

/// The smallest number of cores on the way from the group up to the mount.
fn strictest(root: &Path, hierarchy: &Hierarchy, quota: fn(&Path) -> Option<Quota>) -> Option<usize> {
    let mount = root.join(hierarchy.mount.strip_prefix("/").unwrap_or(&hierarchy.mount));
    hierarchy
        .group
        .ancestors()
        .filter_map(|group| quota(&mount.join(group)))
        .map(Quota::cores)
        .min()
}

/// `cpu.max`: `max 100000` or `150000 100000`.
fn quota_v2(group: &Path) -> Option<Quota> {
    let text = read_to_string(group.join("cpu.max")).ok()?;
    let mut fields = text.split_whitespace();
    let quota = fields.next()?.parse().ok()?;
    let period = fields.next()?.parse().ok().filter(|period| *period > 0)?;
    Some(Quota { quota, period })
}

/// `cpu.cfs_quota_us` (-1: none) and `cpu.cfs_period_us`.
fn quota_v1(group: &Path) -> Option<Quota> {
    let number = |file| read_to_string(group.join(file)).ok()?.trim().parse::<u64>().ok();
    let quota = number("cpu.cfs_quota_us")?;
    let period = number("cpu.cfs_period_us").filter(|period| *period > 0)?;
    Some(Quota { quota, period })
}

#[cfg(test)]
mod tests {
    use super::cores;
    use std::path::PathBuf;

    fn fixture(name: &str) -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("tests/cgroup")
            .join(name)
    }

    #[test]
    fn the_unified_hierarchy_is_walked_up() {
        // The group itself has no limit; its parent has 2.5 cores, the grandparent 4.
        assert_eq!(cores(&fixture("v2-parent")), Some(3));
    }

    #[test]
    fn a_container_sees_its_part_of_the_hierarchy() {
        assert_eq!(cores(&fixture("v2-container")), Some(1));
    }

    #[test]
    fn the_legacy_hierarchy_has_two_files() {
        assert_eq!(cores(&fixture("v1")), Some(2));
    }

    #[test]
    fn no_limit_and_no_files_limit_nothing() {
        assert_eq!(cores(&fixture("v2-unlimited")), None);
        assert_eq!(cores(&fixture("there-is-no-such-folder")), None);
    }
}
