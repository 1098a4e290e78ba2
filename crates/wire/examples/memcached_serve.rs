//! A memcached server on standard input and output, as `inetd` or `socat` would run it: `get`, `set`, `delete`, `version`.
//!
//! ```sh
//! printf 'set k 0 0 2\r\nhi\r\nget k\r\n' | cargo run -q -p hikyaku-wire --example memcached_serve
//! ```

use hikyaku_wire::Parsed;
use hikyaku_wire::memcached::text::{self, Command, Store, StoreVerb};
use std::collections::HashMap;
use std::io::{self, Read, Write};

/// The values by key, each with the client's flags.
type Items = HashMap<Vec<u8>, (u32, Vec<u8>)>;

fn main() -> io::Result<()> {
    serve(&mut io::stdin().lock(), &mut io::stdout().lock())
}

/// Reads, parses and answers until the input ends or the client quits.
fn serve(input: &mut impl Read, output: &mut impl Write) -> io::Result<()> {
    let mut items = Items::new();
    let mut pending = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let count = input.read(&mut chunk)?;
        if count == 0 {
            return Ok(());
        }
        pending.extend_from_slice(&chunk[..count]);
        let mut replies = Vec::new();
        let mut at = 0;
        let open = loop {
            match answer(&mut items, &pending[at..], &mut replies) {
                Answer::Used(used) => at += used,
                Answer::More => break true,
                Answer::Closed => break false,
            }
        };
        output.write_all(&replies)?;
        output.flush()?;
        if !open {
            return Ok(());
        }
        pending.drain(..at);
    }
}

enum Answer {
    Used(usize),
    More,
    Closed,
}

/// Answers one command, if all of it has arrived.
fn answer(items: &mut Items, input: &[u8], out: &mut Vec<u8>) -> Answer {
    let (command, used) = match text::parse(input) {
        Parsed::More(_) => return Answer::More,
        Parsed::Done(Ok(command), used) => (command, used),
        Parsed::Done(Err(error), _) if error.fatal() => return Answer::Closed,
        Parsed::Done(Err(error), used) => {
            let end = used + error.swallow() as usize;
            if input.len() < end {
                return Answer::More;
            }
            out.extend_from_slice(error.reply());
            return Answer::Used(end);
        }
    };
    match command {
        Command::Get(get) => {
            for key in get.keys {
                if let Some((flags, value)) = items.get(key) {
                    text::value_line(out, key, *flags, value.len() as u64, None);
                    out.extend_from_slice(value);
                    out.extend_from_slice(b"\r\n");
                }
            }
            out.extend_from_slice(text::END);
        }
        Command::Store(store) if store.verb == StoreVerb::Set => return set(items, &store, input, used, out),
        Command::Delete(delete) => {
            let removed = items.remove(delete.key).is_some();
            out.extend_from_slice(if removed { text::DELETED } else { text::NOT_FOUND });
        }
        Command::Version => text::version(out, env!("CARGO_PKG_VERSION")),
        Command::Quit => return Answer::Closed,
        _ => out.extend_from_slice(b"SERVER_ERROR not implemented\r\n"),
    }
    Answer::Used(used)
}

/// Stores a value once its data block has arrived.
fn set(items: &mut Items, store: &Store<'_>, input: &[u8], used: usize, out: &mut Vec<u8>) -> Answer {
    let end = used + store.length as usize + 2;
    let Some(block) = input.get(used..end) else {
        return Answer::More;
    };
    match block.strip_suffix(b"\r\n") {
        Some(value) => {
            items.insert(store.key.to_vec(), (store.flags, value.to_vec()));
            out.extend_from_slice(text::STORED);
        }
        None => out.extend_from_slice(text::BAD_DATA_CHUNK),
    }
    Answer::Used(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(input: &[u8]) -> String {
        let mut output = Vec::new();
        serve(&mut io::Cursor::new(input), &mut output).expect("a vector takes every write");
        String::from_utf8(output).expect("text")
    }

    #[test]
    fn values_are_stored_read_and_deleted() {
        assert_eq!(
            served(b"set k 7 0 2\r\nhi\r\nget k x\r\ndelete k\r\nget k\r\nquit\r\nget k\r\n"),
            "STORED\r\nVALUE k 7 2\r\nhi\r\nEND\r\nDELETED\r\nEND\r\n"
        );
    }

    #[test]
    fn a_refused_command_keeps_the_stream_in_step() {
        assert_eq!(
            served(b"set k 0 zero 2\r\nhi\r\nget k\r\n"),
            "CLIENT_ERROR bad command line format\r\nEND\r\n"
        );
    }

    #[test]
    fn input_in_small_pieces_gives_the_same_replies() {
        struct Bytes<'a>(&'a [u8]);
        impl Read for Bytes<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                let count = self.0.len().min(1);
                buffer[..count].copy_from_slice(&self.0[..count]);
                self.0 = &self.0[count..];
                Ok(count)
            }
        }
        let input = b"set k 0 0 5\r\nhello\r\nget k\r\n";
        let mut output = Vec::new();
        serve(&mut Bytes(input), &mut output).expect("a vector takes every write");
        assert_eq!(String::from_utf8_lossy(&output), served(input));
    }
}
