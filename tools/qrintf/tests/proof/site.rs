//! One call site: a function of the family, a format, arguments, and how the call is spelled.

use crate::{
    argument::Argument,
    directive::{self, Promise},
    random::Random,
};

/// The function under test, and what it writes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// `snprintf(p, n, …)`, object size unknown, sizes from a table.
    Snprintf,
    /// `snprintf(o.bytes, sizeof o.bytes, …)`.
    SnprintfObject(usize),
    /// `snprintf(o.bytes, n, …)` with n from a table and not above the object's size.
    SnprintfObjectPart(usize),
    /// `snprintf(NULL, 0, …)`.
    SnprintfNull,
    /// Sizes from INT_MAX upward.
    SnprintfHuge,
    /// `sprintf(p, …)`, object size unknown.
    Sprintf,
    /// `sprintf(o.bytes, …)` with an object that is large enough.
    SprintfObject,
    Asprintf,
    /// `fprintf`, with the name of the kind of stream.
    Fprintf(&'static str),
    Printf,
    /// `dprintf`, to a descriptor that takes bytes or to one that refuses them.
    Dprintf {
        broken: bool,
    },
}

/// How the format reaches the call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelling {
    Literal,
    Macro,
    Array,
    InlineParameter,
    RunTime,
    /// `(snprintf)(…)`, which no function-like macro sees.
    Parenthesized,
}

pub(crate) struct Site {
    pub(crate) number: usize,
    pub(crate) form: Form,
    pub(crate) spelling: Spelling,
    /// The format as an expression of C: adjacent literals and macros.
    pub(crate) format: String,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) promise: Promise,
    pub(crate) rows: usize,
}

/// The header's stated maximum; longer calls fall back to the library.
const DIRECTIVES_MAX: usize = 10;
const ARGUMENTS_MAX: usize = 12;

impl Site {
    pub(crate) fn random(random: &mut Random, number: usize, rows: usize) -> Self {
        if random.one_in(40) {
            return positional(random, number, rows);
        }
        let count = match random.below(14) {
            0 => 0,
            1 | 2 => 2,
            3 | 4 => 3,
            5 => 4,
            6 => 1 + random.below(9),
            7 if random.one_in(3) => 1 + random.below(40),
            _ => 1,
        };
        let pieces = pieces(random, count, rows);
        let directives = pieces.iter().filter(|piece| !piece.arguments.is_empty()).count();
        let mut promise = pieces
            .iter()
            .map(|piece| piece.promise)
            .max()
            .unwrap_or(Promise::Folds);
        let format = pieces
            .iter()
            .map(|piece| piece.source.as_str())
            .collect::<Vec<_>>()
            .join(" ");
        let mut arguments = pieces
            .into_iter()
            .flat_map(|piece| piece.arguments)
            .collect::<Vec<_>>();
        if directives == 0 || directives > DIRECTIVES_MAX || arguments.len() > ARGUMENTS_MAX {
            promise = Promise::Nothing;
        }
        if random.one_in(30) || promise == Promise::Nothing && random.one_in(3) {
            arguments.push(surplus());
            arguments.push(surplus());
            promise = Promise::Nothing;
        }
        let format = if random.one_in(40) {
            format!("{format} \"\\000%d never read\"")
        } else {
            format
        };
        let form = form(random);
        let spelling = spelling(random);
        if format.contains("never read")
            || !matches!(spelling, Spelling::Literal | Spelling::Macro)
            || form == Form::SnprintfNull
        {
            promise = Promise::Nothing;
        }
        let format = if format.is_empty() {
            "\"\"".to_owned()
        } else {
            format
        };
        Self {
            number,
            form,
            spelling,
            format,
            arguments,
            promise,
            rows,
        }
    }
}

/// Text and directives in turn; one site in six has something that the header leaves alone.
fn pieces(random: &mut Random, count: usize, rows: usize) -> Vec<directive::Piece> {
    let odd = if count > 0 && random.one_in(6) {
        random.below(count)
    } else {
        usize::MAX
    };
    let mut pieces = Vec::new();
    for index in 0..count {
        if random.one_in(2) {
            pieces.push(directive::text(random));
        }
        let piece = if index == odd {
            directive::left_alone(random, rows)
        } else {
            directive::supported(random, rows)
        };
        let open = piece.is_open();
        pieces.push(piece);
        if open {
            let piece = pieces.last_mut().expect("one was pushed");
            piece.arguments.extend([surplus(), surplus()]);
            return pieces;
        }
    }
    if count == 0 || random.one_in(2) {
        pieces.push(directive::text(random));
    }
    pieces
}

/// An argument that no directive takes: evaluated and ignored, as C has it.
fn surplus() -> Argument {
    Argument {
        declared: String::new(),
        values: Vec::new(),
        expression: "7".to_owned(),
        rare: false,
    }
}

/// `%2$s %1$d`: every directive of such a format names its argument.
fn positional(random: &mut Random, number: usize, rows: usize) -> Site {
    let format = random.pick(&[
        "\"%2$s=%1$d\"",
        "\"%1$d %1$x%2$.3s\"",
        "\"%1$05d|%2$-9s|\"",
        "\"%2$*1$s\"",
    ]);
    let mut first = crate::argument::for_star(random, rows);
    first.rare = false;
    let arguments = vec![first, crate::argument::for_string(random, rows)];
    Site {
        number,
        form: form(random),
        spelling: Spelling::Literal,
        format: format.to_owned(),
        arguments,
        promise: Promise::Nothing,
        rows,
    }
}

fn form(random: &mut Random) -> Form {
    match random.below(26) {
        0..=7 => Form::Snprintf,
        8..=10 => Form::SnprintfObject([1, 2, 7, 8, 16, 33, 64, 256][random.below(8)]),
        11 => Form::SnprintfObjectPart([1, 16, 100, 300][random.below(4)]),
        12 => Form::SnprintfNull,
        13 => Form::SnprintfHuge,
        14..=16 => Form::Sprintf,
        17 => Form::SprintfObject,
        18 | 19 => Form::Asprintf,
        20..=22 => Form::Fprintf(random.pick(&[
            "HARNESS_BUFFERED",
            "HARNESS_BUFFERED",
            "HARNESS_UNBUFFERED",
            "HARNESS_LINES",
            "HARNESS_SMALL",
            "HARNESS_MEMORY",
            "HARNESS_READ_ONLY",
            "HARNESS_FULL",
            "HARNESS_WIDE",
        ])),
        23 => Form::Printf,
        _ => Form::Dprintf {
            broken: random.one_in(5),
        },
    }
}

fn spelling(random: &mut Random) -> Spelling {
    match random.below(24) {
        0..=2 => Spelling::Macro,
        3 => Spelling::Array,
        4 => Spelling::InlineParameter,
        5 => Spelling::RunTime,
        6 => Spelling::Parenthesized,
        _ => Spelling::Literal,
    }
}
