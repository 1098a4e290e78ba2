//! `stats items` and `stats slabs` as memcached's own tool and the Prometheus exporter read them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use hikyaku_tests::{Connection, Daemon, Folder, Tool, client_program, executable};

/// What the exporter reads of each class of `stats items`; it parses every value as a number.
const ITEMS: [&str; 11] = [
    "number",
    "age",
    "mem_requested",
    "evicted",
    "evicted_nonzero",
    "evicted_time",
    "outofmemory",
    "reclaimed",
    "expired_unfetched",
    "evicted_unfetched",
    "tailrepairs",
];

/// … and of `stats slabs`; it gives up without `cmd_set`, `cas_hits` and `cas_badval`.
const SLABS: [&str; 15] = [
    "chunk_size",
    "chunks_per_page",
    "total_pages",
    "total_chunks",
    "used_chunks",
    "free_chunks",
    "free_chunks_end",
    "get_hits",
    "cmd_set",
    "delete_hits",
    "incr_hits",
    "decr_hits",
    "cas_hits",
    "cas_badval",
    "touch_hits",
];

type Classes = BTreeMap<u32, BTreeMap<String, u64>>;

/// The `STAT` lines of a group whose names are CLASS:NAME behind the prefix, as both readers take them apart.
fn classes(connection: &mut Connection, group: &str, prefix: &str) -> Classes {
    connection.send(format!("stats {group}\r\n"));
    let mut classes = Classes::new();
    loop {
        let line = connection.line();
        if line == "END" {
            return classes;
        }
        let words: Vec<&str> = line.split(' ').collect();
        let ["STAT", name, value] = words[..] else {
            panic!("{line:?}")
        };
        let Some((class, name)) = name.strip_prefix(prefix).and_then(|name| name.split_once(':')) else {
            continue;
        };
        let value = value.parse().expect("a number");
        let class = class.parse().expect("a class");
        classes.entry(class).or_default().insert(name.to_owned(), value);
    }
}

/// A store that has evicted, with items of two times to live and of two sizes.
fn evicting() -> (Daemon, Connection) {
    let daemon = Daemon::start(&[
        "--memcached",
        "127.0.0.1:0",
        "--store",
        "default=memory:?capacity=4MiB",
        "--workers",
        "1",
    ]);
    let mut connection = daemon.connect();
    let (small, large) = ("s".repeat(100), "l".repeat(100_000));
    for number in 0..30_000 {
        let exptime = if number % 2 == 0 { 0 } else { 1000 };
        connection.send(format!("set k{number} 0 {exptime} 100 noreply\r\n{small}\r\n"));
    }
    connection.send(format!("set large 0 0 100000 noreply\r\n{large}\r\n"));
    connection.exchange(
        "get k29999\r\n",
        format!("VALUE k29999 0 100\r\n{small}\r\nEND\r\n"),
    );
    (daemon, connection)
}

/// The Prometheus exporter, in front of a daemon.
struct Exporter {
    process: Child,
    address: String,
}

impl Exporter {
    fn start(daemon: &Daemon) -> Exporter {
        let mut process = Command::new(client_program("memcached_exporter"))
            .arg(format!("--memcached.address={}", daemon.address()))
            .arg("--web.listen-address=127.0.0.1:0")
            .stderr(Stdio::piped())
            .spawn()
            .expect("tests/install builds the exporter");
        let mut log = BufReader::new(process.stderr.take().expect("it is a pipe")).lines();
        let address = log
            .by_ref()
            .map(|line| line.expect("the log is text"))
            .find_map(|line| Some(line.split_once("msg=\"Listening on\" address=")?.1.to_owned()))
            .expect("the exporter says where it listens");
        // A full pipe would stop it.
        std::thread::spawn(move || log.for_each(drop));
        Exporter { process, address }
    }

    /// The answer to a scrape.
    fn scrape(&self) -> String {
        let mut connection = Connection::open(&self.address);
        connection.send("GET /metrics HTTP/1.0\r\n\r\n");
        String::from_utf8(connection.rest()).expect("metrics are text")
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let ended = self.process.kill().and_then(|()| self.process.wait());
        ended.expect("the exporter is our child");
    }
}

/// A metric of class 1 that both `stats items` and `stats slabs` gave made the exporter refuse the whole scrape.
#[test]
fn the_exporter_exports_every_class() {
    let (daemon, mut connection) = evicting();
    let metrics = Exporter::start(&daemon).scrape();
    assert!(metrics.starts_with("HTTP/1.0 200"), "{metrics}");
    let value = |name: &str| {
        let of = |line: &str| line.strip_prefix(name)?.trim().parse::<f64>().ok();
        metrics
            .lines()
            .find_map(of)
            .unwrap_or_else(|| panic!("no {name} in {metrics}"))
    };
    assert_eq!(value("memcached_up "), 1.0);
    let items = classes(&mut connection, "items", "items:");
    for (class, figures) in &items {
        let label = format!("{{slab=\"{class}\"}}");
        assert_eq!(
            value(&format!("memcached_slab_current_items{label}")),
            figures["number"] as f64
        );
        assert_eq!(
            value(&format!("memcached_slab_mem_requested_bytes{label}")),
            figures["mem_requested"] as f64
        );
        assert_eq!(
            value(&format!("memcached_slab_items_evicted_unfetched_total{label}")),
            figures["evicted_unfetched"] as f64
        );
    }
}

/// The figures of a durable store take the places of lines that no exporter needs.
#[test]
fn the_exporter_reads_a_durable_store() {
    let folder = Folder::new();
    let daemon = Daemon::start(&[
        "--memcached",
        "127.0.0.1:0",
        "--store",
        "default=hash:kept?sync=commit",
        "--data",
        folder.path("data").to_str().expect("the path is UTF-8"),
    ]);
    let mut connection = daemon.connect();
    connection.exchange("set k 0 0 1\r\nv\r\n", "STORED\r\n");
    let metrics = Exporter::start(&daemon).scrape();
    for line in [
        "memcached_up 1",
        "memcached_current_items 1",
        "memcached_items_total 1",
    ] {
        assert!(
            metrics.lines().any(|metric| metric == line),
            "no {line} in {metrics}"
        );
    }
    let output = Tool::new(executable())
        .args(["kv", "stats", "--json", "--server", daemon.address()])
        .succeed();
    for figure in [
        "\"engine\":\"hash\"",
        "\"store_state\":\"writable\"",
        "\"store_sync\":\"commit\"",
        "\"store_log_appended_records\":1",
        "\"store_writes_per_sync\":\"1.0\"",
        "\"store_dirty_age_ms\":0",
    ] {
        let spaceless = output.replace([' ', '\n'], "");
        assert!(spaceless.contains(figure), "no {figure} in {output}");
    }
}

#[test]
fn the_exporter_finds_what_it_reads() {
    let (_daemon, mut connection) = evicting();
    let items = classes(&mut connection, "items", "items:");
    let slabs = classes(&mut connection, "slabs", "");
    assert!(items.len() >= 3 && items.contains_key(&1), "{items:?}");
    for (class, figures) in &items {
        assert!(*class < 64, "memcached has no such class");
        ITEMS
            .iter()
            .for_each(|name| assert!(figures.contains_key(*name), "{class}: no {name}"));
        assert!(figures["evicted_unfetched"] <= figures["evicted"], "{figures:?}");
        assert!(figures["evicted_nonzero"] <= figures["evicted"], "{figures:?}");
    }
    for (class, figures) in &slabs {
        SLABS
            .iter()
            .for_each(|name| assert!(figures.contains_key(*name), "{class}: no {name}"));
        assert_eq!(
            figures["total_chunks"],
            figures["used_chunks"] + figures["free_chunks"]
        );
        assert_eq!(figures["used_chunks"], items[class]["number"]);
        let mean = items[class]["mem_requested"] / figures["used_chunks"];
        assert!(mean.abs_diff(figures["chunk_size"]) <= 1, "{figures:?}");
    }
    let sum = |classes: &Classes, name: &str| classes.values().map(|figures| figures[name]).sum::<u64>();
    assert_eq!(sum(&slabs, "cmd_set"), 30_001);
    assert_eq!(sum(&slabs, "get_hits"), 1);
    let (never, ending): (Classes, Classes) = items.clone().into_iter().partition(|(class, _)| *class <= 2);
    assert_eq!(sum(&never, "evicted_nonzero"), 0);
    assert_eq!(sum(&ending, "evicted_nonzero"), sum(&ending, "evicted"));
    assert!(sum(&items, "evicted") > 1000, "{items:?}");
    connection.send("stats reset\r\n");
    assert_eq!(connection.line(), "RESET");
    let items = classes(&mut connection, "items", "items:");
    assert_eq!(sum(&items, "evicted"), 0, "{items:?}");
}

/// The tool of memcached's own sources.
fn memcached_tool(daemon: &Daemon, mode: &str) -> String {
    let script = client_program("memcached-suite/scripts/memcached-tool");
    Tool::new("perl")
        .arg(script)
        .args([daemon.address(), mode])
        .succeed()
}

#[test]
fn memcacheds_own_tool_shows_the_classes() {
    let (daemon, mut connection) = evicting();
    let items = classes(&mut connection, "items", "items:");
    let shown = memcached_tool(&daemon, "display");
    let mut lines = shown.lines();
    assert!(
        lines.next().is_some_and(|head| head.contains("Max_age")),
        "{shown}"
    );
    let mut rows = 0;
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [class, _size, age, pages, count, _full, evicted, _time, _oom] = words[..] else {
            panic!("{line:?}")
        };
        let figures = &items[&class.parse().expect("a class")];
        assert_eq!(count, figures["number"].to_string());
        assert_eq!(evicted, figures["evicted"].to_string());
        assert!(age.ends_with('s') && pages != "0", "{line}");
        rows += 1;
    }
    assert!(rows >= 3, "{shown}");
    let dumped = memcached_tool(&daemon, "keys");
    let number: u64 = items.values().map(|figures| figures["number"]).sum();
    assert_eq!(dumped.lines().count() as u64, number);
}
