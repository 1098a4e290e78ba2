//! Items as JSON lines.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kv::Expiry;
use serde_json::{Map, Value};

use crate::client::Item;

/// Fields that other commands print and that an import does not need.
const OTHERS: [&str; 2] = ["cas", "size"];

/// An item that was read from a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) key: Vec<u8>,
    pub(super) value: Vec<u8>,
    pub(super) flags: u32,
    pub(super) expiry: Expiry,
}

/// The line of an item.
pub(super) fn format(key: &[u8], value: &[u8], flags: u32, expiry: Expiry) -> String {
    let exptime = match expiry {
        Expiry::Never => 0,
        Expiry::At(second) => second,
    };
    let item = Item::of(key).with("value", value);
    item.number("flags", flags).number("exptime", exptime).line()
}

/// Reads a line.
///
/// # Errors
/// The text of a fault: what is wrong, and what would be right.
pub(super) fn parse(line: &[u8]) -> Result<Line, String> {
    let fields: Value = serde_json::from_slice(line).map_err(|error| format!("it is not JSON: {error}"))?;
    let Value::Object(mut fields) = fields else {
        return Err("it is not an object; an item is {\"key\": …, \"value\": …}".to_owned());
    };
    let line = Line {
        key: take_bytes(&mut fields, "key")?,
        value: take_bytes(&mut fields, "value")?,
        flags: take_number(&mut fields, "flags")?,
        expiry: match take_number(&mut fields, "exptime")? {
            0 => Expiry::Never,
            second => Expiry::At(second),
        },
    };
    match fields.keys().find(|name| !OTHERS.contains(&name.as_str())) {
        None => Ok(line),
        Some(name) => Err(format!(
            "unknown field {name:?}; an item has key, value, flags and exptime"
        )),
    }
}

/// Bytes: a text, or base64 in the field whose name ends in 64.
fn take_bytes(fields: &mut Map<String, Value>, name: &str) -> Result<Vec<u8>, String> {
    let encoded = format!("{name}64");
    match (fields.remove(name), fields.remove(&encoded)) {
        (Some(Value::String(text)), None) => Ok(text.into_bytes()),
        (None, Some(Value::String(text))) => STANDARD
            .decode(text)
            .map_err(|error| format!("{encoded:?} is not base64: {error}")),
        (None, None) => Err(format!("it has no {name:?} and no {encoded:?}")),
        (Some(_), Some(_)) => Err(format!("it has {name:?} and {encoded:?}; one of them is enough")),
        _ => Err(format!("{name:?} is not a string")),
    }
}

fn take_number(fields: &mut Map<String, Value>, name: &str) -> Result<u32, String> {
    match fields.remove(name) {
        None => Ok(0),
        Some(number) => number
            .as_u64()
            .and_then(|number| u32::try_from(number).ok())
            .ok_or_else(|| format!("{name:?} is not a number from 0 to {}", u32::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, format, parse};
    use kv::Expiry;

    #[test]
    fn an_item_is_read_back_from_its_line() {
        for (key, value) in [
            (&b"key"[..], &b"a value"[..]),
            (b"\xff\x00", b"\x80"),
            (b"\"", b""),
            ("飛脚".as_bytes(), b"\n"),
        ] {
            for (flags, expiry) in [(0, Expiry::Never), (u32::MAX, Expiry::At(1_700_000_000))] {
                let line = format(key, value, flags, expiry);
                let expected = Line {
                    key: key.to_vec(),
                    value: value.to_vec(),
                    flags,
                    expiry,
                };
                assert_eq!(parse(line.as_bytes()), Ok(expected), "{line}");
            }
        }
    }

    #[test]
    fn faults_are_named() {
        for (line, fault) in [
            ("{", "not JSON"),
            ("[]", "not an object"),
            (r#"{"value":"v"}"#, "no \"key\" and no \"key64\""),
            (r#"{"key":"k"}"#, "no \"value\""),
            (
                r#"{"key":"k","key64":"aw==","value":""}"#,
                "one of them is enough",
            ),
            (r#"{"key64":"?","value":""}"#, "not base64"),
            (r#"{"key":1,"value":""}"#, "\"key\" is not a string"),
            (
                r#"{"key":"k","value":"","flags":-1}"#,
                "\"flags\" is not a number",
            ),
            (
                r#"{"key":"k","value":"","exptime":4294967296}"#,
                "\"exptime\" is not a number",
            ),
            (r#"{"key":"k","value":"","ttl":1}"#, "unknown field \"ttl\""),
        ] {
            let error = parse(line.as_bytes()).expect_err(line);
            assert!(error.contains(fault), "{error}");
        }
        assert!(parse(br#"{"key":"k","value":"","cas":7,"size":1}"#).is_ok());
    }
}
