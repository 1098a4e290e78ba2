//! Shared by the tests: folders, random numbers, batches and their records.
#![allow(dead_code, clippy::unwrap_used, reason = "each test uses a part")]

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use log::batch::{Batch, Batches, Builder, NewRecord};
use log::storage::Simulated;
use log::{Error, Log, Options, Recovery};

/// The folder of logs in simulated storages.
pub(crate) fn folder() -> &'static Path {
    Path::new("/log")
}

/// Options with small segments, so that a few batches fill one.
pub(crate) fn small() -> Options {
    let mut options = Options::default();
    options.segment_bytes = 1000;
    options
}

/// The same with appends through a mapping.
pub(crate) fn mapped() -> Options {
    let mut options = small();
    options.mapped = true;
    options
}

pub(crate) fn open(storage: &Simulated, options: Options) -> (Log, Recovery) {
    try_open(storage, options).unwrap()
}

pub(crate) fn try_open(storage: &Simulated, options: Options) -> Result<(Log, Recovery), Error> {
    Log::open_in(Arc::new(storage.clone()), folder(), options)
}

/// A temporary folder on the disk, removed on drop.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("hikyaku-log-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A record as the tests compare it.
pub(crate) type Plain = (Option<Vec<u8>>, Option<Vec<u8>>);

pub(crate) fn plain(key: &str, value: &str) -> Plain {
    (Some(key.as_bytes().to_vec()), Some(value.as_bytes().to_vec()))
}

/// The bytes of a batch with these records.
pub(crate) fn batch(records: &[Plain], timestamp: i64) -> Vec<u8> {
    let mut builder = Builder::new();
    for (key, value) in records {
        let (key, value) = (key.as_deref(), value.as_deref());
        builder
            .push(&NewRecord {
                timestamp,
                key,
                value,
                headers: &[],
            })
            .unwrap();
    }
    builder.finish().bytes().to_vec()
}

/// Appends one batch and returns its first offset.
pub(crate) fn append(log: &Log, records: &[Plain], timestamp: i64) -> Result<u64, Error> {
    let bytes = batch(records, timestamp);
    let batch = Batch::parse(&bytes).unwrap();
    log.append(&[batch], timestamp)
        .map(|appended| appended.base_offset)
}

/// Appends one record of about 100 bytes.
pub(crate) fn append_value(log: &Log, value: &str) -> u64 {
    append(log, &[plain("key", value)], 1).unwrap()
}

/// Appends one record for each number.
pub(crate) fn append_numbers(log: &Log, numbers: Range<u64>) {
    for number in numbers {
        append_value(log, &number.to_string());
    }
}

/// All records with these offsets, read as a consumer reads them.
pub(crate) fn records(log: &Log, offsets: Range<u64>) -> Vec<(u64, Plain)> {
    let mut found = Vec::new();
    let mut next = offsets.start;
    while next < offsets.end {
        let extents = log.read_blocking(next..offsets.end, 300).unwrap();
        assert!(!extents.is_empty(), "{next} of {offsets:?}");
        for extent in extents {
            let mut bytes = Vec::new();
            extent.read_into_blocking(&mut bytes).unwrap();
            for one in Batches::new(&bytes) {
                let one = one.unwrap();
                for record in one.records().unwrap() {
                    let record = record.unwrap();
                    let own = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
                    if record.offset >= next && record.offset < offsets.end {
                        found.push((record.offset, (own(record.key), own(record.value))));
                    }
                }
                next = next.max(one.header().end_offset());
            }
        }
    }
    found
}

pub(crate) fn all(log: &Log) -> Vec<(u64, Plain)> {
    records(log, log.start()..log.end())
}

/// A xorshift generator: the same numbers in every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) % bound
    }
}
