//! `c!` writes the same bytes as libc's `snprintf`.
#![allow(unsafe_code, reason = "snprintf is C's")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use format::c;
use std::ffi::{CStr, CString};
use support::Random;

/// Compares one call with libc, into a vector, with the same arguments.
macro_rules! same {
    ($format:expr $(, $argument:expr)*) => { same!($format $(, $argument)*; $($argument),*) };
    ($format:expr $(, $ours:expr)*; $($theirs:expr),*) => {{
        let format = CString::new($format).unwrap();
        let mut expected = vec![0u8; 2048];
        // SAFETY: the format fits the arguments, each pair has the same C type, and the buffer has the given size.
        let length = unsafe {
            libc::snprintf(expected.as_mut_ptr().cast(), expected.len(), format.as_ptr() $(, $theirs)*)
        };
        expected.truncate(usize::try_from(length).unwrap());
        let mut out = Vec::new();
        c!(out, $format $(, $ours)*);
        assert_eq!(String::from_utf8_lossy(&out), String::from_utf8_lossy(&expected), "{}", $format);
    }};
}

/// Many combinations of flags, with a width and a precision from arguments.
macro_rules! grid {
    ($conversion:literal, $value:expr, $width:expr, $precision:expr) => {
        grid!(@ ["", "-", "+", " ", "#", "0", "-0", "+ #0"], $conversion, $value, $width, $precision)
    };
    (@ [$($flags:literal),*], $conversion:literal, $value:expr, $width:expr, $precision:expr) => {$(
        same!(concat!("%", $flags, $conversion), $value);
        same!(concat!("%", $flags, "*", $conversion), $width, $value);
        same!(concat!("%", $flags, ".*", $conversion), $precision, $value);
        same!(concat!("%", $flags, "*.*", $conversion), $width, $precision, $value);
        same!(concat!("%", $flags, "8", $conversion), $value);
    )*};
}

/// A small number, sometimes negative, as a width or precision.
fn count(random: &mut Random) -> i32 {
    (random.word() % 30) as i32 - 5
}

#[test]
fn integers() {
    let mut random = Random(11);
    for _ in 0..600 {
        let number = random.number();
        let (width, precision) = (count(&mut random), count(&mut random));
        grid!("d", number as i32, width, precision);
        grid!("u", number as u32, width, precision);
        grid!("x", number as u32, width, precision);
        grid!("X", number as u32, width, precision);
        grid!("o", number as u32, width, precision);
        grid!("ld", number as i64, width, precision);
        grid!("lx", number, width, precision);
    }
}

#[test]
fn lengths() {
    let mut random = Random(12);
    for _ in 0..2000 {
        let number = random.number();
        same!("%hhd|%hhi", number as i8, number as i8; i32::from(number as i8), i32::from(number as i8));
        same!("%hhu|%hhx|%hho|%hhX", number as u8, number as u8, number as u8, number as i8;
            number as u32, number as u32, number as u32, number as u32);
        same!("%hd|%hu|%hx|%#ho", number as i16, number as u16, number as i16, number as u16;
            number as i32, number as u32, number as u32, number as u32);
        same!("%d|%u|%x|%X", number as i8, number as u8, number as i16, number as u16;
            i32::from(number as i8), number as u8 as u32, number as i16 as i32, number as u16 as u32);
        same!("%d %d", number as u16, number as u8; number as u16 as i32, number as u8 as i32);
        same!("%x %o %X", number as i32, number as i32, number as i32);
        same!(
            "%lli|%llu|%llx|%llX|%llo",
            number as i64,
            number,
            number as i64,
            number,
            number
        );
        same!("%jd|%ju|%jx", number as i64, number, number);
        same!("%zd|%zu|%zx", number as isize, number as usize, number as usize);
        same!("%td|%tx", number as isize, number as usize);
        same!(
            "%li|%lu|%lx|%lX|%lo",
            number as isize,
            number as usize,
            number,
            number,
            number
        );
        let size = random.number() as usize;
        same!("%08x-%zx %02d:%02d:%5d", number as u32, size, number as i32, size as i8, number as i16;
            number as u32, size, number as i32, i32::from(size as i8), i32::from(number as i16));
    }
}

/// Returns true if rounding adds a digit before the point, as from 9.99 to 10.
///
/// The GNU C library up to 2.36 at least writes `1.e+04` for `%#.4g` of 9999.97, and C wants `1.000e+04`.
fn rounds_to_the_next_power(value: f64, precision: i32) -> bool {
    let exponent = |digits: usize| {
        format!("{value:.digits$e}")
            .split_once('e')
            .map(|(_, exponent)| exponent.to_owned())
    };
    let digits = |precision: i32| (precision.max(1) - 1) as usize;
    [6, if precision < 0 { 6 } else { precision }]
        .iter()
        .any(|one| exponent(digits(*one)) != exponent(30))
}

#[test]
fn floats() {
    let mut random = Random(13);
    for _ in 0..1500 {
        let value = random.double();
        let (width, precision) = (count(&mut random), count(&mut random));
        grid!("f", value, width, precision);
        grid!("e", value, width, precision);
        grid!(@ ["", "-", "+", " ", "0"], "g", value, width, precision);
        if !rounds_to_the_next_power(value, precision) {
            grid!(@ ["#", "+ #0"], "G", value, width, precision);
        }
        same!("%F %E %G %lf", value, value, value, value);
        same!("%.17g %.15g %.3f %.1f %.0f", value, value, value, value, value);
        same!("%f %g", value as f32, value as f32; f64::from(value as f32), f64::from(value as f32));
        same!("%.700f", value / 1e300);
        same!("%.800g %.770e", value, value);
        same!("%#.1500g", 1e-300 * value);
        same!("%.g %12.4g %.0e %.4f %012.3f", value, value, value, value, value);
    }
}

#[test]
fn text() {
    let mut random = Random(14);
    for _ in 0..1000 {
        let text = CString::new(random.text()).unwrap();
        let (width, precision) = (count(&mut random), count(&mut random));
        macro_rules! each {
            ($($format:literal)*) => {$(
                same!($format, text; text.as_ptr());
                same!($format, text.to_str().unwrap(); text.as_ptr());
                same!($format, text.to_bytes(); text.as_ptr());
            )*};
        }
        each!("%s" "[%s]" "%5s" "%-9s|" "%09s" "%.3s" "%8.2s" "%-8.4s|" "%.0s" "%.s" "%+s" "% s" "%#s" "%.40s");
        same!("%*s|%-*s|%.*s|%*.*s", width, text, width, text, precision, text, width, precision, text;
            width, text.as_ptr(), width, text.as_ptr(), precision, text.as_ptr(), width, precision, text.as_ptr());
        let byte = text.to_bytes().first().copied().unwrap_or(b'x');
        same!("%c%5c%-5c|%05c", byte, byte, byte, byte;
            i32::from(byte), i32::from(byte), i32::from(byte), i32::from(byte));
        same!("%c%*c", i32::from(byte) + 256, width, byte as i8; i32::from(byte) + 256, width, i32::from(byte));
    }
    let none: Option<&CStr> = None;
    same!("%s %10s|%-9s|%.6s|%.5s|%3s", none, none, none, none, none, none;
        std::ptr::null::<u8>(), std::ptr::null::<u8>(), std::ptr::null::<u8>(), std::ptr::null::<u8>(),
        std::ptr::null::<u8>(), std::ptr::null::<u8>());
    same!("%s", Some("x"); c"x".as_ptr());
    same!("100%% %% %d%%", 5);
    same!("no conversion");
}

#[test]
fn pointers() {
    let mut random = Random(15);
    for _ in 0..300 {
        let pointer = std::ptr::without_provenance::<u8>(random.number() as usize);
        let (width, precision) = (count(&mut random), count(&mut random));
        grid!("p", pointer, width, precision);
    }
    grid!("p", std::ptr::null::<u8>(), 9, 7);
    let value = 5;
    same!("%p %p", &value, std::ptr::NonNull::from(&value); &raw const value, &raw const value);
}

#[test]
fn into_a_string() {
    let mut out = String::new();
    c!(
        out,
        "%s|%5c|%.4s|%.2s|%.3s|%s",
        "飛脚",
        'é',
        "飛脚",
        "飛脚",
        String::from("飛脚"),
        Some("x")
    );
    assert_eq!(out, "飛脚|   é|飛||飛|x");
}

#[test]
fn into_a_fixed_buffer() {
    let mut out = format::Fixed::new([0; 12]);
    assert_eq!(c!(out, "%08x-%zx", 0xbeef_u32, 255_usize), Ok(()));
    assert_eq!(c!(out, "%5d", 1), Err(format::Full { needed: 5, room: 1 }));
    assert_eq!(out.as_bytes(), b"0000beef-ff");
}
