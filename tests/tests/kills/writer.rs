//! A client that writes without pause until its daemon dies, and then knows what the store must have.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::mpsc::Sender;

use hikyaku_tests::{PATIENCE, Random};

use super::model::{Command, Item, Items, keys};

/// The most commands that are sent at once.
const PIPELINED_MAX: usize = 40;

/// Every CAS that a store has told for a write.
pub(crate) type Known = Mutex<HashSet<u64>>;

/// A writer with keys of its own.
#[derive(Debug)]
pub(crate) struct Writer {
    number: usize,
    random: Random,
    /// The number of commands so far.
    count: u64,
    /// The items after all acknowledged commands.
    items: Items,
    /// Commands whose replies did not arrive. A prefix of them may have been executed.
    pending: Vec<Command>,
}

impl Writer {
    pub(crate) fn new(number: usize) -> Writer {
        Writer {
            number,
            random: Random::new(u64::try_from(number).expect("it is small") + 1),
            count: 0,
            items: Items::new(),
            pending: Vec::new(),
        }
    }

    /// All items were flushed.
    pub(crate) fn forget(&mut self) {
        self.items.clear();
    }

    /// Writes until the daemon is gone, and sends the number of each batch's commands when they are acknowledged.
    pub(crate) fn run(&mut self, address: &str, known: &Known, acknowledged: &Sender<usize>) {
        let Ok(mut stream) = connect(address) else {
            return;
        };
        loop {
            let mut bytes = Vec::new();
            let first = self.pending.len();
            for _ in 0..=self.random.below(PIPELINED_MAX) {
                self.count += 1;
                let command = Command::random(&mut self.random, self.number, &self.items, self.count);
                command.write(&mut bytes);
                self.pending.push(command);
            }
            let count = self.pending.len() - first;
            // If the daemon is gone, it may have answered some of them before.
            let _ = stream.get_mut().write_all(&bytes);
            for _ in 0..count {
                let Some(line) = line(&mut stream) else {
                    return;
                };
                let command = self.pending.remove(0);
                let reply = command.apply(&mut self.items);
                let mut words = line.split(' ');
                assert_eq!(
                    words.next(),
                    Some(command.reply_text(reply)),
                    "{command:?}: {line}"
                );
                let cas = words.find_map(|word| word.strip_prefix('c')?.parse().ok());
                if let Some(cas) = cas.filter(|_| reply.text() == "HD")
                    && command.told(cas, &mut self.items)
                {
                    let is_new = known.lock().expect("no writer panics").insert(cas);
                    assert!(is_new, "CAS {cas} was given out before: {command:?}");
                }
            }
            if acknowledged.send(count).is_err() {
                return;
            }
        }
    }

    /// Compares the store with what was written: all that was acknowledged, and a prefix of what was pending.
    pub(crate) fn check(&mut self, address: &str) {
        let mut stream = connect(address).expect("it listens");
        let requests: String = keys(self.number)
            .map(|key| format!("mg {key} v f c t\r\n"))
            .collect();
        stream
            .get_mut()
            .write_all(requests.as_bytes())
            .expect("it takes requests");
        let seen: Items = keys(self.number)
            .filter_map(|key| read(&mut stream, &key))
            .collect();
        let same = |items: &Items| {
            items.len() == seen.len() && items.iter().zip(&seen).all(|(a, b)| a.0 == b.0 && a.1.is(b.1))
        };
        let mut possible = same(&self.items);
        let mut items = self.items.clone();
        for command in &self.pending {
            command.apply(&mut items);
            possible |= same(&items);
        }
        assert!(
            possible,
            "writer {}: after {:#?}\nand some of {:#?}\nthere is {seen:#?}",
            self.number, self.items, self.pending
        );
        self.pending.clear();
        self.items = seen;
    }

    /// The number of items that the store has according to the last check.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }
}

fn connect(address: &str) -> std::io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(BufReader::new(stream))
}

/// The next whole line; `None` when the daemon is gone.
fn line(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = String::new();
    match stream.read_line(&mut line) {
        Ok(_) if line.ends_with("\r\n") => Some(line.trim_end().to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => panic!("the daemon is silent"),
        _ => None,
    }
}

/// Reads the reply to a request for an item.
fn read(stream: &mut BufReader<TcpStream>, key: &str) -> Option<(String, Item)> {
    let line = line(stream).expect("it replies");
    if line == "EN" {
        return None;
    }
    let words: Vec<&str> = line.split(' ').collect();
    let word = |letter: char| words.iter().find_map(|word| word.strip_prefix(letter));
    assert_eq!(words[0], "VA", "{key}: {line}");
    let length: usize = words[1].parse().expect("a length");
    let mut value = vec![0; length + 2];
    stream.read_exact(&mut value).expect("the value");
    assert_eq!(value.split_off(length), b"\r\n");
    let item = Item {
        value,
        flags: word('f').and_then(|flags| flags.parse().ok()).expect("flags"),
        cas: word('c').and_then(|cas| cas.parse().ok()),
        expires: word('t') != Some("-1"),
    };
    Some((key.to_owned(), item))
}
