//! Properties that hold for any bytes: the fuzzer runs these functions with bytes of its own.

use std::path::Path;
use std::sync::Arc;

use log::batch::{Batch, Batches, Builder, NewHeader, NewRecord};
use log::inspect;
use log::storage::{Simulated, Storage};
use log::{Error, Log, Options};

/// Reading any bytes as batches yields batches within them, or errors. Records that are read can be written, and are the same
/// then.
pub fn batches(input: &[u8]) {
    one(input);
    // With a right checksum, the fuzzer gets to the records.
    let mut whole = input.to_vec();
    if seal(&mut whole) {
        one(&whole);
    }
}

fn one(input: &[u8]) {
    let mut batches = Batches::new(input);
    while let Some(Ok(batch)) = batches.next() {
        assert!(batch.bytes().len() as u64 == batch.header().bytes && batches.used() <= input.len());
        if let Ok(records) = batch.records() {
            let _ = records
                .map_while(Result::ok)
                .try_for_each(|record| again(&batch, &record));
        }
    }
}

/// Writes a record anew.
fn again(batch: &Batch<'_>, record: &log::batch::Record<'_>) -> Result<(), log::batch::BatchError> {
    if let Some(value) = record.value {
        let from = usize::try_from(record.value_position).unwrap_or(usize::MAX);
        assert_eq!(&batch.bytes()[from..from + value.len()], value);
    }
    let headers: Vec<NewHeader<'_>> = record
        .headers()
        .map(|header| NewHeader {
            key: header.key,
            value: header.value,
        })
        .collect();
    let (timestamp, key, value) = (record.timestamp, record.key, record.value);
    let mut builder = Builder::new();
    builder.push(&NewRecord {
        timestamp,
        key,
        value,
        headers: &headers,
    })?;
    let bytes = builder.finish().bytes().to_vec();
    let read = Batch::parse(&bytes)?.records()?.next().transpose()?;
    assert_eq!(
        read.map(|read| (read.timestamp, read.key, read.value)),
        Some((timestamp, key, value))
    );
    Ok(())
}

/// Makes the input one batch by its length, version and checksum.
fn seal(input: &mut [u8]) -> bool {
    if input.len() < 61 || input.len() > i32::MAX as usize {
        return false;
    }
    let length = (input.len() - 12) as u32;
    input[8..12].copy_from_slice(&length.to_be_bytes());
    input[16] = 2;
    let crc = crc(&input[21..]);
    input[17..21].copy_from_slice(&crc.to_be_bytes());
    true
}

/// CRC-32C, bit by bit.
fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| {
        if crc & 1 == 1 {
            crc >> 1 ^ 0x82f6_3b78
        } else {
            crc >> 1
        }
    };
    !bytes
        .iter()
        .fold(!0u32, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

/// A folder whose files have any bytes is opened or refused. If it is opened, each offset is read or an error, and appending
/// works. A repair leaves no fault.
pub fn recovery(input: &[u8]) {
    // The first byte chooses which files there are; the others are divided among them.
    let Some((&choice, rest)) = input.split_first() else {
        return;
    };
    let names = [
        "00000000000000000000.log",
        "00000000000000000000.index",
        "00000000000000000000.timeindex",
        "00000000000000000005.log",
        "checkpoint",
    ];
    let chosen: Vec<&str> = names
        .iter()
        .enumerate()
        .filter(|(at, _)| choice >> at & 1 == 1)
        .map(|(_, name)| *name)
        .collect();
    let make = || {
        let storage = Simulated::new();
        let _ = storage.create_folder(Path::new("/log"));
        let share = rest.len() / chosen.len().max(1);
        for (number, name) in chosen.iter().enumerate() {
            let mut bytes = rest[number * share..(number + 1) * share].to_vec();
            if choice & 0x80 != 0 && name.ends_with(".log") {
                seal(&mut bytes);
            }
            storage.put(&Path::new("/log").join(name), bytes);
        }
        storage
    };
    open(make());
    let storage = make();
    let shared: Arc<dyn Storage> = Arc::new(storage.clone());
    if log::repair(&shared, Path::new("/log")).is_ok() {
        let after = inspect::verify(&storage, Path::new("/log"));
        assert!(
            after.is_ok_and(|found| found.faults.is_empty()),
            "a repair leaves no fault"
        );
    }
}

fn open(storage: Simulated) {
    let Ok((log, _)) = Log::open_in(Arc::new(storage), Path::new("/log"), Options::default()) else {
        return;
    };
    const OFFSETS_MAX: u64 = 100;
    let offsets = log.end().saturating_sub(OFFSETS_MAX).max(log.start())..log.end();
    for offset in offsets {
        match log.read_blocking(offset..offset + 1, 1) {
            Ok(extents) => assert!(!extents.is_empty()),
            Err(Error::Corrupt { .. } | Error::Missing { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    let end = log.end();
    let mut builder = Builder::new();
    let pushed = builder.push(&NewRecord {
        value: Some(b"v"),
        ..NewRecord::default()
    });
    assert!(pushed.is_ok());
    if let Ok(appended) = log.append(&[builder.finish()], 0) {
        assert_eq!(appended.base_offset, end);
        assert!(
            log.read_blocking(end..end + 1, 1)
                .is_ok_and(|extents| extents.len() == 1)
        );
    }
}
