//! What must hold for any input: the properties that the codecs' own tests check, under a fuzzer.
//!
//! Each target is run by `cargo fuzz run TARGET corpus/TARGET seeds/TARGET`, or all of them by `make fuzz`. A finding
//! becomes a vector or a test of the codec before it is mended.
#![forbid(unsafe_code)]

#[path = "../../crates/wire/tests/memcached/describe.rs"]
mod describe;
#[path = "../../crates/wire/tests/memcached/properties.rs"]
mod properties;

/// Streams longer than this find nothing that shorter ones do not.
const STREAM_LENGTH_MAX: usize = 4000;

fn within(input: &[u8]) -> &[u8] {
    &input[..input.len().min(STREAM_LENGTH_MAX)]
}

/// Command lines of any kind, and what precedes them where clients must authenticate.
pub fn memcached_text(input: &[u8]) {
    properties::text_stream(within(input));
    properties::authentication(within(input));
}

/// What follows the verb of a meta command.
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
