//! Formatting at compile time: [`append!`] takes Rust's formats, [`c!`] takes C's.
//!
//! `write!` reads its format string at compile time too, but passes a description of it to code that interprets the
//! description at run time, with a call through a pointer per value. The macros of this crate expand to a list of direct
//! calls, one per value with the text before it: a number becomes digits in a register and a store or two, after one check
//! of the room in the buffer.
//!
//! ```
//! use format::append;
//!
//! let mut out = Vec::new();
//! let ([a, b, c, d], status, seconds) = ([192, 0, 2, 7], 200, 0.01234);
//! append!(out, "{a}.{b}.{c}.{d} - {status} {seconds:.3}s {:>6} {:08x}\n", "GET", 0xbeef);
//! assert_eq!(out, b"192.0.2.7 - 200 0.012s    GET 0000beef\n");
//! ```
//!
//! # Formats
//! [`append!`] takes every format that [`alloc::fmt`] describes, and writes the same bytes as `format!`. Integers up to
//! 64 bits, floating-point numbers, strings, characters, truth values, and `{:?}` of optional numbers have a fast form.
//! `core::fmt` writes all other types and rare formats, such as `{:?}` of a string, within the same call. It also writes
//! values of a generic type, because the expansion does not know the type.
//!
//! [`c!`] takes the conversions of C's `printf` and writes what the GNU C library writes in the C locale; the types of the
//! values are checked:
//!
//! ```
//! use format::c;
//!
//! let mut out = String::new();
//! c!(out, "\"%08x-%zx\" %5.1f%% %s", 0x5f3a_u32, 4096_usize, 99.44, "ok");
//! assert_eq!(out, "\"00005f3a-1000\"  99.4% ok");
//! ```
//! ```compile_fail
//! format::c!(String::new(), "%d", 5_u64); // `%d` takes an i32; `%llu` would take this
//! ```
//!
//! # Buffers
//! A [`Buffer`] is a `Vec<u8>`, a `String`, a [`Fixed`] or a `&mut [u8]`. The first two grow, and a call evaluates to
//! `()`. The others may be [`Full`], and a call evaluates to a `Result`; then nothing has been appended.
//!
//! ```
//! use format::{Fixed, append};
//!
//! let mut line = Fixed::new([0; 8]);
//! append!(line, "{:>5}", 42)?;
//! assert!(append!(line, "{}", 4711).is_err());
//! assert_eq!(line.as_bytes(), b"   42");
//! # Ok::<(), format::Full>(())
//! ```
//!
//! # Guarantees
//! - A call evaluates the buffer and the values once, in the order of the source, before it writes anything.
//! - A mistake in a format is a compile error, worded by the compiler for Rust's formats.
//! - A panic in a value's `Display` leaves the buffer with some or none of the call's bytes, and a `String` with text.
//! - A call takes up to about 120 values, because each uses a step of the compiler's recursion limit.
//!
//! This crate needs `alloc`, not `std`. Its `unsafe` code is in one file, `cursor.rs`, which writes into the spare capacity
//! of a buffer.

#![no_std]

extern crate alloc;

mod based;
mod buffer;
mod cursor;
mod decimals;
mod digits;
mod encoding;
mod fixed;
mod float;
mod hex;
mod integer;
mod layout;
mod option;
#[doc(hidden)]
pub mod printf;
mod scientific;
mod scratch;
mod shortest;
mod specialize;
mod text;
mod word;

/// The example of the README runs as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use buffer::Buffer;
pub use fixed::{Fixed, Full};

/// Items that the macros expand to. They are not part of the interface and may change.
#[doc(hidden)]
pub mod __private {
    pub use crate::buffer::Open;
    pub use crate::layout::{Align, Layout, count, wide};
    pub use crate::printf;
    pub use crate::specialize::probes::{
        binary, debug, display, lower_exp, lower_hex, octal, upper_exp, upper_hex,
    };
    pub use crate::specialize::{ByCore, BySpecialization};
    pub use crate::word::Lead;
    pub use core::option::Option::{None, Some};
    pub use core::{compile_error, format_args};
    pub use format_macros::{append, append_line, c};
}

/// Appends formatted values to a buffer: `append!(buffer, "format", value, name = value…)`.
///
/// The format is a string literal, as for [`format!`](alloc::format), with the same syntax and the same output: fill and
/// alignment, sign, `#`, `0`, width, precision, the kinds `{} {:?} {:x} {:X} {:o} {:b} {:e} {:E} {:p}`, values by position,
/// by name, and captured. The [`Buffer`] is any place or reference.
///
/// ```
/// use format::append;
///
/// let mut out = String::from("> ");
/// let (name, width) = ("load", 8);
/// append!(out, "{name:>width$}: {:+.2} {0:e} {point:?}", 0.5, point = (1, 2));
/// assert_eq!(out, ">     load: +0.50 5e-1 (1, 2)");
/// ```
///
/// # Panics
/// If an implementation of a formatting trait returns an error, or if a width or precision from an argument exceeds 65535,
/// as `format!` does.
#[macro_export]
macro_rules! append {
    ($buffer:expr, $format:expr $(, $($arguments:tt)*)?) => {
        $crate::__call! { [append] [$buffer] [$format] [] $($($arguments)*)? }
    };
}

/// Appends formatted values and a line feed: `appendln!(buffer, "format", value…)`, or `appendln!(buffer)` for an empty line.
///
/// Everything else is as for [`append!`].
///
/// ```
/// use format::appendln;
///
/// let mut out = String::new();
/// appendln!(out, "{}: {}", "load", 0.5);
/// appendln!(out);
/// assert_eq!(out, "load: 0.5\n\n");
/// ```
#[macro_export]
macro_rules! appendln {
    ($buffer:expr $(,)?) => {
        $crate::append!($buffer, "\n")
    };
    ($buffer:expr, $format:expr $(, $($arguments:tt)*)?) => {
        $crate::__call! { [append_line] [$buffer] [$format] [] $($($arguments)*)? }
    };
}

/// Appends values formatted as C's `printf` formats them: `c!(buffer, "format", value…)`.
///
/// | conversion | takes |
/// |---|---|
/// | `%d %i` | `i32`, and `i8`, `i16`, `u8`, `u16`, which C promotes to `int` |
/// | `%u %x %X %o` | `u32`, `u8`, `u16`, and for their bits `i32`, `i8`, `i16` |
/// | with `hh h l ll j z t` | `i8`/`u8`, `i16`/`u16`, C's `long`, `i64`/`u64`, the same, `isize`/`usize`, the same |
/// | `%f %F %e %E %g %G` | `f64`, `f32` |
/// | `%s` | `str`, `String`; for a buffer of bytes also `[u8]`, `Vec<u8>`, `CStr`, `CString`; `None` is `(null)` |
/// | `%c` | `char`; for a buffer of bytes also `u8`, `i8`, `i32` |
/// | `%p` | pointers and references |
///
/// Flags `- + space # 0`, width and precision are C's; `*` takes an `i32`. `%a`, `%n`, `%m`, `long double`, wide
/// characters, the flags `'` and `I`, and numbered arguments are compile errors. If a precision cuts text within a
/// character and the buffer is a `String`, the whole character is omitted.
///
/// ```
/// let mut out = Vec::new();
/// format::c!(out, "%s=%-6d|%#x %.3g%%", "key", -42, 255, 12.3456);
/// assert_eq!(out, b"key=-42   |0xff 12.3%");
/// ```
#[macro_export]
macro_rules! c {
    ($buffer:expr, $format:expr $(, $($arguments:tt)*)?) => {
        $crate::__call! { [c] [$buffer] [$format] [] $($($arguments)*)? }
    };
}

/// Separates the names of the arguments from their values, one argument per step, and then expands to the call.
#[doc(hidden)]
#[macro_export]
macro_rules! __call {
    ([$macro:ident] [$buffer:expr] [$format:expr] [$([$($name:ident)?] [$value:expr])*]) => {{
        #[allow(unused_imports)]
        use $crate::__private::{Open as _, ByCore as _, BySpecialization as _};
        // The binding ends the borrows of the values here, even if the call is the last expression of a block.
        #[allow(clippy::let_and_return, clippy::let_unit_value)]
        let outcome = match $buffer.__open(($(&$value,)*)) {
            opened => $crate::__private::$macro! { [$crate] [opened] [$format] $([$($name)?] [$value])* },
        };
        outcome
    }};
    ($macro:tt $buffer:tt $format:tt [$($done:tt)*] $name:ident = $value:expr $(, $($rest:tt)*)?) => {
        $crate::__call! { $macro $buffer $format [$($done)* [$name] [$value]] $($($rest)*)? }
    };
    ($macro:tt $buffer:tt $format:tt [$($done:tt)*] $value:expr $(, $($rest:tt)*)?) => {
        $crate::__call! { $macro $buffer $format [$($done)* [] [$value]] $($($rest)*)? }
    };
}
