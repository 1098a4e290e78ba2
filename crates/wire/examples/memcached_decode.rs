//! Prints the memcached commands of a capture, in the text or the binary protocol.
//!
//! ```sh
//! printf 'set k 0 0 2\r\nhi\r\nget k\r\n' | cargo run -q -p hikyaku-wire --example memcached_decode
//! cargo run -q -p hikyaku-wire --example memcached_decode -- requests.bin
//! ```

use hikyaku_wire::Parsed;
use hikyaku_wire::memcached::{Dialect, binary, dialect, text};
use std::fs::File;
use std::io::{self, Read, Write};

fn main() -> io::Result<()> {
    let mut capture = Vec::new();
    match std::env::args_os().nth(1) {
        Some(path) => File::open(path)?.read_to_end(&mut capture)?,
        None => io::stdin().read_to_end(&mut capture)?,
    };
    decode(&capture, &mut io::stdout().lock())
}

/// Writes one line per command: its offset, and the command or the error.
fn decode(capture: &[u8], out: &mut impl Write) -> io::Result<()> {
    let mut offset = 0;
    while let Some(first) = capture.get(offset) {
        let rest = &capture[offset..];
        let used = match dialect(*first) {
            Dialect::Text => decode_text(rest, offset, out)?,
            Dialect::Binary => decode_binary(rest, offset, out)?,
        };
        match used {
            Some(used) => offset = offset.saturating_add(used),
            None => return writeln!(out, "{offset:8}  incomplete: {} bytes left", rest.len()),
        }
    }
    Ok(())
}

/// Decodes one command line. Returns the number of bytes to its end, including a data block; `None` if it is incomplete.
fn decode_text(input: &[u8], offset: usize, out: &mut impl Write) -> io::Result<Option<usize>> {
    let Parsed::Done(result, used) = text::parse(input) else {
        return Ok(None);
    };
    let line = input[..used].trim_ascii_end().escape_ascii();
    let block = match result {
        Ok(command) => {
            writeln!(out, "{offset:8}  {line}")?;
            block_length(&command)
        }
        Err(error) => {
            writeln!(out, "{offset:8}  {line}  -- {error}")?;
            error.swallow()
        }
    };
    Ok(Some(used + block as usize))
}

/// The length of the data block that follows the line, with its line end.
fn block_length(command: &text::Command<'_>) -> u64 {
    match command {
        text::Command::Store(store) => store.length + 2,
        text::Command::Meta(meta) if meta.length > 0 => meta.length + 2,
        _ => 0,
    }
}

/// Decodes one request frame. Returns its length with its value; `None` if it is incomplete.
fn decode_binary(input: &[u8], offset: usize, out: &mut impl Write) -> io::Result<Option<usize>> {
    let Parsed::Done(result, used) = binary::parse(input) else {
        return Ok(None);
    };
    let value = match result {
        Ok(request) => {
            let key = request.key.escape_ascii();
            writeln!(
                out,
                "{offset:8}  {:?} key={key} value={} B",
                request.operation, request.value_length
            )?;
            u64::from(request.value_length)
        }
        Err(error) => {
            writeln!(out, "{offset:8}  -- {error}")?;
            error.swallow()
        }
    };
    Ok(Some(used + value as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hikyaku_wire::memcached::binary::Opcode;
    use hikyaku_wire::memcached::client;

    fn decoded(capture: &[u8]) -> String {
        let mut out = Vec::new();
        decode(capture, &mut out).expect("a vector takes every write");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn text_commands_are_printed_with_their_offsets() {
        assert_eq!(
            decoded(b"set k 0 0 2\r\nhi\r\nget k\r\nset k 0 zero 2\r\nhi\r\nget"),
            "       0  set k 0 0 2\n      17  get k\n      24  set k 0 zero 2  -- CLIENT_ERROR bad command line format\n      \
             44  incomplete: 3 bytes left\n"
        );
    }

    #[test]
    fn binary_requests_are_printed() {
        let mut capture = Vec::new();
        client::binary::key(&mut capture, Opcode::GET, 1, b"greeting");
        assert_eq!(
            decoded(&capture),
            "       0  Get { with_key: false } key=greeting value=0 B\n"
        );
    }
}
