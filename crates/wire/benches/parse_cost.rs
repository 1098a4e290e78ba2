//! The cost of parsing and encoding a message, in nanoseconds: `cargo bench -p hikyaku-wire`.
//!
//! With the name of a case as argument only that one runs, once over its input, for an instruction counter:
//! `valgrind --tool=callgrind --toggle-collect='*run_once*' parse_cost-… get`.

use hikyaku_wire::Parsed;
use hikyaku_wire::memcached::text::{Command, GetVerb};
use hikyaku_wire::memcached::{binary, client, meta, text};
use std::hint::black_box;
use std::time::Instant;

/// So many messages lie one behind the other, as a pipelining client sends them.
const PIPELINED: usize = 1000;
const ROUNDS: usize = 2000;

/// A key as long as those of the benchmarks.
fn key(at: usize) -> Vec<u8> {
    format!("{at:0>100}").into_bytes()
}

/// A function over a whole input, and how often its message is there.
struct Case {
    name: &'static str,
    input: Vec<u8>,
    run: fn(&[u8], &mut Vec<u8>) -> usize,
}

fn repeated(message: impl Fn(&mut Vec<u8>, &[u8])) -> Vec<u8> {
    let mut input = Vec::new();
    (0..PIPELINED).for_each(|at| message(&mut input, &key(at)));
    input
}

fn cases() -> Vec<Case> {
    let text_get = repeated(|out, key| client::text::get(out, GetVerb::Get, [key]));
    let text_get_24 = repeated(|out, key| client::text::get(out, GetVerb::Get, [key; 24]));
    let meta_get = repeated(|out, key| {
        client::meta::begin(out, meta::MetaVerb::Get, key, None);
        client::meta::flag(out, b'v');
        client::meta::end(out);
    });
    let meta_many = repeated(|out, key| {
        client::meta::begin(out, meta::MetaVerb::Get, key, None);
        b"vfck".iter().for_each(|letter| client::meta::flag(out, *letter));
        client::meta::token(out, b'O', b"12345");
        client::meta::end(out);
    });
    let set = repeated(|out, key| {
        out.extend_from_slice(b"set ");
        out.extend_from_slice(key);
        out.extend_from_slice(b" 0 0 400\r\n");
    });
    let meta_set = repeated(|out, key| {
        client::meta::begin(out, meta::MetaVerb::Set, key, Some(400));
        client::meta::exptime(out, b'T', 3600);
        client::meta::end(out);
    });
    let binary_get = repeated(|out, key| client::binary::key(out, binary::Opcode::GETKQ, 7, key));
    let lengths = vec![0; PIPELINED];
    vec![
        Case {
            name: "get",
            input: text_get.clone(),
            run: parse_text,
        },
        Case {
            name: "get of 24 keys",
            input: text_get_24,
            run: parse_text,
        },
        Case {
            name: "mg k v",
            input: meta_get,
            run: parse_text,
        },
        Case {
            name: "mg k v f c k O12345",
            input: meta_many,
            run: parse_text,
        },
        Case {
            name: "set line",
            input: set,
            run: parse_text,
        },
        Case {
            name: "ms line",
            input: meta_set,
            run: parse_text,
        },
        Case {
            name: "binary GETKQ",
            input: binary_get,
            run: parse_binary,
        },
        Case {
            name: "VALUE line",
            input: lengths.clone(),
            run: write_value,
        },
        Case {
            name: "VA line",
            input: lengths.clone(),
            run: write_meta,
        },
        Case {
            name: "binary value head",
            input: lengths,
            run: write_binary,
        },
    ]
}

fn parse_text(mut input: &[u8], _: &mut Vec<u8>) -> usize {
    let mut seen = 0;
    while let Parsed::Done(Ok(command), used) = text::parse(input) {
        input = &input[used..];
        seen += match command {
            Command::Get(get) => get.keys.map(|key| black_box(key).len()).sum(),
            Command::Meta(meta) => black_box(meta.key_sent).len() + usize::from(meta.has(b'v')),
            Command::Store(store) => black_box(store.key).len(),
            _ => 0,
        };
    }
    seen
}

fn parse_binary(mut input: &[u8], _: &mut Vec<u8>) -> usize {
    let mut seen = 0;
    while let Parsed::Done(Ok(request), used) = binary::parse(input) {
        input = &input[used..];
        seen += black_box(request.key).len() + request.opaque as usize;
    }
    seen
}

const KEY: &[u8] = &[b'k'; 100];

fn write_value(input: &[u8], out: &mut Vec<u8>) -> usize {
    out.clear();
    for _ in input {
        text::value_line(out, black_box(KEY), black_box(0), black_box(400), None);
    }
    out.len()
}

fn write_meta(input: &[u8], out: &mut Vec<u8>) -> usize {
    out.clear();
    for _ in input {
        meta::value(out, black_box(400));
        meta::end(out);
    }
    out.len()
}

fn write_binary(input: &[u8], out: &mut Vec<u8>) -> usize {
    out.clear();
    for _ in input {
        binary::value_head(
            out,
            binary::Opcode::GETKQ,
            black_box(7),
            1,
            0,
            black_box(KEY),
            black_box(400),
        );
    }
    out.len()
}

#[inline(never)]
fn run_once(case: &Case, out: &mut Vec<u8>) -> usize {
    (case.run)(black_box(&case.input), out)
}

fn main() {
    let only = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with("--"));
    let mut out = Vec::with_capacity(1 << 20);
    for case in cases() {
        if let Some(only) = &only {
            if *only == case.name {
                println!("{} of {}: {}", case.name, PIPELINED, run_once(&case, &mut out));
            }
            continue;
        }
        let best = (0..ROUNDS)
            .map(|_| {
                let start = Instant::now();
                black_box(run_once(&case, &mut out));
                start.elapsed()
            })
            .min()
            .unwrap_or_default();
        println!(
            "{:<22} {:>7.1} ns",
            case.name,
            best.as_nanos() as f64 / PIPELINED as f64
        );
    }
}
