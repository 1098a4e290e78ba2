//! Both directions against each other: the server's parser reads the client's requests, and the client's its replies.

use crate::vectors::{Random, vectors};
use crate::{describe, properties};
use hikyaku_wire::Parsed;
use hikyaku_wire::memcached::binary::{self, Opcode, Status};
use hikyaku_wire::memcached::client;
use hikyaku_wire::memcached::meta::{self, MetaVerb};
use hikyaku_wire::memcached::text::{self, Arithmetic, Delete, GetVerb, Store, StoreVerb, Touch};

const REPLIES: &str = include_str!("../vectors/memcached-replies.txt");

/// Parses on the server side what the client side wrote. The parser must use all of it.
fn served(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut request = Vec::new();
    write(&mut request);
    match text::parse(&request) {
        Parsed::Done(result, used) => {
            assert_eq!(used, request.len());
            describe::text(&result)
        }
        Parsed::More(_) => panic!("{} is incomplete", describe::escaped(&request)),
    }
}

#[test]
fn classic_requests_are_understood() {
    let keys = || [b"a".as_slice(), b"b"];
    assert_eq!(
        served(|out| client::text::get(out, GetVerb::Gets, keys())),
        "Gets a b"
    );
    assert_eq!(
        served(|out| client::text::get_and_touch(out, GetVerb::Gat, -1, keys())),
        "Gat exptime=-1 a b"
    );
    let store = |verb, noreply| Store {
        verb,
        key: b"k",
        flags: 7,
        exptime: -3,
        length: 2,
        cas: 9,
        noreply,
    };
    assert_eq!(
        served(|out| client::text::store_line(out, &store(StoreVerb::Cas, true))),
        "Cas k flags=7 exptime=-3 length=2 cas=9 noreply"
    );
    for verb in [
        StoreVerb::Set,
        StoreVerb::Add,
        StoreVerb::Replace,
        StoreVerb::Append,
        StoreVerb::Prepend,
    ] {
        assert_eq!(
            served(|out| client::text::store_line(out, &store(verb, false))),
            format!("{verb:?} k flags=7 exptime=-3 length=2 cas=0")
        );
    }
    assert_eq!(
        served(|out| client::text::delete(
            out,
            &Delete {
                key: b"k",
                noreply: true
            }
        )),
        "Delete k noreply"
    );
    let step = Arithmetic {
        increment: false,
        key: b"k",
        delta: u64::MAX,
        noreply: false,
    };
    assert_eq!(
        served(|out| client::text::arithmetic(out, &step)),
        "Decrement k by 18446744073709551615"
    );
    let touch = Touch {
        key: b"k",
        exptime: 60,
        noreply: false,
    };
    assert_eq!(
        served(|out| client::text::touch(out, &touch)),
        "Touch k exptime=60"
    );
    assert_eq!(
        served(|out| client::text::flush_all(out, None, true)),
        "FlushAll 0 noreply"
    );
    assert_eq!(
        served(|out| client::text::flush_all(out, Some(5), false)),
        "FlushAll 5"
    );
    assert_eq!(
        served(|out| client::text::command(out, b"stats", [b"settings".as_slice()])),
        "Stats settings"
    );
}

#[test]
fn meta_requests_are_understood() {
    let get = |out: &mut Vec<u8>| {
        client::meta::begin(out, MetaVerb::Get, b"k", None);
        client::meta::flag(out, b'v');
        client::meta::number(out, b'N', 30);
        client::meta::token(out, b'O', b"abc");
        client::meta::end(out);
    };
    assert_eq!(served(get), "MetaGet k v N30 Oabc N=30 O=Oabc");
    let set = |out: &mut Vec<u8>| {
        client::meta::begin_binary(out, MetaVerb::Set, b"\0 \xff", Some(5));
        client::meta::exptime(out, b'T', -1);
        client::meta::end(out);
    };
    assert_eq!(served(set), "MetaSet \\x00 \\xff length=5 mode=Set b T-1 T=-1");
    assert_eq!(served(client::meta::no_op), "MetaNoOp ");
}

#[test]
fn replies_match_the_vectors() {
    for (reply, expected) in vectors(REPLIES) {
        let Parsed::Done(result, used) = client::text::parse_whole(&reply) else {
            panic!("{} is incomplete", describe::escaped(&reply));
        };
        assert_eq!(
            describe::reply(&result),
            expected,
            "{}",
            describe::escaped(&reply)
        );
        if result.is_ok() {
            assert_eq!(used, reply.len(), "{}", describe::escaped(&reply));
            for end in 0..used {
                assert!(
                    matches!(client::text::parse_whole(&reply[..end]), Parsed::More(least) if least > end)
                );
            }
        }
    }
}

#[test]
fn any_stream_of_replies_reads_the_same_byte_by_byte() {
    let seeds: Vec<Vec<u8>> = vectors(REPLIES).into_iter().map(|(reply, _)| reply).collect();
    let mut random = Random::new(5);
    for _ in 0..4_000 {
        properties::reply_stream(&random.mutated(&seeds));
    }
}

/// Parses on the client side what the server side wrote.
fn received(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut reply = Vec::new();
    write(&mut reply);
    match client::text::parse_whole(&reply) {
        Parsed::Done(result, used) => {
            assert_eq!(used, reply.len());
            describe::reply(&result)
        }
        Parsed::More(_) => panic!("{} is incomplete", describe::escaped(&reply)),
    }
}

#[test]
fn text_replies_are_understood() {
    let value = |cas| {
        move |out: &mut Vec<u8>| {
            text::value_line(out, b"k", u32::MAX, 2, cas);
            out.extend_from_slice(b"hi\r\n");
        }
    };
    assert_eq!(received(value(None)), "Value k flags=4294967295 = hi");
    assert_eq!(received(value(Some(0))), "Value k flags=4294967295 cas=0 = hi");
    assert_eq!(received(|out| text::number(out, 42)), "Number(42)");
    assert_eq!(received(|out| text::stat(out, "a", "b c")), "Stat a = b c");
    assert_eq!(received(|out| text::stat(out, "a", "")), "Stat a = ");
    assert_eq!(received(|out| text::version(out, "1.6.45")), "Version 1.6.45");
    for (line, expected) in [
        (text::END, "End"),
        (text::STORED, "Stored"),
        (text::NOT_FOUND, "NotFound"),
    ] {
        assert_eq!(received(|out| out.extend_from_slice(line)), expected);
    }
}

#[test]
fn meta_replies_are_understood() {
    let reply = |out: &mut Vec<u8>| {
        meta::value(out, 2);
        meta::number(out, b'c', 9);
        meta::seconds(out, None);
        meta::seconds(out, Some(30));
        meta::key(out, b"foo", true);
        meta::key(out, b"foo", false);
        meta::flag(out, b'W');
        meta::end(out);
        out.extend_from_slice(b"hi\r\n");
    };
    assert_eq!(received(reply), "Va c9 t-1 t30 kZm9v b kfoo W = hi");
    let debug = meta::Debug {
        key: b"foo",
        key_binary: false,
        left: None,
        idle: 1,
        cas: 2,
        fetched: true,
        class: 3,
        size: 4,
    };
    assert_eq!(
        received(|out| meta::debug(out, &debug)),
        "Debug foo exp=-1 la=1 cas=2 fetch=yes cls=3 size=4"
    );
    assert_eq!(received(|out| out.extend_from_slice(meta::MN)), "Mn = ");
}

#[test]
fn binary_requests_are_understood() {
    let served = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut request = Vec::new();
        write(&mut request);
        let Parsed::Done(result, _) = binary::parse(&request) else {
            panic!()
        };
        describe::binary(&result)
    };
    assert_eq!(
        served(&|out| client::binary::key(out, Opcode::GETKQ, 1, b"k")),
        "0x0d quiet Get { with_key: true } key=k value=0 opaque=0x1 cas=0"
    );
    let fields = client::binary::StoreFields {
        flags: 1,
        exptime: 2,
        cas: 3,
    };
    assert_eq!(
        served(&|out| client::binary::store(out, Opcode::SET, 4, fields, b"k", b"hello")),
        "0x01 Store { verb: Set, flags: 1, exptime: 2 } key=k value=5 opaque=0x4 cas=3"
    );
    let fields = client::binary::ArithmeticFields {
        delta: 1,
        initial: 2,
        exptime: u32::MAX,
    };
    assert_eq!(
        served(&|out| client::binary::arithmetic(out, Opcode::DECREMENT, 0, fields, b"k")),
        "0x06 Arithmetic { increment: false, delta: 1, initial: 2, exptime: 4294967295 } key=k value=0 opaque=0x0 cas=0"
    );
    assert_eq!(
        served(&|out| client::binary::timed(out, Opcode::GATKQ, 0, 9, b"k")),
        "0x24 quiet GetAndTouch { with_key: true, exptime: 9 } key=k value=0 opaque=0x0 cas=0"
    );
    assert_eq!(
        served(&|out| client::binary::pair(out, Opcode::SASL_AUTH, 0, b"PLAIN", b"\0me\0secret")),
        "0x21 Sasl(Authenticate) key=PLAIN value=10 opaque=0x0 cas=0"
    );
    assert_eq!(
        served(&|out| client::binary::bare(out, Opcode::FLUSH, 0)),
        "0x08 Flush { exptime: 0 } key= value=0 opaque=0x0 cas=0"
    );
}

#[test]
fn binary_responses_are_understood() {
    let mut replies = Vec::new();
    binary::value_head(&mut replies, Opcode::GETK, 7, 8, 9, b"key", 5);
    replies.extend_from_slice(b"hello");
    binary::status(&mut replies, Opcode::SET, 1, 0, Status::Exists);
    binary::value(&mut replies, Opcode::INCREMENT, 2, 3, 4);
    binary::stat(&mut replies, 0, "name", "value");
    let mut read = Vec::new();
    let mut rest = replies.as_slice();
    while let Parsed::Done(Ok((response, value)), used) = client::binary::parse_whole(rest) {
        read.push((
            response.opcode,
            response.known_status(),
            response.flags(),
            response.key,
            value,
        ));
        rest = &rest[used..];
    }
    assert!(rest.is_empty());
    assert_eq!(
        read,
        [
            (
                Opcode::GETK,
                Some(Status::Success),
                9,
                b"key".as_slice(),
                b"hello".as_slice()
            ),
            (Opcode::SET, Some(Status::Exists), 0, b"", b"Data exists for key."),
            (
                Opcode::INCREMENT,
                Some(Status::Success),
                0,
                b"",
                &4u64.to_be_bytes()
            ),
            (Opcode::STAT, Some(Status::Success), 0, b"name", b"value"),
        ]
    );
    let mut random = Random::new(7);
    for _ in 0..4_000 {
        properties::response_stream(&random.mutated(std::slice::from_ref(&replies)));
    }
}
