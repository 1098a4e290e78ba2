//! Binary requests.

use crate::vectors::{Random, vectors};
use crate::{describe, properties};
use hikyaku_wire::Parsed;
use hikyaku_wire::memcached::binary::{self, HEADER_LENGTH, Opcode, Status};

const VECTORS: &str = include_str!("../vectors/memcached-binary.txt");

#[test]
fn frames_match_the_vectors() {
    for (frame, expected) in vectors(VECTORS) {
        let Parsed::Done(result, _) = binary::parse(&frame) else {
            panic!("{} is incomplete", describe::escaped(&frame));
        };
        assert_eq!(
            describe::binary(&result),
            expected,
            "{}",
            describe::escaped(&frame)
        );
    }
}

#[test]
fn every_truncation_asks_for_more() {
    for (frame, _) in vectors(VECTORS) {
        let Parsed::Done(_, used) = binary::parse(&frame) else {
            panic!()
        };
        for end in 0..used {
            match binary::parse(&frame[..end]) {
                Parsed::More(least) => assert!(least > end && least <= used),
                // A wrong first byte is refused before the header is complete.
                Parsed::Done(Err(error), _) => assert!(error.fatal() && frame[0] != binary::MAGIC_REQUEST),
                Parsed::Done(Ok(_), _) => panic!("{}", describe::escaped(&frame[..end])),
            }
        }
    }
}

#[test]
fn any_stream_reads_the_same_byte_by_byte() {
    let seeds: Vec<Vec<u8>> = vectors(VECTORS).into_iter().map(|(frame, _)| frame).collect();
    seeds.iter().for_each(|frame| properties::binary_stream(frame));
    let mut random = Random::new(3);
    for _ in 0..4_000 {
        properties::binary_stream(&random.mutated(&seeds));
    }
}

#[test]
fn an_error_is_answered_with_its_text() {
    let mut request = [0; HEADER_LENGTH];
    request[..2].copy_from_slice(&[binary::MAGIC_REQUEST, 0x1b]);
    request[12..16].copy_from_slice(b"opaq");
    let Parsed::Done(Err(error), _) = binary::parse(&request) else {
        panic!()
    };
    assert_eq!(
        (error.status(), error.opcode()),
        (Status::UnknownCommand, Opcode(0x1b))
    );
    let mut reply = Vec::new();
    error.reply(&mut reply);
    assert_eq!(
        reply,
        b"\x81\x1b\0\0\0\0\0\x81\0\0\0\x0fopaq\0\0\0\0\0\0\0\0Unknown command"
    );
}

#[test]
fn bodies_may_be_larger_where_items_may() {
    let mut request = [0; HEADER_LENGTH + 9];
    request[..5].copy_from_slice(&[binary::MAGIC_REQUEST, 0x01, 0, 1, 8]);
    request[8..12].copy_from_slice(&3_000_000_000u32.to_be_bytes());
    request[HEADER_LENGTH + 8] = b'k';
    let Parsed::Done(Err(error), _) = binary::parse(&request) else {
        panic!()
    };
    assert!(error.fatal());
    let Parsed::Done(Ok(request), _) = binary::parse_within(&request, u32::MAX) else {
        panic!()
    };
    assert_eq!(request.value_length, 3_000_000_000 - 9);
}
