//! `c!` against libc's `snprintf` and against `append!`.
#![allow(unsafe_code, reason = "snprintf is C's")]

use crate::compare::compare;
use crate::inputs::{Random, double, inputs, request};
use std::ffi::CString;

/// A case: C's format, Rust's that writes the same, and the values; libc's come last where they are not the same.
macro_rules! case {
    ($name:literal, $inputs:expr, |$input:ident| $c:literal $rust:literal: $($value:expr),*) => {
        case!($name, $inputs, |$input| $c $rust: $($value),*; $($value),*)
    };
    ($name:literal, $inputs:expr, |$input:ident| $c:literal $rust:literal: $($value:expr),*; $($raw:expr),*) => {{
        let inputs = &$inputs;
        compare(
            (concat!("c! ", $name), "c!", "snprintf"),
            inputs,
            |out, $input| format::c!(out, $c, $($value),*),
            |out, $input| {
                const FORMAT: &str = concat!($c, "\0");
                // SAFETY: the format ends with a zero and fits the values. The function writes at most the free bytes of the
                // vector and returns the number that it wrote, since the output of every case fits.
                unsafe {
                    let written =
                        libc::snprintf(out.as_mut_ptr().cast(), out.capacity(), FORMAT.as_ptr().cast(), $($raw),*);
                    out.set_len(written as usize);
                }
            },
        );
        compare(
            (concat!("c! ", $name), "c!", "append!"),
            inputs,
            |out, $input| format::c!(out, $c, $($value),*),
            |out, $input| format::append!(out, $rust, $($value),*),
        );
    }};
}

/// Text for both: libc looks for its end.
struct Text {
    text: String,
    c: CString,
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        let c = CString::new(text.as_str()).expect("letters only");
        Self { text, c }
    }
}

/// A request whose texts both can take.
struct Line {
    octets: [u32; 4],
    time: [u32; 3],
    status: u32,
    bytes: u64,
    user: Text,
    method: Text,
    path: Text,
    referer: Text,
    agent: Text,
}

fn line(random: &mut Random) -> Line {
    let request = request(random);
    Line {
        octets: request.octets(),
        time: request.time.map(u32::from),
        status: request.status.into(),
        bytes: request.bytes,
        user: request.user.into(),
        method: String::from(request.method).into(),
        path: request.path.into(),
        referer: request.referer.into(),
        agent: request.agent.into(),
    }
}

/// Runs them all.
pub(crate) fn run() {
    let ipv4 = inputs(|random| (random.next() as u32).to_le_bytes().map(u32::from));
    case!("ipv4", ipv4, |i| "%u.%u.%u.%u" "{}.{}.{}.{}": i[0], i[1], i[2], i[3]);
    case!(
        "access log line",
        inputs(line),
        |r| "%u.%u.%u.%u - %s [21/Nov/2026:%02u:%02u:%02u +0000] \"%s /%s HTTP/1.1\" %u %lu \"%s\" \"%s\"\n"
            "{}.{}.{}.{} - {} [21/Nov/2026:{:02}:{:02}:{:02} +0000] \"{} /{} HTTP/1.1\" {} {} \"{}\" \"{}\"\n":
        r.octets[0], r.octets[1], r.octets[2], r.octets[3], r.user.text, r.time[0], r.time[1], r.time[2],
        r.method.text, r.path.text, r.status, r.bytes, r.referer.text, r.agent.text;
        r.octets[0], r.octets[1], r.octets[2], r.octets[3], r.user.c.as_ptr(), r.time[0], r.time[1], r.time[2],
        r.method.c.as_ptr(), r.path.c.as_ptr(), r.status, r.bytes, r.referer.c.as_ptr(), r.agent.c.as_ptr()
    );
    let floats = inputs(double);
    case!("%.3f", floats, |f| "%.3f" "{:.3}": *f);
    case!("%.6f", floats, |f| "%.6f" "{:.6}": *f);
    case!("%10.2f", floats, |f| "%10.2f" "{:10.2}": *f);
    let numbers = inputs(Random::number);
    case!("%lu", numbers, |n| "%lu" "{}": *n);
    case!("%u", inputs(|random| random.number() as u32), |n| "%u" "{}": *n);
    case!("%d", inputs(|random| random.number() as i32), |n| "%d" "{}": *n);
    case!("%lx", numbers, |n| "%lx" "{:x}": *n);
    case!("%10u", inputs(|random| random.number() as u32), |n| "%10u" "{:>10}": *n);
    case!("%08x", inputs(|random| random.number() as u32), |n| "%08x" "{:08x}": *n);
    case!(
        "etag",
        inputs(|random| (random.next() as u32, random.number())),
        |n| "\"%08x-%lx\"" "\"{:08x}-{:x}\"": n.0, n.1
    );
    case!(
        "%02u:%02u:%02u",
        inputs(|random| line(random).time),
        |t| "%02u:%02u:%02u" "{:02}:{:02}:{:02}": t[0], t[1], t[2]
    );
    let words = inputs(|random| (Text::from(random.word(12)), Text::from(random.word(30))));
    case!("%s: %s", words, |w| "%s: %s\r\n" "{}: {}\r\n": w.0.text, w.1.text; w.0.c.as_ptr(), w.1.c.as_ptr());
    case!("%-16s", words, |w| "%-16s" "{:<16}": w.0.text; w.0.c.as_ptr());
    case!(
        "http head",
        inputs(line),
        |r| "HTTP/1.1 %u OK\r\ncontent-length: %lu\r\n\r\n" "HTTP/1.1 {} OK\r\ncontent-length: {}\r\n\r\n":
        r.status, r.bytes
    );
    case!(
        "VALUE line",
        inputs(line),
        |r| "VALUE %s %u %lu\r\n" "VALUE {} {} {}\r\n": r.path.text, 0u32, r.bytes; r.path.c.as_ptr(), 0u32, r.bytes
    );
    case!("%lo", numbers, |n| "%lo" "{:o}": *n);
    only_in_c(&floats);
}

/// A case without an equivalent format in Rust.
fn only_in_c(floats: &[f64]) {
    macro_rules! only {
        ($($format:literal)*) => {$(
            compare(
                (concat!("c! ", $format), "c!", "snprintf"),
                floats,
                |out, value| format::c!(out, $format, *value),
                |out, value| {
                    const FORMAT: &str = concat!($format, "\0");
                    // SAFETY: as above.
                    unsafe {
                        let written = libc::snprintf(
                            out.as_mut_ptr().cast(), out.capacity(), FORMAT.as_ptr().cast(), *value);
                        out.set_len(written as usize);
                    }
                },
            );
        )*};
    }
    only!("%g" "%.17g" "%e" "%.16e");
}
