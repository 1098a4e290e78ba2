//! The content of one simulated file: as programs see it, as the device has it, and the changes between the two.

use std::fs;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rustix::fs::MemfdFlags;

/// The unit that a device writes wholly or not at all.
const SECTOR: usize = 512;

/// A file without its names.
#[derive(Debug, Default)]
pub(super) struct Inode {
    /// The content as programs see it. Writes through mappings are in it after [`absorb`](Inode::absorb).
    bytes: Vec<u8>,
    durable: Vec<u8>,
    /// Changes that a sync has to write, oldest first.
    changes: Vec<Change>,
    /// The end of the allocated space, if it is beyond the content.
    allocated: usize,
    /// True until a read brings the content into the page cache.
    pub(super) cold: bool,
    /// A file of the operating system with the same content, for code that maps it.
    system: Option<Arc<fs::File>>,
}

#[derive(Clone, Debug)]
pub(super) enum Change {
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
        let Change::Write(at, new) = self else {
            return vec![self.clone()];
        };
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

impl Inode {
    /// A file whose content is durable.
    pub(super) fn durable(bytes: Vec<u8>) -> Inode {
        Inode {
            durable: bytes.clone(),
            bytes,
            ..Inode::default()
        }
    }

    pub(super) fn length(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes that the file takes on the device.
    pub(super) fn used(&self) -> usize {
        self.bytes.len().max(self.allocated)
    }

    pub(super) fn bytes(&mut self) -> &[u8] {
        self.absorb();
        &self.bytes
    }

    pub(super) fn change(&mut self, change: Change) {
        self.absorb();
        change.apply(&mut self.bytes);
        if let Some(system) = &self.system {
            write_through(system, &change);
        }
        if let Change::Length(length) = change {
            self.allocated = self.allocated.min(length);
        }
        self.changes.push(change);
    }

    pub(super) fn allocate(&mut self, end: usize) {
        self.allocated = self.allocated.max(end);
    }

    /// Replaces the content durably, also for those who have the file mapped.
    pub(super) fn replace(&mut self, bytes: Vec<u8>) {
        let system = self.system.take();
        *self = Inode::durable(bytes);
        if let Some(system) = system {
            self.system = Some(system);
            self.show();
        }
    }

    /// Moves all changes to the device.
    pub(super) fn sync(&mut self) {
        self.absorb();
        for change in self.changes.drain(..) {
            change.apply(&mut self.durable);
        }
    }

    /// What Linux does when a device refuses a write: programs still see the changes, and no later sync writes them.
    pub(super) fn fail_sync(&mut self) {
        self.absorb();
        self.changes.clear();
    }

    /// Removes clean pages from the page cache: what a failed sync has lost is gone for programs, too.
    pub(super) fn drop_clean(&mut self) {
        self.absorb();
        let mut bytes = self.durable.clone();
        self.changes.iter().for_each(|change| change.apply(&mut bytes));
        if bytes != self.bytes {
            self.bytes = bytes;
            self.show();
        }
    }

    /// The file as the next process finds it if the machine goes on.
    pub(super) fn after_kill(&mut self) -> Inode {
        self.absorb();
        Inode {
            bytes: self.bytes.clone(),
            durable: self.durable.clone(),
            changes: self.changes.clone(),
            allocated: self.allocated,
            cold: false,
            system: None,
        }
    }

    /// The file after a power cut. Of the changes, the device has the sectors for which `survives` is true.
    pub(super) fn after_power_cut(&mut self, mut survives: impl FnMut() -> bool) -> Inode {
        self.absorb();
        let mut bytes = self.durable.clone();
        for change in self.changes.iter().flat_map(Change::sectors) {
            if survives() {
                change.apply(&mut bytes);
            }
        }
        Inode::durable(bytes)
    }

    /// The operating system's file with this content.
    pub(super) fn system(&mut self) -> Option<Arc<fs::File>> {
        if self.system.is_none() {
            let file = rustix::fs::memfd_create("simulated", MemfdFlags::CLOEXEC).ok()?;
            self.system = Some(Arc::new(file.into()));
            self.show();
        }
        self.system.clone()
    }

    /// Gives the operating system's file the present content.
    fn show(&mut self) {
        if let Some(system) = &self.system {
            write_through(system, &Change::Length(self.bytes.len()));
            write_through(system, &Change::Write(0, self.bytes.clone()));
        }
    }

    /// Finds what was written through mappings, sector by sector.
    fn absorb(&mut self) {
        let Some(system) = &self.system else { return };
        let mut seen = vec![0; self.bytes.len()];
        system
            .read_exact_at(&mut seen, 0)
            .expect("the file is in memory and has this length");
        if seen == self.bytes {
            return;
        }
        let sectors = seen.chunks(SECTOR).zip(self.bytes.chunks(SECTOR));
        for (number, (new, _)) in sectors.enumerate().filter(|(_, (new, old))| new != old) {
            self.changes.push(Change::Write(number * SECTOR, new.to_vec()));
        }
        self.bytes = seen;
    }
}

fn write_through(system: &fs::File, change: &Change) {
    let result = match change {
        Change::Length(length) => system.set_len(*length as u64),
        Change::Write(at, new) => system.write_all_at(new, *at as u64),
    };
    result.expect("memory takes it");
}
