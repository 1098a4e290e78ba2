//! `append!` against `write!` to the same `Vec<u8>`: `cargo bench -p hikyaku-format`.
//!
//! Random inputs, the two in turn for many short rounds, medians. Prints a JSON object a line with the nanoseconds of
//! one call each and their ratio. With the name of a case as argument only that one runs.

use std::hint::black_box;
use std::io::Write as _;
use std::time::Instant;

/// Inputs that a case has; a power of two.
const INPUTS: usize = 4096;
const ROUNDS: usize = 61;

/// The random numbers of Marsaglia's xorshift, multiplied.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number of random length.
    fn number(&mut self) -> u64 {
        let bits = self.next() % 64;
        self.next() >> bits
    }

    fn word(&mut self, length_max: u64) -> String {
        let length = 1 + self.next() % length_max;
        (0..length)
            .map(|_| char::from(b'a' + (self.next() % 26) as u8))
            .collect()
    }
}

fn inputs<T>(make: impl Fn(&mut Random) -> T) -> Vec<T> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    (0..INPUTS).map(|_| make(&mut random)).collect()
}

/// Nanoseconds of one call.
#[inline(never)]
fn time<T>(inputs: &[T], call: &mut impl FnMut(&mut Vec<u8>, &T)) -> f64 {
    let mut out = Vec::with_capacity(1024);
    let begin = Instant::now();
    for input in inputs {
        out.clear();
        call(&mut out, input);
        black_box(out.as_slice());
    }
    begin.elapsed().as_nanos() as f64 / inputs.len() as f64
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn compare<T>(
    case: &str,
    inputs: &[T],
    mut ours: impl FnMut(&mut Vec<u8>, &T),
    mut theirs: impl FnMut(&mut Vec<u8>, &T),
) {
    if std::env::args()
        .skip(1)
        .any(|word| !word.starts_with('-') && word != case)
    {
        return;
    }
    for input in inputs {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        ours(&mut a, input);
        theirs(&mut b, input);
        assert_eq!(String::from_utf8_lossy(&a), String::from_utf8_lossy(&b), "{case}");
    }
    let (a, b): (Vec<_>, Vec<_>) = (0..ROUNDS)
        .map(|_| (time(inputs, &mut ours), time(inputs, &mut theirs)))
        .unzip();
    let (a, b) = (median(a), median(b));
    println!(
        r#"{{"case":"{case}","ours_ns":{a:.2},"write_ns":{b:.2},"ratio":{:.2}}}"#,
        b / a
    );
}

/// A case: the same format and arguments for both.
macro_rules! case {
    ($name:literal, $inputs:expr, |$input:ident| $($format:tt)*) => {
        compare(
            $name,
            &$inputs,
            |out, $input| format::append!(out, $($format)*),
            |out, $input| write!(out, $($format)*).expect("a vector takes everything"),
        )
    };
}

struct Request {
    address: [u8; 4],
    user: String,
    time: [u8; 3],
    method: &'static str,
    path: String,
    status: u16,
    bytes: u64,
    referer: String,
    agent: String,
}

fn request(random: &mut Random) -> Request {
    Request {
        address: (random.next() as u32).to_le_bytes(),
        user: random.word(8),
        time: [
            random.next() as u8 % 24,
            random.next() as u8 % 60,
            random.next() as u8 % 60,
        ],
        method: ["GET", "POST", "HEAD"][random.next() as usize % 3],
        path: random.word(30),
        status: [200, 206, 304, 404][random.next() as usize % 4],
        bytes: random.next() >> (40 + random.next() % 20),
        referer: random.word(20),
        agent: random.word(40),
    }
}

fn main() {
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
    let floats = inputs(|random| (random.next() >> 11) as f64 / (1u64 << 33) as f64);
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
