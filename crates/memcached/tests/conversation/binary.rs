//! The binary protocol, frame by frame.

use crate::harness::{Client, Server, config, with_guarded_server, with_server};
use memcached::{Dialects, ServiceConfig, Users};
use wire::Parsed;

const STORE: &str = "memory:?capacity=64MiB";

const GET: u8 = 0x00;
const SET: u8 = 0x01;
const ADD: u8 = 0x02;
const REPLACE: u8 = 0x03;
const DELETE: u8 = 0x04;
const INCREMENT: u8 = 0x05;
const DECREMENT: u8 = 0x06;
const QUIT: u8 = 0x07;
const FLUSH: u8 = 0x08;
const GETQ: u8 = 0x09;
const NOOP: u8 = 0x0a;
const VERSION: u8 = 0x0b;
const GETK: u8 = 0x0c;
const GETKQ: u8 = 0x0d;
const APPEND: u8 = 0x0e;
const PREPEND: u8 = 0x0f;
const STAT: u8 = 0x10;
const SETQ: u8 = 0x11;
const DELETEQ: u8 = 0x14;
const INCREMENTQ: u8 = 0x15;
const QUITQ: u8 = 0x17;
const FLUSHQ: u8 = 0x18;
const APPENDQ: u8 = 0x19;
const TOUCH: u8 = 0x1c;
const GAT: u8 = 0x1d;
const GATQ: u8 = 0x1e;
const SASL_LIST: u8 = 0x20;
const SASL_AUTH: u8 = 0x21;
const SASL_STEP: u8 = 0x22;
const GATK: u8 = 0x23;

const NOT_FOUND: u16 = 0x01;
const EXISTS: u16 = 0x02;
const TOO_LARGE: u16 = 0x03;
const INVALID: u16 = 0x04;
const NOT_STORED: u16 = 0x05;
const NON_NUMERIC: u16 = 0x06;
const AUTH_ERROR: u16 = 0x20;
const UNKNOWN: u16 = 0x81;

#[derive(Debug, PartialEq)]
struct Frame {
    opcode: u8,
    status: u16,
    opaque: u32,
    cas: u64,
    extras: Vec<u8>,
    key: Vec<u8>,
    value: Vec<u8>,
}

struct Request {
    opcode: u8,
    opaque: u32,
    cas: u64,
    extras: Vec<u8>,
    key: Vec<u8>,
    value: Vec<u8>,
}

fn request(opcode: u8, key: &str) -> Request {
    Request {
        opcode,
        opaque: 0xdead_beef,
        cas: 0,
        extras: vec![],
        key: key.into(),
        value: vec![],
    }
}

impl Request {
    fn value(self, value: impl AsRef<[u8]>) -> Request {
        Request {
            value: value.as_ref().to_vec(),
            ..self
        }
    }

    fn extras(self, words: &[u32]) -> Request {
        Request {
            extras: words.iter().flat_map(|word| word.to_be_bytes()).collect(),
            ..self
        }
    }

    fn cas(self, cas: u64) -> Request {
        Request { cas, ..self }
    }

    fn opaque(self, opaque: u32) -> Request {
        Request { opaque, ..self }
    }

    fn bytes(&self) -> Vec<u8> {
        let body = self.extras.len() + self.key.len() + self.value.len();
        let mut bytes = vec![0x80, self.opcode];
        bytes.extend((self.key.len() as u16).to_be_bytes());
        bytes.extend([self.extras.len() as u8, 0, 0, 0]);
        bytes.extend((body as u32).to_be_bytes());
        bytes.extend(self.opaque.to_be_bytes());
        bytes.extend(self.cas.to_be_bytes());
        bytes.extend([&self.extras[..], &self.key, &self.value].concat());
        bytes
    }
}

fn set(key: &str, value: &str, flags: u32, exptime: u32) -> Request {
    request(SET, key).extras(&[flags, exptime]).value(value)
}

fn count(opcode: u8, key: &str, delta: u32, initial: u32, exptime: u32) -> Request {
    request(opcode, key).extras(&[0, delta, 0, initial, exptime])
}

async fn frame(client: &mut Client) -> Option<Frame> {
    let header = client.bytes(24).await;
    if header.len() < 24 {
        return None;
    }
    assert_eq!(header[0], 0x81);
    let number = |at: usize, length: usize| {
        header[at..at + length]
            .iter()
            .fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
    };
    let body = client.bytes(number(8, 4) as usize).await;
    let (extras, rest) = body.split_at(header[4].into());
    let (key, value) = rest.split_at(number(2, 2) as usize);
    Some(Frame {
        opcode: header[1],
        status: number(6, 2) as u16,
        opaque: number(12, 4) as u32,
        cas: number(16, 8),
        extras: extras.to_vec(),
        key: key.to_vec(),
        value: value.to_vec(),
    })
}

async fn ask(client: &mut Client, request: Request) -> Frame {
    client.send(&request.bytes()).await;
    let frame = frame(client).await.expect("a response");
    assert_eq!((frame.opcode, frame.opaque), (request.opcode, request.opaque));
    frame
}

async fn status(client: &mut Client, request: Request) -> u16 {
    ask(client, request).await.status
}

fn test<F: Future<Output = ()>>(test: impl FnOnce(Server) -> F) {
    with_server(config(), STORE, test);
}

#[test]
fn values_are_stored_and_read() {
    test(async |server| {
        let client = &mut server.connect();
        assert_eq!(status(client, request(GET, "foo")).await, NOT_FOUND);
        let stored = ask(client, set("foo", "bar", 0x0102_0304, 0)).await;
        assert_eq!(stored.status, 0);
        let read = ask(client, request(GET, "foo")).await;
        assert_eq!(
            (&read.extras[..], &read.key[..], &read.value[..]),
            (&[1, 2, 3, 4][..], &b""[..], &b"bar"[..])
        );
        assert_eq!(read.cas, stored.cas);
        let read = ask(client, request(GETK, "foo")).await;
        assert_eq!((&read.key[..], &read.value[..]), (&b"foo"[..], &b"bar"[..]));
        let missed = ask(client, request(GETK, "none")).await;
        assert_eq!(
            (missed.status, &missed.key[..], &missed.value[..]),
            (NOT_FOUND, &b"none"[..], &b""[..])
        );
    });
}

#[test]
fn conditions_have_their_own_statuses() {
    test(async |server| {
        let client = &mut server.connect();
        let add = |key| request(ADD, key).extras(&[0, 0]).value("v");
        let replace = |key| request(REPLACE, key).extras(&[0, 0]).value("w");
        assert_eq!(status(client, replace("a")).await, NOT_FOUND);
        assert_eq!(status(client, add("a")).await, 0);
        assert_eq!(status(client, add("a")).await, EXISTS);
        assert_eq!(status(client, replace("a")).await, 0);
        assert_eq!(
            status(client, request(APPEND, "none").value("x")).await,
            NOT_STORED
        );
        assert_eq!(status(client, request(APPEND, "a").value("x")).await, 0);
        assert_eq!(status(client, request(PREPEND, "a").value("y")).await, 0);
        let read = ask(client, request(GET, "a")).await;
        assert_eq!(read.value, b"ywx");
        assert_eq!(
            status(client, set("a", "new", 0, 0).cas(read.cas + 1)).await,
            EXISTS
        );
        assert_eq!(
            status(client, request(APPEND, "a").value("x").cas(read.cas + 1)).await,
            EXISTS
        );
        assert_eq!(
            status(client, request(DELETE, "a").cas(read.cas + 1)).await,
            EXISTS
        );
        assert_eq!(status(client, set("none", "new", 0, 0).cas(7)).await, NOT_FOUND);
        let stored = ask(client, set("a", "new", 0, 0).cas(read.cas)).await;
        assert_eq!((stored.status, stored.cas > read.cas), (0, true));
        assert_eq!(status(client, request(DELETE, "a").cas(stored.cas)).await, 0);
        assert_eq!(status(client, request(DELETE, "a")).await, NOT_FOUND);
    });
}

#[test]
fn numbers_are_made_and_changed() {
    test(async |server| {
        let client = &mut server.connect();
        assert_eq!(
            status(client, count(INCREMENT, "n", 1, 5, u32::MAX)).await,
            NOT_FOUND
        );
        let made = ask(client, count(INCREMENT, "n", 1, 5, 0)).await;
        assert_eq!(made.value, 5_u64.to_be_bytes());
        let changed = ask(client, count(INCREMENT, "n", 10, 5, 0)).await;
        assert_eq!(
            (&changed.value[..], changed.cas > made.cas),
            (&15_u64.to_be_bytes()[..], true)
        );
        assert_eq!(ask(client, count(DECREMENT, "n", 100, 0, 0)).await.value, [0; 8]);
        assert_eq!(ask(client, request(GET, "n")).await.value, b"0 ");
        assert_eq!(
            status(client, count(INCREMENT, "n", 1, 0, 0).cas(made.cas)).await,
            EXISTS
        );
        assert_eq!(status(client, set("t", "text", 0, 0)).await, 0);
        assert_eq!(status(client, count(INCREMENT, "t", 1, 0, 0)).await, NON_NUMERIC);
    });
}

#[test]
fn quiet_requests_answer_only_the_unexpected() {
    test(async |server| {
        let client = &mut server.connect();
        let mut requests = Vec::new();
        let mut add = |request: Request| requests.extend(request.bytes());
        add(request(GETQ, "none"));
        add(request(GETKQ, "none"));
        add(request(SETQ, "a").extras(&[9, 0]).value("va"));
        add(request(APPENDQ, "a").value("!"));
        add(request(INCREMENTQ, "n").extras(&[0, 1, 0, 7, 0]));
        add(request(GETQ, "a").opaque(1));
        add(request(GETKQ, "a").opaque(2));
        add(request(GATQ, "a").extras(&[0]).opaque(3));
        add(request(GATQ, "none").extras(&[0]));
        add(request(DELETEQ, "a"));
        add(request(DELETEQ, "a").opaque(4));
        add(request(FLUSHQ, ""));
        add(request(GET, "n").opaque(5));
        add(request(NOOP, "").opaque(6));
        client.send(&requests).await;
        let expected = [
            (GETQ, 0, 1, "", "va!"),
            (GETKQ, 0, 2, "a", "va!"),
            (GATQ, 0, 3, "", "va!"),
            (DELETEQ, NOT_FOUND, 4, "", "Not found"),
            (GET, NOT_FOUND, 5, "", "Not found"),
            (NOOP, 0, 6, "", ""),
        ];
        for (opcode, status, opaque, key, value) in expected {
            let frame = frame(client).await.expect("a response");
            let got = (
                frame.opcode,
                frame.status,
                frame.opaque,
                &frame.key[..],
                &frame.value[..],
            );
            assert_eq!(got, (opcode, status, opaque, key.as_bytes(), value.as_bytes()));
        }
    });
}

#[test]
fn touching_changes_the_end() {
    test(async |server| {
        let client = &mut server.connect();
        assert_eq!(status(client, request(TOUCH, "t").extras(&[10])).await, NOT_FOUND);
        let stored = ask(client, set("t", "v", 5, 100)).await;
        let touched = ask(client, request(TOUCH, "t").extras(&[10])).await;
        assert_eq!(
            (touched.status, &touched.extras[..], touched.cas),
            (0, &[0, 0, 0, 5][..], stored.cas)
        );
        assert_eq!(touched.value, b"");
        let read = ask(client, request(GAT, "t").extras(&[1000])).await;
        assert_eq!(read.value, b"v");
        let read = ask(client, request(GATK, "t").extras(&[0])).await;
        assert_eq!((&read.key[..], &read.value[..]), (&b"t"[..], &b"v"[..]));
        // A moment that has passed.
        assert_eq!(
            status(client, request(TOUCH, "t").extras(&[60 * 60 * 24 * 30 + 1])).await,
            0
        );
        assert_eq!(status(client, request(GET, "t")).await, NOT_FOUND);
    });
}

#[test]
fn too_large_values_are_refused_and_take_the_old_one_along() {
    with_server(
        config(),
        "memory:?capacity=64MiB&item_size_max=64KiB",
        async |server| {
            let client = &mut server.connect();
            assert_eq!(status(client, set("big", "small", 0, 0)).await, 0);
            assert_eq!(
                status(client, set("big", &"x".repeat(100_000), 0, 0)).await,
                TOO_LARGE
            );
            assert_eq!(status(client, request(GET, "big")).await, NOT_FOUND);
            assert_eq!(status(client, request(NOOP, "")).await, 0);
        },
    );
}

#[test]
fn malformed_frames_end_the_connection() {
    test(async |server| {
        for wrong in [
            request(GET, &"k".repeat(251)),
            request(GET, ""),
            request(GET, "k").extras(&[1]),
            request(SET, "k").value("no extras"),
            request(VERSION, "key"),
        ] {
            let client = &mut server.connect();
            assert_eq!(status(client, wrong).await, INVALID);
            assert!(client.is_at_end().await);
        }
        let client = &mut server.connect();
        client
            .send(b"\x80\0\0\x05\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0k")
            .await;
        assert_eq!(frame(client).await.expect("a response").status, UNKNOWN);
        assert!(client.is_at_end().await);
    });
}

#[test]
fn unknown_opcodes_are_refused_and_skipped() {
    test(async |server| {
        let client = &mut server.connect();
        assert_eq!(status(client, request(0x7f, "key").value("value")).await, UNKNOWN);
        assert_eq!(status(client, request(SASL_LIST, "")).await, UNKNOWN);
        assert_eq!(
            status(client, request(SASL_AUTH, "PLAIN").value("\0a\0b")).await,
            UNKNOWN
        );
        let version = ask(client, request(VERSION, "")).await;
        assert_eq!(version.value, b"1.6.45-test");
    });
}

#[test]
fn quitting_ends_the_connection() {
    test(async |server| {
        let client = &mut server.connect();
        assert_eq!(status(client, request(QUIT, "")).await, 0);
        assert!(client.is_at_end().await);
        let client = &mut server.connect();
        client.send(&request(QUITQ, "").bytes()).await;
        assert!(client.is_at_end().await);
    });
}

#[test]
fn statistics_end_with_an_empty_one() {
    test(async |server| {
        let client = &mut server.connect();
        for group in [
            "",
            "settings",
            "items",
            "slabs",
            "sizes",
            "conns",
            "detail dump",
            "reset",
        ] {
            client.send(&request(STAT, group).bytes()).await;
            let mut names = Vec::new();
            loop {
                let stat = frame(client).await.expect("a statistic");
                assert_eq!((stat.opcode, stat.status), (STAT, 0), "{group}");
                if stat.key.is_empty() {
                    break;
                }
                names.push(String::from_utf8_lossy(&stat.key).into_owned());
            }
            let expected = match group {
                "" => "pid",
                "settings" => "maxconns",
                "conns" => "1:addr",
                "detail dump" => "detailed",
                "slabs" => "total_malloced",
                _ => continue,
            };
            assert!(names.iter().any(|name| name == expected), "{group}: {names:?}");
        }
        assert_eq!(status(client, request(STAT, "nonsense")).await, NOT_FOUND);
    });
}

#[test]
fn flushing_can_be_forbidden() {
    with_server(
        ServiceConfig {
            flush: false,
            ..config()
        },
        STORE,
        async |server| {
            let client = &mut server.connect();
            assert_eq!(status(client, request(FLUSH, "")).await, AUTH_ERROR);
        },
    );
    test(async |server| {
        let client = &mut server.connect();
        assert_eq!(status(client, set("a", "b", 0, 0)).await, 0);
        assert_eq!(status(client, request(FLUSH, "").extras(&[100])).await, 0);
        assert_eq!(status(client, request(GET, "a")).await, 0);
        assert_eq!(status(client, request(FLUSH, "")).await, 0);
        assert_eq!(status(client, request(GET, "a")).await, NOT_FOUND);
    });
}

#[test]
fn frames_may_come_byte_by_byte() {
    test(async |server| {
        let client = &mut server.connect();
        let bytes = [set("foo", "bar", 1, 0).bytes(), request(GETK, "foo").bytes()].concat();
        client.send_slowly(&bytes).await;
        assert_eq!(frame(client).await.expect("stored").status, 0);
        assert_eq!(frame(client).await.expect("read").value, b"bar");
    });
}

#[test]
fn strangers_must_authenticate() {
    let users = Users::parse(b"foo:bar\n").expect("a user");
    with_guarded_server(config(), Some(users), STORE, async |server| {
        let client = &mut server.connect();
        assert_eq!(ask(client, request(VERSION, "")).await.value, b"1.6.45-test");
        assert_eq!(ask(client, request(SASL_LIST, "")).await.value, b"PLAIN");
        assert_eq!(status(client, request(GET, "foo")).await, AUTH_ERROR);
        assert!(client.is_at_end().await);

        let client = &mut server.connect();
        for (mechanism, message, expected) in [
            ("PLAIN", "\0foo\0wrong", AUTH_ERROR),
            ("PLAIN", "foo", AUTH_ERROR),
            ("CRAM-MD5", "\0foo\0bar", AUTH_ERROR),
            ("PLAIN", "\0foo\0bar", 0),
        ] {
            assert_eq!(
                status(client, request(SASL_AUTH, mechanism).value(message)).await,
                expected
            );
        }
        assert_eq!(
            status(client, request(SASL_STEP, "PLAIN").value("x")).await,
            AUTH_ERROR
        );
        assert_eq!(status(client, request(GET, "foo")).await, NOT_FOUND);
        let totals = server.service().totals();
        assert_eq!((totals.auth_cmds, totals.auth_errors), (5, 4));
    });
}

#[test]
fn a_listener_may_speak_binary_only() {
    with_server(
        ServiceConfig {
            dialects: Dialects::Binary,
            ..config()
        },
        STORE,
        async |server| {
            let client = &mut server.connect();
            client.send(b"get foo\r\n").await;
            assert!(client.is_at_end().await);
            assert_eq!(status(&mut server.connect(), request(NOOP, "")).await, 0);
        },
    );
}

#[test]
fn the_test_client_agrees_with_the_parser() {
    let bytes = set("key", "value", 1, 2).cas(3).bytes();
    let Parsed::Done(Ok(request), used) = wire::memcached::binary::parse(&bytes) else {
        panic!()
    };
    assert_eq!(
        (request.key, request.cas, &bytes[used..]),
        (&b"key"[..], 3, &b"value"[..])
    );
}
