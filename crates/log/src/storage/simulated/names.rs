//! The names of simulated files: as programs see them, and as the device has them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Names and the changes of them that are not durable.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// As programs see them.
    now: BTreeMap<PathBuf, usize>,
    durable: BTreeMap<PathBuf, usize>,
    changes: Vec<Renaming>,
}

#[derive(Clone, Debug)]
pub(super) enum Renaming {
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

impl Names {
    pub(super) fn get(&self, path: &Path) -> Option<usize> {
        self.now.get(path).copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&PathBuf, usize)> {
        self.now.iter().map(|(path, &inode)| (path, inode))
    }

    pub(super) fn change(&mut self, change: Renaming) {
        change.apply(&mut self.now);
        self.changes.push(change);
    }

    /// Adds a name that is durable at once.
    pub(super) fn add_durably(&mut self, path: &Path, inode: usize) {
        self.now.insert(path.to_owned(), inode);
        self.durable.insert(path.to_owned(), inode);
    }

    /// Makes the names of a folder durable.
    pub(super) fn sync(&mut self, folder: &Path) {
        let (inside, others) = std::mem::take(&mut self.changes)
            .into_iter()
            .partition::<Vec<_>, _>(|change| change.is_in(folder));
        self.changes = others;
        for change in inside {
            change.apply(&mut self.durable);
        }
    }

    /// The names after a power cut. Of the changes, the device has those for which `survives` is true.
    pub(super) fn after_power_cut(&self, mut survives: impl FnMut() -> bool) -> Names {
        let mut names = self.durable.clone();
        for change in self.changes.iter().filter(|_| survives()) {
            change.apply(&mut names);
        }
        Names {
            now: names.clone(),
            durable: names,
            changes: Vec::new(),
        }
    }
}
