//! Files in memory that fail as real ones do, for tests.
//!
//! The simulation keeps each file twice: as running programs see it, and as the device has it. A sync moves the first to the
//! second. [`Simulated::power_cut`] returns what a machine finds after its power failed: the device's files, and of
//! the changes that were not synced none, some, or all, sector by sector. Names follow the same rules as bytes: a
//! file that was created, renamed or removed is so for certain only after its folder was synced.
//!
//! Operations that change something are counted, and a test can make any of them fail.

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::io::Errno;

use super::{Advice, File, Lock, Mapped, Open, Storage};

/// The unit that a device writes wholly or not at all.
const SECTOR: usize = 512;

/// Changes that a power cut loses, of those that were not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// All are lost.
    All,
    /// None is lost: the process was killed, and the machine went on.
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
    /// The names as programs see them, and as the device has them.
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    renames: Vec<Renaming>,
    folders: Vec<PathBuf>,
    locked: Vec<PathBuf>,
    plan: Plan,
}

/// A change of names that is not durable yet.
#[derive(Clone, Debug)]
enum Renaming {
    Add(PathBuf, usize),
    Move(PathBuf, PathBuf, usize),
    Remove(PathBuf),
}

impl Renaming {
    fn is_in(&self, folder: &Path) -> bool {
        let path = match self {
            Renaming::Add(path, _) | Renaming::Move(_, path, _) | Renaming::Remove(path) => path,
        };
        path.parent() == Some(folder)
    }

    fn apply(&self, names: &mut BTreeMap<PathBuf, usize>) {
        match self {
            Renaming::Add(path, inode) => drop(names.insert(path.clone(), *inode)),
            Renaming::Remove(path) => drop(names.remove(path)),
            Renaming::Move(from, to, inode) => {
                names.remove(from);
                names.insert(to.clone(), *inode);
            }
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Inode {
    bytes: Vec<u8>,
    durable: Vec<u8>,
    changes: Vec<Change>,
    cold: bool,
}

#[derive(Clone, Debug)]
enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Change::Length(length) => bytes.resize(*length, 0),
            Change::Write(at, new) => {
                let end = at + new.len();
                bytes.resize(bytes.len().max(end), 0);
                bytes[*at..end].copy_from_slice(new);
            }
        }
    }

    /// The change as the device may carry it out: each sector on its own.
    fn sectors(&self) -> Vec<Change> {
        match self {
            Change::Length(length) => vec![Change::Length(*length)],
            Change::Write(at, new) => {
                let mut parts = Vec::new();
                let mut done = 0;
                while done < new.len() {
                    let boundary = (at + done) / SECTOR * SECTOR + SECTOR;
                    let end = new.len().min(boundary - at);
                    parts.push(Change::Write(at + done, new[done..end].to_vec()));
                    done = end;
                }
                parts
            }
        }
    }
}

/// Faults that a test asked for.
#[derive(Debug, Default)]
struct Plan {
    /// Operations so far.
    operations: u64,
    /// The operation from which on all fail.
    stop_at: Option<u64>,
    /// The operation that fails alone, with its error.
    fail_at: Option<(u64, i32)>,
    /// The most bytes that one write takes.
    write_max: Option<usize>,
    /// The most bytes that all files may have together.
    capacity: Option<usize>,
    sync_error: Option<i32>,
    read_error: Option<i32>,
}

impl Plan {
    fn count(&mut self) -> io::Result<()> {
        let operation = self.operations;
        self.operations += 1;
        if self.stop_at.is_some_and(|stop| operation >= stop) {
            return Err(Errno::IO.into());
        }
        match self.fail_at {
            Some((at, error)) if at == operation => Err(io::Error::from_raw_os_error(error)),
            _ => Ok(()),
        }
    }
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

    /// Makes all operations fail from the given one on, as if the machine had stopped. Reads go on.
    pub fn stop_at(&self, operation: u64) {
        self.world.lock().plan.stop_at = Some(operation);
    }

    /// Makes one operation fail with an error of the system (`errno`).
    pub fn fail_at(&self, operation: u64, errno: i32) {
        self.world.lock().plan.fail_at = Some((operation, errno));
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
        let world = self.world.lock();
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
        let mut names = world.durable_names.clone();
        let lasting: Vec<&Renaming> = world.renames.iter().filter(|_| survives()).collect();
        lasting.iter().for_each(|change| change.apply(&mut names));
        let inodes = world.inodes.iter().map(|inode| {
            let mut bytes = inode.durable.clone();
            for change in inode.changes.iter().flat_map(Change::sectors) {
                if survives() {
                    change.apply(&mut bytes);
                }
            }
            Inode {
                durable: bytes.clone(),
                bytes,
                changes: Vec::new(),
                cold: false,
            }
        });
        let after = World {
            inodes: inodes.collect(),
            durable_names: names.clone(),
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
        let world = self.world.lock();
        world
            .names
            .iter()
            .map(|(path, &inode)| (path.clone(), world.inodes[inode].bytes.clone()))
            .collect()
    }

    /// Replaces a file's content, durably. Open files have the new content, too.
    pub fn put(&self, path: &Path, bytes: Vec<u8>) {
        let mut world = self.world.lock();
        let inode = Inode {
            durable: bytes.clone(),
            bytes,
            ..Inode::default()
        };
        match world.names.get(path).copied() {
            Some(at) => world.inodes[at] = inode,
            None => {
                world.inodes.push(inode);
                let at = world.inodes.len() - 1;
                world.names.insert(path.to_owned(), at);
                world.durable_names.insert(path.to_owned(), at);
            }
        }
    }
}

impl World {
    fn used(&self) -> usize {
        self.names
            .values()
            .map(|&inode| self.inodes[inode].bytes.len())
            .sum()
    }

    fn rename(&mut self, change: Renaming) {
        change.apply(&mut self.names);
        self.renames.push(change);
    }

    fn find(&self, path: &Path) -> io::Result<usize> {
        self.names.get(path).copied().ok_or_else(|| Errno::NOENT.into())
    }

    fn change(&mut self, inode: usize, change: Change) {
        let inode = &mut self.inodes[inode];
        change.apply(&mut inode.bytes);
        inode.changes.push(change);
    }
}

impl Storage for Simulated {
    fn open(&self, path: &Path, mode: Open) -> io::Result<Arc<dyn File>> {
        let mut world = self.world.lock();
        let existing = world.names.get(path).copied();
        let inode = match (mode, existing) {
            (Open::Read | Open::Write, None) => return Err(Errno::NOENT.into()),
            (Open::Create, Some(_)) => return Err(Errno::EXIST.into()),
            (Open::Read | Open::Write, Some(inode)) => inode,
            (Open::Replace, Some(inode)) => {
                world.plan.count()?;
                world.change(inode, Change::Length(0));
                inode
            }
            (Open::Create | Open::Replace, None) => {
                world.plan.count()?;
                world.inodes.push(Inode::default());
                let inode = world.inodes.len() - 1;
                world.rename(Renaming::Add(path.to_owned(), inode));
                inode
            }
        };
        Ok(Arc::new(SimulatedFile {
            world: self.world.clone(),
            inode,
        }))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let world = self.world.lock();
        if !world.folders.iter().any(|known| known == folder) {
            return Err(Errno::NOENT.into());
        }
        let inside = world.names.keys().filter(|path| path.parent() == Some(folder));
        Ok(inside
            .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
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
        world.rename(Renaming::Move(from.to_owned(), to.to_owned(), inode));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut world = self.world.lock();
        world.plan.count()?;
        world.find(path)?;
        world.rename(Renaming::Remove(path.to_owned()));
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
        world.plan.count()?;
        if let Some(errno) = world.plan.sync_error {
            return Err(io::Error::from_raw_os_error(errno));
        }
        let (inside, others) = std::mem::take(&mut world.renames)
            .into_iter()
            .partition::<Vec<_>, _>(|change| change.is_in(folder));
        world.renames = others;
        inside
            .iter()
            .for_each(|change| change.apply(&mut world.durable_names));
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

#[derive(Debug)]
struct SimulatedFile {
    world: Arc<Mutex<World>>,
    inode: usize,
}

impl SimulatedFile {
    fn read(&self, buffer: &mut [u8], position: u64, resident: bool) -> io::Result<usize> {
        let mut world = self.world.lock();
        if let Some(errno) = world.plan.read_error {
            return Err(io::Error::from_raw_os_error(errno));
        }
        let inode = &mut world.inodes[self.inode];
        if resident && inode.cold {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        inode.cold = false;
        let rest = inode.bytes.get(position as usize..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

impl File for SimulatedFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.world.lock().inodes[self.inode].bytes.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.read(buffer, position, false)
    }

    fn read_resident_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.read(buffer, position, true)
    }

    fn write_at(&self, parts: &[IoSlice<'_>], position: u64) -> io::Result<usize> {
        let mut world = self.world.lock();
        world.plan.count()?;
        let mut bytes: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        let mut most = world.plan.write_max.unwrap_or(usize::MAX).max(1);
        if let Some(capacity) = world.plan.capacity {
            let end = position as usize + bytes.len();
            let grows = end.saturating_sub(world.inodes[self.inode].bytes.len());
            let lacking = (world.used() + grows).saturating_sub(capacity);
            // Like Linux: what still fits is written, and an error comes only when nothing does.
            most = most.min(bytes.len().saturating_sub(lacking));
        }
        bytes.truncate(most);
        if bytes.is_empty() {
            return Err(Errno::NOSPC.into());
        }
        let count = bytes.len();
        world.change(self.inode, Change::Write(position as usize, bytes));
        Ok(count)
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        let mut world = self.world.lock();
        world.plan.count()?;
        world.change(self.inode, Change::Length(length as usize));
        Ok(())
    }

    fn allocate(&self, _position: u64, _length: u64) -> io::Result<()> {
        self.world.lock().plan.count()
    }

    fn sync(&self) -> io::Result<()> {
        let mut world = self.world.lock();
        world.plan.count()?;
        if let Some(errno) = world.plan.sync_error {
            return Err(io::Error::from_raw_os_error(errno));
        }
        let inode = &mut world.inodes[self.inode];
        inode.durable.clone_from(&inode.bytes);
        inode.changes.clear();
        Ok(())
    }

    fn map(&self, position: u64, length: usize) -> io::Result<Mapped> {
        let mut bytes = vec![0; length];
        match self.read(&mut bytes, position, false)? {
            count if count == length => Ok(Mapped::of_copy(bytes)),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn advise(&self, _position: u64, _length: u64, _advice: Advice) {}

    fn system_file(&self) -> Option<&Arc<std::fs::File>> {
        None
    }
}
