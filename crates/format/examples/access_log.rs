//! Writes access log lines three ways: `cargo run -p hikyaku-format --example access_log`.
//!
//! ```text
//! 192.0.2.7 - - "GET /index.html" 200 48301 0.012
//! 192.0.2.7 - - "GET /index.html" 200 48301 0.012
//! no room: 48 bytes needed, 32 there
//! ```

use std::io::Write;

use format::{Fixed, append, appendln, c};

/// One request, as a server knows it when it has replied.
struct Request {
    address: [u8; 4],
    path: &'static str,
    status: u16,
    bytes: u64,
    seconds: f64,
}

/// Appends a line with Rust's formats. A vector grows, so the calls cannot fail.
fn rust(log: &mut Vec<u8>, request: &Request) {
    let Request {
        address: [a, b, c, d],
        path,
        status,
        bytes,
        seconds,
    } = request;
    append!(log, "{a}.{b}.{c}.{d} - - \"GET {path}\" ");
    appendln!(log, "{status} {bytes} {seconds:.3}");
}

/// Appends the same line with a format of C's.
fn with_c(log: &mut Vec<u8>, request: &Request) {
    let [a, b, c, d] = request.address;
    c!(
        log,
        "%u.%u.%u.%u - - \"GET %s\" %u %llu %.3f\n",
        a,
        b,
        c,
        d,
        request.path,
        request.status,
        request.bytes,
        request.seconds
    );
}

/// Appends to storage of a fixed size. If the line does not fit, the contents are unchanged.
fn fixed(line: &mut Fixed<[u8; 32]>, request: &Request) -> Result<(), format::Full> {
    let [a, b, c, d] = request.address;
    appendln!(
        line,
        "{a}.{b}.{c}.{d} - - \"GET {}\" {} {} {:.3}",
        request.path,
        request.status,
        request.bytes,
        request.seconds
    )
}

fn main() -> std::io::Result<()> {
    let request = Request {
        address: [192, 0, 2, 7],
        path: "/index.html",
        status: 200,
        bytes: 48_301,
        seconds: 0.012_34,
    };
    let mut log = Vec::new();
    rust(&mut log, &request);
    let first = log.len();
    with_c(&mut log, &request);
    assert_eq!(log[..first], log[first..], "both formats write the same bytes");

    let mut line = Fixed::new([0; 32]);
    match fixed(&mut line, &request) {
        Ok(()) => log.extend_from_slice(line.as_bytes()),
        Err(full) => appendln!(log, "no room: {} bytes needed, {} there", full.needed, full.room),
    }
    assert!(line.is_empty(), "a call that does not fit appends nothing");
    std::io::stdout().write_all(&log)
}
