//! Files and folders as the log uses them: one trait, with the operating system behind it, or a simulation for tests.
//!
//! ```text
//!   log ──> Storage, File ──> Disk        the operating system
//!                        └──> Simulated   memory that fails, shortens, reorders or forgets what was not synced
//! ```
//!
//! Everything above takes its files from a [`Storage`], so whatever can happen to a file can be made to happen in a test.
//!
//! **Invariant:** no other module of this crate makes a system call on a file.

mod disk;
mod map;
mod simulated;
mod window;

use std::fmt::Debug;
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use disk::Disk;
pub use map::Mapped;
pub use simulated::{Loss, Simulated};
pub use window::{Pages, Window};

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// An existing file, for reading.
    Read,
    /// An existing file, for reading and writing.
    Write,
    /// A new file; it is an error if the name exists.
    Create,
    /// A new file, or an existing one emptied.
    Replace,
}

/// Hints about the future use of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// The range will be read soon.
    WillNeed,
    /// The range will not be read again soon: its clean pages may leave the page cache.
    DontNeed,
}

/// A lock on a folder, held until it is dropped.
pub type Lock = Box<dyn Debug + Send + Sync>;

/// Names and folders.
pub trait Storage: Debug + Send + Sync {
    /// Opens a file. Symbolic links are not followed.
    ///
    /// # Errors
    /// Those of the system.
    fn open(&self, path: &Path, mode: Open) -> io::Result<Arc<dyn File>>;

    /// The names in a folder, in no order. Names that are not UTF-8 are left out: the log creates none.
    ///
    /// # Errors
    /// Those of the system.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;

    /// Creates a folder and its parents, and makes their names durable.
    ///
    /// # Errors
    /// Those of the system.
    fn create_folder(&self, folder: &Path) -> io::Result<()>;

    /// Renames a file, replacing an existing one in one step.
    ///
    /// # Errors
    /// Those of the system.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file. Those who have it open may go on using it.
    ///
    /// # Errors
    /// Those of the system.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty folder.
    ///
    /// # Errors
    /// Those of the system.
    fn remove_folder(&self, folder: &Path) -> io::Result<()>;

    /// Makes the names in a folder durable: new, renamed and removed ones.
    ///
    /// # Errors
    /// Those of the system. It is unknown then which names are durable.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// Takes an exclusive lock on a file, creates it if need be, and writes `note` into it.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if the lock is held elsewhere; otherwise those of the system.
    fn lock(&self, path: &Path, note: &[u8]) -> io::Result<Lock>;
}

/// An open file. All methods may be called from several threads at once.
pub trait File: Debug + Send + Sync {
    /// The length in bytes.
    ///
    /// # Errors
    /// Those of the system.
    fn length(&self) -> io::Result<u64>;

    /// Reads at a position and returns the number of bytes, which is less than the buffer's length only at the file's end or
    /// by chance. This may wait for the device.
    ///
    /// # Errors
    /// Those of the system.
    fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize>;

    /// The same, but only of what is in the page cache.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if the first byte is not in the page cache; otherwise those of the system.
    fn read_resident_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize>;

    /// Writes at a position and returns the number of bytes, which may be less than given.
    ///
    /// # Errors
    /// Those of the system.
    fn write_at(&self, parts: &[IoSlice<'_>], position: u64) -> io::Result<usize>;

    /// Cuts or extends the file, and frees what was allocated beyond the new end.
    ///
    /// # Errors
    /// Those of the system.
    fn set_length(&self, length: u64) -> io::Result<()>;

    /// Allocates space for a range beyond the end without changing the length.
    ///
    /// # Errors
    /// Those of the system; some file systems cannot do it.
    fn allocate(&self, position: u64, length: u64) -> io::Result<()>;

    /// Makes all bytes written so far durable, and the length.
    ///
    /// # Errors
    /// Those of the system. It is unknown then which bytes are durable, and a second call may succeed though bytes were lost.
    fn sync(&self) -> io::Result<()>;

    /// Maps a range into memory, for reading.
    ///
    /// # Errors
    /// Those of the system.
    fn map(&self, position: u64, length: usize) -> io::Result<Mapped>;

    /// Maps the file's beginning for writing, beyond its end if need be; `None` where that is not safe.
    ///
    /// # Errors
    /// Those of the system.
    fn window(&self, length: u64) -> io::Result<Option<Window>> {
        match self.system_file() {
            Some(file) => Window::of_file(file, length),
            None => Ok(None),
        }
    }

    /// Tells the system what will be read.
    fn advise(&self, position: u64, length: u64, advice: Advice);

    /// The operating system's file, for `sendfile`; a simulation has none.
    fn system_file(&self) -> Option<&Arc<std::fs::File>>;
}

/// Reads until the buffer is full or the file ends, and returns the number of bytes.
///
/// # Errors
/// Those of the system.
pub fn read_full(file: &dyn File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], position + done as u64)? {
            0 => break,
            count => done += count,
        }
    }
    Ok(done)
}

/// Writes all parts, whatever the system takes at a time.
///
/// # Errors
/// The first error; bytes of the parts may have been written by then.
pub fn write_full(file: &dyn File, mut parts: &mut [IoSlice<'_>], mut position: u64) -> io::Result<()> {
    IoSlice::advance_slices(&mut parts, 0);
    while !parts.is_empty() {
        let most = parts.len().min(PARTS_MAX);
        match file.write_at(&parts[..most], position)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => {
                position += count as u64;
                IoSlice::advance_slices(&mut parts, count);
            }
        }
    }
    Ok(())
}

/// The most parts that one system call takes.
const PARTS_MAX: usize = 1024;

/// The whole content of a small file.
///
/// # Errors
/// Those of the system, and [`io::ErrorKind::InvalidData`] for a file of more than `bytes_max`.
pub fn read_whole(storage: &dyn Storage, path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let file = storage.open(path, Open::Read)?;
    let length = file.length()?;
    if length > bytes_max {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("the file has {length} bytes; at most {bytes_max} make sense"),
        ));
    }
    let mut bytes = vec![0; length as usize];
    let count = read_full(&*file, &mut bytes, 0)?;
    bytes.truncate(count);
    Ok(bytes)
}

/// Replaces a file's content in one step: after a crash it has the old content or the new one. The caller syncs the folder.
///
/// # Errors
/// Those of the system.
pub fn write_whole(storage: &dyn Storage, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = temporary(path);
    let file = storage.open(&temporary, Open::Replace)?;
    write_full(&*file, &mut [IoSlice::new(bytes)], 0)?;
    file.sync()?;
    drop(file);
    storage.rename(&temporary, path)
}

/// The name under which a file is written before it gets its own. Opening a log removes such files.
pub fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(TEMPORARY_SUFFIX);
    name.into()
}

pub(crate) const TEMPORARY_SUFFIX: &str = ".new";
