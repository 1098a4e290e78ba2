//! Random directives: a piece of a format and the arguments that it takes.

use crate::{
    argument::{self, Argument},
    random::Random,
    value,
};

/// The expected fate of a call with this directive when its output fits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Promise {
    Folds,
    /// Folds where the library is glibc, whose `%p` is known.
    Pointers,
    Floats,
    Nothing,
}

/// A piece of a format as it stands in the source (a literal with its quotes, or a macro's name), and its arguments.
pub(crate) struct Piece {
    pub(crate) source: String,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) promise: Promise,
}

/// Flags, width and precision between the percent sign and the length modifier.
struct Decoration {
    text: String,
    arguments: Vec<Argument>,
    /// The precision: none, a number, or `*` (the last argument).
    precision: Option<Option<usize>>,
    rare: bool,
}

const FLAGS_MAX: usize = 4;

/// Literal text between directives.
pub(crate) fn text(random: &mut Random) -> Piece {
    let source = match random.below(16) {
        0 => value::quoted(b"%%"),
        1 => value::quoted(b"'\",;()\\"),
        2 => value::quoted("h\u{e9}\u{20ac}\u{1f600}".as_bytes()),
        3 => "\"??/n??=??'\"".to_owned(),
        4 => value::quoted(&vec![b'x'; random.below(400)]),
        5 => value::quoted(b"\xff\xfe\x80\x01\t\r\n"),
        6 => value::quoted(b"/* no */ // comment"),
        7 => value::quoted(b"\": "),
        _ => value::quoted(&b" .,:-/=#[]{}abcdefghijklmnop0123"[..1 + random.below(31)]),
    };
    Piece {
        source,
        arguments: Vec::new(),
        promise: Promise::Folds,
    }
}

/// Any directive that the header promises to fold.
pub(crate) fn supported(random: &mut Random, rows: usize) -> Piece {
    match random.below(20) {
        0..=8 => integer(random, rows),
        9 => fixed_width_macro(random, rows),
        10 | 11 => character(random, rows),
        12..=14 => string(random, rows),
        15 => pointer(random, rows),
        _ => float(random, rows),
    }
}

fn decoration(random: &mut Random, rows: usize, flags: &[u8], precise: bool) -> Decoration {
    let mut text = String::new();
    while random.one_in(2) && text.len() < 6 {
        text.push(char::from(flags[random.below(flags.len())]));
    }
    let mut arguments = Vec::new();
    // More flags than any program writes, and than the parser reads.
    let mut rare = text.len() > FLAGS_MAX;
    match random.below(10) {
        0 | 1 => {
            text.push('*');
            arguments.push(argument::for_star(random, rows));
        }
        2..=4 => text.push_str(&(1 + random.below(20)).to_string()),
        5 if random.one_in(4) => {
            text.push_str(&(1 + random.below(320)).to_string());
            rare = true;
        }
        _ => {}
    }
    let mut precision = None;
    if precise {
        match random.below(10) {
            0 => {
                text.push_str(".*");
                arguments.push(argument::for_star(random, rows));
                precision = Some(None);
            }
            1..=3 => {
                let digits = random.below(18);
                text.push_str(&format!(".{digits}"));
                precision = Some(Some(digits));
            }
            4 if random.one_in(2) => {
                text.push('.');
                precision = Some(Some(0));
            }
            5 if random.one_in(4) => {
                let digits = random.below(330);
                text.push_str(&format!(".{digits}"));
                precision = Some(Some(digits));
                rare = true;
            }
            _ => {}
        }
    }
    rare |= arguments.iter().any(|argument| argument.rare);
    Decoration {
        text,
        arguments,
        precision,
        rare,
    }
}

impl Decoration {
    fn finish(self, letters: &str, argument: Argument, promise: Promise) -> Piece {
        let rare = self.rare || argument.rare;
        let mut arguments = self.arguments;
        arguments.push(argument);
        let source = format!("\"%{}{letters}\"", self.text);
        Piece {
            source,
            arguments,
            promise: if rare { Promise::Nothing } else { promise },
        }
    }
}

fn integer(random: &mut Random, rows: usize) -> Piece {
    let letter = random.pick(&["d", "d", "d", "i", "u", "u", "x", "x", "X", "o"]);
    let length = random.pick(&["", "", "", "hh", "h", "l", "ll", "j", "z", "t"]);
    let decoration = decoration(random, rows, b"-+ #0", true);
    // Signedness is the programmer's choice: `%x` takes an int, `%d` takes an unsigned, as long as the value fits both.
    let signed = if random.one_in(6) {
        !matches!(letter, "d" | "i")
    } else {
        matches!(letter, "d" | "i")
    };
    let argument = argument::for_integer(random, length, signed, rows);
    decoration.finish(&format!("{length}{letter}"), argument, Promise::Folds)
}

/// `"%" PRIu64` and its like, which no single literal shows.
fn fixed_width_macro(random: &mut Random, rows: usize) -> Piece {
    let (name, length, signed) = [
        ("PRId64", "l", true),
        ("PRIu64", "l", false),
        ("PRIx64", "l", false),
        ("PRIX32", "", false),
        ("PRIu8", "hh", false),
        ("PRIdMAX", "j", true),
        ("PRIo16", "h", false),
    ][random.below(7)];
    let decoration = decoration(random, rows, b"-+ #0", true);
    let argument = argument::for_integer(random, length, signed, rows);
    let mut piece = decoration.finish("", argument, Promise::Folds);
    piece.source.push_str(&format!(" {name}"));
    piece
}

fn character(random: &mut Random, rows: usize) -> Piece {
    let decoration = decoration(random, rows, b"-", false);
    let argument = argument::for_integer(random, "", true, rows);
    decoration.finish("c", argument, Promise::Folds)
}

fn string(random: &mut Random, rows: usize) -> Piece {
    let decoration = decoration(random, rows, b"-", true);
    let edge = match decoration.precision {
        Some(Some(digits)) if random.one_in(2) => Some(argument::for_edge(&digits.to_string())),
        _ => None,
    };
    let argument = edge.unwrap_or_else(|| argument::for_string(random, rows));
    decoration.finish("s", argument, Promise::Folds)
}

fn pointer(random: &mut Random, rows: usize) -> Piece {
    let decoration = decoration(random, rows, b"-", false);
    let argument = argument::for_pointer(random, rows);
    decoration.finish("p", argument, Promise::Pointers)
}

fn float(random: &mut Random, rows: usize) -> Piece {
    let letter = random.pick(&["f", "f", "g", "g", "e", "F", "E", "G"]);
    let length = if random.one_in(12) { "l" } else { "" };
    let decoration = decoration(random, rows, b"-+ #0", true);
    let argument = argument::for_double(random, rows);
    decoration.finish(&format!("{length}{letter}"), argument, Promise::Floats)
}

/// A directive that must go to the library, whatever stands around it.
pub(crate) fn left_alone(random: &mut Random, rows: usize) -> Piece {
    match random.below(14) {
        0 => odd(random, b"-+ #0", "a", argument::for_double, rows),
        1 => odd(
            random,
            b"-+ #0'",
            "d",
            |random, rows| argument::for_integer(random, "l", true, rows),
            rows,
        )
        .prefixed("l"),
        2 => odd(random, b"-+ #0", "Lg", argument::for_long_double, rows),
        3 => odd(random, b"-+ #0", "Lf", argument::for_long_double, rows),
        4 => odd(
            random,
            b"-",
            "lc",
            |random, _| argument::for_wide_character(random),
            rows,
        ),
        5 => odd(
            random,
            b"-",
            "ls",
            |random, _| argument::for_wide_string(random),
            rows,
        ),
        6 => odd(
            random,
            b"-",
            "S",
            |random, _| argument::for_wide_string(random),
            rows,
        ),
        7 => stored(random),
        8 => bare(random.pick(&["%m", "%-20m", "%.3m"])),
        9 => odd(random, b"'", "f", argument::for_double, rows),
        10 => odd(
            random,
            b"I",
            "d",
            |random, rows| argument::for_integer(random, "", true, rows),
            rows,
        ),
        11 => bare(random.pick(&[
            "%y",
            "%!",
            "%-",
            "%",
            "%l",
            "%.5",
            "%99999999999d",
            "%.-5d",
            "%hhhd",
            "%\\0d",
        ])),
        12 => odd(
            random,
            b"-+ #0",
            "b",
            |random, rows| argument::for_integer(random, "", false, rows),
            rows,
        ),
        _ => odd(random, b"-+ #0", "x", argument::for_integer_mistyped, rows),
    }
}

fn odd(
    random: &mut Random,
    flags: &[u8],
    letters: &str,
    argument: impl Fn(&mut Random, usize) -> Argument,
    rows: usize,
) -> Piece {
    let decoration = decoration(random, rows, flags, letters != "lc");
    let argument = argument(random, rows);
    decoration.finish(letters, argument, Promise::Nothing)
}

impl Piece {
    /// The piece with a length modifier before its letter.
    fn prefixed(mut self, length: &str) -> Self {
        let letter = self.source.len() - 2;
        self.source.insert_str(letter, length);
        self
    }
}

fn stored(random: &mut Random) -> Piece {
    let length = random.pick(&["", "hh", "h", "l", "ll"]);
    Piece {
        source: format!("\"%{length}n\""),
        arguments: vec![argument::for_stored(length)],
        promise: Promise::Nothing,
    }
}

/// A directive that takes no argument. What it is followed by may be read as a part of it, so nothing that takes one
/// stands behind it.
fn bare(text: &str) -> Piece {
    Piece {
        source: format!("\"{text}\""),
        arguments: Vec::new(),
        promise: Promise::Nothing,
    }
}

impl Piece {
    /// True if the following text could be read as a part of this piece.
    pub(crate) fn is_open(&self) -> bool {
        self.promise == Promise::Nothing && self.arguments.is_empty()
    }
}
