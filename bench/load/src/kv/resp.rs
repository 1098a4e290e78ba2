//! Redis's protocol, RESP, as far as a get or a set of one key needs it.

use super::dialect::{Head, LINE_END};
use super::items::Items;
use crate::tally::printable;

/// Appends `GET key`.
pub(super) fn get(key: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"*2\r\n$3\r\nGET\r\n");
    length(key.len(), out);
    out.extend_from_slice(key);
    out.extend_from_slice(LINE_END);
}

/// Appends `SET key value`.
pub(super) fn set(items: &Items, item: u64, key: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"*3\r\n$3\r\nSET\r\n");
    length(key.len(), out);
    out.extend_from_slice(key);
    out.extend_from_slice(LINE_END);
    length(items.value_size(), out);
    items.value(item, out);
    out.extend_from_slice(LINE_END);
}

fn length(length: usize, out: &mut Vec<u8>) {
    out.push(b'$');
    out.extend_from_slice(length.to_string().as_bytes());
    out.extend_from_slice(LINE_END);
}

/// Reads the head of a reply and returns it with its length. `None` if it is incomplete; an error if it is malformed.
pub(super) fn head(input: &[u8]) -> Result<Option<(Head<'_>, usize)>, String> {
    const LINE_MAX: usize = 1024;
    let nonsense = || Err(printable(input));
    let Some(end) = input.windows(2).take(LINE_MAX).position(|two| two == LINE_END) else {
        return if input.len() > LINE_MAX {
            nonsense()
        } else {
            Ok(None)
        };
    };
    let head = match &input[..end] {
        b"+OK" => Head::Stored,
        b"$-1" => Head::End,
        [b'-', text @ ..] => Head::Failed(text),
        [b'$', digits @ ..] => match std::str::from_utf8(digits)
            .ok()
            .and_then(|digits| digits.parse().ok())
        {
            Some(length) => Head::Value {
                key: None,
                length,
                frame: LINE_END.len(),
                last: true,
            },
            None => return nonsense(),
        },
        _ => return nonsense(),
    };
    Ok(Some((head, end + LINE_END.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_as_documented() {
        let items = Items::new(100, 12, 5).expect("fits");
        let mut out = Vec::new();
        get(b"hi0000000007", &mut out);
        assert_eq!(out, b"*2\r\n$3\r\nGET\r\n$12\r\nhi0000000007\r\n");
        out.clear();
        set(&items, 7, b"hi0000000007", &mut out);
        assert_eq!(out, b"*3\r\n$3\r\nSET\r\n$12\r\nhi0000000007\r\n$5\r\n00007\r\n");
    }

    #[test]
    fn heads_are_understood() {
        let value = Head::Value {
            key: None,
            length: 5,
            frame: 2,
            last: true,
        };
        assert_eq!(head(b"$5\r\n00007\r\n"), Ok(Some((value, 4))));
        assert_eq!(head(b"$-1\r\n"), Ok(Some((Head::End, 5))));
        assert_eq!(head(b"+OK\r\n+OK\r\n"), Ok(Some((Head::Stored, 5))));
        assert_eq!(
            head(b"-MISCONF disk\r\n"),
            Ok(Some((Head::Failed(b"MISCONF disk"), 15)))
        );
        assert_eq!(head(b"+O"), Ok(None));
        assert!(head(b"+PONG\r\n").is_err());
        assert!(head(b"$x\r\n").is_err());
        assert!(head(b"STORED\r\n").is_err());
        assert!(head(&[b'x'; 2000]).is_err());
    }
}
