//! Files in memory that fail as real ones do, for tests.
//!
//! The simulation keeps each file twice: as running programs see it, and as the device has it. A sync moves the first to the
//! second. [`Simulated::power_cut`] returns what a machine finds after its power failed: the device's files, and of
//! the changes that were not synced none, some, or all, sector by sector. Names follow the same rules as bytes: a
//! file that was created, renamed or removed is so for certain only after its folder was synced. After a failed sync, programs
//! see bytes that the device does not have and no later sync writes, as on Linux.
//!
//! Operations that change something are counted, and a test can make any of them fail.
//!
//! A file can be mapped: [`File::system_file`] returns a file of the operating system with the same content, and what is
//! written through mappings counts as a change like any other.

mod file;
mod inode;
mod names;
mod plan;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::io::Errno;

use super::{File, Lock, Open, Storage};
use file::SimulatedFile;
use inode::{Change, Inode};
use names::{Names, Renaming};
use plan::Plan;

/// Changes that a power cut loses, of those that were not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// All are lost.
    All,
    /// None is lost, and what was not synced still is not: the process was killed, and the machine went on.
    None,
    /// Each change of a name, each sector of a write, and each change of a length is lost or not, as the seed has it.
    Some {
        /// The seed of the choice.
        seed: u64,
    },
}

/// A storage in memory. Clones are handles on the same one.
#[derive(Clone, Debug)]
pub struct Simulated {
    world: Arc<Mutex<World>>,
}

#[derive(Debug, Default)]
struct World {
    inodes: Vec<Inode>,
    names: Names,
    folders: Vec<PathBuf>,
    locked: Vec<PathBuf>,
    plan: Plan,
}

impl Default for Simulated {
    fn default() -> Simulated {
        Simulated::new()
    }
}

impl Simulated {
    /// A storage without files.
    pub fn new() -> Simulated {
        Simulated {
            world: Arc::default(),
        }
    }

    /// Operations so far that change something: creating, writing, cutting, allocating, syncing, renaming, removing.
    pub fn operations(&self) -> u64 {
        self.world.lock().plan.operations
    }

    /// Makes all operations fail from the given one on, as if the machine had stopped. If it is a write, a part of its bytes
    /// is written. Reads go on.
    pub fn stop_at(&self, operation: u64) {
        self.world.lock().plan.stop_at = Some(operation);
    }

    /// Makes one operation fail with an error of the system (`errno`).
    pub fn fail_at(&self, operation: u64, errno: i32) {
        self.world.lock().plan.fail_at = Some((operation, errno));
    }

    /// Makes one write take only a part of its bytes.
    pub fn shorten_at(&self, operation: u64) {
        self.world.lock().plan.shorten_at = Some(operation);
    }

    /// Makes every sync of a file or folder fail from now on, or succeed again.
    pub fn fail_syncs(&self, errno: Option<i32>) {
        self.world.lock().plan.sync_error = errno;
    }

    /// Makes every read fail from now on, or succeed again.
    pub fn fail_reads(&self, errno: Option<i32>) {
        self.world.lock().plan.read_error = errno;
    }

    /// Lets a write take this many bytes at most.
    pub fn shorten_writes(&self, bytes_max: Option<usize>) {
        self.world.lock().plan.write_max = bytes_max;
    }

    /// Lets all files have this many bytes together; a write beyond that fails with ENOSPC.
    pub fn set_capacity(&self, bytes: Option<usize>) {
        self.world.lock().plan.capacity = bytes;
    }

    /// Removes all files from the page cache: the next read of each by
    /// [`read_resident_at`](File::read_resident_at) fails, until an ordinary read.
    pub fn evict(&self) {
        self.world
            .lock()
            .inodes
            .iter_mut()
            .for_each(|inode| inode.cold = true);
    }

    /// The files after a power failure, or after a kill ([`Loss::None`]). Faults and locks are gone.
    pub fn power_cut(&self, loss: Loss) -> Simulated {
        let world = &mut *self.world.lock();
        let mut choice = match loss {
            Loss::Some { seed } => seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            _ => 0,
        };
        let mut survives = || match loss {
            Loss::All => false,
            Loss::None => true,
            Loss::Some { .. } => {
                choice ^= choice << 13;
                choice ^= choice >> 7;
                choice ^= choice << 17;
                choice.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 63 == 0
            }
        };
        let names = match loss {
            Loss::None => world.names.clone(),
            _ => world.names.after_power_cut(&mut survives),
        };
        let inodes = world.inodes.iter_mut().map(|inode| match loss {
            Loss::None => inode.after_kill(),
            _ => inode.after_power_cut(&mut survives),
        });
        let after = World {
            inodes: inodes.collect(),
            names,
            folders: world.folders.clone(),
            ..World::default()
        };
        Simulated {
            world: Arc::new(Mutex::new(after)),
        }
    }

    /// A copy of all files as programs see them now.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let World { names, inodes, .. } = &mut *self.world.lock();
        names
            .iter()
            .map(|(path, inode)| (path.clone(), inodes[inode].bytes().to_vec()))
            .collect()
    }

    /// Replaces a file's content, durably. Open files have the new content, too.
    pub fn put(&self, path: &Path, bytes: Vec<u8>) {
        let mut world = self.world.lock();
        match world.names.get(path) {
            Some(at) => world.inodes[at].replace(bytes),
            None => {
                world.inodes.push(Inode::durable(bytes));
                let at = world.inodes.len() - 1;
                world.names.add_durably(path, at);
            }
        }
    }
}

impl World {
    fn used(&self) -> usize {
        self.names
            .iter()
            .map(|(_, inode)| self.inodes[inode].used())
            .sum()
    }

    /// Bytes that a file would need beyond the capacity to be this long.
    fn lacking(&self, inode: usize, end: usize) -> usize {
        let grows = end.saturating_sub(self.inodes[inode].used());
        let capacity = self.plan.capacity.unwrap_or(usize::MAX);
        // Existing bytes need no more room, even on a file system that is too small for them.
        (self.used() + grows).saturating_sub(capacity).min(grows)
    }

    fn find(&self, path: &Path) -> io::Result<usize> {
        self.names.get(path).ok_or_else(|| Errno::NOENT.into())
    }
}

impl Storage for Simulated {
    fn open(&self, path: &Path, mode: Open) -> io::Result<Arc<dyn File>> {
        let mut world = self.world.lock();
        let existing = world.names.get(path);
        let inode = match (mode, existing) {
            (Open::Read | Open::Write, None) => return Err(Errno::NOENT.into()),
            (Open::Create, Some(_)) => return Err(Errno::EXIST.into()),
            (Open::Read | Open::Write, Some(inode)) => inode,
            (Open::Replace, Some(inode)) => {
                world.plan.count()?;
                world.inodes[inode].change(Change::Length(0));
                inode
            }
            (Open::Create | Open::Replace, None) => {
                world.plan.count()?;
                world.inodes.push(Inode::default());
                let inode = world.inodes.len() - 1;
                world.names.change(Renaming::Add(path.to_owned(), inode));
                inode
            }
        };
        Ok(Arc::new(SimulatedFile::new(&self.world, inode)))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let world = self.world.lock();
        if !world.folders.iter().any(|known| known == folder) {
            return Err(Errno::NOENT.into());
        }
        let inside = world
            .names
            .iter()
            .filter(|(path, _)| path.parent() == Some(folder));
        Ok(inside
            .filter_map(|(path, _)| Some(path.file_name()?.to_str()?.to_owned()))
            .collect())
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        let mut world = self.world.lock();
        if !world.folders.iter().any(|known| known == folder) {
            world.plan.count()?;
            world.folders.push(folder.to_owned());
        }
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut world = self.world.lock();
        world.plan.count()?;
        let inode = world.find(from)?;
        world
            .names
            .change(Renaming::Move(from.to_owned(), to.to_owned(), inode));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut world = self.world.lock();
        world.plan.count()?;
        world.find(path)?;
        world.names.change(Renaming::Remove(path.to_owned()));
        Ok(())
    }

    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        let mut world = self.world.lock();
        world.plan.count()?;
        world.folders.retain(|known| known != folder);
        Ok(())
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let mut world = self.world.lock();
        world.plan.count_sync()?;
        world.names.sync(folder);
        Ok(())
    }

    fn lock(&self, path: &Path, note: &[u8]) -> io::Result<Lock> {
        if self.world.lock().locked.iter().any(|held| held == path) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        // Nothing depends on this file's durability.
        self.put(path, note.to_vec());
        let mut world = self.world.lock();
        world.locked.push(path.to_owned());
        Ok(Box::new(Held {
            world: self.world.clone(),
            path: path.to_owned(),
        }))
    }
}

#[derive(Debug)]
struct Held {
    world: Arc<Mutex<World>>,
    path: PathBuf,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.world.lock().locked.retain(|held| *held != self.path);
    }
}
