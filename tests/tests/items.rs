//! Large, many, and contended items: sizes beyond the defaults, and a thousand connections.

use hikyaku_tests::{Connection, Daemon, Frame, MIB, Random, Response, raise_open_files};

/// A store with room for values of 64 MiB.
fn for_large_values() -> Daemon {
    Daemon::start(&[
        "--memcached",
        "127.0.0.1:0",
        "--store",
        "default=memory:?capacity=512MiB&item_size_max=64MiB",
    ])
}

fn store(connection: &mut Connection, key: &str, value: &[u8]) {
    connection.send(format!("set {key} 7 0 {}\r\n", value.len()));
    connection.send(value);
    connection.exchange("\r\n", "STORED\r\n");
}

fn assert_holds(connection: &mut Connection, key: &str, value: &[u8]) {
    connection.exchange(
        format!("get {key}\r\n"),
        format!("VALUE {key} 7 {}\r\n", value.len()),
    );
    assert!(connection.exact(value.len()) == value, "{key} came back changed");
    connection.exchange("", "\r\nEND\r\n");
}

#[test]
fn values_of_every_size_come_back() {
    let daemon = for_large_values();
    let mut connection = daemon.connect();
    let bytes = Random::new(1).bytes(2 * MIB);
    let powers = (0..21).map(|power| 1_usize << power);
    let sizes: Vec<usize> = powers.flat_map(|size| [size - 1, size, size + 1]).collect();
    for &size in &sizes {
        let key = format!("of:{size}");
        store(&mut connection, &key, &bytes[..size]);
        assert_holds(&mut connection, &key, &bytes[..size]);
    }
    for &size in &sizes {
        assert_holds(&mut connection, &format!("of:{size}"), &bytes[..size]);
    }
}

#[test]
fn a_raised_item_size_max_takes_values_up_to_it() {
    let daemon = for_large_values();
    let mut connection = daemon.connect();
    let value = Random::new(2).bytes(60 * MIB);
    store(&mut connection, "huge", &value);
    assert_holds(&mut connection, "huge", &value);
    store(&mut connection, "huge", &value[..32 * MIB]);
    assert_holds(&mut connection, "huge", &value[..32 * MIB]);

    connection.send(format!("append huge 0 0 {}\r\n", 1000));
    connection.send(&value[..1000]);
    connection.exchange("\r\n", "STORED\r\n");
    assert_holds(
        &mut connection,
        "huge",
        &[&value[..32 * MIB], &value[..1000]].concat(),
    );

    let length = 64 * MIB + 1;
    connection.send(format!("set larger 0 0 {length}\r\n"));
    connection.send(vec![b'x'; length]);
    connection.exchange("\r\n", "SERVER_ERROR object too large for cache\r\n");
    connection.exchange("get larger\r\n", "END\r\n");
}

#[test]
fn a_large_value_in_the_binary_protocol() {
    let daemon = for_large_values();
    let mut connection = daemon.connect();
    let value = Random::new(3).bytes(5 * MIB);
    connection.send(Frame::set(b"large", 0xDEAD_BEEF, &value).opaque(1).bytes());
    let stored = Response::read(&mut connection);
    assert_eq!((stored.status, stored.opaque), (0, 1));
    connection.send(Frame::get(b"large").opaque(2).bytes());
    let got = Response::read(&mut connection);
    assert_eq!((got.status, got.opaque, got.cas), (0, 2, stored.cas));
    assert_eq!(got.extras, 0xDEAD_BEEF_u32.to_be_bytes());
    assert!(got.value == value, "it came back changed");
}

#[test]
fn a_value_being_sent_does_not_change() {
    let daemon = for_large_values();
    let mut reader = daemon.connect();
    let mut writer = daemon.connect();
    let old = vec![b'o'; 16 * MIB];
    let new = vec![b'n'; 16 * MIB];
    store(&mut writer, "shared", &old);
    // Far larger than the socket buffers: half of the reply is sent when the item is replaced, then deleted.
    reader.send("get shared\r\n");
    assert_eq!(reader.line(), format!("VALUE shared 7 {}", old.len()));
    store(&mut writer, "shared", &new);
    writer.exchange("delete shared\r\n", "DELETED\r\n");
    assert!(reader.exact(old.len()) == old, "the reply is torn");
    reader.exchange("", "\r\nEND\r\n");
    reader.exchange("get shared\r\n", "END\r\n");
}

#[test]
fn a_get_of_a_thousand_keys() {
    let daemon = Daemon::memcached();
    let mut connection = daemon.connect();
    let mut sets = String::new();
    let mut line = String::from("get");
    let mut reply = String::new();
    for number in 0..1000 {
        let key = format!("{number:0>200}");
        sets += &format!("set {key} {number} 0 4 noreply\r\nabcd\r\n");
        line += &format!(" {key} absent{number}");
        reply += &format!("VALUE {key} {number} 4\r\nabcd\r\n");
    }
    connection.send(sets);
    connection.exchange(line + "\r\n", reply + "END\r\n");
}

#[test]
fn a_thousand_connections_at_once() {
    raise_open_files();
    let daemon = Daemon::memcached();
    let mut connections: Vec<Connection> = (0..1000).map(|_| daemon.connect()).collect();
    for round in 0..3 {
        for (number, connection) in connections.iter_mut().enumerate() {
            connection.send(format!("set own{number} 0 0 10\r\n{:010}\r\n", number * round));
        }
        for connection in &mut connections {
            assert_eq!(connection.line(), "STORED");
        }
        // Each reads what its neighbour wrote.
        let count = connections.len();
        for (number, connection) in connections.iter_mut().enumerate() {
            connection.send(format!("get own{}\r\n", (number + 1) % count));
        }
        for (number, connection) in connections.iter_mut().enumerate() {
            let other = (number + 1) % count;
            connection.exchange(
                "",
                format!("VALUE own{other} 0 10\r\n{:010}\r\nEND\r\n", other * round),
            );
        }
    }
    let statistics = connections[0].statistics("");
    assert!(statistics["curr_connections"].parse::<usize>().expect("a number") >= 1000);
}

#[test]
fn a_deep_pipeline_is_answered_in_order() {
    let daemon = Daemon::memcached();
    let mut connection = daemon.connect();
    let mut requests = String::new();
    let mut replies = String::new();
    for number in 0..5_000 {
        requests += &format!(
            "set k{} 0 0 5\r\n{number:05}\r\nget k{}\r\nmg k{} v\r\n",
            number % 7,
            number % 7,
            number % 7
        );
        replies += &format!(
            "STORED\r\nVALUE k{} 0 5\r\n{number:05}\r\nEND\r\nVA 5\r\n{number:05}\r\n",
            number % 7
        );
    }
    // Another thread sends, since otherwise each side would wait for the other to read.
    std::thread::scope(|scope| {
        let mut writer = connection.twin();
        scope.spawn(move || writer.send(requests));
        connection.exchange("", replies);
    });
}
