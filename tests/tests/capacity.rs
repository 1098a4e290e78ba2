//! A store's memory stays within its capacity: index, headers, values and uploads together.

use std::time::Instant;

use hikyaku_tests::{Connection, Daemon, MIB, PATIENCE, Random, Signal};

/// The capacity of [`Daemon::memcached`].
const CAPACITY: usize = 64 * MIB;

/// The limit for the process's memory: the store's capacity and a tenth of it, and 64 MiB for everything else.
const MEMORY_MAX: usize = CAPACITY + CAPACITY / 10 + 64 * MIB;

/// Stores `items` items with values of these sizes, pipelined.
fn fill(connection: &mut Connection, items: usize, sizes: &[usize], expiries: &[u32]) {
    let mut random = Random::new(1);
    let values = random.bytes(sizes.iter().copied().max().expect("sizes"));
    let mut batch = Vec::new();
    for number in 0..items {
        let (size, expiry) = (*random.pick(sizes), *random.pick(expiries));
        batch.extend(format!("set key:{number} 0 {expiry} {size} noreply\r\n").into_bytes());
        batch.extend(&values[..size]);
        batch.extend(b"\r\n");
        if batch.len() > MIB {
            connection.send(&batch);
            batch.clear();
        }
    }
    connection.send(&batch);
    connection.exchange("mn\r\n", "MN\r\n");
}

fn assert_within_memory(daemon: &Daemon) {
    let peak = daemon.memory_peak();
    assert!(
        peak <= MEMORY_MAX,
        "{} MiB, more than {} MiB",
        peak / MIB,
        MEMORY_MAX / MIB
    );
}

/// Checks the memory and the counters, and that the store still accepts items.
fn assert_bounded(daemon: &Daemon) {
    assert_within_memory(daemon);
    let mut connection = daemon.connect();
    let statistics = connection.statistics("");
    let number = |name: &str| statistics[name].parse::<usize>().expect("a number");
    assert_eq!(number("limit_maxbytes"), CAPACITY);
    assert!(number("bytes") <= CAPACITY, "{} bytes", number("bytes"));
    assert!(number("evictions") > 0, "{statistics:#?}");
    assert!(number("curr_items") > 0, "{statistics:#?}");
    connection.exchange(
        "set last 0 0 4\r\nlast\r\nget last\r\n",
        "STORED\r\nVALUE last 0 4\r\nlast\r\nEND\r\n",
    );
}

#[test]
fn small_items_five_times_over() {
    let daemon = Daemon::memcached();
    fill(&mut daemon.connect(), 1_000_000, &[10, 100, 300], &[0]);
    assert_bounded(&daemon);
}

#[test]
fn items_of_all_sizes_and_expiries() {
    let daemon = Daemon::memcached();
    fill(
        &mut daemon.connect(),
        20_000,
        &[1, 500, 5_000, 40_000, 100_000],
        &[0, 60, 3600, 100_000],
    );
    assert_bounded(&daemon);
}

#[test]
fn large_items_only() {
    let daemon = Daemon::memcached();
    fill(&mut daemon.connect(), 600, &[1_000_000, 900_000, 500_000], &[0]);
    assert_bounded(&daemon);
}

#[test]
fn first_small_items_then_large_ones_then_small_ones() {
    let daemon = Daemon::memcached();
    let mut connection = daemon.connect();
    fill(&mut connection, 500_000, &[200], &[0]);
    fill(&mut connection, 300, &[1_000_000], &[0]);
    fill(&mut connection, 500_000, &[200], &[0]);
    assert_bounded(&daemon);
}

#[test]
fn many_uploads_at_once() {
    let daemon = Daemon::memcached();
    let half = vec![b'x'; 500_000];
    let mut open: Vec<Connection> = Vec::new();
    for number in 0..300 {
        let mut connection = daemon.connect();
        connection.send(format!("set upload:{number} 0 0 1000000\r\n"));
        connection.send(&half);
        open.push(connection);
    }
    // 300 MB are announced and half of that is sent. In the end each is stored, or refused for lack of memory.
    let mut stored = 0;
    for connection in &mut open {
        connection.send(&half);
        connection.send("\r\n");
        match connection.line().as_str() {
            "STORED" => stored += 1,
            refused => assert!(
                refused.to_lowercase().starts_with("server_error out of memory"),
                "{refused}"
            ),
        }
    }
    assert!(stored > 0);
    assert_within_memory(&daemon);
    daemon.assert_serves();
}

/// Opens connections, each of which requests one of these items and reads nothing of its value.
fn stalled_readers(daemon: &Daemon, items: usize) -> Vec<Connection> {
    let mut readers: Vec<Connection> = (0..items).map(|_| daemon.connect()).collect();
    for (number, reader) in readers.iter_mut().enumerate() {
        reader.send(format!("get large:{number}\r\n"));
        // The reply has begun, so the value is held for it.
        reader.exact("VALUE".len());
    }
    readers
}

/// Asks for a statistic until it has the value; that shows in the daemon's housekeeping, so each answer comes with time.
fn await_statistic(connection: &mut Connection, name: &str, is_right: impl Fn(usize) -> bool) {
    let start = Instant::now();
    loop {
        let value = connection.statistics("")[name].parse().expect("a number");
        if is_right(value) {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "{name} stays at {value}");
    }
}

/// `cache_memlimit` and a reload accept the same capacities: one below what slow readers hold takes effect when they have
/// read or gone. Only the words and the least capacity of 8 MiB are memcached's.
#[test]
fn a_capacity_below_what_readers_hold_is_accepted_from_both_sides() {
    let text = |capacity: usize| {
        let uri = format!("memory:?capacity={}&item_size_max=2MiB", capacity);
        let listen = "[[listen]]\nprotocol = \"memcached\"\naddress = \"127.0.0.1:0\"\n";
        format!("workers = 1\n[store.default]\nuri = \"{uri}\"\n{listen}")
    };
    let (readers, value) = (24, vec![b'x'; MIB - 1024]);
    for by_command in [true, false] {
        let daemon = Daemon::configured(&text(CAPACITY));
        let mut connection = daemon.connect();
        for number in 0..readers {
            connection.send(format!("set large:{number} 0 0 {}\r\n", value.len()));
            connection.send(&value);
            connection.exchange("\r\n", "STORED\r\n");
        }
        let stalled = stalled_readers(&daemon, readers);
        if by_command {
            connection.exchange("cache_memlimit 8\r\n", "OK\r\n");
        } else {
            daemon.folder().write("hikyaku.toml", text(8 * MIB));
            daemon.signal(Signal::Hangup);
        }
        await_statistic(&mut connection, "limit_maxbytes", |limit| limit == 8 * MIB);
        drop(stalled);
        await_statistic(&mut connection, "bytes", |bytes| bytes <= 8 * MIB);
        connection.exchange("set last 0 0 1\r\nv\r\n", "STORED\r\n");
    }
}
