//! An argument of a call: its type, its table of values, and the expression that stands at the call.

use crate::{
    random::Random,
    value::{self, Integer},
};

/// One argument. Its expression may contain `$`, the name of its table at the row's index, and `@`, the half of the
/// site that it stands in (`ours` or `theirs`).
pub(crate) struct Argument {
    pub(crate) declared: String,
    pub(crate) values: Vec<String>,
    pub(crate) expression: String,
    /// True if a header that folds this directive may still leave the call because of this argument.
    pub(crate) rare: bool,
}

impl Argument {
    /// An argument without a table.
    fn constant(expression: String) -> Self {
        Self {
            declared: String::new(),
            values: Vec::new(),
            expression,
            rare: false,
        }
    }

    fn table(declared: &str, values: Vec<String>) -> Self {
        Self {
            declared: declared.to_owned(),
            values,
            expression: "$".to_owned(),
            rare: false,
        }
    }
}

const fn integer(name: &'static str, bits: u32, signed: bool) -> Integer {
    Integer { name, bits, signed }
}

const INT: Integer = integer("int", 32, true);
const UNSIGNED: Integer = integer("unsigned", 32, false);
const LONG: Integer = integer("long", 64, true);
const UNSIGNED_LONG: Integer = integer("unsigned long", 64, false);
const LONG_LONG: Integer = integer("long long", 64, true);
const UNSIGNED_LONG_LONG: Integer = integer("unsigned long long", 64, false);

/// Types that promote to `int`.
const NARROW: [Integer; 6] = [
    integer("short", 16, true),
    integer("unsigned short", 16, false),
    integer("signed char", 8, true),
    integer("unsigned char", 8, false),
    integer("_Bool", 1, false),
    integer("wchar_t", 31, false),
];

fn right_type(random: &mut Random, length: &str, signed: bool) -> Integer {
    match (length, signed) {
        ("l", true) => LONG,
        ("l", false) => UNSIGNED_LONG,
        ("ll", true) => LONG_LONG,
        ("ll", false) => UNSIGNED_LONG_LONG,
        ("j", true) => integer("intmax_t", 64, true),
        ("j", false) => integer("uintmax_t", 64, false),
        ("z", true) => LONG,
        ("z", false) => integer("size_t", 64, false),
        ("t", true) => integer("ptrdiff_t", 64, true),
        ("t", false) => UNSIGNED_LONG,
        _ if random.one_in(3) => NARROW[random.below(NARROW.len())],
        (_, true) => INT,
        (_, false) => UNSIGNED,
    }
}

/// The argument of an integer directive with this length modifier.
pub(crate) fn for_integer(random: &mut Random, length: &str, signed: bool, rows: usize) -> Argument {
    let of = right_type(random, length, signed);
    if random.one_in(12) {
        return Argument::constant(format!("({}){}", of.name, value::integer(random, of)));
    }
    let values = (0..rows).map(|_| value::integer(random, of)).collect();
    let mut argument = Argument::table(of.name, values);
    argument.expression = wrapped(random, of);
    argument
}

/// What programs write around a value; some of it tells the compiler a range. The type stays.
fn wrapped(random: &mut Random, of: Integer) -> String {
    if of.bits < 32 {
        return "$".to_owned();
    }
    let name = of.name;
    match random.below(14) {
        0 => format!("({name})($ & 0xff)"),
        1 => format!("({name})($ % 100)"),
        2 => format!("({name})($ % 1000)"),
        3 => format!("({name})(unsigned char)$"),
        4 if !of.signed => format!("({name})($ >> 3)"),
        5 => format!("($ < 50 ? $ : ({name})7)"),
        6 => "(note(), $)".to_owned(),
        7 => format!("({name})(signed char)$"),
        8 => format!("*(volatile const {name} *)&$"),
        _ => "$".to_owned(),
    }
}

/// An argument whose type is not the directive's, in a way that every libc reads alike: at least as many bits, in a
/// register or slot of the same kind.
pub(crate) fn for_integer_mistyped(random: &mut Random, rows: usize) -> Argument {
    let of = [LONG, UNSIGNED_LONG, LONG_LONG, UNSIGNED_LONG_LONG][random.below(4)];
    if random.one_in(4) {
        let values = (0..rows)
            .map(|_| format!("(void *){}", value::integer(random, UNSIGNED_LONG)))
            .collect();
        return Argument::table("void *", values);
    }
    Argument::table(of.name, (0..rows).map(|_| value::integer(random, of)).collect())
}

/// A width or precision for `*`.
pub(crate) fn for_star(random: &mut Random, rows: usize) -> Argument {
    if random.one_in(10) {
        return Argument::constant(random.between(-12, 20).to_string());
    }
    let wild = random.one_in(8);
    let values = (0..rows)
        .map(|_| match random.below(12) {
            1 if wild => random.between(-330, 330).to_string(),
            2 => "-1".to_owned(),
            3 => "0".to_owned(),
            _ => random.between(-20, 40).to_string(),
        })
        .collect();
    let mut argument = Argument::table(if random.one_in(5) { "short" } else { "int" }, Vec::new());
    argument.values = values;
    argument.rare = wild;
    if wild {
        argument.declared = "int".to_owned();
    }
    argument
}

pub(crate) fn for_double(random: &mut Random, rows: usize) -> Argument {
    if random.one_in(15) {
        return Argument::constant(format!("({})", value::double(random)));
    }
    if random.one_in(8) {
        let values = (0..rows)
            .map(|_| format!("(float){}", value::double(random)))
            .collect();
        return Argument::table("float", values);
    }
    let mut argument = Argument::table("double", (0..rows).map(|_| value::double(random)).collect());
    if random.one_in(10) {
        argument.expression = "($ / 3)".to_owned();
    }
    argument
}

pub(crate) fn for_long_double(random: &mut Random, rows: usize) -> Argument {
    Argument::table("long double", (0..rows).map(|_| value::double(random)).collect())
}

pub(crate) fn for_string(random: &mut Random, rows: usize) -> Argument {
    if random.one_in(10) {
        let (text, null) = value::string(random);
        let mut argument = Argument::constant(text);
        argument.rare = null;
        return argument;
    }
    let mut rare = false;
    let values = (0..rows)
        .map(|_| {
            let (text, null) = value::string(random);
            rare |= null;
            text
        })
        .collect();
    let mut argument = Argument::table("const char *", values);
    argument.rare = rare;
    if random.one_in(10) {
        argument.expression = random.pick(&["(char *)$", "($ ? $ : \"none\")"]).to_owned();
    }
    argument
}

/// `length` bytes without a terminator, before a page that faults: for a string with a precision.
pub(crate) fn for_edge(length: &str) -> Argument {
    Argument::constant(format!("harness_edge({length})"))
}

pub(crate) fn for_pointer(random: &mut Random, rows: usize) -> Argument {
    let values = (0..rows)
        .map(|_| format!("(void *){}", value::integer(random, UNSIGNED_LONG)))
        .collect();
    let mut argument = Argument::table("void *", values);
    argument.expression = random
        .pick(&[
            "$",
            "$",
            "$",
            "(char *)$",
            "(const int *)$",
            "(void *)&$",
            "(void *)0",
        ])
        .to_owned();
    argument
}

/// Where `%n` stores: a variable of each half.
pub(crate) fn for_stored(length: &str) -> Argument {
    let name = match length {
        "hh" => "signed char",
        "h" => "short",
        "l" => "long",
        "ll" => "long long",
        _ => "int",
    };
    Argument::constant(format!("({name} *)&@_stored"))
}

/// Not zero: gcc itself takes `sprintf` of it for no byte, where the library writes one.
pub(crate) fn for_wide_character(random: &mut Random) -> Argument {
    Argument::constant(
        random
            .pick(&["(wint_t)L'w'", "(wint_t)0xe9", "(wint_t)0x20ac"])
            .to_owned(),
    )
}

pub(crate) fn for_wide_string(random: &mut Random) -> Argument {
    Argument::constant(random.pick(&["L\"wide\"", "L\"\"", "L\"w\\x20ac\""]).to_owned())
}
