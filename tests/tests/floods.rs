//! Overload: uploads without an end, unread replies, ten thousand connections.

use std::collections::BTreeSet;
use std::time::Duration;

use hikyaku_tests::{Daemon, Frame, GROWTH_MAX, MIB, Response, raise_open_files};

#[test]
fn bodies_that_are_promised_and_never_come() {
    raise_open_files();
    let daemon = Daemon::single_loop();
    let peak = daemon.memory_peak();
    let mut open = Vec::new();
    for number in 0..500 {
        let mut connection = daemon.connect();
        match number % 4 {
            0 => connection.send("set k 0 0 1000000\r\nonly this"),
            1 => connection.send("ms k 1000000\r\nonly this"),
            2 => connection.send("set k 0 0 2147483000\r\nonly this"),
            _ => {
                let mut frame = Frame::set(b"key", 0, b"only this");
                frame.body_length = Some(0xFFFF_FFFF);
                // The daemon may refuse some at once and close them.
                let _ = connection.try_send(frame.bytes());
            }
        }
        open.push(connection);
    }
    daemon.connect().sync();
    daemon.assert_serves();
    // Complete uploads still succeed between them.
    let mut connection = daemon.connect();
    connection.exchange(
        "set whole 0 0 5\r\nwhole\r\nget whole\r\n",
        "STORED\r\nVALUE whole 0 5\r\nwhole\r\nEND\r\n",
    );
    let grown = daemon.memory_peak() - peak;
    assert!(grown < 64 * MIB + GROWTH_MAX, "{} MiB", grown / MIB);
}

/// Thirty bytes of a request once made the daemon fault in a gigabyte of pages, and other connections of the loop waited
/// for seconds.
#[test]
fn a_large_value_that_is_only_announced_takes_no_memory() {
    let daemon = Daemon::start(&[
        "--memcached",
        "127.0.0.1:0",
        "--store",
        "default=memory:?capacity=2GiB&item_size_max=512MiB",
        "--workers",
        "1",
    ]);
    let peak = daemon.memory_peak();
    let mut uploader = daemon.connect();
    uploader.send("set large 0 0 500000000\r\nonly this");
    daemon.connect().sync();
    daemon.assert_serves();
    let grown = daemon.memory_peak() - peak;
    assert!(grown < GROWTH_MAX, "{} MiB", grown / MIB);
}

/// Sixty prepends to a large value, in one write, once kept all other clients of the loop waiting until sixteen of them
/// had copied it. The sizes that another client sees tell how often it was served in between.
#[test]
fn pipelined_prepends_to_a_large_value_let_others_be_served() {
    const SIZE: usize = 8 * MIB;
    const PREPENDS: usize = 60;
    let daemon = Daemon::start(&[
        "--memcached",
        "127.0.0.1:0",
        "--store",
        "default=memory:?capacity=128MiB&item_size_max=16MiB",
        "--workers",
        "1",
    ]);
    let mut writer = daemon.connect();
    writer.send(format!("set large 0 0 {SIZE}\r\n"));
    writer.send(vec![b'x'; SIZE]);
    writer.exchange("\r\n", "STORED\r\n");
    let mut other = daemon.connect();
    other.exchange("mg large s\r\n", format!("HD s{SIZE}\r\n"));
    writer.send("prepend large 0 0 1\r\ny\r\n".repeat(PREPENDS));
    let mut sizes = BTreeSet::new();
    let last = format!("HD s{}\r\n", SIZE + PREPENDS);
    loop {
        other.send("mg large s\r\n");
        let size = other.line();
        if size.trim_end() == last.trim_end() {
            break;
        }
        sizes.insert(size);
    }
    assert!(
        sizes.len() >= 15,
        "served {} times during {PREPENDS} prepends",
        sizes.len()
    );
    assert_eq!(
        writer.replies(b"STORED\r\n", PREPENDS as u64),
        Some(PREPENDS as u64)
    );
}

#[test]
fn pipelines_that_never_read_their_replies() {
    let daemon = Daemon::single_loop();
    let mut setter = daemon.connect();
    let value = "v".repeat(100_000);
    setter.exchange(
        format!("set big 0 0 100000\r\n{value}\r\nset tiny 0 0 1\r\nt\r\n"),
        "STORED\r\nSTORED\r\n",
    );
    let peak = daemon.memory_peak();
    for request in ["get big\r\n", "get tiny\r\n", "bogus\r\n"] {
        let some = request.repeat(100_000);
        let mut mute = Vec::new();
        for _ in 0..4 {
            let mut connection = daemon.connect();
            // The daemon accepts what fits the sockets and its limits, then nothing more.
            let mut sent = 0;
            while sent % some.len() == 0 {
                sent += connection.send_until_blocked(some.as_bytes(), Duration::from_millis(200));
                assert!(sent < 500 * MIB, "so many replies fit nowhere");
            }
            mute.push((connection, sent));
            daemon.assert_serves();
        }
        let grown = daemon.memory_peak() - peak;
        assert!(grown < GROWTH_MAX, "{request:?}: {} MiB", grown / MIB);
        // A client that begins to read gets every reply, complete and in order. The large replies would be tens of
        // gigabytes.
        let reply = if request.starts_with("get tiny") {
            "VALUE tiny 0 1\r\nt\r\nEND\r\n"
        } else {
            "ERROR\r\n"
        };
        if request != "get big\r\n" {
            let (mut connection, sent) = mute.swap_remove(0);
            connection.finish();
            let replies = connection.rest();
            // The last, incomplete request has no reply.
            assert_eq!(replies.len(), sent / request.len() * reply.len(), "{request:?}");
            assert!(
                replies.chunks(reply.len()).all(|one| one == reply.as_bytes()),
                "{request:?}: a torn reply"
            );
        }
    }
    daemon.assert_serves();
}

#[test]
fn ten_thousand_connections_of_one_byte_each() {
    let limit = raise_open_files();
    let count = 10_000.min(limit.saturating_sub(500));
    assert!(
        count >= 500,
        "the limit of open files is too low to test anything: {limit}"
    );
    let daemon = Daemon::single_loop();
    daemon.assert_serves();
    let before = daemon.memory();
    let mut connections = Vec::with_capacity(count);
    for number in 0..count {
        let mut connection = daemon.connect();
        // The first byte of a text command, of a meta command, of a binary frame, and of no protocol.
        connection.send([b"gm\x80\xff"[number % 4]]);
        connections.push(connection);
    }
    daemon.connect().sync();
    let grown = daemon.memory_peak().saturating_sub(before);
    assert!(grown <= count * 4096, "{} bytes a connection", grown / count);
    daemon.assert_serves();

    for (number, connection) in connections.iter_mut().enumerate() {
        match number % 4 {
            0 => connection.send("et absent\r\n"),
            1 => connection.send("n\r\n"),
            2 => connection.send(&Frame::noop().bytes()[1..]),
            _ => connection.send("\r\n"),
        }
    }
    for (number, connection) in connections.iter_mut().enumerate() {
        match number % 4 {
            0 => connection.exchange("", "END\r\n"),
            1 => connection.exchange("", "MN\r\n"),
            2 => assert_eq!(Response::read(connection).status, 0),
            _ => connection.exchange("", "CLIENT_ERROR bad command line format\r\n"),
        }
    }
}
