//! The operating system's files.

use std::fs::{self, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut, Write};
use std::num::NonZero;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FallocateFlags, FlockOperation, OFlags};
use rustix::io::{Errno, ReadWriteFlags};

use super::{Advice, File, Lock, Mapped, Open, Storage};

/// The file systems of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Storage for Disk {
    fn open(&self, path: &Path, mode: Open) -> io::Result<Arc<dyn File>> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(OFlags::NOFOLLOW.bits() as i32);
        match mode {
            Open::Read => &mut options,
            Open::Write => options.write(true),
            Open::Create => options.write(true).create_new(true),
            Open::Replace => options.write(true).create(true).truncate(true),
        };
        let file = options.open(path)?;
        Ok(Arc::new(DiskFile {
            file: Arc::new(file),
            nowait: AtomicBool::new(true),
        }))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        if folder.is_dir() {
            return Ok(());
        }
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        self.create_folder(parent)?;
        match fs::create_dir(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists || !folder.is_dir() => Err(error),
            _ => self.sync_folder(parent),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_folder(&self, folder: &Path) -> io::Result<()> {
        fs::remove_dir(folder)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        fs::File::open(folder)?.sync_all()
    }

    fn lock(&self, path: &Path, note: &[u8]) -> io::Result<Lock> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.custom_flags(OFlags::NOFOLLOW.bits() as i32).open(path)?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        // A full file system has no room for the note, and the lock is held without it.
        let _ = file.set_len(0).and_then(|()| file.write_all(note));
        Ok(Box::new(file))
    }
}

#[derive(Debug)]
struct DiskFile {
    file: Arc<fs::File>,
    /// True while the file system is known to support reads without waiting.
    nowait: AtomicBool,
}

impl File for DiskFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        retry(|| self.file.read_at(buffer, position))
    }

    fn read_resident_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        if !self.nowait.load(Ordering::Relaxed) {
            return self.read_at(buffer, position);
        }
        let mut parts = [IoSliceMut::new(buffer)];
        match rustix::io::preadv2(&self.file, &mut parts, position, ReadWriteFlags::NOWAIT) {
            Ok(count) => Ok(count),
            // The kernel had to look further, for example at a page that is being read.
            Err(Errno::AGAIN | Errno::INTR) => Err(io::ErrorKind::WouldBlock.into()),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
                self.nowait.store(false, Ordering::Relaxed);
                self.read_at(buffer, position)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn write_at(&self, parts: &[IoSlice<'_>], position: u64) -> io::Result<usize> {
        retry(|| Ok(rustix::io::pwritev(&self.file, parts, position)?))
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        retry(|| self.file.set_len(length))
    }

    fn allocate(&self, position: u64, length: u64) -> io::Result<()> {
        retry(|| {
            Ok(rustix::fs::fallocate(
                &self.file,
                FallocateFlags::KEEP_SIZE,
                position,
                length,
            )?)
        })
    }

    fn sync(&self) -> io::Result<()> {
        retry(|| self.file.sync_data())
    }

    fn map(&self, position: u64, length: usize) -> io::Result<Mapped> {
        Mapped::of_file(&self.file, position, length)
    }

    fn advise(&self, position: u64, length: u64, advice: Advice) {
        let advice = match advice {
            Advice::WillNeed => rustix::fs::Advice::WillNeed,
            Advice::DontNeed => rustix::fs::Advice::DontNeed,
        };
        // It is a hint, so errors do not matter.
        let _ = rustix::fs::fadvise(&self.file, position, NonZero::new(length), advice);
    }

    fn system_file(&self) -> Option<&Arc<fs::File>> {
        Some(&self.file)
    }
}

/// Repeats a call that a signal interrupted.
fn retry<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
