//! Conversations in text files, held three ways: request by request, byte by byte, and all requests at once.
//!
//! `scripts/storage.txt` explains the notation.

use std::collections::HashMap;

use crate::harness::{Client, Server, config, with_server};

const STORE: &str = "memory:?capacity=64MiB";

#[derive(Debug)]
struct Scene {
    name: String,
    exchanges: Vec<Exchange>,
}

/// Requests, and the replies to them.
#[derive(Debug, Default)]
struct Exchange {
    connection: String,
    requests: Vec<u8>,
    replies: Vec<Reply>,
}

#[derive(Debug)]
enum Reply {
    Line(String),
    Bytes(Vec<u8>),
    End,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Pace {
    Requests,
    Bytes,
    AtOnce,
}

fn scenes(text: &str) -> Vec<Scene> {
    let mut scenes: Vec<Scene> = Vec::new();
    let mut connection = String::new();
    for line in text.lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (mark, rest) = line.split_once(' ').unwrap_or((line, ""));
        if mark == "=" {
            connection.clear();
            scenes.push(Scene {
                name: rest.to_owned(),
                exchanges: Vec::new(),
            });
            continue;
        }
        let scene = scenes.last_mut().expect("a script begins with a scene");
        if mark == "--" {
            rest.clone_into(&mut connection);
            continue;
        }
        let asks = mark.starts_with('>');
        let fresh = scene
            .exchanges
            .last()
            .is_none_or(|last| last.connection != connection || (asks && !last.replies.is_empty()));
        if fresh {
            scene.exchanges.push(Exchange {
                connection: connection.clone(),
                ..Exchange::default()
            });
        }
        let exchange = scene.exchanges.last_mut().expect("just made");
        match mark {
            ">" => exchange
                .requests
                .extend_from_slice(format!("{rest}\r\n").as_bytes()),
            ">>" => exchange.requests.extend(unescape(rest)),
            "<" => exchange.replies.push(Reply::Line(rest.to_owned())),
            "<<" if rest == "EOF" => exchange.replies.push(Reply::End),
            "<<" => exchange.replies.push(Reply::Bytes(unescape(rest))),
            _ => panic!("{}: {line:?} is no line of a script", scene.name),
        }
    }
    scenes
}

fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next() {
            Some(b'r') => b'\r',
            Some(b'n') => b'\n',
            Some(b'0') => 0,
            Some(b'x') => {
                let digits: String = rest.by_ref().take(2).map(char::from).collect();
                u8::from_str_radix(&digits, 16).expect("two hexadecimal digits")
            }
            other => panic!("unknown escape {other:?} in {text:?}"),
        });
    }
    bytes
}

/// Puts captured numbers into requests.
fn substitute(requests: &[u8], captured: &HashMap<String, String>) -> Vec<u8> {
    let mut text: String = requests.iter().map(|&byte| char::from(byte)).collect();
    for (name, number) in captured {
        text = text.replace(&format!("{{{name}}}"), number);
    }
    text.chars().map(|char| char as u8).collect()
}

/// Returns true if a line is as expected; captures numbers.
fn matches(expected: &str, line: &str, captured: &mut HashMap<String, String>) -> bool {
    let (mut expected, mut line) = (expected, line);
    while let Some(at) = expected.find(['{', '?']) {
        let Some(rest) = line.strip_prefix(&expected[..at]) else {
            return false;
        };
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return false;
        }
        let after = if expected.as_bytes()[at] == b'{' {
            let end = at + expected[at..].find('}').expect("a closing brace");
            captured.insert(expected[at + 1..end].to_owned(), rest[..digits].to_owned());
            end + 1
        } else {
            at + 1
        };
        (expected, line) = (&expected[after..], &rest[digits..]);
    }
    expected == line
}

/// Joins exchanges whose requests can be sent before earlier replies are read.
fn join(exchanges: Vec<Exchange>) -> Vec<Exchange> {
    let mut joined: Vec<Exchange> = Vec::new();
    for exchange in exchanges {
        let independent = !exchange.requests.contains(&b'{');
        match joined.last_mut() {
            Some(last) if independent && last.connection == exchange.connection => {
                last.requests.extend(exchange.requests);
                last.replies.extend(exchange.replies);
            }
            _ => joined.push(exchange),
        }
    }
    joined
}

async fn play(server: Server, scene: Scene, pace: Pace) {
    let mut connections: HashMap<String, Client> = HashMap::new();
    let mut captured = HashMap::new();
    // A scene whose name ends so is about what comes alone.
    let joinable = pace == Pace::AtOnce && !scene.name.ends_with('!');
    let exchanges = if joinable {
        join(scene.exchanges)
    } else {
        scene.exchanges
    };
    for exchange in exchanges {
        let client = connections
            .entry(exchange.connection)
            .or_insert_with(|| server.connect());
        let requests = substitute(&exchange.requests, &captured);
        match pace {
            Pace::Bytes => client.send_slowly(&requests).await,
            _ => client.send(&requests).await,
        }
        for reply in exchange.replies {
            let place = || {
                format!(
                    "{} ({pace:?}), after {:?}",
                    scene.name,
                    String::from_utf8_lossy(&requests)
                )
            };
            match reply {
                Reply::Line(expected) => {
                    let line = client.line().await.unwrap_or_else(|| "end of stream".to_owned());
                    assert!(
                        matches(&expected, &line, &mut captured),
                        "{}: {expected:?}, not {line:?}",
                        place()
                    );
                }
                Reply::Bytes(expected) => {
                    let bytes = client.bytes(expected.len()).await;
                    assert!(
                        bytes == expected,
                        "{}: {:?}",
                        place(),
                        String::from_utf8_lossy(&bytes)
                    );
                }
                Reply::End => assert!(client.is_at_end().await, "{}: the server should close", place()),
            }
        }
    }
    for (_, mut client) in connections {
        // Nothing more was said than was expected.
        client.send(b"mn\r\n").await;
        let line = client.line().await;
        assert!(
            line.is_none() || line.as_deref() == Some("MN"),
            "{} ({pace:?}): {line:?} too many",
            scene.name
        );
    }
}

fn perform(text: &str) {
    for pace in [Pace::Requests, Pace::Bytes, Pace::AtOnce] {
        for scene in scenes(text) {
            with_server(config(), STORE, |server| play(server, scene, pace));
        }
    }
}

#[test]
fn storage() {
    perform(include_str!("scripts/storage.txt"));
}

#[test]
fn meta() {
    perform(include_str!("scripts/meta.txt"));
}

#[test]
fn errors() {
    perform(include_str!("scripts/errors.txt"));
}
