//! `append!` writes the same bytes as `format!`: random values in a grid of formats, into each kind of buffer.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use format::{Fixed, append};
use support::Random;

/// Compares one call with `format!`; the vector has contents before.
macro_rules! same {
    ($format:expr $(, $($argument:tt)+)?) => {{
        let expected = format!($format $(, $($argument)+)?);
        let mut bytes = Vec::from(b"> ");
        append!(bytes, $format $(, $($argument)+)?);
        assert_eq!(String::from_utf8_lossy(&bytes[2..]), expected, "into Vec<u8>: {}", $format);
        let mut text = String::new();
        append!(text, $format $(, $($argument)+)?);
        assert_eq!(text, expected, "into String: {}", $format);
    }};
}

/// As `same!`, into a vector only: the grids are large.
macro_rules! same_bytes {
    ($format:expr, $($argument:tt)+) => {{
        let mut bytes = Vec::new();
        append!(bytes, $format, $($argument)+);
        assert_eq!(String::from_utf8_lossy(&bytes), format!($format, $($argument)+), "{}", $format);
    }};
}

/// Each alignment and fill with each combination of flags, a width and a kind; then the same with a precision.
macro_rules! grid {
    ($kind:literal, $value:expr, $width:expr) => {
        grid!(@ ["", "<", "*^", ">", "é<"], $kind, $value, $width);
    };
    ($kind:literal, $value:expr, $width:expr, $precision:expr) => {
        grid!(@ ["", "<", "*^", ">", "é<"], $kind, $value, $width, $precision);
    };
    (@ [$($align:literal),*], $kind:literal, $value:expr, $width:expr) => {$(
        same_bytes!(concat!("{:", $align, "1$", $kind, "}"), $value, $width);
        same_bytes!(concat!("{:", $align, "+1$", $kind, "}"), $value, $width);
        same_bytes!(concat!("{:", $align, "#1$", $kind, "}"), $value, $width);
        same_bytes!(concat!("{:", $align, "01$", $kind, "}"), $value, $width);
        same_bytes!(concat!("{:", $align, "+#01$", $kind, "}"), $value, $width);
    )*};
    (@ [$($align:literal),*], $kind:literal, $value:expr, $width:expr, $precision:expr) => {$(
        same_bytes!(concat!("{:", $align, "1$.2$", $kind, "}"), $value, $width, $precision);
        same_bytes!(concat!("{:", $align, "+1$.2$", $kind, "}"), $value, $width, $precision);
        same_bytes!(concat!("{:", $align, "#01$.2$", $kind, "}"), $value, $width, $precision);
    )*};
}

/// The formats that programs use, with constant widths, for integers.
macro_rules! usual {
    ($value:expr) => {{
        let value = $value;
        same!("{}", value);
        same!("{:?}", value);
        same!("{:x}", value);
        same!("{:X}", value);
        same!("{:o}", value);
        same!("{:b}", value);
        same!("{:e}", value);
        same!("{:#x}", value);
        same!("{:#?}", value);
        same!("{:x?}", value);
        same!("{:#X?}", value);
        same!("{:01}", value);
        same!("{:02}", value);
        same!("{:03}", value);
        same!("{:04}", value);
        same!("{:08}", value);
        same!("{:010}", value);
        same!("{:020}", value);
        same!("{:1}", value);
        same!("{:5}", value);
        same!("{:8}", value);
        same!("{:>12}", value);
        same!("{:<12}", value);
        same!("{:-<12}", value);
        same!("{:+}", value);
        same!("{:+05}", value);
        same!("{:.3}", value);
        same!("{:8.3}", value);
        same!("{:02x}", value);
        same!("{:04X}", value);
        same!("{:08x}", value);
        same!("{:016x}", value);
        same!("{:#010x}", value);
        same!("{:#010b}", value);
        same!("{:03o}", value);
        same!("{}", &&value);
        same!("{}", Box::new(value));
    }};
}

#[test]
fn integers() {
    let mut random = Random(1);
    for _ in 0..2000 {
        let number = random.number();
        usual!(number as u8);
        usual!(number as u16);
        usual!(number as u32);
        usual!(number);
        usual!(number as i8);
        usual!(number as i16);
        usual!(number as i32);
        usual!(number as i64);
        same!(
            "{} {:5} {:x} {:?}",
            number as usize,
            number as isize,
            number as isize,
            number as usize
        );
        let wide = u128::from(number) * u128::from(random.number());
        same!("{} {:40} {:x} {:#b}", wide, wide as i128, wide, -(wide as i128));
    }
    for value in [i64::MIN, i64::MAX, -1, 0] {
        usual!(value);
        usual!(value as i32);
        usual!(value as i8);
    }
}

#[test]
fn integers_in_a_grid() {
    let mut random = Random(2);
    for _ in 0..300 {
        let (number, width) = (random.number(), random.word() as usize % 26);
        grid!("", number as u8, width);
        grid!("", number as i32, width);
        grid!("", number, width);
        grid!("", number as i64, width);
        grid!("?", number as i16, width);
        grid!("x", number as u8, width);
        grid!("X", number as i64, width);
        grid!("o", number as i32, width);
        grid!("b", number as u16, width);
        grid!("e", number as i32, width);
    }
}

#[test]
fn floats() {
    let mut random = Random(3);
    for _ in 0..20_000 {
        let value = random.double();
        same!("{}", value);
        same!("{:?}", value);
        same!("{:e}", value);
        same!("{:E}", value);
        same!("{}", value as f32);
        same!("{:?}", value as f32);
        same!("{:.0}", value);
        same!("{:.1}", value);
        same!("{:.2}", value);
        same!("{:.3}", value);
        same!("{:.6}", value);
        same!("{:.8}", value);
        same!("{:.9}", value);
        same!("{:.17}", value);
        same!("{:.19}", value);
        same!("{:.20}", value);
        same!("{:.3?}", value);
        same!("{:.3}", value as f32);
        same!("{:+.2}", value);
        same!("{:8.2}", value);
        same!("{:08.2}", value);
        same!("{:08} {:012} {:09?}", value, value as f32, value);
        same!("{:012e} {:012E}", value, value as f32);
        same!("{:<12.4}", value);
        same!("{:.3e}", value);
        same!("{:.0e}", value);
        same!("{:.16E}", value);
        same!("{:.17e}", value);
        same!("{:.8e}", value as f32);
        let decimals = random.word() as usize % 24;
        same!("{:.*}", decimals, value);
    }
}

#[test]
fn floats_in_a_grid() {
    let mut random = Random(4);
    for _ in 0..1000 {
        let (value, width) = (random.double(), random.word() as usize % 26);
        let precision = random.word() as usize % 21;
        grid!("", value, width, precision);
        grid!("?", value, width, precision);
        grid!("e", value, width, precision);
        grid!("", value, width);
        grid!("", value as f32, width, precision);
    }
}

#[test]
fn text_in_a_grid() {
    let mut random = Random(5);
    for _ in 0..500 {
        let (text, width, precision) = (
            random.text(),
            random.word() as usize % 16,
            random.word() as usize % 8,
        );
        grid!("", text, width);
        grid!("", text.as_str(), width, precision);
        grid!("?", text, width);
        grid!("", text.chars().next().unwrap_or('x'), width, precision);
        grid!("", width > 7, width, precision);
        grid!("?", width > 7, width);
        same!("{}{:?}{}", text, text, text.as_str());
        same!("{}", std::borrow::Cow::from(text.as_str()));
        same!("{:.2}|{:4}|{:<4}|{:>4}|{:^4}|", text, text, text, text, text);
        same!(
            "{:05}|{:02}|{:012}|",
            text,
            text.as_str(),
            text.chars().next().unwrap_or('x')
        );
        same!("{:07} {:03}{:07?}", width > 7, width > 7, width > 7);
    }
}

#[test]
fn types_without_a_fast_form() {
    #[derive(Debug)]
    #[allow(dead_code, reason = "shown by Debug")]
    struct Point {
        x: i32,
        y: Option<&'static str>,
    }
    let point = Point { x: -1, y: Some("é") };
    same!("{:?} {point:#?} {:5?}", point, point);
    /// Shows what it was asked for.
    struct Asked;
    impl std::fmt::Display for Asked {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(
                f,
                "{:?} {:?} {:?} {} {} {} {}",
                f.width(),
                f.precision(),
                f.fill(),
                f.sign_plus(),
                f.sign_minus(),
                f.alternate(),
                f.sign_aware_zero_pad()
            )
        }
    }
    impl std::fmt::LowerHex for Asked {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "x {self}")?;
            std::fmt::Display::fmt(self, f)
        }
    }
    same!("{Asked} {Asked:7} {Asked:07} {Asked:.3} {Asked:+} {Asked:-} {Asked:#} {Asked:é<+#04.5}");
    same!(
        "{:x} {:02x} {:.1x} {:#6x} {:w$} {:.p$} {:0w$}",
        Asked,
        Asked,
        Asked,
        Asked,
        Asked,
        Asked,
        Asked,
        w = 0,
        p = 0
    );
    same!(
        "{} {:>20} {:<5}",
        std::net::Ipv4Addr::LOCALHOST,
        std::net::Ipv4Addr::LOCALHOST,
        format_args!("{}", 7)
    );
    same!("{:?} {:x?} {:02X?}", vec![1, 200], vec![1, 200], [1, 200]);
    same!(
        "{:p} {:#p} {:20p}",
        &raw const point,
        &raw const point,
        std::ptr::null::<u8>()
    );
    same!("{:?} {:?} {:?}", 'a', "b", ());
    same!(
        "{} {:04} {:x}",
        std::num::NonZeroU8::MAX,
        std::num::Wrapping(7),
        std::num::Wrapping(77)
    );
}

#[test]
fn ways_to_name_arguments() {
    let (a, width, precision) = (7, 6, 2);
    let pi = 3.24159;
    same!("{a} {a:>width$} {pi:.precision$} {pi:>width$.precision$} {0}", a);
    same!("{0} {1} {0} {}", 1, "two");
    same!("{x} {y:?} {x:04}", x = 1, y = "two");
    same!("{} {x} {}", 1, 2, x = 3);
    same!("{0:1$} {0:<1$}| {0:.2$} {2}", 1.5, 8, 3);
    same!("{:.*} {:>2$.*}", 2, 1.555, 9, 2.25);
    same!("{1:.*} {}", 2, 1.555);
    same!("{type} {match:>5}", type = 1, match = "x");
    same!("{x:>w$.p$}|{x:^+w$}|{x:0w$}", x = 2.5, w = 9, p = 1);
    same!("{{}} {{{}}} }}{{", 1);
    same!("{ } {0 } {0:5 } {a }", 1);
    same!(
        "\u{98db}\x41\t\"\\ \
           continued {}",
        1
    );
    same!(r"raw \n {}", 1);
    same!(r#"raw "{}""#, 1,);
    same!("");
    same!("nothing to see");
    same!(concat!("a", 'b', 1, "{}", true, "\n"), 2);
    same!(concat!("{", "x", "}"), x = 2);
    let tuple = (1, "x");
    same!("{} {}", tuple.0, tuple.1);
    same!(
        "{} {}",
        Vec::<(u8, u8)>::new().len(),
        { |a: u8, b: u8| a + b }(1, 2)
    );
    same!("{:?}", <u8 as TryFrom<u32>>::try_from(300).is_err());
}

#[test]
fn formats_from_other_macros() {
    macro_rules! through {
        ($format:literal, $($argument:expr),*) => { same!($format, $($argument),*) };
    }
    macro_rules! as_expression {
        ($format:expr, $($argument:tt)*) => { same!($format, $($argument)*) };
    }
    macro_rules! twice {
        ($a:expr, $type:ty) => {
            same!("{} {} {x}", $a * 2, <$type>::MAX - $a, x = -$a)
        };
    }
    twice!(1 + 1, i32);
    let local = 3;
    through!("{} {local} {:5}", 1 + 1, -2);
    as_expression!("{} {x}", 1, x = 2);
    as_expression!(concat!("{}", " {x}"), 1, x = 2);
    same!(concat!(stringify!(a + b), " {}"), 1);
    same!(concat!("{}", env!("CARGO_PKG_NAME")), 1);
}

#[test]
fn every_room_of_a_fixed_buffer() {
    let mut random = Random(6);
    for _ in 0..300 {
        let (text, number, double) = (random.text(), random.number(), random.double());
        let expected = format!(
            "{}:{number:08x} {double:.3}|{text:>9}|{:?}",
            number as i32,
            Some(number)
        );
        for room in 0..expected.len() + 30 {
            let mut storage = vec![0xAA; room + 16];
            let mut fixed = Fixed::new(&mut storage[8..8 + room]);
            let result = append!(
                fixed,
                "{}:{number:08x} {double:.3}|{text:>9}|{:?}",
                number as i32,
                Some(number)
            );
            if room >= expected.len() {
                assert_eq!(result, Ok(()));
                assert_eq!(fixed.as_bytes(), expected.as_bytes());
            } else {
                assert_eq!(
                    result,
                    Err(format::Full {
                        needed: expected.len(),
                        room
                    })
                );
                assert_eq!(fixed.len(), 0);
            }
            assert_eq!(
                (&storage[..8], &storage[8 + room..]),
                ([0xAA; 8].as_slice(), [0xAA; 8].as_slice())
            );
        }
    }
}

#[test]
fn a_slice_moves_past_what_is_written() {
    let mut storage = [b'.'; 12];
    let mut rest = storage.as_mut_slice();
    append!(rest, "{}-", 2026).unwrap();
    append!(rest, "{:02}", 11).unwrap();
    assert_eq!(append!(rest, "{}", "too long").unwrap_err().needed, 8);
    assert_eq!(rest.len(), 5);
    assert_eq!(&storage[..7], b"2026-11");
}

#[test]
fn every_growth_of_a_vector() {
    for capacity in 0..60 {
        let mut out = Vec::with_capacity(capacity);
        append!(
            out,
            "{}.{}.{}.{} {} {:?} {:08x} {}",
            1,
            22,
            133,
            255,
            u64::MAX,
            "x\ny",
            7,
            "tail"
        );
        assert_eq!(
            out, b"1.22.133.255 18446744073709551615 \"x\\ny\" 00000007 tail",
            "{capacity}"
        );
    }
}

#[test]
fn options() {
    let mut random = Random(7);
    for _ in 0..1000 {
        let number = random.word();
        let there = !number.is_multiple_of(4);
        macro_rules! each {
            ($($value:expr),*) => {$(
                let option = there.then_some($value);
                same!("{:?}", option);
                same!("a longer text {:?} and behind it {:?}", option, &option);
                same!("{:.2?}", option);
                same!("{:05?}", option);
                same!("{:8?}|{:<8?}|{:+?}|{:#?}|{:x?}", option, option, option, option, option);
                same!("{:?}", Some(option));
            )*};
        }
        each!(
            number as u8,
            number,
            number as i32,
            number as i64,
            number.is_multiple_of(2),
            number as f64 / 7.0
        );
        each!("text", 'c', [number; 2], Some(number));
    }
}

#[test]
fn eight_hexadecimal_digits() {
    let mut random = Random(8);
    for _ in 0..1000 {
        let number = random.word() >> (random.word() % 64);
        same!("{:08x}", number as u32);
        same!("{:08X}", number as i32);
        same!("{:08x} {:08x}", number as u8, number as u16);
        same!("{:08x}", number);
        for room in 0..16 {
            let mut fixed = Fixed::new([0; 16]);
            append!(fixed, "{:>room$}", "").unwrap();
            let outcome = append!(fixed, "{:08x}", number as u32);
            assert_eq!(outcome.is_ok(), room + 8 <= 16);
            if outcome.is_ok() {
                let expected = format!("{:room$}{:08x}", "", number as u32);
                assert_eq!(fixed.as_bytes(), expected.as_bytes());
            }
        }
    }
}

#[test]
fn lines_end_with_a_line_feed() {
    let mut out = String::new();
    let load = 0.5;
    format::appendln!(out);
    format::appendln!(out, "text");
    format::appendln!(out, "{}", 1);
    format::appendln!(out, "{load:.2} {:>4} {x}", "a", x = 'c',);
    format::appendln!(out, concat!("{}", " {:?}"), 7, "quoted");
    assert_eq!(out, "\ntext\n1\n0.50    a c\n7 \"quoted\"\n");
    let mut fixed = Fixed::new([0; 4]);
    format::appendln!(fixed, "{}", 123).unwrap();
    assert_eq!(fixed.as_bytes(), b"123\n");
    assert!(format::appendln!(fixed).is_err());
}
