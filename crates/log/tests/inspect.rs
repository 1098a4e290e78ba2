//! Verifying and repairing logs that are not open.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::*;
use log::inspect::{Piece, pieces, verify, verify_segment};
use log::storage::{Loss, Simulated, Storage};
use log::{Error, Options};

/// A closed log of three segments with a record of each number.
fn example() -> Simulated {
    let storage = Simulated::new();
    let (log, _) = open(&storage, small());
    append_numbers(&log, 0..28);
    assert_eq!(log.segments().len(), 3);
    log.close().unwrap();
    storage.power_cut(Loss::None)
}

fn faults(storage: &Simulated) -> Vec<String> {
    let found = verify(storage, folder()).unwrap();
    let text = |fault: &log::inspect::Finding| {
        format!("{}:{}: {}", fault.path.display(), fault.position, fault.what)
    };
    found.faults.iter().map(text).collect()
}

fn repair(storage: &Simulated) -> Vec<log::Repaired> {
    let storage: Arc<dyn Storage> = Arc::new(storage.clone());
    log::repair(&storage, folder()).unwrap()
}

#[test]
fn a_whole_log_has_no_faults() {
    let storage = example();
    let found = verify(&storage, folder()).unwrap();
    assert_eq!((found.batches, found.records, found.in_use), (28, 28, false));
    assert_eq!(faults(&storage), Vec::<String>::new());
    assert!(repair(&storage).is_empty());
    let mut positions = Vec::new();
    pieces(
        &storage,
        &folder().join("00000000000000000000.log"),
        |piece| match piece {
            Piece::Batch { position, header } => positions.push((position, header.base_offset)),
            Piece::Damage { .. } => panic!("{piece:?}"),
        },
    )
    .unwrap();
    assert_eq!((positions[0], positions[1].1), ((0, 0), 1));
}

#[test]
fn a_log_in_use_is_verified_without_its_half_written_end() {
    let storage = Simulated::new();
    let (log, _) = open(&storage, Options::default());
    append_numbers(&log, 0..3);
    let path = log.segments()[0].path().to_owned();
    let mut bytes = storage.files()[&path].clone();
    bytes.extend([1; 30]);
    storage.put(&path, bytes);
    let found = verify(&storage, folder()).unwrap();
    assert!(found.in_use && found.faults.is_empty(), "{found:?}");
    drop(log);
    assert_eq!(faults(&storage).len(), 1);
    let (_log, _) = open(&storage, Options::default());
    let shared: Arc<dyn Storage> = Arc::new(storage.clone());
    storage.put(Path::new("/log/checkpoint"), b"damaged".to_vec());
    assert!(matches!(
        log::repair(&shared, folder()).unwrap_err(),
        Error::Locked { .. }
    ));
}

#[test]
fn only_what_is_damaged_is_cut_out() {
    let storage = example();
    let path = folder().join("00000000000000000000.log");
    let old = storage.files()[&path].clone();
    let mut bytes = old.clone();
    // In the records of the second batch.
    bytes[old.len() / 10 + 70] ^= 4;
    storage.put(&path, bytes.clone());
    let found = faults(&storage);
    assert!(
        found.len() == 1 && found[0].contains("00000000000000000000.log:"),
        "{found:?}"
    );
    assert!(found[0].contains("CRC-32C"), "{found:?}");
    let repaired = repair(&storage);
    assert!(repaired[0].bytes > 0 && repaired[0].bytes < 120, "{repaired:?}");
    assert!(repaired[1].what.contains("are lost"), "{repaired:?}");
    let kept = repaired[0].kept.as_ref().unwrap();
    assert_eq!(storage.files()[kept], bytes);
    assert_eq!(faults(&storage), Vec::<String>::new());
    let (log, recovery) = open(&storage, small());
    assert!(
        recovery.damage.is_empty() && recovery.cuts.is_empty() && recovery.missing.is_empty(),
        "{recovery:?}"
    );
    assert_eq!((all(&log).len(), log.end()), (27, 28));
    assert_eq!(log.segments()[0].generation(), 1);
}

#[test]
fn everything_that_can_be_damaged_is_found_and_repaired() {
    let whole = example();
    let mut repairs = 0;
    for (path, bytes) in whole.files() {
        if path.ends_with("LOCK") {
            continue;
        }
        for at in (0..bytes.len()).step_by(7) {
            let storage = whole.power_cut(Loss::None);
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x10;
            storage.put(&path, flipped);
            let story = format!("{} at {at}", path.display());
            // The leader epoch means nothing here.
            if faults(&storage).is_empty() {
                let known = records_of(&storage);
                assert_eq!(known, records_of(&whole), "{story}");
                continue;
            }
            repair(&storage);
            repairs += 1;
            assert_eq!(faults(&storage), Vec::<String>::new(), "{story}");
            let (found, known) = (records_of(&storage), records_of(&whole));
            assert!(found.iter().all(|record| known.contains(record)), "{story}");
            assert!(found.len() + 1 >= known.len(), "{story}: {} records", found.len());
        }
    }
    assert!(repairs > 300, "{repairs}");
}

fn records_of(storage: &Simulated) -> Vec<(u64, Plain)> {
    let (log, recovery) = open(&storage.power_cut(Loss::None), small());
    assert!(
        recovery.missing.is_empty() && recovery.damage.is_empty(),
        "{recovery:?}"
    );
    all(&log)
}

#[test]
fn a_missing_segment_is_found_and_its_offsets_stay_empty() {
    for missing in 0..3 {
        let storage = example();
        let paths: Vec<PathBuf> = storage
            .files()
            .into_keys()
            .filter(|path| path.extension().is_some_and(|it| it == "log"))
            .collect();
        Storage::remove(&storage, &paths[missing]).unwrap();
        let found = faults(&storage);
        assert_eq!(found.len(), 1, "{found:?}");
        repair(&storage);
        assert_eq!(faults(&storage), Vec::<String>::new());
        let (log, recovery) = open(&storage, small());
        assert!(recovery.missing.is_empty(), "{recovery:?}");
        assert_eq!(log.end(), 28);
        assert!(all(&log).len() >= 8);
    }
}

#[test]
fn a_segment_alone_can_be_verified() {
    let storage = example();
    let path = folder().join("00000000000000000000.log");
    let bytes = storage.files()[&path].clone();
    let elsewhere = Path::new("/copy/of-a-segment.log");
    storage.put(elsewhere, bytes[..bytes.len() - 1].to_vec());
    let found = verify_segment(&storage, elsewhere).unwrap();
    assert_eq!(found.faults.len(), 1, "{found:?}");
    assert!(found.batches > 5);
}

/// The checksum does not cover the base offset. One that is greater than all offsets of a segment was once taken for a gap, which
/// the repair filled with four billion empty batches.
#[test]
fn an_impossible_offset_is_damage() {
    let storage = example();
    let path = folder().join("00000000000000000000.log");
    let mut bytes = storage.files()[&path].clone();
    let one = u32::from_be_bytes(bytes[8..12].try_into().unwrap());
    let second = one as usize + 12;
    assert_eq!(bytes[second..second + 8], 1u64.to_be_bytes());
    bytes[second + 1] ^= 1;
    storage.put(&path, bytes);
    assert_eq!(faults(&storage).len(), 1);
    repair(&storage);
    assert_eq!(faults(&storage), Vec::<String>::new());
    assert_eq!(records_of(&storage).len(), 27);
}
