//! The command line: `check`, `kv`, `bench`, and errors.

use hikyaku_tests::{Daemon, Folder, Ran, Tool, executable};

fn hikyaku() -> Tool {
    Tool::new(executable())
}

fn kv(daemon: &Daemon, arguments: &[&str]) -> Tool {
    hikyaku()
        .arg("kv")
        .args(arguments)
        .args(["--server", daemon.address()])
}

fn exit(ran: &Ran) -> Option<i32> {
    ran.status.code()
}

const WRONG: &str = r#"workers = "many"
[store.default]
uri = "memory:?capacity=lots"
[[listen]]
protocol = "memcached"
address = "localhost"
idle_tiemout = "5s"
"#;

#[test]
fn check_tells_every_error_with_its_line() {
    let folder = Folder::new();
    folder.write("wrong.toml", WRONG);
    let ran = hikyaku()
        .args(["check", "wrong.toml"])
        .folder(folder.path("."))
        .run();
    assert_eq!(exit(&ran), Some(2), "{ran:#?}");
    let told = ran.output + &ran.errors;
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), 4, "{told}");
    for (line, (place, about)) in lines.iter().zip([
        (1, "workers"),
        (3, "capacity"),
        (6, "address"),
        (7, "idle_timeout"),
    ]) {
        assert!(line.starts_with(&format!("wrong.toml:{place}: ")), "{line}");
        assert!(line.contains(about) && line.contains(';'), "{line}");
    }
}

#[test]
fn serve_refuses_what_check_refuses() {
    let folder = Folder::new();
    folder.write("wrong.toml", WRONG);
    let ran = hikyaku()
        .args(["serve", "--config", "wrong.toml"])
        .folder(folder.path("."))
        .run();
    assert_eq!(exit(&ran), Some(2), "{ran:#?}");
    assert!(ran.errors.contains("wrong.toml:7: "), "{ran:#?}");
    assert_eq!(ran.output, "", "nothing listens");
}

#[test]
fn check_is_content_with_a_right_file() {
    let folder = Folder::new();
    folder.write(
        "right.toml",
        "[[listen]]\nprotocol = \"memcached\"\naddress = \"127.0.0.1:11211\"\n",
    );
    let ran = hikyaku()
        .args(["check", "right.toml"])
        .folder(folder.path("."))
        .run();
    assert_eq!(exit(&ran), Some(0), "{ran:#?}");
}

#[test]
fn an_address_that_is_taken_is_an_error() {
    let daemon = Daemon::memcached();
    let ran = hikyaku().args(["serve", "--memcached", daemon.address()]).run();
    assert_eq!(exit(&ran), Some(1), "{ran:#?}");
    assert!(
        ran.errors.contains(daemon.address()),
        "it names the address: {ran:#?}"
    );
}

#[test]
fn a_flag_that_does_not_exist_is_an_error() {
    let ran = hikyaku().args(["serve", "--memcache", "127.0.0.1:0"]).run();
    assert_eq!(exit(&ran), Some(2));
    assert!(
        ran.errors.contains("--memcached"),
        "it proposes the right one: {ran:#?}"
    );
}

#[test]
fn kv_sets_gets_and_deletes() {
    let daemon = Daemon::memcached();
    kv(&daemon, &["set", "greeting", "hello"]).succeed();
    assert_eq!(kv(&daemon, &["get", "greeting"]).succeed(), "hello\n");
    kv(&daemon, &["set", "poem"])
        .input("The old pond;\na frog jumps in.\n")
        .succeed();
    assert_eq!(
        kv(&daemon, &["get", "--raw", "poem"]).succeed(),
        "The old pond;\na frog jumps in.\n"
    );
    let json: serde_json::Value =
        serde_json::from_str(&kv(&daemon, &["get", "greeting", "--json"]).succeed()).expect("JSON");
    assert_eq!(json["key"], "greeting");
    assert_eq!(json["value"], "hello");
    let scanned = kv(&daemon, &["scan"]).succeed();
    let mut keys: Vec<&str> = scanned.lines().collect();
    keys.sort_unstable();
    assert_eq!(keys, ["greeting", "poem"]);
    kv(&daemon, &["delete", "greeting"]).succeed();
    assert_eq!(exit(&kv(&daemon, &["get", "greeting"]).run()), Some(1));
    assert_eq!(exit(&kv(&daemon, &["delete", "greeting"]).run()), Some(1));
}

#[test]
fn kv_reports_a_missing_server() {
    let address = {
        let daemon = Daemon::memcached();
        daemon.address().to_owned()
    };
    let ran = hikyaku().args(["kv", "get", "k", "--server", &address]).run();
    assert_eq!(exit(&ran), Some(3), "{ran:#?}");
    assert!(ran.errors.contains(&address), "{ran:#?}");
}

/// Once it stored 10,000 keys in whatever listened on port 11211.
#[test]
fn bench_kv_asks_for_a_server() {
    let ran = hikyaku().args(["bench", "kv"]).run();
    assert_eq!(exit(&ran), Some(2), "{ran:#?}");
    assert!(ran.errors.contains("<SERVER>"), "{ran:#?}");
}

#[test]
fn bench_lists_its_tables() {
    for arguments in [["bench", "--help"], ["help", "bench"]] {
        let help = hikyaku().args(arguments).succeed();
        for table in ["kv", "spawn", "disk"] {
            assert!(
                help.lines().any(|line| line.trim_start().starts_with(table)),
                "{table}: {help}"
            );
        }
    }
    let wrong = hikyaku().args(["bench", "kv", "--gets", "101"]).run();
    assert_eq!(exit(&wrong), Some(2), "{wrong:#?}");
}

/// `hikyaku-bench` describes its options for them.
#[test]
fn completions_and_pages_know_the_options_of_bench() {
    for shell in ["bash", "zsh", "fish"] {
        let script = hikyaku().args(["completions", shell]).succeed();
        for option in ["multiget", "parents"] {
            assert!(script.contains(option), "{shell}: {option}");
        }
    }
    let folder = Folder::new();
    hikyaku()
        .args(["man", "--directory", "."])
        .folder(folder.path("."))
        .succeed();
    let page = |name: &str| std::fs::read_to_string(folder.path(name)).expect(name);
    assert!(page("hikyaku-bench.1").contains(r"hikyaku\-bench\-kv(1)"));
    let kv = page("hikyaku-bench-kv.1");
    for part in [
        ".TH",
        "hikyaku bench kv",
        r"\-\-multiget",
        "[default: 10000]",
        "Possible values:",
        "Ratios are those of the first server",
    ] {
        assert!(kv.contains(part), "{part}: {kv}");
    }
    assert!(page("hikyaku-bench-spawn.1").contains(r"\-\-parents"));
    assert!(page("hikyaku-bench-disk.1").contains(r"\-\-seconds"));
}

/// The measured processes are `hikyaku-bench` itself, started again.
#[test]
fn bench_spawn_measures_from_processes_of_its_own() {
    let short = ["--parents", "0,4MiB", "--rounds", "2", "--count", "5"];
    let said = hikyaku()
        .args(["bench", "spawn", "--json", "--rows", "vfork,spawn,spawn-zygote"])
        .args(short)
        .succeed();
    let report: serde_json::Value = serde_json::from_str(&said).expect("JSON");
    for row in report["parents"]
        .as_array()
        .expect("parents")
        .iter()
        .flat_map(|parent| parent["rows"].as_array().expect("rows"))
    {
        assert!(row["cpu_us"].as_f64().is_some_and(|cpu| cpu > 0.0), "{row}");
    }
    let table = hikyaku()
        .args(["bench", "spawn", "--rows", "fork"])
        .args(short)
        .succeed();
    assert!(
        table.contains("parent with 4 MiB touched") && table.contains("fork + execve"),
        "{table}"
    );
    let ran = hikyaku().args(["bench", "spawn", "--rows", "teleport"]).run();
    assert_eq!(exit(&ran), Some(2), "{ran:#?}");
}
