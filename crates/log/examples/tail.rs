//! Appends a record to a log, or prints all records.
//!
//!     cargo run --example tail -- DIR append KEY VALUE
//!     cargo run --example tail -- DIR

use std::error::Error;
use std::time::{SystemTime, UNIX_EPOCH};

use log::batch::{Batches, Builder, NewRecord};
use log::{Log, Options};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [folder] => print(folder),
        [folder, "append", key, value] => append(folder, key, value),
        _ => Err("usage: tail DIR, or tail DIR append KEY VALUE".into()),
    }
}

fn open(folder: &str) -> Result<Log, log::Error> {
    let (log, recovery) = Log::open(folder, Options::default())?;
    for cut in &recovery.cuts {
        eprintln!(
            "{}: cut {} bytes at {}: {}",
            cut.path.display(),
            cut.bytes,
            cut.position,
            cut.reason
        );
    }
    Ok(log)
}

fn append(folder: &str, key: &str, value: &str) -> Result<(), Box<dyn Error>> {
    let log = open(folder)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as i64;
    let mut builder = Builder::new();
    builder.push(&NewRecord {
        timestamp: now,
        key: Some(key.as_bytes()),
        value: Some(value.as_bytes()),
        headers: &[],
    })?;
    let appended = log.append(&[builder.finish()], now)?;
    log.close()?;
    println!("offset {}", appended.base_offset);
    Ok(())
}

fn print(folder: &str) -> Result<(), Box<dyn Error>> {
    const BYTES_PER_READ: u64 = 1 << 20;
    let log = open(folder)?;
    let mut next = log.start();
    while next < log.end() {
        for extent in log.read_blocking(next..log.end(), BYTES_PER_READ)? {
            let mut bytes = Vec::new();
            extent.read_into_blocking(&mut bytes)?;
            for batch in Batches::new(&bytes) {
                let batch = batch?;
                next = batch.header().end_offset();
                for record in batch.records()? {
                    let record = record?;
                    let text = |bytes: Option<&[u8]>| bytes.map(|bytes| bytes.escape_ascii().to_string());
                    println!(
                        "{} {:?} {:?}",
                        record.offset,
                        text(record.key),
                        text(record.value)
                    );
                }
            }
        }
    }
    Ok(())
}
