//! Connections: authentication, large values, long lines, slow readers, watchers, dumps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::harness::{Client, Server, config, with_guarded_server, with_server};
use memcached::{Dialects, ServiceConfig, Shutdown, Users};

const STORE: &str = "memory:?capacity=64MiB";

fn test<F: Future<Output = ()>>(test: impl FnOnce(Server) -> F) {
    with_server(config(), STORE, test);
}

async fn ask(client: &mut Client, request: &str) -> String {
    client.send(request.as_bytes()).await;
    client.line().await.unwrap_or_else(|| "end of stream".to_owned())
}

/// All lines up to `END`.
async fn list(client: &mut Client, request: &str) -> Vec<String> {
    list_to(client, request, "END").await
}

/// The lines before the one that ends the list.
async fn list_to(client: &mut Client, request: &str, end: &str) -> Vec<String> {
    client.send(request.as_bytes()).await;
    let mut lines = Vec::new();
    loop {
        match client.line().await {
            Some(line) if line == end => return lines,
            Some(line) => lines.push(line),
            None => panic!("{request:?}: {lines:?} and no {end}"),
        }
    }
}

async fn stat(client: &mut Client, request: &str, name: &str) -> String {
    let lines = list(client, request).await;
    let value = lines
        .iter()
        .find_map(|line| line.strip_prefix("STAT ")?.strip_prefix(name)?.strip_prefix(' '));
    value
        .unwrap_or_else(|| panic!("no {name} in {lines:?}"))
        .to_owned()
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 7 + at / 251) as u8).collect()
}

async fn store(client: &mut Client, verb: &str, key: &str, value: &[u8]) -> String {
    let line = format!("{verb} {key} 0 0 {}\r\n", value.len());
    client.send(&[line.as_bytes(), value, b"\r\n"].concat()).await;
    client.line().await.expect("a reply")
}

async fn assert_value(client: &mut Client, key: &str, value: &[u8]) {
    let expected = format!("VALUE {key} 0 {}", value.len());
    assert_eq!(ask(client, &format!("get {key}\r\n")).await, expected);
    assert!(
        client.bytes(value.len()).await == value,
        "the value of {key} differs"
    );
    assert_eq!(client.bytes(7).await, b"\r\nEND\r\n");
}

#[test]
fn values_of_all_sizes_come_back() {
    test(async |server| {
        let client = &mut server.connect();
        for length in [
            1, 1000, 8191, 16_384, 32_768, 65_534, 65_535, 65_536, 100_000, 1_000_000,
        ] {
            let value = pattern(length);
            assert_eq!(store(client, "set", "k", &value).await, "STORED", "{length}");
            assert_value(client, "k", &value).await;
        }
    });
}

#[test]
fn large_values_are_joined_and_replaced_while_they_are_read() {
    test(async |server| {
        let client = &mut server.connect();
        let (first, second) = (pattern(300_000), pattern(200_001));
        assert_eq!(store(client, "set", "k", &first).await, "STORED");
        assert_eq!(store(client, "append", "k", &second).await, "STORED");
        assert_eq!(store(client, "prepend", "k", b"begin").await, "STORED");
        let all = [b"begin".as_slice(), &first, &second].concat();
        assert_value(client, "k", &all).await;

        // The reply is on its way when another client replaces the value.
        client.send(b"get k\r\n").await;
        assert_eq!(client.line().await.as_deref(), Some("VALUE k 0 500006"));
        let other = &mut server.connect();
        assert_eq!(store(other, "set", "k", &second).await, "STORED");
        assert_eq!(ask(other, "delete k\r\n").await, "DELETED");
        assert!(client.bytes(all.len()).await == all);
        assert_eq!(client.bytes(7).await, b"\r\nEND\r\n");
    });
}

#[test]
fn large_values_are_checked_like_small_ones() {
    test(async |server| {
        let client = &mut server.connect();
        let value = pattern(200_000);
        client
            .send(&[b"set k 0 0 200000\r\n", &value[..], b"xx"].concat())
            .await;
        assert_eq!(
            client.line().await.as_deref(),
            Some("CLIENT_ERROR bad data chunk")
        );
        assert_eq!(ask(client, "get k\r\n").await, "END");
        client
            .send(&[b"ms k 200000 T0 F7 c k s Oabc E9\r\n", &value[..], b"\r\n"].concat())
            .await;
        assert_eq!(client.line().await.as_deref(), Some("HD c9 kk s200000 Oabc"));
        client
            .send(&[b"set k 0 0 200000 noreply\r\n", &value[..], b"\r\nmn\r\n"].concat())
            .await;
        assert_eq!(client.line().await.as_deref(), Some("MN"));
        assert_value(client, "k", &value).await;
    });
}

#[test]
fn too_large_values_are_swallowed_and_take_the_old_one_along() {
    with_server(
        config(),
        "memory:?capacity=64MiB&item_size_max=128KiB",
        async |server| {
            let client = &mut server.connect();
            let too_large = pattern(300_000);
            assert_eq!(store(client, "set", "k", b"old").await, "STORED");
            let refusal = "SERVER_ERROR object too large for cache";
            assert_eq!(store(client, "set", "k", &too_large).await, refusal);
            assert_eq!(ask(client, "get k\r\n").await, "END");
            assert_eq!(store(client, "set", "k", b"old").await, "STORED");
            assert_eq!(store(client, "append", "k", &too_large).await, refusal);
            assert_value(client, "k", b"old").await;
            client
                .send(&[b"ms k 300000 q\r\n", &too_large[..], b"\r\n"].concat())
                .await;
            assert_eq!(client.line().await.as_deref(), Some(refusal));
            assert_eq!(ask(client, "get k\r\n").await, "END");
            assert_eq!(ask(client, "set k 0 0 2147483645\r\n").await, refusal);
            assert_eq!(server.service().totals().store_too_large, 4);
        },
    );
}

#[test]
fn a_line_of_keys_may_be_of_any_length() {
    test(async |server| {
        let client = &mut server.connect();
        assert_eq!(store(client, "set", "foobarbaz", b"hi").await, "STORED");
        let (rounds, keys) = (200, 200);
        client.send(b"get ").await;
        for _ in 0..rounds {
            // Replies leave while the line is still coming: neither side holds more than a part of either.
            client.send("foobarbaz none ".repeat(keys).as_bytes()).await;
            for _ in 0..keys {
                assert_eq!(client.line().await.as_deref(), Some("VALUE foobarbaz 0 2"));
                assert_eq!(client.line().await.as_deref(), Some("hi"));
            }
        }
        client.send(b"\r\nmn\r\n").await;
        assert_eq!(client.line().await.as_deref(), Some("END"));
        assert_eq!(client.line().await.as_deref(), Some("MN"));
        assert_eq!(server.service().totals().get_misses, (rounds * keys) as u64);
    });
}

#[test]
fn a_long_line_that_reads_nothing_ends_the_connection() {
    test(async |server| {
        let client = &mut server.connect();
        client
            .send(format!("incr {} key 1", " ".repeat(2048)).as_bytes())
            .await;
        assert!(client.is_at_end().await);
        let client = &mut server.connect();
        client.send(b"GET / HTTP/1.1\r\n").await;
        assert!(client.is_at_end().await);
    });
}

#[test]
fn who_never_reads_is_held_up() {
    test(async |server| {
        let client = &mut server.connect();
        assert_eq!(store(client, "set", "k", &pattern(60_000)).await, "STORED");
        let served = server.service().totals().bytes_written;
        // 60 MB of replies to 9 kB of requests: the server must stop long before it has made them all.
        client.send(&b"get k\r\n".repeat(1000)).await;
        for _ in 0..100 {
            io::yield_now().await;
        }
        let made = server.service().totals().bytes_written - served;
        assert!(
            made < 4_000_000,
            "{made} bytes were made for a client that reads nothing"
        );
        for _ in 0..1000 {
            assert_eq!(client.line().await.as_deref(), Some("VALUE k 0 60000"));
            client.bytes(60_007).await;
        }
    });
}

#[test]
fn strangers_must_authenticate() {
    let users = Users::parse(b"foo:bar\nbaaaz:quux\n").expect("two users");
    with_guarded_server(config(), Some(users), STORE, async |server| {
        let client = &mut server.connect();
        assert_eq!(ask(client, "get foo\r\n").await, "CLIENT_ERROR unauthenticated");
        assert_eq!(
            ask(client, "set foo 0 0 2\r\nhi\r\n").await,
            "CLIENT_ERROR bad authentication token format"
        );
        assert_eq!(
            ask(client, "set foo 0 0 7\r\nfoo bab\r\n").await,
            "CLIENT_ERROR authentication failure"
        );
        assert_eq!(
            ask(client, "set foo 0 0 2147483646\r\n").await,
            "CLIENT_ERROR auth token too long"
        );
        assert_eq!(ask(client, "set foo 0 0 7\r\nfoo bar\r\n").await, "STORED");
        assert_eq!(store(client, "set", "toast", b"hi").await, "STORED");
        assert_value(client, "toast", b"hi").await;

        let other = &mut server.connect();
        other.send_slowly(b"set x 0 0 10\r\nbaaaz quux\r\n").await;
        assert_eq!(other.line().await.as_deref(), Some("STORED"));
        let fewer = Users::parse(b"new:one\nfoo:bar\n").expect("two users");
        assert_eq!(server.endpoint().set_users(Some(fewer)), 1);
        assert!(other.is_at_end().await, "its user is gone");
        let idle = &mut server.connect();
        assert_eq!(ask(idle, "set foo 0 0 7\r\nfoo bar\r\n").await, "STORED");
        assert_value(client, "toast", b"hi").await;
        let watcher = &mut server.connect();
        assert_eq!(ask(watcher, "set foo 0 0 7\r\nnew one\r\n").await, "STORED");
        assert_eq!(ask(watcher, "watch\r\n").await, "OK");
        let renamed = Users::parse(b"new:two\nfoo:bar\n").expect("two users");
        assert_eq!(server.endpoint().set_users(Some(renamed)), 1);
        assert!(watcher.is_at_end().await, "its password changed");
        assert_value(idle, "toast", b"hi").await;

        let last = Users::parse(b"new:one\n").expect("a user");
        assert_eq!(server.endpoint().set_users(Some(last)), 2);
        assert!(client.is_at_end().await && idle.is_at_end().await);
        let third = &mut server.connect();
        assert_eq!(
            ask(third, "set foo 0 0 7\r\nfoo bar\r\n").await,
            "CLIENT_ERROR authentication failure"
        );
        assert_eq!(ask(third, "set foo 0 0 7\r\nnew one\r\n").await, "STORED");
        assert_value(third, "toast", b"hi").await;
    });
}

#[test]
fn a_listener_may_speak_text_only() {
    with_server(
        ServiceConfig {
            dialects: Dialects::Text,
            ..config()
        },
        STORE,
        async |server| {
            let client = &mut server.connect();
            client.send(&[0x80; 24]).await;
            assert!(client.is_at_end().await);
            assert_eq!(ask(&mut server.connect(), "mn\r\n").await, "MN");
        },
    );
}

#[test]
fn statistics_have_their_names_and_can_be_reset() {
    test(async |server| {
        let client = &mut server.connect();
        let lines = list(client, "stats\r\n").await;
        // As many as memcached has without LRU threads and TLS, our version for that of libevent.
        assert_eq!(lines.len(), 84);
        assert_eq!(store(client, "set", "foo", b"bar").await, "STORED");
        assert_value(client, "foo", b"bar").await;
        assert_eq!(ask(client, "get none\r\n").await, "END");
        for (name, value) in [
            ("cmd_get", "2"),
            ("cmd_set", "1"),
            ("get_hits", "1"),
            ("get_misses", "1"),
            ("curr_items", "1"),
            ("total_items", "1"),
            ("curr_connections", "1"),
            ("version", "1.6.45-test"),
        ] {
            assert_eq!(stat(client, "stats\r\n", name).await, value, "{name}");
        }
        assert_eq!(ask(client, "stats reset\r\n").await, "RESET");
        for (name, value) in [
            ("cmd_get", "0"),
            ("cmd_set", "0"),
            ("total_items", "0"),
            ("curr_items", "1"),
        ] {
            assert_eq!(stat(client, "stats\r\n", name).await, value, "{name}");
        }
        assert_eq!(
            stat(client, "stats settings\r\n", "item_size_max").await,
            "1048576"
        );
        assert_eq!(stat(client, "stats items\r\n", "items:1:number").await, "1");
        assert_eq!(stat(client, "stats slabs\r\n", "active_slabs").await, "1");
        assert_eq!(list(client, "stats sizes\r\n").await, ["STAT 32 1"]);
        assert_eq!(
            list(client, "stats cachedump 1 100\r\n").await,
            ["ITEM foo [3 b; 0 s]"]
        );
        let connections = list(client, "stats conns\r\n").await;
        assert!(
            connections.contains(&"STAT 1:state conn_parse_cmd".to_owned()),
            "{connections:?}"
        );
    });
}

#[test]
fn details_are_counted_by_prefix() {
    test(async |server| {
        let client = &mut server.connect();
        assert_eq!(ask(client, "stats detail on\r\n").await, "OK");
        assert_eq!(store(client, "set", "foo:123", b"x").await, "STORED");
        assert_value(client, "foo:123", b"x").await;
        assert_eq!(ask(client, "get foo:124\r\n").await, "END");
        assert_eq!(ask(client, "delete foo:125\r\n").await, "NOT_FOUND");
        assert_eq!(
            list(client, "stats detail dump\r\n").await,
            ["PREFIX foo get 2 hit 1 set 1 del 1"]
        );
        assert_eq!(ask(client, "stats detail off\r\n").await, "OK");
        assert_eq!(
            ask(client, "stats detail\r\n").await,
            "CLIENT_ERROR usage: stats detail on|off|dump"
        );
    });
}

#[test]
fn all_keys_can_be_dumped() {
    test(async |server| {
        let client = &mut server.connect();
        for number in 0..500 {
            assert_eq!(
                store(client, "set", &format!("key{number}"), b"v").await,
                "STORED"
            );
        }
        let lines = list(client, "lru_crawler metadump all\r\n").await;
        assert_eq!((lines.len(), lines[0].as_str()), (501, "OK"));
        assert!(
            lines[1].starts_with("key=key") && lines[1].contains(" exp=-1 la="),
            "{}",
            lines[1]
        );
        let mut dump = list_to(client, "lru_crawler mgdump hash\r\n", "EN").await;
        dump.sort();
        dump.dedup();
        assert_eq!(dump.len(), 501);
        assert!(dump.contains(&"mg key499".to_owned()));
        client.send(b"mn\r\nlru_crawler metadump all\r\n").await;
        assert_eq!(client.line().await.as_deref(), Some("MN"));
        let refusal = "ERROR cannot pipeline other commands before metadump";
        assert_eq!(client.line().await.as_deref(), Some(refusal));
        assert_eq!(ask(client, "lru_crawler disable\r\n").await, "OK");
        assert_eq!(
            ask(client, "lru_crawler metadump all\r\n").await,
            "CLIENT_ERROR lru crawler disabled"
        );
    });
}

#[test]
fn watchers_see_what_happens() {
    test(async |server| {
        let client = &mut server.connect();
        let watcher = &mut server.connect();
        assert_eq!(ask(watcher, "watch fetchers mutations deletions\r\n").await, "OK");
        assert_eq!(store(client, "set", "vfoo", b"vbar").await, "STORED");
        assert_value(client, "vfoo", b"vbar").await;
        assert_eq!(ask(client, "md vfoo\r\n").await, "HD");
        for expected in [
            "type=item_get key=vfoo status=not_found clsid=1 cfd=1 size=0",
            "type=item_store key=vfoo status=stored cmd=set ttl=0 clsid=1 cfd=1 size=4",
            "type=item_get key=vfoo status=found clsid=1 cfd=1 size=4",
            "type=deleted key=vfoo cmd=md clsid=1 size=4",
        ] {
            let line = watcher.line().await.expect("a line");
            assert!(
                line.starts_with("ts=") && line.ends_with(expected),
                "{line:?}, not {expected:?}"
            );
        }
        assert_eq!(stat(client, "stats\r\n", "log_watchers").await, "1");
        let events = &mut server.connect();
        assert_eq!(ask(events, "watch connevents\r\n").await, "OK");
        let guest = &mut server.connect();
        assert_eq!(ask(guest, "version\r\n").await, "VERSION 1.6.45-test");
        guest.send(b"quit\r\n").await;
        assert!(guest.is_at_end().await);
        for expected in ["type=conn_new", "type=conn_close"] {
            assert!(events.line().await.expect("a line").contains(expected));
        }
    });
}

#[test]
fn watchers_of_evictions_learn_which_items_go() {
    with_server(config(), "memory:?capacity=1MiB", async |server| {
        let client = &mut server.connect();
        let watcher = &mut server.connect();
        assert_eq!(ask(watcher, "watch evictions\r\n").await, "OK");
        let value = vec![b'v'; 1000];
        for number in 0..2000 {
            assert_eq!(
                store(client, "set", &format!("k/{number}"), &value).await,
                "STORED"
            );
        }
        let evicted = stat(client, "stats\r\n", "evictions").await.parse::<usize>();
        let evicted = evicted.expect("a number");
        assert!(evicted > 900, "{evicted}");
        let mut keys = std::collections::HashSet::new();
        for _ in 0..evicted {
            let line = watcher.line().await.expect("a line");
            let rest = line.split_once(" type=eviction key=k%2F").expect("an eviction").1;
            let (key, rest) = rest.split_once(' ').expect("more than a key");
            assert!(
                rest.starts_with("fetch=no ttl=-1 la=") && rest.ends_with(" clsid=1 size=1000"),
                "{line}"
            );
            assert!(keys.insert(key.to_owned()), "{key} went twice");
            assert_eq!(
                ask(client, &format!("mg k/{key}\r\n")).await,
                "EN",
                "{key} isn't there"
            );
        }
        assert_eq!(keys.len(), evicted);
    });
}

#[test]
fn the_memory_limit_can_be_changed() {
    with_server(config(), "memory:?capacity=64MiB", async |server| {
        let client = &mut server.connect();
        let too_small = "MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m";
        assert_eq!(ask(client, "cache_memlimit 7\r\n").await, too_small);
        let unit = "MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes";
        assert_eq!(ask(client, "cache_memlimit 1000000001\r\n").await, unit);
        let bounds = "MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust";
        assert_eq!(ask(client, "cache_memlimit 1000000000\r\n").await, bounds);
        assert_eq!(
            stat(client, "stats\r\n", "limit_maxbytes").await,
            (64 << 20).to_string()
        );
        for megabytes in [8_u64, 100, 9] {
            assert_eq!(
                ask(client, &format!("cache_memlimit {megabytes}\r\n")).await,
                "OK"
            );
            let limit = (megabytes << 20).to_string();
            assert_eq!(stat(client, "stats\r\n", "limit_maxbytes").await, limit);
            assert_eq!(stat(client, "stats settings\r\n", "maxbytes").await, limit);
        }
        client.send(b"cache_memlimit 16 noreply\r\nmn\r\n").await;
        assert_eq!(client.line().await.as_deref(), Some("MN"));
        let limit = (16 << 20).to_string();
        assert_eq!(stat(client, "stats\r\n", "limit_maxbytes").await, limit);
    });
}

#[test]
fn watching_can_be_forbidden_and_stands_alone() {
    test(async |server| {
        let client = &mut server.connect();
        client.send(b"mn\r\nwatch\r\n").await;
        assert_eq!(client.line().await.as_deref(), Some("MN"));
        let refusal = "ERROR cannot pipeline other commands before watch";
        assert_eq!(client.line().await.as_deref(), Some(refusal));
    });
    with_server(
        ServiceConfig {
            watch: false,
            ..config()
        },
        STORE,
        async |server| {
            let refusal = "CLIENT_ERROR watch commands not allowed";
            assert_eq!(ask(&mut server.connect(), "watch\r\n").await, refusal);
        },
    );
}

#[test]
fn shutdown_calls_the_daemon() {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    let on_shutdown: memcached::OnShutdown = Arc::new(move |how| {
        counted.fetch_add(if how == Shutdown::Graceful { 10 } else { 1 }, Ordering::Relaxed);
    });
    with_server(
        ServiceConfig {
            on_shutdown: Some(on_shutdown),
            ..config()
        },
        STORE,
        async |server| {
            let refusal = "CLIENT_ERROR invalid shutdown mode";
            assert_eq!(ask(&mut server.connect(), "shutdown foo\r\n").await, refusal);
            assert_eq!(ask(&mut server.connect(), "shutdown\r\n").await, "end of stream");
            assert_eq!(
                ask(&mut server.connect(), "shutdown graceful\r\n").await,
                "end of stream"
            );
        },
    );
    assert_eq!(calls.load(Ordering::Relaxed), 11);
}

#[test]
fn certificates_are_refreshed_by_the_daemon() {
    let on_refresh: memcached::OnRefresh = Arc::new(|| Err("no such file".to_owned()));
    with_server(
        ServiceConfig {
            on_refresh: Some(on_refresh),
            ..config()
        },
        STORE,
        async |server| {
            assert_eq!(
                ask(&mut server.connect(), "refresh_certs\r\n").await,
                "SERVER_ERROR no such file"
            );
        },
    );
    test(async |server| {
        let client = &mut server.connect();
        assert_eq!(ask(client, "refresh_certs\r\n").await, "Error TLS not enabled");
    });
}

/// Clients read a version's numbers from the end of the line, so that it must hold no other version.
#[test]
fn the_version_is_memcacheds_and_our_own_is_a_statistic() {
    with_server(ServiceConfig::default(), STORE, async |server| {
        let client = &mut server.connect();
        assert_eq!(ask(client, "version\r\n").await, "VERSION 1.6.45");
        assert_eq!(stat(client, "stats\r\n", "version").await, "1.6.45");
        let own = stat(client, "stats\r\n", "hikyaku_version").await;
        assert_eq!(own, env!("CARGO_PKG_VERSION"));
        let binary = &mut server.connect();
        binary.send(&[&[0x80, 0x0b], &[0; 22][..]].concat()).await;
        let reply = binary.bytes(30).await;
        assert_eq!(&reply[24..], b"1.6.45");
    });
}

/// Operators size caches by these, and they were constants.
#[test]
fn classes_tell_the_age_of_their_items_and_of_what_they_evicted() {
    let config = ServiceConfig {
        debug: true,
        ..config()
    };
    with_server(config, "memory:?capacity=1MiB", async |server| {
        let client = &mut server.connect();
        let began = Instant::now();
        // Ages grow by the seconds that a busy machine takes for this conversation.
        let late = || began.elapsed().as_secs() + 1;
        let value = [b'v'; 1000];
        for number in 0..100 {
            assert_eq!(
                store(client, "set", &format!("old{number}"), &value).await,
                "STORED"
            );
        }
        assert_eq!(ask(client, "debugtime 100\r\n").await, "OK");
        let age = number(&stat(client, "stats items\r\n", "items:1:age").await);
        assert!((100..=100 + late()).contains(&age), "{age}");
        assert_eq!(stat(client, "stats items\r\n", "items:1:evicted_time").await, "0");
        for number in 0..2000 {
            let line = format!("set new{number} 0 3000 1000 noreply\r\n");
            client.send(&[line.as_bytes(), &value, b"\r\n"].concat()).await;
        }
        assert_eq!(ask(client, "mn\r\n").await, "MN");
        for (name, expected) in [
            ("1:evicted", 1..=100),
            ("1:evicted_time", 100..=100 + late()),
            ("1:evicted_nonzero", 0..=0),
        ] {
            let figure = number(&stat(client, "stats items\r\n", &format!("items:{name}")).await);
            assert!(expected.contains(&figure), "{name}: {figure}");
        }
        // In a store this small a class begins at 2^8 seconds; class 3 + 2 * 8 has its small items.
        let of = async |client: &mut Client, name: &str| {
            stat(client, "stats items\r\n", &format!("items:19:{name}")).await
        };
        assert_eq!(of(client, "evicted").await, of(client, "evicted_nonzero").await);
        let age = number(&of(client, "age").await);
        assert!(age <= late(), "{age}");
        let dumped = list(client, "stats cachedump 1 0\r\n").await;
        assert_eq!(
            dumped.len() as u64,
            number(&stat(client, "stats\r\n", "curr_items").await)
        );
    });
}

fn number(text: &str) -> u64 {
    text.parse().expect("a number")
}

#[test]
fn connections_are_listed() {
    test(async |server| {
        let client = &mut server.connect();
        let _other = server.connect();
        assert_eq!(ask(client, "mn\r\n").await, "MN");
        let lines = list(client, "stats conns\r\n").await;
        assert_eq!(lines.len(), 8, "{lines:?}");
        assert_eq!(lines[2], "STAT 1:state conn_parse_cmd");
        assert_eq!(lines[6], "STAT 2:state conn_read");
        // More than one part of the answer, and other requests behind it.
        let _many: Vec<_> = (0..600).map(|_| server.connect()).collect();
        let lines = list(client, "stats conns\r\n").await;
        assert_eq!(lines.len(), 602 * 4);
        assert_eq!(ask(client, "mn\r\n").await, "MN");
    });
}

#[test]
fn there_is_no_external_storage() {
    test(async |server| {
        let client = &mut server.connect();
        assert_eq!(list(client, "stats extstore\r\n").await, Vec::<String>::new());
    });
}

#[test]
fn a_tls_handshake_on_a_plain_listener_ends_the_connection() {
    test(async |server| {
        let client = &mut server.connect();
        client.send(b"\x16\x03\x01\x00\xc4\x01\x00\x00\xc0\x03\x03").await;
        assert!(client.is_at_end().await);
        assert_eq!(ask(&mut server.connect(), "mn\r\n").await, "MN");
    });
}

#[test]
fn idle_connections_are_closed() {
    let idle_timeout = Duration::from_millis(50);
    with_server(
        ServiceConfig {
            idle_timeout,
            ..config()
        },
        STORE,
        async |server| {
            let client = &mut server.connect();
            assert_eq!(ask(client, "mn\r\n").await, "MN");
            assert!(client.is_at_end().await);
            assert_eq!(server.service().totals().idle_kicks, 1);
        },
    );
}

/// As with memcached's `idle_timeout`, which closes no watcher. A watcher used to be closed when no event came in time.
#[test]
fn a_watcher_without_events_is_not_idle() {
    let idle_timeout = Duration::from_millis(50);
    with_server(
        ServiceConfig {
            idle_timeout,
            ..config()
        },
        STORE,
        async |server| {
            let watcher = &mut server.connect();
            assert_eq!(ask(watcher, "watch mutations\r\n").await, "OK");
            for _ in 0..3 {
                assert!(server.connect().is_at_end().await);
            }
            let client = &mut server.connect();
            assert_eq!(ask(client, "set a 0 0 1\r\n1\r\n").await, "STORED");
            let event = watcher.line().await.expect("the watcher is open");
            assert!(event.contains("key=a"), "{event}");
            assert_eq!(server.service().totals().idle_kicks, 3);
        },
    );
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
            let refusal = "CLIENT_ERROR flush_all not allowed";
            assert_eq!(ask(&mut server.connect(), "flush_all\r\n").await, refusal);
        },
    );
}

#[test]
fn the_clock_can_be_moved_in_tests() {
    with_server(
        ServiceConfig {
            debug: true,
            ..config()
        },
        STORE,
        async |server| {
            let client = &mut server.connect();
            client.send(b"set a 0 3 1\r\nx\r\nset b 0 0 1\r\ny\r\n").await;
            assert_eq!(client.bytes(16).await, b"STORED\r\nSTORED\r\n");
            assert_value(client, "a", b"x").await;
            assert_eq!(ask(client, "debugtime 4\r\n").await, "OK");
            assert_eq!(ask(client, "get a\r\n").await, "END");
            assert_value(client, "b", b"y").await;
            assert_eq!(ask(client, "flush_all 10\r\n").await, "OK");
            assert_value(client, "b", b"y").await;
            assert_eq!(ask(client, "debugtime 11\r\n").await, "OK");
            assert_eq!(ask(client, "get b\r\n").await, "END");
        },
    );
}

#[test]
fn clients_may_vanish_at_any_time() {
    test(async |server| {
        for half in [
            "",
            "get",
            "set k 0 0 10\r\nhalf",
            "set k 0 0 500000\r\nhalf",
            "watch\r\n",
            "get k k k",
        ] {
            let mut client = server.connect();
            client.send(half.as_bytes()).await;
            io::yield_now().await;
            drop(client);
        }
        let client = &mut server.connect();
        while stat(client, "stats\r\n", "curr_connections").await != "1" {
            io::yield_now().await;
        }
        assert_eq!(ask(client, "get k\r\n").await, "END");
    });
}

#[test]
fn an_idle_connection_is_small() {
    test(async |server| {
        let (_ours, theirs) = io::Stream::pair();
        let serving = server.endpoint().clone().serve(theirs);
        let size = size_of_val(&serving);
        // io bounds its own share; together an idle connection must stay within 512 bytes.
        assert!(size <= 88, "the task of a connection takes {size} bytes");
    });
}
