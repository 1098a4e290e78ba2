//! How much memory this process may use: the least of what the machine has and what its control groups allow.

use std::fs;
use std::path::{Path, PathBuf};

/// The fallback if the system tells nothing.
const FALLBACK: u64 = 1 << 30;

/// Bytes that this process may use.
pub(crate) fn memory_allowed() -> u64 {
    memory_allowed_under(Path::new("/"))
}

/// The same, with another root, for tests.
fn memory_allowed_under(root: &Path) -> u64 {
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let limits = groups.lines().flat_map(|line| group_limits(root, line));
    limits.chain(machine_total(root)).min().unwrap_or(FALLBACK)
}

/// `MemTotal` of `/proc/meminfo`.
fn machine_total(root: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<u64>()
        .ok()
        .map(|kib| kib << 10)
}

/// The limits that a line of `/proc/self/cgroup` (`id:controllers:path`) leads to, of the group and of all above it: a group
/// never gets more than its parents have, though only they may say so. In a container the path may be the host's; then
/// only the mount's top exists, which is the container's own group.
fn group_limits(root: &Path, line: &str) -> Vec<u64> {
    let mut fields = line.splitn(3, ':');
    let (Some(_), Some(controllers), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
        return Vec::new();
    };
    let mounts: &[(&str, &str)] = if controllers.is_empty() {
        &[
            ("sys/fs/cgroup", "memory.max"),
            ("sys/fs/cgroup/unified", "memory.max"),
        ]
    } else if controllers.split(',').any(|controller| controller == "memory") {
        &[("sys/fs/cgroup/memory", "memory.limit_in_bytes")]
    } else {
        &[]
    };
    let read = |file: PathBuf| fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
    let group = Path::new(path.trim_start_matches('/'));
    let files = |&(mount, name): &(&str, &str)| {
        let mount = root.join(mount);
        let levels = group.ancestors().map(move |level| mount.join(level).join(name));
        levels.filter_map(read).collect::<Vec<u64>>()
    };
    mounts.iter().flat_map(files).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    struct Root(PathBuf);

    impl Root {
        fn new(name: &str, files: &[(&str, &str)]) -> Root {
            let root = std::env::temp_dir().join(format!("kv-machine-{}-{name}", std::process::id()));
            for (path, text) in files {
                let file = root.join(path);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
            Root(root)
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\n");

    #[test]
    fn version_two_takes_the_least_of_the_hierarchy() {
        let root = Root::new(
            "v2",
            &[
                MEMINFO,
                ("proc/self/cgroup", "0::/a/b\n"),
                ("sys/fs/cgroup/a/memory.max", "1073741824\n"),
                ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ],
        );
        assert_eq!(memory_allowed_under(&root.0), 1 << 30);
    }

    #[test]
    fn version_one_in_a_container_finds_the_mounts_top() {
        let root = Root::new(
            "v1",
            &[
                MEMINFO,
                ("proc/self/cgroup", "5:cpu:/x\n4:memory:/docker/abc\n0::/\n"),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n"),
            ],
        );
        assert_eq!(memory_allowed_under(&root.0), 512 << 20);
    }

    #[test]
    fn without_limits_the_machine_counts() {
        let root = Root::new(
            "bare",
            &[
                MEMINFO,
                ("proc/self/cgroup", "4:memory:/\n"),
                (
                    "sys/fs/cgroup/memory/memory.limit_in_bytes",
                    "9223372036854771712\n",
                ),
            ],
        );
        assert_eq!(memory_allowed_under(&root.0), 16 << 30);
        assert_eq!(memory_allowed_under(Path::new("/nonexistent")), FALLBACK);
        assert!(memory_allowed() > 0);
    }
}
