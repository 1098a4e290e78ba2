//! How an item is printed.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

/// A JSON object with the fields of an item.
pub(crate) struct Item {
    fields: Map<String, Value>,
}

impl Item {
    pub(crate) fn of(key: &[u8]) -> Item {
        Item { fields: Map::new() }.with("key", key)
    }

    /// Bytes: a text under `name` if they are UTF-8, else base64 under `name` and `64`.
    pub(crate) fn with(mut self, name: &str, bytes: &[u8]) -> Item {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.fields.insert(name.to_owned(), text.into()),
            Err(_) => self
                .fields
                .insert(format!("{name}64"), STANDARD.encode(bytes).into()),
        };
        self
    }

    pub(crate) fn number(mut self, name: &str, number: impl Into<Value>) -> Item {
        self.fields.insert(name.to_owned(), number.into());
        self
    }

    /// When it ends, in seconds since 1970; 0: never.
    pub(super) fn expiry(self, ttl: Option<u64>) -> Item {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        self.number("exptime", ttl.map_or(0, |ttl| now.saturating_add(ttl)))
    }

    pub(crate) fn line(self) -> String {
        Value::Object(self.fields).to_string()
    }
}

/// Decodes the percent-encoding of dumped keys.
pub(super) fn decoded(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, tail)) = rest.split_first() {
        let hex = |at: usize| tail.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        match (first, hex(0), hex(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::{Item, decoded};

    #[test]
    fn bytes_that_are_no_text_are_base64() {
        assert_eq!(
            Item::of(b"k").with("value", b"v").line(),
            r#"{"key":"k","value":"v"}"#
        );
        assert_eq!(
            Item::of(&[0xff]).with("value", &[0xfe, 0]).line(),
            r#"{"key64":"/w==","value64":"/gA="}"#
        );
    }

    #[test]
    fn percent_encoding_is_undone() {
        assert_eq!(decoded(b"a%20b%fF%2g%"), b"a b\xff%2g%");
    }
}
