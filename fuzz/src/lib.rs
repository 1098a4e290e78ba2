//! The properties of the codecs' own tests under a fuzzer.
//!
//! `cargo fuzz run TARGET corpus/TARGET seeds/TARGET` runs one target, `make fuzz` all of them. A finding becomes a vector
//! or a test of the codec before the codec is fixed.
#![forbid(unsafe_code)]

#[path = "../../crates/wire/tests/memcached/describe.rs"]
mod describe;
#[path = "../../crates/wire/tests/memcached/properties.rs"]
mod properties;
#[path = "../../crates/log/tests/properties/mod.rs"]
mod log_properties;
#[path = "../../crates/kv/tests/store/operations.rs"]
mod operations;

/// Longer streams find nothing that shorter ones do not.
const STREAM_LENGTH_MAX: usize = 4000;

fn within(input: &[u8]) -> &[u8] {
    &input[..input.len().min(STREAM_LENGTH_MAX)]
}

/// Command lines, with and without authentication before them.
pub fn memcached_text(input: &[u8]) {
    properties::text_stream(within(input));
    properties::authentication(within(input));
}

/// Meta commands: the input follows each verb.
pub fn memcached_meta(input: &[u8]) {
    for verb in [b"mg ", b"ms ", b"md ", b"ma ", b"me "] {
        properties::text_stream(&[verb, within(input), b"\r\n"].concat());
    }
}

/// Binary requests.
pub fn memcached_binary(input: &[u8]) {
    properties::binary_stream(within(input));
}

/// Replies to text requests.
pub fn memcached_replies(input: &[u8]) {
    properties::reply_stream(within(input));
}

/// Responses to binary requests.
pub fn memcached_responses(input: &[u8]) {
    properties::response_stream(within(input));
}

/// Operations on a store of a few KiB.
pub fn kv_store(input: &[u8]) {
    operations::run(input);
}

/// Record batches.
pub fn log_batches(input: &[u8]) {
    log_properties::batches(within(input));
}

/// Folders of logs with arbitrary files.
pub fn log_recovery(input: &[u8]) {
    log_properties::recovery(within(input));
}
