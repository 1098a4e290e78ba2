//! Every number of 32 bits, and many millions of doubles: `make check-digits` runs all, `cargo test` a part.
//!
//! The digits of numbers are compared with an odometer, which only counts up and shares no arithmetic with what it checks.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use format::append;
use std::io::Write as _;
use support::Random;

/// A number as digits after leading zeros. It can only count up.
struct Odometer {
    digits: [u8; 16],
    /// The index of the first digit.
    start: usize,
    /// The successor of each digit.
    next: [u8; 128],
    last: u8,
}

impl Odometer {
    fn at(mut number: u64, alphabet: &[u8]) -> Self {
        let mut odometer = Self {
            digits: [b'0'; 16],
            start: 15,
            next: [0; 128],
            last: alphabet[alphabet.len() - 1],
        };
        for pair in alphabet.windows(2) {
            odometer.next[usize::from(pair[0])] = pair[1];
        }
        let base = alphabet.len() as u64;
        for at in (0..16).rev() {
            odometer.digits[at] = alphabet[(number % base) as usize];
            number /= base;
            if odometer.digits[at] != b'0' {
                odometer.start = at;
            }
        }
        odometer
    }

    fn advance(&mut self) {
        let mut at = 15;
        while self.digits[at] == self.last {
            self.digits[at] = b'0';
            at -= 1;
        }
        self.digits[at] = self.next[usize::from(self.digits[at])];
        self.start = self.start.min(at);
    }

    /// Compares with a text that may have leading zeros up to a width.
    fn check(&self, text: &[u8], width: usize) {
        let expected = &self.digits[self.start.min(16 - width)..];
        assert!(expected == text, "{}", String::from_utf8_lossy(text));
    }
}

fn check_decimal(range: std::ops::Range<u64>) {
    let mut odometer = Odometer::at(range.start, b"0123456789");
    let mut out = Vec::with_capacity(64);
    for number in range {
        let number = number as u32;
        out.clear();
        append!(out, "{number}");
        odometer.check(&out, 0);
        out.clear();
        append!(out, "{number:010}");
        odometer.check(&out, 10);
        odometer.advance();
    }
}

fn check_hexadecimal(range: std::ops::Range<u64>) {
    let mut odometer = Odometer::at(range.start, b"0123456789abcdef");
    let mut out = Vec::with_capacity(64);
    for number in range {
        let number = number as u32;
        out.clear();
        append!(out, "{number:x}");
        odometer.check(&out, 0);
        out.clear();
        append!(out, "{number:08x}");
        odometer.check(&out, 8);
        odometer.advance();
    }
}

/// Runs a check over all numbers of 32 bits, on all processors.
fn in_slices(check: fn(std::ops::Range<u64>)) {
    let slices = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    std::thread::scope(|scope| {
        for slice in 0..slices {
            let at = |slice| (slice << 32) / slices;
            scope.spawn(move || check(at(slice)..at(slice + 1)));
        }
    });
}

/// The shortest digits of every number of a range of 32-bit floats, and of doubles in the middle of two decimals.
fn check_shortest(range: std::ops::Range<u64>, step: usize) {
    let mut random = Random(range.start | 1);
    let (mut ours, mut theirs) = (Vec::with_capacity(1024), Vec::with_capacity(1024));
    for bits in range.step_by(step) {
        let narrow = f32::from_bits(bits as u32);
        let wide = (random.word() >> 11) as f64 / (1u64 << (random.word() % 60)) as f64;
        ours.clear();
        theirs.clear();
        append!(ours, "{narrow} {narrow:?} {narrow:e} {wide} {wide:?} {wide:e}");
        write!(theirs, "{narrow} {narrow:?} {narrow:e} {wide} {wide:?} {wide:e}").unwrap();
        assert_eq!(String::from_utf8_lossy(&ours), String::from_utf8_lossy(&theirs));
    }
}

fn check_doubles(count: usize, seed: u64) {
    let mut random = Random(seed);
    let (mut ours, mut theirs) = (Vec::with_capacity(1024), Vec::with_capacity(1024));
    for _ in 0..count {
        let value = random.double();
        let decimals = random.word() as usize % 20;
        ours.clear();
        theirs.clear();
        append!(
            ours,
            "{value:.3} {value:.decimals$} {value:.0} {value:.6} {value}"
        );
        write!(
            theirs,
            "{value:.3} {value:.decimals$} {value:.0} {value:.6} {value}"
        )
        .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&ours),
            String::from_utf8_lossy(&theirs),
            "{decimals}"
        );
    }
}

#[test]
fn some_numbers() {
    for start in [0, 9_990, 99_990_000, 999_990_000, 4_294_960_000] {
        check_decimal(start..start + 7_000);
        check_hexadecimal(start..start + 7_000);
    }
}

#[test]
fn some_doubles() {
    check_doubles(50_000, 21);
    check_shortest(0..1 << 32, 90_001);
}

#[test]
#[ignore = "takes minutes: make check-digits"]
fn every_number_in_decimal() {
    in_slices(check_decimal);
}

#[test]
#[ignore = "takes minutes: make check-digits"]
fn every_number_in_hexadecimal() {
    in_slices(check_hexadecimal);
}

#[test]
#[ignore = "takes minutes: make check-digits"]
fn every_256th_float() {
    in_slices(|range| check_shortest(range, 256));
}

#[test]
#[ignore = "takes minutes: make check-digits"]
fn twenty_million_doubles() {
    std::thread::scope(|scope| {
        for seed in 1..=4 {
            scope.spawn(move || check_doubles(5_000_000, seed));
        }
    });
}
