//! The file system and the device below a folder, as the kernel describes them.

use crate::Error;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// The file system and the device below a folder. Parts that the kernel does not tell are `None`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Device {
    /// The folder, absolute.
    pub dir: PathBuf,
    /// The type of the file system: `ext4`.
    pub file_system: Option<String>,
    /// The mounted device: `/dev/vda`.
    pub source: Option<String>,
    /// The device's cache: `write back` if it is volatile, else `write through`.
    pub write_cache: Option<String>,
}

/// A line of `/proc/self/mountinfo`.
struct Mount<'a> {
    point: &'a str,
    device: &'a str,
    kind: &'a str,
    source: &'a str,
}

impl Device {
    /// The device below a folder.
    ///
    /// # Errors
    /// If the folder cannot be found.
    pub(super) fn of(dir: &Path) -> Result<Self, Error> {
        let dir = fs::canonicalize(dir).map_err(|source| Error::File {
            path: dir.to_owned(),
            source,
        })?;
        let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mount = below(&table, &dir);
        Ok(Self {
            file_system: mount.as_ref().map(|mount| mount.kind.to_owned()),
            source: mount.as_ref().map(|mount| mount.source.to_owned()),
            write_cache: mount.and_then(|mount| write_cache(mount.device)),
            dir,
        })
    }

    /// Returns true if the files are in memory.
    pub(super) fn is_memory(&self) -> bool {
        matches!(self.file_system.as_deref(), Some("tmpfs" | "ramfs"))
    }

    /// Returns true if another machine, or another program, decides when data are durable.
    pub(super) fn is_remote(&self) -> bool {
        let remote = |kind: &str| {
            ["nfs", "cifs", "smb", "fuse", "9p", "ceph", "virtiofs"]
                .iter()
                .any(|each| kind.starts_with(each))
        };
        self.file_system.as_deref().is_some_and(remote)
    }

    /// Returns true if the kernel knows of no volatile cache in the device.
    pub(super) fn writes_through(&self) -> bool {
        self.write_cache.as_deref() == Some("write through")
    }
}

/// The mount that a folder belongs to: of those with the longest path the last, which hides the others.
fn below<'a>(table: &'a str, dir: &Path) -> Option<Mount<'a>> {
    let mounts = table.lines().filter_map(mount);
    mounts
        .filter(|mount| dir.starts_with(unescaped(mount.point)))
        .max_by_key(|mount| mount.point.len())
}

fn mount(line: &str) -> Option<Mount<'_>> {
    let (front, back) = line.split_once(" - ")?;
    let mut front = front.split(' ');
    let device = front.nth(2)?;
    let point = front.nth(1)?;
    let mut back = back.split(' ');
    Some(Mount {
        point,
        device,
        kind: back.next()?,
        source: back.next()?,
    })
}

/// The kernel writes spaces in paths as `\040`.
fn unescaped(path: &str) -> String {
    path.replace("\\040", " ")
        .replace("\\011", "\t")
        .replace("\\134", "\\")
}

/// The cache of a block device, or of the disk that it is a partition of.
fn write_cache(device: &str) -> Option<String> {
    let device = Path::new("/sys/dev/block").join(device);
    let read = |queue: &str| fs::read_to_string(device.join(queue).join("write_cache")).ok();
    let text = read("queue").or_else(|| read("../queue"))?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n\
30 22 0:26 / /data rw - tmpfs tmpfs rw\n\
31 22 254:16 / /data rw - xfs /dev/vdb rw\n\
32 22 0:40 / /with\\040space rw master:3 - nfs4 host:/export rw\n";

    #[test]
    fn a_folder_belongs_to_the_mount_with_the_longest_path() {
        let found =
            |dir: &str| below(TABLE, Path::new(dir)).map(|mount| (mount.kind, mount.source, mount.device));
        assert_eq!(found("/home"), Some(("ext4", "/dev/vda1", "254:0")));
        assert_eq!(found("/database"), Some(("ext4", "/dev/vda1", "254:0")));
        assert_eq!(found("/data/a"), Some(("xfs", "/dev/vdb", "254:16")));
        assert_eq!(found("/with space"), Some(("nfs4", "host:/export", "0:40")));
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        assert!(matches!(
            Device::of(Path::new("/nonexistent")),
            Err(Error::File { .. })
        ));
        assert!(
            Device::of(Path::new("/proc")).is_ok_and(|device| device.file_system.as_deref() == Some("proc"))
        );
    }
}
