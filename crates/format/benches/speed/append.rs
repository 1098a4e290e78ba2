//! `append!` against `write!`.

use crate::compare::compare;
use crate::inputs::{Random, double, inputs, request};
use std::io::Write as _;

/// A case: the same format and arguments for both.
macro_rules! case {
    ($name:literal, $inputs:expr, |$input:ident| $($format:tt)*) => {
        compare(
            ($name, "append!", "write!"),
            &$inputs,
            |out, $input| format::append!(out, $($format)*),
            |out, $input| write!(out, $($format)*).expect("a vector takes everything"),
        )
    };
}

/// Runs them all.
pub(crate) fn run() {
    let ipv4 = inputs(|random| (random.next() as u32).to_le_bytes());
    case!("ipv4", ipv4, |i| "{}.{}.{}.{}", i[0], i[1], i[2], i[3]);
    let ipv4 = inputs(|random| (random.next() as u32).to_le_bytes().map(u32::from));
    case!("ipv4 as u32", ipv4, |i| "{}.{}.{}.{}", i[0], i[1], i[2], i[3]);
    case!(
        "access log line",
        inputs(request),
        |r| "{}.{}.{}.{} - {} [21/Nov/2026:{:02}:{:02}:{:02} +0000] \"{} /{} HTTP/1.1\" {} {} \"{}\" \"{}\"\n",
        r.address[0],
        r.address[1],
        r.address[2],
        r.address[3],
        r.user,
        r.time[0],
        r.time[1],
        r.time[2],
        r.method,
        r.path,
        r.status,
        r.bytes,
        r.referer,
        r.agent
    );
    let floats = inputs(double);
    case!("{:.3}", floats, |f| "{:.3}", f);
    case!("{:.6}", floats, |f| "{:.6}", f);
    case!("{:10.2}", floats, |f| "{:10.2}", f);
    case!("{} f64", floats, |f| "{}", f);
    case!("{:e} f64", floats, |f| "{:e}", f);
    case!("{:.3e}", floats, |f| "{:.3e}", f);
    let numbers = inputs(Random::number);
    case!("{} u64", numbers, |n| "{}", n);
    case!("{} u32", inputs(|random| random.number() as u32), |n| "{}", n);
    case!("{} i32", inputs(|random| random.number() as i32), |n| "{}", n);
    case!("{:x}", numbers, |n| "{:x}", n);
    case!("{:#x}", numbers, |n| "{:#x}", n);
    case!("{:>10}", inputs(|random| random.number() as u32), |n| "{:>10}", n);
    case!("{:08x}", inputs(|random| random.number() as u32), |n| "{:08x}", n);
    case!(
        "etag",
        inputs(|random| (random.next() as u32, random.number())),
        |n| "\"{:08x}-{:x}\"",
        n.0,
        n.1
    );
    case!(
        "{:02}:{:02}:{:02}",
        inputs(|random| request(random).time),
        |t| "{:02}:{:02}:{:02}",
        t[0],
        t[1],
        t[2]
    );
    let words = inputs(|random| (random.word(12), random.word(30)));
    case!("{}: {}", words, |w| "{}: {}\r\n", w.0, w.1);
    case!("{:<16}", words, |w| "{:<16}", w.0);
    case!(
        "http head",
        inputs(request),
        |r| "HTTP/1.1 {} OK\r\ncontent-length: {}\r\n\r\n",
        r.status,
        r.bytes
    );
    case!(
        "VALUE line",
        inputs(request),
        |r| "VALUE {} {} {}\r\n",
        r.path,
        0u32,
        r.bytes
    );
    case!(
        "{:?} option",
        inputs(|random| Some(random.next() as u8)),
        |o| "{:?}",
        o
    );
    let bytes = inputs(|random| random.next() as u8);
    case!("{:#010b}", bytes, |b| "{:#010b}", b);
    case!("{:o}", numbers, |n| "{:o}", n);
}
