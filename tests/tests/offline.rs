//! `hikyaku kv import`, `export` and `scan` on the folders of stores, with databases made by Tokyo Cabinet's own tools.

use std::path::Path;

use hikyaku_tests::{Daemon, Folder, Tool, executable};

/// `hikyaku kv COMMAND --store URI --data FOLDER/data`.
fn kv(folder: &Folder, command: &str, store: &str) -> Tool {
    Tool::new(executable())
        .args(["kv", command, "--store", store, "--data"])
        .arg(folder.path("data"))
}

/// Runs `tchmgr` or `tcbmgr`.
fn tokyo(program: &str, arguments: &[&str], path: &Path) -> Tool {
    Tool::new(program).args(arguments).arg(path)
}

fn put(program: &str, path: &Path, key: &[u8], value: &[u8]) {
    let digits = |byte: &u8| format!("{byte:02X}");
    let hexadecimal = |bytes: &[u8]| bytes.iter().map(digits).collect::<Vec<_>>().join(" ");
    let records = [hexadecimal(key), hexadecimal(value)];
    tokyo(program, &["put", "-sx"], path).args(records).succeed();
}

/// Bytes of every kind, and more than a page holds.
fn records() -> Vec<(Vec<u8>, Vec<u8>)> {
    let all: Vec<u8> = (0..=255).collect();
    vec![
        (b"empty".to_vec(), Vec::new()),
        ("飛脚".into(), "flying feet".into()),
        (all[..255].to_vec(), all.clone()),
        (b"tab\tand\nline".to_vec(), b"\t\n\0".to_vec()),
        (b"large".to_vec(), all.repeat(100)),
    ]
}

/// A database of Tokyo Cabinet, into a store, out as JSON lines, into a store of the other kind, and out again.
fn records_go_round(program: &str, create: &[&str], name: &str) {
    let folder = Folder::new();
    let path = folder.path(name);
    tokyo(program, &[&["create"], create].concat(), &path).succeed();
    for (key, value) in records() {
        put(program, &path, &key, &value);
    }
    let said = kv(&folder, "import", "tree:first?compression=zstd")
        .arg(&path)
        .succeed();
    assert_eq!(said, "5 items stored, 0 expired ones left out\n");
    let lines = kv(&folder, "export", "tree:first").succeed();
    let mut keys = Vec::new();
    for line in lines.lines() {
        let item: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!((&item["flags"], &item["exptime"]), (&0.into(), &0.into()));
        keys.push(item["key"].as_str().map(str::to_owned));
    }
    let text = |text: &str| Some(text.to_owned());
    let expected = [
        None,
        text("empty"),
        text("large"),
        text("tab\tand\nline"),
        text("飛脚"),
    ];
    assert_eq!(
        keys, expected,
        "in order; the key that is not UTF-8 begins with a zero"
    );
    kv(&folder, "import", "hash:second")
        .arg("-")
        .input(lines.clone())
        .succeed();
    let mut again: Vec<String> = kv(&folder, "export", "hash:second")
        .succeed()
        .lines()
        .map(str::to_owned)
        .collect();
    let mut lines: Vec<String> = lines.lines().map(str::to_owned).collect();
    again.sort();
    lines.sort();
    assert_eq!(again, lines);

    // A client reads the values of the database.
    let daemon = Daemon::start(&[
        "--memcached",
        "127.0.0.1:0",
        "--store",
        "default=tree:first",
        "--data",
        folder.path("data").to_str().expect("the path is UTF-8"),
    ]);
    let mut connection = daemon.connect();
    let large = (0..=255).collect::<Vec<u8>>().repeat(100);
    let expected = [&b"VALUE large 0 25600\r\n"[..], &large, b"\r\nEND\r\n"].concat();
    connection.exchange("get large\r\n", expected);
}

#[test]
fn a_hash_database_of_tokyo_cabinet_is_imported() {
    records_go_round("tchmgr", &[], "casket.tch");
}

#[test]
fn a_tree_database_of_tokyo_cabinet_with_deflate_is_imported() {
    records_go_round("tcbmgr", &["-td"], "casket.tcb");
}

#[test]
fn files_that_cannot_be_imported_are_named() {
    let folder = Folder::new();
    let junk = folder.write("junk.tch", "no database");
    let lines = folder.write(
        "items.jsonl",
        "{\"key\":\"a\",\"value\":\"1\"}\n\n{\"key\":\"b\"}\n",
    );
    let long = folder.write(
        "long.jsonl",
        format!("{{\"key\":\"{}\",\"value\":\"\"}}\n", "k".repeat(256)),
    );
    let fails = |tool: Tool, code: i32, part: &str| {
        let ran = tool.run();
        assert_eq!(ran.status.code(), Some(code), "{ran:#?}");
        assert!(ran.errors.contains(part), "{ran:#?}");
        assert_eq!(ran.errors.lines().count(), 1, "{ran:#?}");
    };
    let import = |store: &str, file: &Path| kv(&folder, "import", store).arg(file);
    fails(import("tree:x", &junk), 1, "tchmgr cannot read");
    fails(
        import("tree:x", &folder.path("none.tcb")),
        1,
        "none.tcb: No such file",
    );
    fails(import("tree:x", &lines), 1, "items.jsonl:3: it has no \"value\"");
    fails(
        import("tree:x", &long),
        1,
        "long.jsonl:1: cannot store the item: a key of 256 bytes",
    );
    fails(import("memory:", &lines), 2, "a memory store has no folder");
    fails(
        import("tree:x?compression=gzip", &lines),
        2,
        "none, lz4, zstd or deflate",
    );
    let other = import("tree:x", &lines).args(["--format", "tokyo"]);
    fails(other, 2, "neither a .tch nor a .tcb file");
    let missing = import("tree:x", &folder.path("junk.tch")).variable("PATH", "/nonexistent");
    fails(missing, 1, "apt-get install tokyocabinet-bin");
    fails(kv(&folder, "export", "tree:nowhere"), 1, "nowhere does not exist");
}

#[test]
fn a_store_that_a_daemon_has_open_is_left_alone() {
    let folder = Folder::new();
    let data = folder.path("data");
    let daemon = Daemon::start(&[
        "--memcached",
        "127.0.0.1:0",
        "--store",
        "default=tree:held",
        "--data",
        data.to_str().expect("the path is UTF-8"),
    ]);
    let ran = kv(&folder, "export", "tree:held").run();
    assert_eq!(ran.status.code(), Some(1), "{ran:#?}");
    let holder = format!("in use by process {}", daemon.pid());
    assert!(
        ran.errors.contains(&holder) && ran.errors.contains("--server"),
        "{ran:#?}"
    );
    daemon.assert_serves();
}

/// Keys a-0 … a-299, b-0 … b-299 and c, through pages and pending writes.
fn scanned() -> Folder {
    let folder = Folder::new();
    for letter in ["a", "b"] {
        let item = |number| format!("{{\"key\":\"{letter}-{number:03}\",\"value\":\"{number}\"}}\n");
        let lines: String = (0..300).map(item).collect();
        kv(&folder, "import", "tree:scanned")
            .arg("-")
            .input(lines)
            .succeed();
    }
    let last = "{\"key\":\"c\",\"value\":\"\",\"flags\":7}";
    kv(&folder, "import", "tree:scanned")
        .arg("-")
        .input(last)
        .succeed();
    folder
}

fn check_scans(scan: impl Fn(&[&str]) -> String) {
    let keys = |arguments: &[&str]| scan(arguments).lines().map(str::to_owned).collect::<Vec<_>>();
    let all = keys(&[]);
    assert!(all.is_sorted() && all.len() == 601, "{}", all.len());
    let prefix = keys(&["--prefix", "b-"]);
    assert!(prefix.len() == 300 && prefix[0] == "b-000" && prefix[299] == "b-299");
    assert_eq!(keys(&["b-29"]).len(), 10);
    assert_eq!(
        keys(&["--from", "a-298", "--to", "b-002"]),
        ["a-298", "a-299", "b-000", "b-001"]
    );
    assert_eq!(
        keys(&["--prefix", "b", "--from", "a-298", "--limit", "2"]),
        ["b-000", "b-001"]
    );
    assert_eq!(keys(&["--from", "b-2999"]), ["c"]);
    assert_eq!(keys(&["--from", "d"]), [""; 0]);
    assert_eq!(keys(&["--limit", "0"]), [""; 0]);
    let item: serde_json::Value = serde_json::from_str(&scan(&["--json", "c"])).expect("JSON");
    assert_eq!(
        (&item["key"], &item["flags"], &item["size"]),
        (&"c".into(), &7.into(), &1.into())
    );
}

#[test]
fn a_tree_is_scanned_in_order_without_and_with_its_daemon() {
    let folder = scanned();
    check_scans(|arguments| kv(&folder, "scan", "tree:scanned").args(arguments).succeed());
    let data = folder.path("data");
    let daemon = Daemon::start(&[
        "--memcached",
        "127.0.0.1:0",
        "--store",
        "default=tree:scanned",
        "--data",
        data.to_str().expect("the path is UTF-8"),
    ]);
    check_scans(|arguments| {
        let scan = Tool::new(executable()).args(["kv", "scan", "--server", daemon.address()]);
        scan.args(arguments).succeed()
    });
}

#[test]
fn stores_without_order_have_no_ranges() {
    let daemon = Daemon::memcached();
    let scan = Tool::new(executable()).args(["kv", "scan", "--server", daemon.address(), "--from", "a"]);
    let ran = scan.run();
    assert_eq!(ran.status.code(), Some(2), "{ran:#?}");
    assert!(ran.errors.contains("keeps no order"), "{ran:#?}");
    let folder = Folder::new();
    kv(&folder, "import", "hash:x")
        .arg("-")
        .input("{\"key\":\"k\",\"value\":\"v\"}")
        .succeed();
    let ran = kv(&folder, "scan", "hash:x").args(["--to", "z"]).run();
    assert_eq!(ran.status.code(), Some(2), "{ran:#?}");
    assert!(ran.errors.contains("hash stores keep no order"), "{ran:#?}");
    assert_eq!(kv(&folder, "scan", "hash:x").arg("k").succeed(), "k\n");
}
