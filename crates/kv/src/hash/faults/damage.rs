//! Stores with flipped bits, and with files that were cut, removed or replaced: reads give a clear error or the right value.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use log::storage::{Loss, Simulated, Storage};

use super::{Settings, tell};
use crate::hash::Hash;
use crate::hash::recovery::SEQUENTIAL;
use crate::hash::tests::{compact, set, try_get, update};
use crate::{Decision, Engine, Notice, Now, StoreError};

const NOW: Now = Now(1_700_000_000);
const KEYS: u32 = 14;

/// The values that a key has had, the present one last; `None` is a deletion.
type Histories = BTreeMap<Vec<u8>, Vec<Option<Vec<u8>>>>;

fn settings() -> Settings {
    Settings {
        partitions: Some(2),
        segment_bytes: 1000,
        preallocate: false,
        compact: false,
        compaction_percent: 100,
        ..Settings::default()
    }
}

fn open(storage: &Simulated) -> Result<(Hash, Vec<Notice>), crate::Error> {
    SEQUENTIAL.set(true);
    Hash::open_idle(Arc::new(storage.clone()), Path::new("/store"), settings())
}

/// A store with overwritten, deleted, flushed and compacted items, and with every kind of file.
fn example(close: bool) -> (Simulated, Histories) {
    let storage = Simulated::new();
    let (hash, _) = open(&storage).unwrap();
    let mut histories = Histories::new();
    let mut write = |number: u32, value: Option<Vec<u8>>| {
        let key = format!("key-{number}").into_bytes();
        match &value {
            Some(value) => drop(set(&hash, &key, value)),
            None => drop(update(&hash, &key, Decision::Remove, NOW).unwrap()),
        }
        histories.entry(key).or_default().push(value);
    };
    (0..4).for_each(|number| write(number, Some(b"flushed".to_vec())));
    let _ = hash.flush(None, NOW).unwrap();
    for round in 0..5_u8 {
        for number in 4..KEYS {
            write(number, Some(vec![b'a' + round; 300 + number as usize]));
        }
    }
    (4..7).for_each(|number| write(number, None));
    histories
        .iter_mut()
        .filter(|(_, history)| history.last() == Some(&Some(b"flushed".to_vec())))
        .for_each(|(_, history)| history.push(None));
    assert!(compact(&hash) > 0);
    hash.shared.journals.0[1].log().unwrap().checkpoint().unwrap();
    if close {
        hash.close().unwrap();
    }
    drop(hash);
    (storage.power_cut(Loss::None), histories)
}

/// Opens a damaged store and reads everything. Returns true if the damage was noticed.
fn read(storage: &Simulated, histories: &Histories) -> bool {
    let (hash, notices) = match open(storage) {
        Ok(opened) => opened,
        Err(error) => {
            let text = error.to_string();
            // A segment that is gone has no file to be named.
            let is_clear = text.contains("/store") || text.contains("are missing");
            assert!(is_clear, "the error names no file: {text}");
            return true;
        }
    };
    // Damage at the end of a log cannot be told from a write that was torn: it is cut, and records are lost with a notice.
    let is_lossy = notices
        .iter()
        .any(|notice| matches!(notice, Notice::Recovered { .. }));
    let mut noticed = is_lossy;
    for (key, history) in histories {
        match try_get(&hash, key, NOW) {
            Ok(value) if Some(&value) == history.last() => {}
            Ok(value) if is_lossy => {
                assert!(
                    value.is_none() || history.contains(&value),
                    "{}",
                    key.escape_ascii()
                );
            }
            Ok(value) => panic!("{} is {value:?}", key.escape_ascii()),
            Err(StoreError::Io(_) | StoreError::Damaged) => noticed = true,
            Err(error) => panic!("{error}"),
        }
    }
    noticed
}

/// Damages a copy of a store in one way, and reads it.
fn damage(whole: &Simulated, histories: &Histories, story: &str, change: impl FnOnce(&Simulated)) -> bool {
    tell(story, || {
        let storage = whole.power_cut(Loss::None);
        change(&storage);
        read(&storage, histories)
    })
}

/// Flips bits, one in each of every `step` bytes.
fn flip(close: bool, step: usize) {
    let (whole, histories) = example(close);
    assert!(!read(&whole.power_cut(Loss::None), &histories));
    let mut noticed = 0;
    for (path, bytes) in whole.files() {
        for at in (0..bytes.len()).step_by(step) {
            let bit = (at * 7 + at / 8) % 8;
            let story = format!("{} with bit {bit} of byte {at} flipped", path.display());
            noticed += u32::from(damage(&whole, &histories, &story, |storage| {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                storage.put(&path, flipped);
            }));
        }
    }
    assert!(noticed > 20, "only {noticed} flips were noticed");
}

/// Cuts files, one in `step` lengths; removes them; puts something else into their places.
fn cut(close: bool, step: usize) {
    let (whole, histories) = example(close);
    for (path, bytes) in whole.files() {
        for length in (0..bytes.len()).step_by(step) {
            let story = format!("{} cut at {length}", path.display());
            damage(&whole, &histories, &story, |storage| {
                storage.put(&path, bytes[..length].to_vec());
            });
        }
        let story = format!("{} removed", path.display());
        damage(&whole, &histories, &story, |storage| {
            storage.remove(&path).unwrap();
        });
        for text in [
            "",
            "another program's file\n",
            "hikyaku-store 7\n",
            "hikyaku-log 7\n",
        ] {
            let story = format!("{} replaced by {text:?}", path.display());
            damage(&whole, &histories, &story, |storage| {
                storage.put(&path, text.repeat(20).into_bytes());
            });
        }
    }
}

#[test]
fn a_flipped_bit_is_never_a_wrong_value() {
    flip(true, 11);
    flip(false, 29);
}

#[test]
fn a_cut_or_foreign_file_is_never_a_wrong_value() {
    cut(true, 37);
    cut(false, 97);
}

#[test]
#[ignore = "takes minutes"]
fn a_flip_or_a_cut_anywhere_is_never_a_wrong_value() {
    for close in [true, false] {
        flip(close, 1);
        cut(close, 1);
    }
}

#[test]
fn newer_versions_and_garbage_are_named() {
    let (whole, _) = example(true);
    let path = PathBuf::from("/store/store");
    let text = String::from_utf8(whole.files()[&path].clone()).unwrap();
    let cases = [
        (text.replacen(" 1\n", " 9\n", 1), "version 9"),
        ("garbage".to_owned(), "/store/store"),
        (text.replacen("partitions 2", "partitions 3", 1), "damaged"),
    ];
    for (text, expected) in cases {
        let storage = whole.power_cut(Loss::None);
        storage.put(&path, text.into_bytes());
        let error = open(&storage).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
