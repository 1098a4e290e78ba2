//! `stats detail`: how often keys with the same beginning are used.
//!
//! **Invariant:** the table is bounded; what comes when it is full is counted under `PREFIX_OTHERS`.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use format::{append, c};

/// A key's beginning ends here.
const DELIMITER: u8 = b':';
/// Different beginnings that are told apart.
pub(crate) const PREFIXES_MAX: usize = 4096;
/// The name for all further ones.
const PREFIX_OTHERS: &[u8] = b"(others)";

#[derive(Clone, Copy, Debug, Default)]
struct Uses {
    gets: u64,
    hits: u64,
    sets: u64,
    deletes: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Detail {
    on: AtomicBool,
    prefixes: Mutex<BTreeMap<Box<[u8]>, Uses>>,
}

impl Detail {
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    pub(crate) fn switch(&self, on: bool) {
        self.on.store(on, Ordering::Relaxed);
    }

    pub(crate) fn get(&self, key: &[u8], hit: bool) {
        self.count(key, |uses| {
            uses.gets += 1;
            uses.hits += u64::from(hit);
        });
    }

    pub(crate) fn set(&self, key: &[u8]) {
        self.count(key, |uses| uses.sets += 1);
    }

    pub(crate) fn delete(&self, key: &[u8]) {
        self.count(key, |uses| uses.deletes += 1);
    }

    pub(crate) fn clear(&self) {
        self.prefixes
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .clear();
    }

    /// Appends a `PREFIX` line for each beginning, and `END`.
    pub(crate) fn dump(&self, out: &mut Vec<u8>) {
        let prefixes = self
            .prefixes
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        for (prefix, uses) in prefixes.iter() {
            c!(out, "PREFIX %s", prefix);
            let Uses {
                gets,
                hits,
                sets,
                deletes,
            } = uses;
            append!(out, " get {gets} hit {hits} set {sets} del {deletes}\r\n");
        }
        out.extend_from_slice(b"END\r\n");
    }

    fn count(&self, key: &[u8], change: impl FnOnce(&mut Uses)) {
        let Some(at) = key.iter().position(|&byte| byte == DELIMITER) else {
            return;
        };
        let mut prefixes = self
            .prefixes
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(uses) = prefixes.get_mut(&key[..at]) {
            return change(uses);
        }
        let name = if prefixes.len() < PREFIXES_MAX {
            &key[..at]
        } else {
            PREFIX_OTHERS
        };
        change(prefixes.entry(name.into()).or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_are_counted_by_beginning() {
        let detail = Detail::default();
        detail.get(b"a:1", true);
        detail.get(b"a:2", false);
        detail.set(b"b:1");
        detail.delete(b"b:1");
        detail.set(b"none");
        let mut out = Vec::new();
        detail.dump(&mut out);
        assert_eq!(
            out,
            b"PREFIX a get 2 hit 1 set 0 del 0\r\nPREFIX b get 0 hit 0 set 1 del 1\r\nEND\r\n"
        );
    }

    #[test]
    fn the_table_is_bounded() {
        let detail = Detail::default();
        (0..PREFIXES_MAX + 10).for_each(|n| detail.set(format!("{n}:x").as_bytes()));
        let mut out = Vec::new();
        detail.dump(&mut out);
        assert!(String::from_utf8_lossy(&out).contains("PREFIX (others) get 0 hit 0 set 10 del 0\r\n"));
    }
}
