//! Arguments are evaluated once, in order, and live long enough; buffers may be any place.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use format::append;
use std::cell::{Cell, RefCell};

#[test]
fn once_and_in_order() {
    let calls = RefCell::new(Vec::new());
    let mut out = Vec::new();
    let note = |name: &'static str| {
        calls.borrow_mut().push(name);
        name
    };
    append!(
        {
            note("buffer");
            &mut out
        },
        "{2} {0} {x} {0:>9} {1}",
        note("a"),
        note("b"),
        note("c"),
        x = note("d")
    );
    assert_eq!(out, b"c a d         a b");
    assert_eq!(*calls.borrow(), ["buffer", "a", "b", "c", "d"]);
}

#[test]
fn temporaries_live_to_the_end() {
    let mut out = String::new();
    let cell = RefCell::new(String::from("held"));
    append!(
        out,
        "{} {} {}",
        cell.borrow(),
        String::from("made").as_str(),
        *cell.borrow()
    );
    assert_eq!(out, "held made held");
}

#[test]
fn any_place_is_a_buffer() {
    struct Connection {
        out: Vec<u8>,
    }
    let mut connection = Connection { out: Vec::new() };
    append!(connection.out, "{}", 1);
    append!(&mut connection.out, "{}", 2);
    let reference = &mut connection.out;
    append!(reference, "{}", 3);
    let nested = &mut &mut *reference;
    append!(nested, "{}", 4);
    let boxed = Box::new(&mut *nested);
    append!(boxed, "{}", 5);
    let cell = RefCell::new(std::mem::take(&mut connection.out));
    append!(cell.borrow_mut(), "{}", 6);
    let mut many = [Vec::new(), cell.into_inner()];
    append!(many[1], "{}", 7);
    assert_eq!(many[1], b"1234567");
}

#[test]
fn the_buffer_may_be_asked_by_an_argument() {
    let mut out = Vec::from("abc");
    append!(out, "{}", out.len());
    assert_eq!(out, b"abc3");
}

#[test]
#[allow(clippy::let_unit_value, reason = "that it is a unit is the point")]
fn a_call_is_a_statement_and_an_expression() {
    let mut out = Vec::new();
    let unit: () = append!(out, "{}", 1);
    let value = if out.is_empty() {
        unit
    } else {
        append!(out, "{}", 2)
    };
    match 3 {
        3 => append!(out, "{}", 3),
        _ => value,
    }
    let mut fixed = format::Fixed::new([0; 4]);
    let write = |fixed: &mut format::Fixed<[u8; 4]>| -> Result<(), format::Full> {
        append!(fixed, "{}", 99)?;
        append!(fixed, "{}", 100)
    };
    assert!(write(&mut fixed).is_err());
    assert_eq!(
        (out.as_slice(), fixed.as_bytes()),
        (b"123".as_slice(), b"99".as_slice())
    );
}

#[test]
fn control_flow_in_arguments() {
    fn early(out: &mut Vec<u8>, value: Option<u8>) -> Option<()> {
        append!(out, "{}", value?);
        Some(())
    }
    let mut out = Vec::new();
    assert!(early(&mut out, None).is_none());
    assert!(early(&mut out, Some(4)).is_some());
    for number in [1, 2, 3] {
        append!(out, "{}", if number == 2 { continue } else { number });
    }
    assert_eq!(out, b"413");
}

#[test]
fn generic_values_are_written_by_core() {
    fn write<T: std::fmt::Display + ?Sized>(out: &mut String, value: &T) {
        append!(out, "{value:>4}|");
    }
    let mut out = String::new();
    write(&mut out, "a");
    write(&mut out, &7);
    assert_eq!(out, "   a|   7|");
}

#[test]
fn a_formatting_error_panics_as_in_format() {
    struct Refuses;
    impl std::fmt::Display for Refuses {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            Err(std::fmt::Error)
        }
    }
    let mut out = Vec::from("before ");
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| append!(out, "{}", Refuses)));
    assert!(result.is_err());
    assert_eq!(out, b"before ");
}

#[test]
fn a_panic_in_an_argument_leaves_a_whole_buffer() {
    struct Panics<'a>(&'a Cell<usize>);
    impl std::fmt::Display for Panics<'_> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("é")?;
            self.0.set(self.0.get() + 1);
            panic!("as asked")
        }
    }
    let calls = Cell::new(0);
    for capacity in 0..40 {
        let mut out = String::with_capacity(capacity);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            append!(out, "{} {}{}", 123_456_789, "飛脚", Panics(&calls))
        }));
        assert!(result.is_err());
        assert!("123456789 飛脚é".starts_with(&out), "{out}");
    }
    assert_eq!(calls.get(), 40);
}

#[test]
fn a_panic_in_an_argument_leaves_a_fixed_buffer_of_use() {
    struct Panics;
    impl std::fmt::Display for Panics {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("too long")?;
            panic!("as asked")
        }
    }
    let mut out = format::Fixed::new([0; 4]);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| append!(out, "{}", Panics)));
    assert!(result.is_err());
    assert_eq!(append!(out, "{}", 1234), Ok(()));
    assert_eq!(out.as_bytes(), b"1234");
}

#[test]
fn a_hundred_arguments() {
    let mut out = Vec::new();
    append!(
        out,
        "{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}{}",
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        0,
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9
    );
    assert_eq!(out, "0123456789".repeat(10).as_bytes());
}

#[test]
fn widths_beyond_the_limit_panic_as_in_core() {
    let mut out = String::new();
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| append!(out, "{:1$}", 7, 65_536)));
    assert!(result.is_err());
    append!(out, "{:>1$}", 7, 65_535);
    assert_eq!(out.len(), 65_535);
}

mod renamed {
    pub(crate) use ::format as anything;
    macro_rules! log {
        ($out:expr, $($rest:tt)*) => { $crate::renamed::anything::append!($out, $($rest)*) };
    }
    pub(crate) use log;
}

#[test]
fn the_crate_may_have_another_name() {
    let mut out = Vec::new();
    renamed::anything::append!(out, "{}", 1);
    let captured = 2;
    renamed::log!(out, "{captured}{x}", x = 3);
    assert_eq!(out, b"123");
}

#[test]
fn a_function_may_take_any_buffer() {
    use format::Buffer;
    fn line<B: Buffer>(out: &mut B, name: &str) -> B::Outcome {
        append!(out, "{name:>4} {:02}", 7)
    }
    fn written(out: &mut impl Buffer<Outcome = ()>) {
        line(out, "a");
        format::c!(out, " %s %.1f", "b", 2.5);
    }
    let (mut text, mut bytes) = (String::new(), Vec::new());
    written(&mut text);
    written(&mut bytes);
    assert_eq!(
        (text.as_bytes(), bytes.as_slice()),
        (&b"   a 07 b 2.5"[..], &b"   a 07 b 2.5"[..])
    );
    let mut storage = [0; 10];
    let mut slice = &mut storage[..];
    assert_eq!(line(&mut slice, "a"), Ok(()));
    assert_eq!(line(&mut slice, "a"), Err(format::Full { needed: 7, room: 3 }));
    assert_eq!(line(&mut format::Fixed::new([0; 7]), "b"), Ok(()));
}
