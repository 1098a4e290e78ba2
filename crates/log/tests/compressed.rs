//! Compaction of batches that producers have compressed.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::io::{Read, Write};

use common::*;
use log::batch::{Batch, Compression};
use log::storage::Simulated;
use log::{Compaction, Error, Log};

const HEADER: usize = 61;
const JAVA: [u8; 16] = *b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01";

/// A codec of Kafka's clients: its number, and both directions.
type Codec = (u8, fn(&[u8]) -> Vec<u8>, fn(&[u8]) -> Vec<u8>);

const CODECS: [Codec; 5] = [
    (1, gzip, gunzip),
    (2, snappy, unsnappy),
    (2, snappy_of_java, unsnappy_of_java),
    (3, lz4, unlz4),
    (
        4,
        |plain| zstd::encode_all(plain, 3).unwrap(),
        |bytes| zstd::decode_all(bytes).unwrap(),
    ),
];

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(bytes)
        .read_to_end(&mut plain)
        .unwrap();
    plain
}

fn snappy(plain: &[u8]) -> Vec<u8> {
    snap::raw::Encoder::new().compress_vec(plain).unwrap()
}

fn unsnappy(bytes: &[u8]) -> Vec<u8> {
    snap::raw::Decoder::new().decompress_vec(bytes).unwrap()
}

/// Two blocks, as Java's stream writes them.
fn snappy_of_java(plain: &[u8]) -> Vec<u8> {
    let mut out = JAVA.to_vec();
    let (first, second) = plain.split_at(plain.len() / 2);
    for block in [first, second].map(snappy) {
        out.extend_from_slice(&(block.len() as u32).to_be_bytes());
        out.extend_from_slice(&block);
    }
    out
}

fn unsnappy_of_java(bytes: &[u8]) -> Vec<u8> {
    let mut rest = bytes.strip_prefix(&JAVA).expect("Java's framing is kept");
    let mut plain = Vec::new();
    while let Some((length, behind)) = rest.split_first_chunk() {
        let (block, behind) = behind.split_at(u32::from_be_bytes(*length) as usize);
        plain.extend(unsnappy(block));
        rest = behind;
    }
    plain
}

fn lz4(plain: &[u8]) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn unlz4(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    let mut decoder = lz4_flex::frame::FrameDecoder::new(bytes);
    decoder.read_to_end(&mut plain).unwrap();
    plain
}

/// A batch with other records and attributes.
fn with_body(header: &[u8], attributes: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = [&header[..HEADER], body].concat();
    let length = (bytes.len() - 12) as u32;
    bytes[8..12].copy_from_slice(&length.to_be_bytes());
    bytes[22] = attributes;
    let crc = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Iscsi, &bytes[21..]) as u32;
    bytes[17..21].copy_from_slice(&crc.to_be_bytes());
    bytes
}

fn append_compressed(log: &Log, (number, compress, _): Codec, records: &[Plain], timestamp: i64) {
    let plain = batch(records, timestamp);
    let bytes = with_body(&plain, number, &compress(&plain[HEADER..]));
    log.append(&[Batch::parse(&bytes).unwrap()], timestamp).unwrap();
}

/// Every record by its offset, and the number of compressed batches.
fn read(log: &Log, (_, _, decompress): Codec) -> (BTreeMap<u64, Plain>, usize) {
    let (mut records, mut compressed) = (BTreeMap::new(), 0);
    log.scan::<Error>(log.start(), |_, batch| {
        let plain;
        let mut batch = *batch;
        if batch.header().attributes.compression() != Compression::None {
            compressed += 1;
            let attributes = batch.bytes()[22] & !7;
            plain = with_body(batch.bytes(), attributes, &decompress(&batch.bytes()[HEADER..]));
            batch = Batch::parse(&plain).unwrap();
        }
        for record in batch.records().unwrap() {
            let record = record.unwrap();
            let value = (record.key.map(<[u8]>::to_vec), record.value.map(<[u8]>::to_vec));
            records.insert(record.offset, value);
        }
        Ok(())
    })
    .unwrap();
    (records, compressed)
}

#[test]
fn the_newest_record_of_each_key_stays_in_compressed_batches() {
    for codec in CODECS {
        let storage = Simulated::new();
        let (log, _) = open(&storage, small());
        for round in 0..10 {
            for first in [0, 5, 10, 15] {
                let record = |key: i32| plain(&format!("key {key:03}"), &format!("{round:050}"));
                let records: Vec<Plain> = (first..first + 5).map(record).collect();
                append_compressed(&log, codec, &records, round);
            }
        }
        // Some keys get a last value in a batch of their own, half of it plain.
        append_compressed(
            &log,
            codec,
            &[plain("key 001", "last"), plain("key 017", "last")],
            10,
        );
        append(&log, &[plain("key 002", "plain")], 10).unwrap();
        log.roll().unwrap();
        let (before, _) = read(&log, codec);
        let mut newest = BTreeMap::new();
        for (offset, (key, value)) in before {
            newest.insert(key, (offset, value));
        }
        let (end, bytes) = (log.end(), log.bytes());
        let compacted = log.compact(Compaction::at(100), &mut |_| {}).unwrap();
        let (after, compressed) = read(&log, codec);
        let after: BTreeMap<_, _> = after
            .into_iter()
            .map(|(offset, (key, value))| (key, (offset, value)))
            .collect();
        assert_eq!(after, newest, "codec {}", codec.0);
        assert_eq!((compacted.removed, log.end()), (183, end));
        assert!(
            compressed == 5 && log.bytes() < bytes / 5,
            "{compressed}, {}",
            log.bytes()
        );
        // Nothing is left to do, and a restart finds the same.
        assert_eq!(log.compact(Compaction::at(100), &mut |_| {}).unwrap().removed, 0);
        let expected = read(&log, codec);
        drop(log);
        let (log, _) = open(&storage, small());
        assert_eq!(read(&log, codec), expected);
    }
}

#[test]
fn a_batch_that_cannot_be_decompressed_stays_as_it_is() {
    for codec in CODECS {
        let storage = Simulated::new();
        let (log, _) = open(&storage, small());
        let template = batch(&[plain("key", "old")], 0);
        let damaged = with_body(&template, codec.0, b"no codec made this, nor any record");
        let lie = with_body(&template, codec.0, &(codec.1)(b"decompressed, but no records"));
        for bytes in [&damaged, &lie] {
            log.append(&[Batch::parse(bytes).unwrap()], 0).unwrap();
        }
        for round in 0..20 {
            append(&log, &[plain("key", &format!("{round:0100}"))], 0).unwrap();
        }
        log.roll().unwrap();
        assert_eq!(log.compact(Compaction::at(100), &mut |_| {}).unwrap().removed, 19);
        let mut first = Vec::new();
        log.scan::<Error>(0, |_, batch| {
            first.push(batch.bytes()[21..].to_vec());
            Ok(())
        })
        .unwrap();
        assert_eq!(first[..2], [damaged[21..].to_vec(), lie[21..].to_vec()]);
    }
}

#[test]
fn tombstones_in_compressed_batches_go_after_their_delay() {
    for codec in CODECS {
        let storage = Simulated::new();
        let (log, _) = open(&storage, small());
        append_compressed(&log, codec, &[plain("a", "1"), plain("b", "1")], 0);
        let tombstone = (Some(b"a".to_vec()), None);
        append_compressed(&log, codec, &[tombstone.clone(), plain("c", "1")], 0);
        log.roll().unwrap();
        let mut options = Compaction::at(1000);
        options.tombstone_delay_ms = 500;
        assert_eq!(log.compact(options, &mut |_| {}).unwrap().removed, 1);
        let (records, _) = read(&log, codec);
        assert_eq!(records.values().filter(|one| **one == tombstone).count(), 1);
        options.now = 1500;
        assert_eq!(log.compact(options, &mut |_| {}).unwrap().removed, 1);
        let (records, compressed) = read(&log, codec);
        let kept: Vec<Plain> = records.into_values().collect();
        assert_eq!((kept, compressed), (vec![plain("b", "1"), plain("c", "1")], 2));
    }
}
