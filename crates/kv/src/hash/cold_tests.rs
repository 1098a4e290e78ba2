//! Reads that find nothing in the page cache, that fail, and that find changed bytes.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use log::storage::Simulated;

use super::tests::{Scratch, access, bytes_of, compact, fetching, get, set, small, try_get, update, wait};
use super::windows::WINDOW;
use super::*;
use crate::{Change, Edit, Expiry, New, Payload, Value};

const NOW: Now = Now(1_700_000_000);

fn one_log() -> Settings {
    Settings {
        partitions: Some(1),
        segment_bytes: 64 << 20,
        ..small()
    }
}

/// Forgets what is in the page cache, as if the kernel had evicted everything.
fn forget(hash: &Hash) {
    for (_, map) in hash.shared.maps.all() {
        map.forget(0..map.end().max(1));
    }
}

fn read_cold(hash: &Hash, key: &[u8], warm: Option<&Warm>) -> Result<Answer<Option<Vec<u8>>>, StoreError> {
    hash.read(&hash.key(key), access(NOW, Need::Value, warm), |entry| {
        entry.map(|entry| bytes_of(entry.value()))
    })
}

fn records_read(hash: &Hash) -> u64 {
    hash.shared.readers.records.load(Ordering::Relaxed)
}

fn segment(scratch: &Scratch) -> PathBuf {
    scratch.0.join("0/00000000000000000000.log")
}

#[test]
fn what_was_just_written_is_not_cold() {
    let scratch = Scratch::new();
    let hash = scratch.open(one_log());
    let large = vec![5; 300_000];
    for (key, value) in [(&b"a"[..], &b"1"[..]), (b"large", &large), (b"b", b"2")] {
        set(&hash, key, value);
        assert_eq!(
            read_cold(&hash, key, None),
            Ok(Answer::Ready(Some(value.to_vec())))
        );
    }
    assert_eq!(read_cold(&hash, b"none", None), Ok(Answer::Ready(None)));
    assert_eq!(records_read(&hash), 0);
}

#[test]
fn cold_reads_are_fetched_at_once_and_checked() {
    let scratch = Scratch::new();
    let hash = scratch.open(one_log());
    let key = |number: u32| format!("key-{number}").into_bytes();
    (0..200).for_each(|number| assert!(0 < set(&hash, &key(number), &number.to_be_bytes())));
    forget(&hash);
    let warm = Warm::new();
    for number in 0..200 {
        assert_eq!(read_cold(&hash, &key(number), Some(&warm)), Ok(Answer::Cold));
    }
    hash.want(&hash.key(b"not there"), Need::Value, &warm);
    assert_eq!(warm.wanted(), 200);
    let warm = wait(hash.fetch(warm));
    assert_eq!(records_read(&hash), 200);
    // Whatever the kernel evicts now, the calls are carried out.
    for number in 0..200_u32 {
        forget(&hash);
        let value = number.to_be_bytes().to_vec();
        let read = read_cold(&hash, &key(number), Some(&warm));
        assert_eq!(read, Ok(Answer::Ready(Some(value))));
    }
    assert_eq!(records_read(&hash), 200);
}

/// The fetch has the record's neighbours checked, too.
#[test]
fn the_neighbours_of_what_was_fetched_are_warm() {
    let scratch = Scratch::new();
    let hash = scratch.open(one_log());
    (0..100_u8).for_each(|number| assert!(0 < set(&hash, &[number], &[number; 400])));
    forget(&hash);
    assert_eq!(get(&hash, &[50], NOW), Some(vec![50; 400]));
    for number in 0..100 {
        let read = read_cold(&hash, &[number], None);
        assert_eq!(read, Ok(Answer::Ready(Some(vec![number; 400]))));
    }
    assert_eq!(records_read(&hash), 1);
}

#[test]
fn a_fetched_record_that_was_overwritten_is_not_used() {
    let scratch = Scratch::new();
    let hash = scratch.open(one_log());
    set(&hash, b"k", b"old");
    set(&hash, b"other", b"x");
    forget(&hash);
    let warm = Warm::new();
    for key in [&b"k"[..], b"other"] {
        assert_eq!(read_cold(&hash, key, Some(&warm)), Ok(Answer::Cold));
    }
    let warm = wait(hash.fetch(warm));
    set(&hash, b"k", b"new");
    assert_eq!(update(&hash, b"other", Decision::Remove, NOW), Ok((true, 0)));
    let read = read_cold(&hash, b"k", Some(&warm));
    assert_eq!(read, Ok(Answer::Ready(Some(b"new".to_vec()))));
    assert_eq!(read_cold(&hash, b"other", Some(&warm)), Ok(Answer::Ready(None)));
}

#[test]
fn every_kind_of_write_is_carried_out_on_cold_items() {
    let scratch = Scratch::new();
    let hash = scratch.open(one_log());
    for value in [vec![1; 10], vec![1; 100_000]] {
        let parts = [&b"+"[..]];
        let edit = Edit {
            value: Payload::Parts(&parts),
            cas: None,
        };
        let touch = Change {
            expiry: Some(Expiry::At(NOW.0 + 9)),
            ..Change::default()
        };
        for (decision, after) in [
            (Decision::Append(edit), [&value[..], b"+"].concat()),
            (Decision::Prepend(edit), [b"+", &value[..]].concat()),
            (Decision::Rewrite(edit), b"+".to_vec()),
            (Decision::Change(touch), value.clone()),
            (Decision::Keep, value.clone()),
        ] {
            for need in [Need::Nothing, Need::Facts, Need::Value] {
                set(&hash, b"k", &value);
                forget(&hash);
                let stored = fetching(&hash, |warm| {
                    hash.update(&hash.key(b"k"), access(NOW, need, warm), |entry| {
                        assert!(entry.is_none_or(|entry| entry.len() == value.len() as u64));
                        (decision, ())
                    })
                });
                assert_ne!(stored.unwrap().cas, 0);
                forget(&hash);
                assert_eq!(get(&hash, b"k", NOW), Some(after.clone()), "{decision:?}");
            }
        }
    }
}

#[test]
fn scans_fetch_what_is_cold() {
    let scratch = Scratch::new();
    let hash = scratch.open(one_log());
    (0..3000_u32).for_each(|number| assert!(0 < set(&hash, &number.to_be_bytes(), &[7; 40])));
    for need in [Need::Facts, Need::Value] {
        let mut seen = Vec::new();
        let mut cursor = Some(Cursor::Start);
        while let Some(from) = cursor {
            forget(&hash);
            let next = fetching(&hash, |warm| {
                hash.scan(&from, 100, access(NOW, need, warm), |entry| {
                    assert_eq!(entry.len(), 40);
                    if need == Need::Value {
                        assert_eq!(entry.bytes(), [7; 40]);
                    }
                    seen.push(entry.key().to_vec());
                })
            });
            cursor = next.unwrap();
        }
        seen.sort_unstable();
        assert!(
            seen.iter().eq((0..3000_u32)
                .map(|number| number.to_be_bytes().to_vec())
                .collect::<Vec<_>>()
                .iter())
        );
    }
}

#[test]
fn what_the_kernel_evicts_is_noticed() {
    let scratch = Scratch::new();
    let hash = scratch.open(one_log());
    (0..1000_u32).for_each(|number| assert!(0 < set(&hash, &number.to_be_bytes(), &[7; 400])));
    hash.close().unwrap();
    drop(hash);
    // Without a snapshot, the log is read at the start.
    std::fs::remove_file(scratch.0.join("index")).unwrap();
    let hash = scratch.open(one_log());
    assert_eq!(
        read_cold(&hash, &3_u32.to_be_bytes(), None),
        Ok(Answer::Ready(Some(vec![7; 400])))
    );
    drop(hash);
    let hash = scratch.open(one_log());
    let maps = hash.shared.maps.all();
    let windows = maps
        .iter()
        .map(|(_, map)| map.forget_evicted())
        .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert_eq!(windows.0, 0, "opening has read everything");
    assert_eq!(
        windows.1,
        std::fs::metadata(segment(&scratch))
            .unwrap()
            .len()
            .div_ceil(WINDOW)
    );
    // No page was touched through the mapping, so the kernel evicts them when it is asked to.
    let file = std::fs::File::open(segment(&scratch)).unwrap();
    file.sync_all().unwrap();
    evict(&file);
    let evicted: u64 = maps.iter().map(|(_, map)| map.forget_evicted().0).sum();
    assert_eq!(evicted, windows.1, "not all of the pages were evicted");
    assert_eq!(read_cold(&hash, &3_u32.to_be_bytes(), None), Ok(Answer::Cold));
    assert_eq!(get(&hash, &3_u32.to_be_bytes(), NOW), Some(vec![7; 400]));
    assert_eq!(records_read(&hash), 1);
}

/// Asks the kernel to evict a file.
#[allow(unsafe_code)]
fn evict(file: &std::fs::File) {
    use std::os::fd::AsRawFd;
    // SAFETY: the call changes no memory.
    let result = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    assert_eq!(result, 0);
}

#[test]
fn a_failing_device_is_an_error_and_never_a_miss() {
    let storage = Simulated::new();
    let path = Path::new("store");
    let (hash, _) = Hash::open_in(Arc::new(storage.clone()), path, one_log()).unwrap();
    set(&hash, b"k", b"v");
    let large = vec![1; 40_000];
    set(&hash, b"large", &large);
    forget(&hash);
    storage.fail_reads(Some(libc::EIO));
    for key in [&b"k"[..], b"large"] {
        for _ in 0..2 {
            assert!(matches!(try_get(&hash, key, NOW), Err(StoreError::Io(_))));
        }
        let change = Decision::Change(Change::default());
        assert!(matches!(update(&hash, key, change, NOW), Err(StoreError::Io(_))));
        assert!(matches!(
            update(&hash, key, Decision::Keep, NOW),
            Err(StoreError::Io(_))
        ));
    }
    assert_eq!(try_get(&hash, b"none", NOW), Ok(None));
    let notices = hash.notices();
    assert!(
        matches!(
            &notices[..],
            [Notice::Failed {
                work: crate::Work::Read,
                ..
            }]
        ),
        "{notices:?}"
    );
    // What is overwritten need not be read.
    let blind = access(NOW, Need::Nothing, None);
    let put = |_: Option<&Entry<'_>>| (Decision::Put(New::new(&[b"w"])), ());
    assert!(
        hash.update(&hash.key(b"k"), blind, put)
            .unwrap()
            .ready()
            .is_some()
    );
    storage.fail_reads(None);
    assert_eq!(get(&hash, b"k", NOW).unwrap(), b"w");
    assert_eq!(get(&hash, b"large", NOW).unwrap(), large);
    assert!(matches!(&hash.notices()[..], [Notice::Succeeded { .. }]));
}

/// Every byte of the log is damaged in turn, as if by the device, after the store was opened.
#[test]
fn a_byte_that_the_device_damages_is_an_error_or_does_no_harm() {
    damage_every_byte(true);
}

/// The same, but nothing is evicted: the bytes change in the page cache.
#[test]
fn a_byte_that_is_damaged_in_memory_is_an_error_or_does_no_harm() {
    damage_every_byte(false);
}

fn damage_every_byte(evict: bool) {
    let scratch = Scratch::new();
    let hash = scratch.open(one_log());
    let items: Vec<(Vec<u8>, Vec<u8>)> = (0..8_u8)
        .map(|number| (vec![b'a' + number; 3], vec![number; 5 * usize::from(number)]))
        .collect();
    for (key, value) in &items {
        let parts = [&value[..]];
        let new = New {
            flags: 7,
            expiry: Expiry::At(NOW.0 + 1000),
            ..New::new(&parts)
        };
        update(&hash, key, Decision::Put(new), NOW).unwrap();
    }
    let file = std::fs::File::options()
        .read(true)
        .write(true)
        .open(segment(&scratch))
        .unwrap();
    let bytes = std::fs::read(segment(&scratch)).unwrap();
    let mut errors = 0;
    for at in 0..bytes.len() {
        let damaged = bytes[at] ^ 1 << (at % 8);
        file.write_all_at(&[damaged], at as u64).unwrap();
        if evict {
            forget(&hash);
        }
        let mut failed = 0;
        for (key, value) in &items {
            let read = fetching(&hash, |warm| {
                hash.read(&hash.key(key), access(NOW, Need::Value, warm), |entry| {
                    entry.map(|entry| {
                        (
                            entry.flags(),
                            entry.expiry(),
                            entry.cas(),
                            bytes_of(entry.value()),
                        )
                    })
                })
            });
            match read {
                Ok(read) => {
                    let (flags, expiry, cas, read) = read.unwrap_or_else(|| panic!("a miss: byte {at}"));
                    assert_eq!((flags, expiry), (7, Expiry::At(NOW.0 + 1000)), "byte {at}");
                    assert_eq!((cas >> 8, &read), (1 << 36, value), "byte {at}");
                }
                Err(error) => {
                    assert_eq!(error, StoreError::Damaged);
                    failed += 1;
                }
            }
        }
        errors += failed;
        file.write_all_at(&bytes[at..=at], at as u64).unwrap();
    }
    // Half of the bytes are headers of batches, which reads of what is in memory do not look at.
    let min = if evict {
        bytes.len() - 8 * 16
    } else {
        bytes.len() / 3
    };
    assert!(errors >= min, "{errors} errors for {} bytes", bytes.len());
}

/// A file that another program has cut: mapped bytes behind its end cannot be touched.
#[test]
fn a_truncated_file_is_an_error_and_not_the_end_of_the_process() {
    let scratch = Scratch::new();
    let hash = scratch.open(one_log());
    (0..1000_u32).for_each(|number| assert!(0 < set(&hash, &number.to_be_bytes(), &[7; 400])));
    let file = std::fs::File::options()
        .write(true)
        .open(segment(&scratch))
        .unwrap();
    file.set_len(100_000).unwrap();
    let (mut read, mut failed) = (0, 0);
    for number in 0..1000_u32 {
        match try_get(&hash, &number.to_be_bytes(), NOW) {
            Ok(value) => {
                assert_eq!(value, Some(vec![7; 400]));
                read += 1;
            }
            Err(error) => {
                assert!(
                    matches!(error, StoreError::Io(_) | StoreError::Damaged),
                    "{error}"
                );
                failed += 1;
            }
        }
    }
    assert!(read > 150 && failed > 500, "{read} read, {failed} failed");
}

/// A slow client holds the value while the store goes on without it.
#[test]
fn a_large_value_stays_readable_whatever_becomes_of_its_segment() {
    let scratch = Scratch::new();
    let settings = Settings {
        segment_bytes: 128 << 10,
        ..one_log()
    };
    let hash = scratch.open(settings);
    let value = |number: u8| vec![number; 30_000];
    let hold = |hash: &Hash, key: &[u8]| {
        fetching(hash, |warm| {
            hash.read(
                &hash.key(key),
                access(NOW, Need::Value, warm),
                |entry| match entry.unwrap().value() {
                    Value::File(range) => range,
                    other => panic!("{other:?}"),
                },
            )
        })
        .unwrap()
    };
    for round in 0..4 {
        for key in 0..8 {
            set(&hash, &[key], &value(key * 16 + round));
        }
    }
    let mut held: Vec<_> = (0..8)
        .map(|key| (value(key * 16 + 3), hold(&hash, &[key])))
        .collect();
    (0..8).for_each(|key| assert!(0 < set(&hash, &[key], &value(key * 16 + 4))));
    assert!(compact(&hash) > 0);
    held.extend((0..8).map(|key| (value(key * 16 + 4), hold(&hash, &[key]))));
    let _ = hash.flush(None, NOW).unwrap();
    compact(&hash);
    set(&hash, b"last", &value(250));
    held.push((value(250), hold(&hash, b"last")));
    hash.close().unwrap();
    drop(hash);
    drop(scratch);
    for (value, range) in held {
        let mut bytes = vec![0; range.length as usize];
        range.file.read_exact_at(&mut bytes, range.offset).unwrap();
        assert_eq!(bytes, value);
    }
}

#[test]
fn a_closed_store_fetches_nothing() {
    let scratch = Scratch::new();
    let hash = scratch.open(one_log());
    set(&hash, b"k", b"v");
    forget(&hash);
    let warm = Warm::new();
    assert_eq!(read_cold(&hash, b"k", Some(&warm)), Ok(Answer::Cold));
    hash.close().unwrap();
    let warm = wait(hash.fetch(warm));
    assert_eq!(read_cold(&hash, b"k", Some(&warm)), Err(StoreError::Unavailable));
}
