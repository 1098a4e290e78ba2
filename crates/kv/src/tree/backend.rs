//! The library's file, on the storage that the log uses: so tests can make it fail, or forget what was not synced.

use std::io::{self, ErrorKind, IoSlice};
use std::path::Path;
use std::sync::Arc;

use log::storage::{File, Open, Storage};

/// One file.
#[derive(Debug)]
pub(super) struct Backend {
    file: Arc<dyn File>,
}

impl Backend {
    /// Opens a file, or creates it.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn open(storage: &dyn Storage, path: &Path) -> io::Result<Backend> {
        let file = match storage.open(path, Open::Write) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let file = storage.open(path, Open::Create)?;
                if let Some(folder) = path.parent() {
                    storage.sync_folder(folder)?;
                }
                file
            }
            opened => opened?,
        };
        Ok(Backend { file })
    }
}

impl redb::StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while done < out.len() {
            match self.file.read_at(&mut out[done..], offset + done as u64)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                count => done += count,
            }
        }
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.file.set_length(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut done = 0;
        while done < data.len() {
            match self
                .file
                .write_at(&[IoSlice::new(&data[done..])], offset + done as u64)?
            {
                0 => return Err(ErrorKind::WriteZero.into()),
                count => done += count,
            }
        }
        Ok(())
    }
}
