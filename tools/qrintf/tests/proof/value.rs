//! Values for the tables of a site, biased to where formatting goes wrong: powers of ten and of two and their
//! neighbours, ties of rounding, the ends of a type, denormals, NaN, infinities, NULL.

use crate::random::Random;

/// A type that an integer argument has at a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Integer {
    pub(crate) name: &'static str,
    pub(crate) bits: u32,
    pub(crate) signed: bool,
}

/// An integer of this type as a constant expression of C.
pub(crate) fn integer(random: &mut Random, of: Integer) -> String {
    let (lowest, highest) = ends(of);
    let raw = raw_integer(random, of.signed);
    // What is out of range becomes an end of the range, or its low bits.
    let value = if random.one_in(6) {
        raw.clamp(lowest, highest)
    } else {
        wrap(raw, of)
    };
    if of.bits == 1 {
        return (value & 1).to_string();
    }
    constant(value)
}

fn wrap(raw: i128, of: Integer) -> i128 {
    let (lowest, highest) = ends(of);
    (raw - lowest).rem_euclid(highest - lowest + 1) + lowest
}

fn ends(of: Integer) -> (i128, i128) {
    if of.signed {
        (-(1_i128 << (of.bits - 1)), (1_i128 << (of.bits - 1)) - 1)
    } else {
        (0, (1_i128 << of.bits) - 1)
    }
}

fn raw_integer(random: &mut Random, signed: bool) -> i128 {
    let near = i128::from(random.between(-2, 2));
    let magnitude = match random.below(8) {
        0 => i128::from(random.between(0, 12)),
        1 | 2 => 10_i128.pow(u32::try_from(random.below(20)).expect("small")) + near,
        3 => (1_i128 << random.below(65)) + near,
        4 => i128::from(random.between(0, 300)),
        5 => i128::from(u64::MAX) + near,
        _ => i128::from(random.next() >> random.below(64)),
    };
    if signed && random.one_in(2) {
        -magnitude
    } else {
        magnitude
    }
}

fn constant(value: i128) -> String {
    if value == i128::from(i64::MIN) {
        "(-9223372036854775807LL - 1)".to_owned()
    } else if i32::try_from(value).is_ok() {
        value.to_string()
    } else if i64::try_from(value).is_ok() {
        format!("{value}LL")
    } else {
        format!("{value}ULL")
    }
}

/// A double as a constant expression of C.
pub(crate) fn double(random: &mut Random) -> String {
    match random.below(20) {
        0 => return special(random).to_owned(),
        1 => return denormal_or_huge(random),
        _ => {}
    }
    let magnitude = match random.below(8) {
        0 => tie(random),
        1 => near_power_of_ten(random),
        2 => random.between(0, 2_000_000) as f64,
        3 => random.between(-1_000_000, 1_000_000) as f64 / 1000.0,
        4 => (random.next() >> random.below(64)) as f64,
        5 => unit(random),
        6 => unit(random) * 10_f64.powi(i32::try_from(random.between(-25, 25)).expect("small")),
        _ => f64::from_bits(random.next() & !(1 << 63)),
    };
    let value = if random.one_in(3) { -magnitude } else { magnitude };
    literal(value)
}

fn literal(value: f64) -> String {
    if value.is_nan() {
        "__builtin_nan(\"\")".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 {
            "__builtin_inf()".to_owned()
        } else {
            "-__builtin_inf()".to_owned()
        }
    } else {
        format!("{value:e}")
    }
}

fn special(random: &mut Random) -> &'static str {
    random.pick(&[
        "__builtin_nan(\"\")",
        "-__builtin_nan(\"\")",
        "__builtin_inf()",
        "-__builtin_inf()",
        "0.0",
        "-0.0",
        "1.0",
        "0.5",
        "1.5",
        "2.5",
        "1e15",
        "1e16",
        "1e17",
        "1e22",
        "1e23",
        "9007199254740992.0",
        "9007199254740993.0",
        "18446744073709551615.0",
        "18446744073709551616.0",
        "0.1",
        "0.3",
        "0.0001",
        "0.00001",
        "123456.5",
        "999999.5",
        "9999995.0",
    ])
}

fn denormal_or_huge(random: &mut Random) -> String {
    let bits = match random.below(6) {
        0 => 1,
        1 => (1 << 52) - 1,
        2 => 1 << 52,
        3 => f64::MAX.to_bits(),
        4 => random.next() >> 12,
        _ => f64::MAX.to_bits() - (random.next() >> 20),
    };
    literal(f64::from_bits(bits))
}

/// k + 1/2 in some binary place: printf must round these to even.
fn tie(random: &mut Random) -> f64 {
    let whole = random.next() >> (12 + random.below(52));
    (whole as f64 + 0.5) / (1_u64 << random.below(8)) as f64
}

fn near_power_of_ten(random: &mut Random) -> f64 {
    let power = 10_f64.powi(i32::try_from(random.between(-24, 24)).expect("small"));
    let ulps = random.between(-3, 3);
    match random.below(3) {
        0 => f64::from_bits(power.to_bits().wrapping_add_signed(ulps)),
        1 => power - power / 2.0 * 10_f64.powi(-i32::try_from(random.below(17)).expect("small")),
        _ => power * random.between(1, 99) as f64,
    }
}

fn unit(random: &mut Random) -> f64 {
    (random.next() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A string as an expression of C of type `char *`, and whether it is NULL.
pub(crate) fn string(random: &mut Random) -> (String, bool) {
    if random.one_in(12) {
        return ("(char *)0".to_owned(), true);
    }
    let length = match random.below(6) {
        0 => 0,
        1 => 1,
        2 => random.below(300),
        _ => random.below(24),
    };
    let bytes = (0..length).map(|_| text_byte(random)).collect::<Vec<_>>();
    (quoted(&bytes), false)
}

fn text_byte(random: &mut Random) -> u8 {
    match random.below(12) {
        0 => u8::try_from(random.between(1, 31)).expect("a byte"),
        1 => u8::try_from(random.between(127, 255)).expect("a byte"),
        2 => b'%',
        _ => u8::try_from(random.between(32, 126)).expect("a byte"),
    }
}

/// Bytes as a string literal. What is not plain becomes three octal digits, which no following byte can extend; no
/// trigraph forms, since it could swallow the closing quote.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let mut text = String::from("\"");
    for &byte in bytes {
        match byte {
            b'?' if text.ends_with('?') => text.push_str("\\?"),
            b'"' | b'\\' => {
                text.push('\\');
                text.push(char::from(byte));
            }
            b'\n' => text.push_str("\\n"),
            b'$' | b'@' => text.push_str(&format!("\\{byte:03o}")),
            32..=126 => text.push(char::from(byte)),
            _ => text.push_str(&format!("\\{byte:03o}")),
        }
    }
    text.push('"');
    text
}
