//! An open simulated file.

use std::io::{self, IoSlice};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use rustix::io::Errno;

use super::inode::Change;
use super::{File, World};
use crate::storage::{Advice, Mapped};

#[derive(Debug)]
pub(super) struct SimulatedFile {
    world: Arc<Mutex<World>>,
    inode: usize,
    system: OnceLock<Option<Arc<std::fs::File>>>,
}

impl SimulatedFile {
    pub(super) fn new(world: &Arc<Mutex<World>>, inode: usize) -> SimulatedFile {
        SimulatedFile {
            world: world.clone(),
            inode,
            system: OnceLock::new(),
        }
    }

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
        let rest = inode.bytes().get(position as usize..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

impl File for SimulatedFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.world.lock().inodes[self.inode].length() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.read(buffer, position, false)
    }

    fn read_resident_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        self.read(buffer, position, true)
    }

    fn write_at(&self, parts: &[IoSlice<'_>], position: u64) -> io::Result<usize> {
        let mut world = self.world.lock();
        let mut bytes: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        let (most, result) = world.plan.count_write(bytes.len());
        let lacking = world.lacking(self.inode, position as usize + bytes.len());
        // Like Linux: what still fits is written, and an error comes only when nothing does.
        bytes.truncate(most.min(bytes.len().saturating_sub(lacking)));
        let count = bytes.len();
        if count > 0 {
            world.inodes[self.inode].change(Change::Write(position as usize, bytes));
        }
        result?;
        match count {
            0 => Err(Errno::NOSPC.into()),
            _ => Ok(count),
        }
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        let mut world = self.world.lock();
        world.plan.count()?;
        world.inodes[self.inode].change(Change::Length(length as usize));
        Ok(())
    }

    fn allocate(&self, position: u64, length: u64) -> io::Result<()> {
        let mut world = self.world.lock();
        world.plan.count()?;
        let end = (position + length) as usize;
        if world.lacking(self.inode, end) > 0 {
            return Err(Errno::NOSPC.into());
        }
        world.inodes[self.inode].allocate(end);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut world = self.world.lock();
        let stopped = world.plan.is_stopped();
        let result = world.plan.count_sync();
        let inode = &mut world.inodes[self.inode];
        match result {
            Ok(()) => inode.sync(),
            Err(_) if !stopped => inode.fail_sync(),
            // A machine that has stopped does nothing more.
            Err(_) => {}
        }
        result
    }

    fn map(&self, position: u64, length: usize) -> io::Result<Mapped> {
        let mut bytes = vec![0; length];
        match self.read(&mut bytes, position, false)? {
            count if count == length => Ok(Mapped::of_copy(bytes)),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn advise(&self, _position: u64, _length: u64, advice: Advice) {
        if advice == Advice::DontNeed {
            self.world.lock().inodes[self.inode].drop_clean();
        }
    }

    fn system_file(&self) -> Option<&Arc<std::fs::File>> {
        let system = || self.world.lock().inodes[self.inode].system();
        self.system.get_or_init(system).as_ref()
    }
}
