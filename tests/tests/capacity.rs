//! A store's memory stays within its capacity: index, headers, values and uploads together.

use hikyaku_tests::{Connection, Daemon, MIB, Random};

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
