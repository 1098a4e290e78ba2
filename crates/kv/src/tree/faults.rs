//! The engine on a storage that is full, stops, forgets what was not synced, or changes bits.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use log::storage::{Loss, Simulated};

use super::tests::{NOW, get, set, small, update};
use super::*;
use crate::New;

fn open(storage: &Simulated, settings: Settings) -> Result<Tree, Error> {
    let storage: Arc<dyn Storage> = Arc::new(storage.clone());
    Tree::open_in(&storage, Path::new("/store"), settings).map(|(tree, _)| tree)
}

fn unsynced() -> Settings {
    Settings {
        sync: Sync::None,
        ..small()
    }
}

/// Makes everything durable that was written so far.
fn sync(tree: &Tree) -> bool {
    tree.shared.durability.round(&tree.shared.journal).is_ok()
}

/// The possible values of a key after a failure: the last durable value and all later ones.
type Possible = BTreeMap<Vec<u8>, Vec<Option<Vec<u8>>>>;

/// Writes, merges and syncs, as long as the storage works.
fn work(tree: &Tree, possible: &mut Possible) {
    for number in 0..120_u32 {
        let key = (number * 7 % 40).to_be_bytes();
        let value = (number % 9 != 0).then(|| number.to_be_bytes().repeat(1 + number as usize % 50));
        let decision = |value: &Option<Vec<u8>>| match value {
            Some(value) => update(tree, &key, Decision::Put(New::new(&[value]))),
            None => update(tree, &key, Decision::Remove),
        };
        let written = decision(&value);
        // A write that fails may have left bytes which are read after the failure.
        possible
            .entry(key.to_vec())
            .or_insert_with(|| vec![None])
            .push(value);
        if written.is_err() {
            return;
        }
        if number % 30 == 29 && merge::merge(&tree.shared, true).is_err() {
            return;
        }
        if number % 10 == 9 {
            if !sync(tree) {
                return;
            }
            possible
                .values_mut()
                .for_each(|values| drop(values.drain(..values.len() - 1)));
        }
    }
}

#[test]
fn what_was_synced_survives_a_power_cut_at_any_point() {
    let whole = Simulated::new();
    let tree = open(&whole, unsynced()).unwrap();
    let begin = whole.operations();
    work(&tree, &mut Possible::new());
    let end = whole.operations();
    drop(tree);
    assert!(end - begin > 100, "{begin} to {end}");
    for (round, stop) in (begin..end).step_by(5).enumerate() {
        let storage = Simulated::new();
        let tree = open(&storage, unsynced()).unwrap();
        storage.stop_at(stop);
        let mut possible = Possible::new();
        work(&tree, &mut possible);
        let seed = round as u64;
        let after = storage.power_cut([Loss::All, Loss::Some { seed }, Loss::None][round % 3]);
        drop(tree);
        for _ in 0..2 {
            let tree = open(&after, unsynced()).unwrap_or_else(|error| panic!("at {stop}: {error}"));
            for (key, values) in &possible {
                let found = get(&tree, key, NOW).unwrap();
                assert!(
                    values.contains(&found),
                    "at {stop}: {key:?} is {found:?} and not of {values:?}"
                );
            }
            // The second time from the pages.
            merge::merge(&tree.shared, true).unwrap();
        }
    }
}

#[test]
fn a_full_device_refuses_writes_and_is_read() {
    let storage = Simulated::new();
    let settings = Settings {
        merge_bytes: 64 << 10,
        ..small()
    };
    let tree = open(&storage, settings).unwrap();
    let used = |storage: &Simulated| storage.files().values().map(Vec::len).sum::<usize>();
    for number in 0..500_u32 {
        set(&tree, &number.to_be_bytes(), &[b'v'; 200]);
    }
    storage.set_capacity(Some(used(&storage) + 200_000));
    let mut refused = 0;
    let mut stored = 500_u32;
    for number in 500..20_000_u32 {
        match update(
            &tree,
            &number.to_be_bytes(),
            Decision::Put(New::new(&[&[b'v'; 200]])),
        ) {
            Ok(_) if refused == 0 => stored = number + 1,
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error, StoreError::Full);
                refused += 1;
                if refused > 20 {
                    break;
                }
            }
        }
    }
    assert!(refused > 20, "{stored} items fit");
    let check = |tree: &Tree| {
        for number in (0..stored).step_by(13) {
            let value = get(tree, &number.to_be_bytes(), NOW).unwrap();
            assert!(
                value.is_some_and(|value| value == [b'v'; 200]),
                "{number} of {stored}"
            );
        }
    };
    check(&tree);
    drop(tree);
    storage.set_capacity(Some(used(&storage)));
    let tree = open(&storage, settings).unwrap();
    check(&tree);
    let refused = update(&tree, b"k", Decision::Put(New::new(&[b"v"])));
    assert_eq!(refused, Err(StoreError::Full));
    storage.set_capacity(None);
    // The merging thread finds that there is room.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while update(&tree, b"k", Decision::Put(New::new(&[b"v"]))).is_err() {
        assert!(std::time::Instant::now() < until);
        std::thread::yield_now();
    }
    check(&tree);
    tree.close().unwrap();
}

/// Changed bits are found by a checksum, by the bounds of a page, or by the library. None gives a wrong value, or a miss.
#[test]
fn changed_bits_are_errors_and_never_wrong_values() {
    let storage = Simulated::new();
    let tree = open(&storage, small()).unwrap();
    for number in 0..400_u32 {
        set(&tree, &number.to_be_bytes(), &number.to_be_bytes().repeat(40));
    }
    tree.close().unwrap();
    drop(tree);
    let mut whole = 0;
    let mut found = 0;
    for (path, bytes) in storage.files() {
        if path.ends_with("LOCK") {
            continue;
        }
        for at in (0..bytes.len()).step_by(1 + bytes.len() / 60) {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            let copy = storage.power_cut(Loss::None);
            copy.put(&path, changed);
            let Ok(tree) = open(&copy, small()) else {
                found += 1;
                continue;
            };
            let mut faults = 0;
            for number in 0..400_u32 {
                match get(&tree, &number.to_be_bytes(), NOW) {
                    Ok(Some(value)) => assert_eq!(value, number.to_be_bytes().repeat(40)),
                    Ok(None) => panic!("{}:{at}: {number} is missing", path.display()),
                    Err(_) => faults += 1,
                }
            }
            *(if faults > 0 { &mut found } else { &mut whole }) += 1;
        }
    }
    assert!(
        found > 10 && whole > 10,
        "{found} changes were found, {whole} are of no consequence"
    );
}
