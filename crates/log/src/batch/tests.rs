#![allow(clippy::unwrap_used)]
use super::*;

fn record<'a>(key: &'a str, value: &'a str, timestamp: i64) -> NewRecord<'a> {
    NewRecord {
        timestamp,
        key: Some(key.as_bytes()),
        value: Some(value.as_bytes()),
        headers: &[],
    }
}

/// One record, key "k", value "v", a header "h" with value "1", created at
/// 1700000000000: the bytes that the format's definition gives.
fn known() -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(0u64.to_be_bytes());
    bytes.extend(62u32.to_be_bytes());
    bytes.extend((-1i32).to_be_bytes());
    bytes.push(2);
    bytes.extend([0; 4]);
    bytes.extend(0u16.to_be_bytes());
    bytes.extend(0u32.to_be_bytes());
    bytes.extend(1_700_000_000_000u64.to_be_bytes());
    bytes.extend(1_700_000_000_000u64.to_be_bytes());
    bytes.extend((-1i64).to_be_bytes());
    bytes.extend((-1i16).to_be_bytes());
    bytes.extend((-1i32).to_be_bytes());
    bytes.extend(1u32.to_be_bytes());
    bytes.extend([24, 0, 0, 0, 2, b'k', 2, b'v', 2, 2, b'h', 2, b'1']);
    let crc = crate::checksum::of(&bytes[21..]);
    bytes[17..21].copy_from_slice(&crc.to_be_bytes());
    bytes
}

#[test]
fn the_builder_writes_the_defined_bytes() {
    let mut builder = Builder::new();
    let headers = [NewHeader {
        key: b"h",
        value: Some(b"1"),
    }];
    let one = NewRecord {
        headers: &headers,
        ..record("k", "v", 1_700_000_000_000)
    };
    let value = builder.push(&one).unwrap();
    assert_eq!(builder.finish().bytes(), known());
    assert_eq!(&builder.finish().bytes()[value], b"v");
}

#[test]
fn records_are_read_back() {
    let mut builder = Builder::new();
    let headers = [
        NewHeader {
            key: b"a",
            value: None,
        },
        NewHeader {
            key: b"",
            value: Some(b"x"),
        },
    ];
    builder.push(&record("k1", "v1", 1000)).unwrap();
    builder
        .push(&NewRecord {
            timestamp: 900,
            ..NewRecord::default()
        })
        .unwrap();
    builder
        .push(&NewRecord {
            headers: &headers,
            ..record("", "", 5000)
        })
        .unwrap();
    builder.set_producer(7, 3, 42);
    let bytes = builder.finish().bytes().to_vec();
    let batch = Batch::parse(&bytes).unwrap();
    let header = batch.header();
    assert_eq!((header.count, header.offsets(), header.end_offset()), (3, 3, 3));
    assert_eq!((header.base_timestamp, header.max_timestamp), (1000, 5000));
    assert_eq!(
        (header.producer_id, header.producer_epoch, header.base_sequence),
        (7, 3, 42)
    );
    let records: Vec<_> = batch.records().unwrap().map(Result::unwrap).collect();
    let facts: Vec<_> = records
        .iter()
        .map(|one| (one.offset, one.timestamp, one.key, one.value))
        .collect();
    assert_eq!(facts[0], (0, 1000, Some(&b"k1"[..]), Some(&b"v1"[..])));
    assert_eq!(facts[1], (1, 900, None, None));
    assert_eq!(facts[2], (2, 5000, Some(&b""[..]), Some(&b""[..])));
    let read: Vec<_> = records[2].headers().map(|one| (one.key, one.value)).collect();
    assert_eq!(read, [(&b"a"[..], None), (&b""[..], Some(&b"x"[..]))]);
    let position = usize::try_from(records[0].value_position).unwrap();
    assert_eq!(&bytes[position..position + 2], b"v1");
}

#[test]
fn offset_and_epoch_are_outside_the_checksum_and_nothing_else_is() {
    let bytes = known();
    let batch = Batch::parse(&bytes).unwrap();
    let mut moved = bytes.clone();
    moved[..16].copy_from_slice(&batch.patched(1 << 40, 9));
    let header = *Batch::parse(&moved).unwrap().header();
    assert_eq!((header.base_offset, header.leader_epoch), (1 << 40, 9));
}

#[test]
fn every_bit_flip_is_found() {
    let bytes = known();
    let free = 0..8usize; // the base offset
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let at = bit / 8;
        let outside = free.contains(&at) && at > 0 || (12..16).contains(&at);
        let parsed = Batch::parse(&flipped);
        if outside {
            assert!(parsed.is_ok(), "byte {at} is outside the checksum");
        } else if at > 0 {
            assert!(parsed.is_err(), "bit {bit} was flipped and not noticed");
        }
    }
}

#[test]
fn every_cut_is_incomplete() {
    let bytes = known();
    for length in 0..bytes.len() {
        let error = Batch::parse(&bytes[..length]).unwrap_err();
        assert!(
            matches!(error, BatchError::Incomplete { .. }),
            "{length}: {error}"
        );
    }
}

#[test]
fn faults_are_named() {
    let with = |at: usize, value: &[u8]| {
        let mut bytes = known();
        bytes[at..at + value.len()].copy_from_slice(value);
        Batch::parse(&bytes).unwrap_err()
    };
    assert_eq!(with(16, &[1]), BatchError::Magic { found: 1 });
    assert_eq!(with(16, &[3]), BatchError::Magic { found: 3 });
    assert_eq!(with(8, &48u32.to_be_bytes()), BatchError::Length { found: 48 });
    assert_eq!(with(8, &(-1i32).to_be_bytes()), BatchError::Length { found: -1 });
    assert_eq!(
        with(0, &[0xff; 8]),
        BatchError::Field {
            field: "base offset",
            found: -1
        }
    );
    assert_eq!(
        with(57, &5u32.to_be_bytes()),
        BatchError::Field {
            field: "record count",
            found: 5
        }
    );
    assert!(matches!(with(17, &[0; 4]), BatchError::Checksum { found: 0, .. }));
}

/// Replaces the records of a batch and gives it a correct checksum.
fn with_records(count: u32, records: &[u8]) -> Vec<u8> {
    let mut bytes = known();
    bytes.truncate(61);
    bytes.extend(records);
    let length = u32::try_from(bytes.len() - 12).unwrap();
    bytes[8..12].copy_from_slice(&length.to_be_bytes());
    bytes[23..27].copy_from_slice(&(count - 1).to_be_bytes());
    bytes[57..61].copy_from_slice(&count.to_be_bytes());
    let crc = crate::checksum::of(&bytes[21..]);
    bytes[17..21].copy_from_slice(&crc.to_be_bytes());
    bytes
}

#[test]
fn lying_records_are_refused() {
    let whole = [12, 0, 0, 0, 1, 1, 0];
    let cases: &[(u32, &[u8], &str)] = &[
        (1, &[], "has no length"),
        (1, &[1], "has a negative length"),
        (1, &[100, 0], "exceeds the batch"),
        (1, &[2, 0], "ends before its length says"),
        (1, &[12, 0, 0, 0, 20, 1, 0], "has a bad key length"),
        (1, &[12, 0, 0, 0, 1, 20, 0], "has a bad value length"),
        (1, &[12, 0, 0, 0, 1, 1, 2], "has bad headers"),
        (1, &[12, 0, 0, 0, 1, 1, 1], "has bad headers"),
        (1, &[12, 0, 0, 2, 1, 1, 0], "has an offset out of order"),
        (1, &[14, 0, 0, 0, 1, 1, 0, 0], "has bad headers"),
        (
            1,
            &[12, 0, 0, 0, 1, 1, 0, 0],
            "is followed by bytes that belong to no record",
        ),
        (2, &whole, "has no length"),
    ];
    for (count, records, reason) in cases {
        let bytes = with_records(*count, records);
        let batch = Batch::parse(&bytes).unwrap();
        let last = batch.records().unwrap().last().unwrap();
        match last {
            Err(BatchError::Record { reason: found, .. }) => assert_eq!(found, *reason, "{records:?}"),
            other => panic!("{records:?}: {other:?}"),
        }
    }
}

#[test]
fn compressed_and_control_batches_are_carried_untouched() {
    let mut bytes = with_records(3, b"not looked at");
    bytes[22] = 4 | 0x30;
    let crc = crate::checksum::of(&bytes[21..]);
    bytes[17..21].copy_from_slice(&crc.to_be_bytes());
    let batch = Batch::parse(&bytes).unwrap();
    let attributes = batch.header().attributes;
    assert_eq!(attributes.compression(), Compression::Zstd);
    assert!(attributes.is_control() && attributes.is_transactional() && !attributes.has_delete_horizon());
    assert_eq!(
        batch.records().unwrap_err(),
        BatchError::Compressed(Compression::Zstd)
    );
    assert_eq!(batch.bytes(), bytes);
}

#[test]
fn a_slice_of_batches_is_walked() {
    let one = known();
    let bytes = [&one[..], &one, &one[..30]].concat();
    let mut batches = Batches::new(&bytes);
    assert_eq!(batches.by_ref().filter(Result::is_ok).count(), 2);
    assert_eq!(batches.used(), 2 * one.len());
    assert!(batches.next().is_none());
}
