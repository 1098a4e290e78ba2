//! Vectors in files: pairs of lines with a request and its reply; see `vectors/bad_text.txt`.

/// A request and its reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vector {
    /// The request as written in the file, for messages.
    pub shown: String,
    /// The request.
    pub request: Vec<u8>,
    /// The reply.
    pub reply: Vec<u8>,
    /// True if the connection closes after it.
    pub closes: bool,
}

/// Reads a file of vectors.
///
/// # Panics
/// If it does not have the form that its head describes.
pub fn vectors(text: &str) -> Vec<Vector> {
    let mut lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut all = Vec::new();
    while let Some(line) = lines.next() {
        let request = line
            .strip_prefix("> ")
            .unwrap_or_else(|| panic!("not a request: {line}"));
        let reply = lines
            .next()
            .and_then(|line| line.strip_prefix('<'))
            .unwrap_or_else(|| panic!("no reply: {line}"));
        let reply = reply.trim_start();
        let open = reply.strip_suffix('!');
        all.push(Vector {
            shown: request.to_owned(),
            request: bytes(request),
            reply: bytes(open.unwrap_or(reply)),
            closes: open.is_some(),
        });
    }
    all
}

/// The bytes that the notation stands for.
fn bytes(notation: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = notation;
    while let Some(first) = rest.chars().next() {
        let (piece, used) = match first {
            '\\' => escape(rest),
            '{' => repetition(rest),
            _ => (vec![u8::try_from(first).expect("ASCII")], 1),
        };
        out.extend(piece);
        rest = &rest[used..];
    }
    out
}

fn escape(rest: &str) -> (Vec<u8>, usize) {
    match rest.as_bytes().get(1) {
        Some(b'r') => (vec![b'\r'], 2),
        Some(b'n') => (vec![b'\n'], 2),
        Some(b't') => (vec![b'\t'], 2),
        Some(b'0') => (vec![0], 2),
        Some(b'\\') => (vec![b'\\'], 2),
        Some(b'x') => (
            vec![u8::from_str_radix(&rest[2..4], 16).expect("two hexadecimal digits")],
            4,
        ),
        _ => panic!("no such escape: {rest}"),
    }
}

fn repetition(rest: &str) -> (Vec<u8>, usize) {
    let end = rest.find('}').expect("a repetition ends");
    let (what, count) = rest[1..end].split_once('*').expect("a repetition has a count");
    (what.repeat(count.parse().expect("a count")).into_bytes(), end + 1)
}

#[cfg(test)]
mod tests {
    use super::{bytes, vectors};

    #[test]
    fn notation_stands_for_bytes() {
        assert_eq!(bytes(r"a{b*3}\r\n\0\t\\\x80"), b"abbb\r\n\0\t\\\x80");
    }

    #[test]
    fn pairs_of_lines_are_vectors() {
        let read = vectors("# about\n\n> quit\\r\\n\n< !\n> get a\\r\\n\n< END\\r\\n\n");
        assert_eq!(read.len(), 2);
        assert!(read[0].closes && read[0].reply.is_empty());
        assert_eq!(read[1].reply, b"END\r\n");
    }
}
