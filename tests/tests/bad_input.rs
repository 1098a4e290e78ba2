//! Bad input: it causes a protocol error or meets a named limit, never a panic or unbounded memory.
//!
//! Here are requests with one error, and valid ones that arrive in pieces. `floods.rs` sends too many of them,
//! `garbage.rs` random bytes. Every daemon must answer `version` afterwards, and dropping it checks that it did not panic.

use hikyaku_tests::{Connection, Daemon, Frame, MIB, Response, vectors};

#[test]
fn wrong_text_is_answered_as_memcached_answers_it() {
    let daemon = Daemon::single_loop();
    let mut wrong = Vec::new();
    for vector in vectors(include_str!("../vectors/bad_text.txt")) {
        let mut connection = daemon.connect();
        connection.send("delete k noreply\r\ndelete n noreply\r\ndelete fresh noreply\r\n");
        let request = [&vector.request[..], b"mn\r\n"].concat();
        // The daemon may close before everything is sent.
        let _ = connection.twin().try_send(request);
        let mut got = if vector.closes {
            connection.rest()
        } else {
            connection.until(b"MN\r\n")
        };
        if !vector.closes {
            got.truncate(got.len() - b"MN\r\n".len());
        }
        if got != vector.reply {
            let shown = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
            wrong.push(format!(
                "{}\n  awaited {:?}\n  came    {:?}",
                vector.shown,
                shown(&vector.reply),
                shown(&got)
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of the vectors:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    daemon.assert_serves();
}

#[test]
fn a_line_that_never_ends_is_cut_off() {
    let daemon = Daemon::single_loop();
    let peak = daemon.memory_peak();
    for start in ["", "set ", "mg ", "stats ", "\0"] {
        let mut connection = daemon.connect();
        // Far longer than any line. The daemon may close before all of it is sent.
        let line = start.to_owned() + &"x".repeat(MIB);
        let _ = connection.try_send(line);
        let told = String::from_utf8_lossy(&connection.rest()).into_owned();
        assert!(
            told.is_empty() || told.starts_with("ERROR") || told.starts_with("CLIENT_ERROR"),
            "{start:?}: {told:?}"
        );
    }
    assert!(daemon.memory_peak() < peak + 16 * MIB);
    daemon.assert_serves();
}

#[test]
fn a_get_of_more_keys_than_fit_anywhere() {
    let daemon = Daemon::single_loop();
    let peak = daemon.memory_peak();
    let mut connection = daemon.connect();
    connection.exchange("set here 0 0 1\r\nx\r\n", "STORED\r\n");
    let mut writer = connection.twin();
    let keys = 200_000;
    let sender = std::thread::spawn(move || {
        writer.send("get");
        let some = " here absent".repeat(1000);
        for _ in 0..keys / 1000 {
            writer.send(&some);
        }
        writer.send("\r\n");
    });
    for _ in 0..keys {
        connection.exchange("", "VALUE here 0 1\r\nx\r\n");
    }
    connection.exchange("", "END\r\n");
    sender.join().expect("all was sent");
    assert!(
        daemon.memory_peak() < peak + 16 * MIB,
        "a line of 2.4 MB was kept"
    );
}

/// Requests in all three dialects with their complete replies, which depend on no time or version.
fn scripts() -> Vec<(&'static str, Vec<u8>, Vec<u8>)> {
    let text = "set a 5 0 3\r\nabc\r\nget a b\r\nappend a 0 0 2\r\nde\r\nset n 0 0 1\r\n7\r\nincr n 5\r\ndelete b\r\n\
        set q 0 0 1 noreply\r\nz\r\ntouch a 0\r\ngat 0 a q\r\nset a 0 0 2\r\nxyz\r\nbogus\r\nget a\r\n";
    let text_replies = "STORED\r\nVALUE a 5 3\r\nabc\r\nEND\r\nSTORED\r\nSTORED\r\n12\r\nNOT_FOUND\r\n\
        TOUCHED\r\nVALUE a 5 5\r\nabcde\r\nVALUE q 0 1\r\nz\r\nEND\r\nCLIENT_ERROR bad data chunk\r\n\
        CLIENT_ERROR bad command line format\r\nERROR\r\nVALUE a 5 5\r\nabcde\r\nEND\r\n";
    let meta = "ms m 3 F9 k O1\r\nabc\r\nmg m v f s O2\r\nmg absent v q\r\nmg absent v\r\nms m 2 MA\r\nde\r\n\
        ma c N0 J5 v\r\nma c v D3\r\nms bQ== 1 b\r\nx\r\nmg bQ== b k v\r\nmd m q\r\nmg m\r\nmn\r\n";
    let meta_replies = "HD km O1\r\nVA 3 f9 s3 O2\r\nabc\r\nEN\r\nHD\r\nVA 1\r\n5\r\nVA 1\r\n8\r\nHD\r\n\
        VA 1 kbQ== b\r\nx\r\nEN\r\nMN\r\n";
    let mut binary = Vec::new();
    binary.extend(Frame::set(b"a", 7, b"value").opaque(1).bytes());
    binary.extend(Frame::get(b"absent").opaque(2).bytes());
    binary.extend(Frame::new(0x0d, b"", b"absent", b"").opaque(3).bytes());
    binary.extend(Frame::new(0x04, b"", b"a", b"").opaque(4).bytes());
    binary.extend(Frame::noop().opaque(5).bytes());
    let mut binary_replies = Vec::new();
    let mut reply = |opcode: u8, status: u16, opaque: u32, value: &[u8]| {
        binary_replies.extend([0x81, opcode, 0, 0, 0, 0]);
        binary_replies.extend(status.to_be_bytes());
        binary_replies.extend(u32::try_from(value.len()).expect("short").to_be_bytes());
        binary_replies.extend(opaque.to_be_bytes());
        binary_replies.extend([0; 8]);
        binary_replies.extend(value);
    };
    reply(0x01, 0, 1, b"");
    reply(0x00, 1, 2, b"Not found");
    reply(0x04, 0, 4, b"");
    reply(0x0a, 0, 5, b"");
    vec![
        ("text", text.into(), text_replies.into()),
        ("meta", meta.into(), meta_replies.into()),
        ("binary", binary, binary_replies),
    ]
}

/// The reply without the part that differs between runs: the cas in the binary protocol's reply to a set.
fn comparable(dialect: &str, mut reply: Vec<u8>) -> Vec<u8> {
    if dialect == "binary" && reply.len() >= 24 {
        reply[16..24].fill(0);
    }
    reply
}

/// Deletes the items that the scripts store.
fn forget(connection: &mut Connection) {
    for key in ["a", "n", "q", "m", "c", "m"] {
        connection.send(format!("delete {key} noreply\r\n"));
    }
    // The key is one byte, sent as base64. The item may be absent.
    connection.send("md bQ== b\r\n");
    let _ = connection.line();
    connection.sync();
}

#[test]
fn frames_split_at_every_byte_are_whole_again() {
    let daemon = Daemon::single_loop();
    let mut other = daemon.connect();
    for (dialect, script, replies) in scripts() {
        for split in 0..=script.len() {
            forget(&mut other);
            let mut connection = daemon.connect();
            connection.send(&script[..split]);
            other.sync();
            connection.send(&script[split..]);
            let got = comparable(dialect, connection.exact(replies.len()));
            let shown = String::from_utf8_lossy(&got);
            assert!(got == replies, "{dialect} split at {split}: {shown:?}");
        }
    }
}

#[test]
fn frames_fed_byte_by_byte_are_whole_again() {
    let daemon = Daemon::single_loop();
    let mut other = daemon.connect();
    for (dialect, script, replies) in scripts() {
        forget(&mut other);
        let mut connection = daemon.connect();
        for byte in &script {
            connection.send([*byte]);
            other.sync();
        }
        assert!(
            comparable(dialect, connection.exact(replies.len())) == replies,
            "{dialect}"
        );
    }
}

#[test]
fn frames_truncated_at_every_byte_end_the_connection() {
    let daemon = Daemon::single_loop();
    let mut other = daemon.connect();
    for (dialect, script, replies) in scripts() {
        for cut in 0..script.len() {
            forget(&mut other);
            let mut connection = daemon.connect();
            connection.send(&script[..cut]);
            connection.finish();
            let got = comparable(dialect, connection.rest());
            let shown = String::from_utf8_lossy(&got);
            assert!(replies.starts_with(&got), "{dialect} cut at {cut}: {shown:?}");
        }
    }
    daemon.assert_serves();
}

/// The outcome of a frame of the binary protocol.
enum Fate {
    /// The reply has this status, and the connection stays open.
    Status(u16),
    /// The reply is "invalid arguments", and the connection closes, because the start of the next frame is unknown.
    Invalid,
    /// The connection closes, perhaps after a reply.
    Closes,
}

/// Frames with one error each.
fn bogus_frames() -> Vec<(&'static str, Frame, Fate)> {
    let lie = |mut frame: Frame, key: Option<u16>, extras: Option<u8>, body: Option<u32>| {
        (frame.key_length, frame.extras_length, frame.body_length) = (key, extras, body);
        frame
    };
    let long_key = [b'k'; 251];
    let set = || Frame::set(b"key", 0, b"value");
    let get = || Frame::get(b"key");
    vec![
        (
            "unknown opcode",
            Frame::new(0x7e, b"", b"", b""),
            Fate::Status(0x81),
        ),
        (
            "unknown opcode with a body",
            Frame::new(0x7e, b"1234", b"key", b"value"),
            Fate::Status(0x81),
        ),
        ("get without a key", Frame::get(b""), Fate::Invalid),
        (
            "get with extras",
            Frame::new(0x00, b"1234", b"key", b""),
            Fate::Invalid,
        ),
        (
            "get with a value",
            Frame::new(0x00, b"", b"key", b"value"),
            Fate::Invalid,
        ),
        (
            "get of a key that is too long",
            Frame::get(&long_key),
            Fate::Invalid,
        ),
        (
            "set of a key that is too long",
            Frame::set(&long_key, 0, b"v"),
            Fate::Invalid,
        ),
        (
            "set without extras",
            Frame::new(0x01, b"", b"key", b"value"),
            Fate::Invalid,
        ),
        (
            "set with short extras",
            Frame::new(0x01, b"1234", b"key", b"value"),
            Fate::Invalid,
        ),
        (
            "incr without extras",
            Frame::new(0x05, b"", b"key", b""),
            Fate::Invalid,
        ),
        (
            "touch without extras",
            Frame::new(0x1c, b"", b"key", b""),
            Fate::Invalid,
        ),
        (
            "noop with a body",
            Frame::new(0x0a, b"", b"key", b""),
            Fate::Invalid,
        ),
        (
            "version with a body",
            Frame::new(0x0b, b"", b"key", b""),
            Fate::Invalid,
        ),
        (
            "flush with odd extras",
            Frame::new(0x08, b"12", b"", b""),
            Fate::Invalid,
        ),
        (
            "a key longer than the body",
            lie(get(), Some(200), None, None),
            Fate::Closes,
        ),
        (
            "extras longer than the body",
            lie(get(), None, Some(255), None),
            Fate::Closes,
        ),
        (
            "a body shorter than its key",
            lie(get(), None, None, Some(1)),
            Fate::Closes,
        ),
        ("a body of nothing", lie(set(), None, None, Some(0)), Fate::Closes),
        (
            "everything longer than the body",
            lie(set(), Some(0xFFFF), Some(0xFF), Some(5)),
            Fate::Closes,
        ),
    ]
}

#[test]
fn binary_frames_that_lie_are_answered_or_cut_off() {
    let daemon = Daemon::single_loop();
    for (name, frame, fate) in bogus_frames() {
        let mut connection = daemon.connect();
        let _ = connection.try_send([frame.opaque(9).bytes(), Frame::noop().opaque(10).bytes()].concat());
        match fate {
            Fate::Status(status) => {
                let response = Response::read(&mut connection);
                assert_eq!((response.status, response.opaque), (status, 9), "{name}");
                assert_eq!(
                    Response::read(&mut connection).opaque,
                    10,
                    "{name}: the next request"
                );
            }
            Fate::Invalid => {
                let response = Response::read(&mut connection);
                assert_eq!((response.status, response.opaque), (4, 9), "{name}");
                assert_eq!(response.value, b"Invalid arguments", "{name}");
                assert_eq!(connection.rest(), b"", "{name}");
            }
            Fate::Closes => {
                connection.rest();
            }
        }
        daemon.assert_serves();
    }
}

#[test]
fn a_binary_value_that_is_too_large_is_refused_and_swallowed() {
    let daemon = Daemon::single_loop();
    let peak = daemon.memory_peak();
    let mut connection = daemon.connect();
    for opcode in [0x01, 0x02, 0x03] {
        let large = vec![b'x'; 20 * MIB];
        connection.send(Frame::new(opcode, &[0; 8], b"key", &large).opaque(1).bytes());
        connection.send(Frame::noop().opaque(2).bytes());
        assert_eq!(Response::read(&mut connection).status, 3);
        assert_eq!(Response::read(&mut connection).opaque, 2);
    }
    assert!(
        daemon.memory_peak() < peak + 8 * MIB,
        "what is refused is not kept"
    );
}
