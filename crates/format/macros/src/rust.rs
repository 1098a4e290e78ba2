//! Rust's format strings, as `std::fmt` documents them.
//!
//! **Invariant:** [`parse`] interprets a format as the compiler does. It returns `None` for unusual or wrong formats, and
//! the whole call is then left to `format_args!`, which accepts the format or reports the mistake.

use std::collections::BTreeMap;

/// A format string and its arguments.
#[derive(Default)]
pub(crate) struct Parsed {
    /// Text and values in their order.
    pub(crate) pieces: Vec<Piece>,
    /// Captured variables, in the order of their first use. Their numbers follow those of the arguments.
    pub(crate) captured: Vec<String>,
}

/// A part of a format string.
pub(crate) enum Piece {
    /// Text, with `{{` and `}}` replaced by `{` and `}`.
    Text(String),
    /// A value.
    Value {
        /// The number of the argument.
        argument: usize,
        /// The spelling of its trait: empty for `Display`, `x`, `?`…
        kind: &'static str,
        /// Its layout.
        layout: Layout,
    },
}

/// The part between the colon and the trait.
#[derive(Default, PartialEq)]
pub(crate) struct Layout {
    /// The fill, if there is one.
    pub(crate) fill: Option<char>,
    /// `<`, `^` or `>`.
    pub(crate) align: Option<char>,
    /// `+` or `-`.
    pub(crate) sign: Option<char>,
    /// `#`.
    pub(crate) alternate: bool,
    /// `0`.
    pub(crate) zero: bool,
    /// The least width.
    pub(crate) width: Option<Count>,
    /// The precision.
    pub(crate) precision: Option<Count>,
}

/// A width or a precision.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Count {
    /// As written.
    Is(u16),
    /// The value of an argument.
    Argument(usize),
}

/// Parses the format string of a call with a number of arguments, some of them named.
pub(crate) fn parse(
    text: &str,
    arguments: usize,
    names: &BTreeMap<String, usize>,
    captures: bool,
) -> Option<Parsed> {
    let mut parser = Parser {
        rest: text,
        next: 0,
        positional: arguments - names.len(),
        names,
        used: vec![false; arguments],
        captures: captures.then(Vec::new),
    };
    let pieces = parser.pieces()?;
    // An unused argument is a mistake of the caller.
    parser.used.iter().all(|used| *used).then_some(Parsed {
        pieces,
        captured: parser.captures.unwrap_or_default(),
    })
}

struct Parser<'a> {
    rest: &'a str,
    /// The argument that the next `{}` takes.
    next: usize,
    /// The number of arguments without a name.
    positional: usize,
    names: &'a BTreeMap<String, usize>,
    used: Vec<bool>,
    /// The variables captured so far; `None` where that is not allowed.
    captures: Option<Vec<String>>,
}

impl Parser<'_> {
    fn pieces(&mut self) -> Option<Vec<Piece>> {
        let mut pieces = Vec::new();
        let mut text = String::new();
        loop {
            let Some(at) = self.rest.find(['{', '}']) else {
                text.push_str(self.rest);
                break;
            };
            text.push_str(&self.rest[..at]);
            let brace = &self.rest[at..=at];
            self.rest = &self.rest[at + 1..];
            if self.eat(brace) {
                text.push_str(brace);
            } else if brace == "{" {
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                pieces.push(self.value()?);
            } else {
                return None;
            }
        }
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        Some(pieces)
    }

    fn eat(&mut self, prefix: &str) -> bool {
        let found = self.rest.strip_prefix(prefix);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    /// `argument:layout kind}`, after its opening brace.
    fn value(&mut self) -> Option<Piece> {
        let explicit = self.place()?;
        let mut layout = Layout::default();
        let mut kind = "";
        if self.eat(":") {
            self.flags(&mut layout);
            layout.width = self.count()?;
            if self.eat(".") {
                layout.precision = if self.eat("*") {
                    Some(Count::Argument(self.implicit()?))
                } else {
                    Some(self.count()??)
                };
            }
            kind = ["x?", "X?", "?", "x", "X", "o", "b", "e", "E", "p"]
                .into_iter()
                .find(|kind| self.eat(kind))
                .unwrap_or_default();
        }
        let argument = match explicit {
            Some(argument) => argument,
            None => self.implicit()?,
        };
        self.eat("}").then_some(Piece::Value {
            argument,
            kind,
            layout,
        })
    }

    fn flags(&mut self, layout: &mut Layout) {
        let mut characters = self.rest.chars();
        let (first, second) = (characters.next(), characters.next());
        let is_align = |one: &Option<char>| matches!(one, Some('<' | '^' | '>'));
        if let (Some(fill), true) = (first, is_align(&second)) {
            (layout.fill, layout.align) = (first, second);
            self.rest = &self.rest[fill.len_utf8() + 1..];
        } else if is_align(&first) {
            layout.align = first;
            self.rest = &self.rest[1..];
        }
        layout.sign = ['+', '-']
            .into_iter()
            .find(|sign| self.eat(sign.encode_utf8(&mut [0; 4])));
        layout.alternate = self.eat("#");
        // `0$` is a width that the first argument gives.
        layout.zero = !self.rest.starts_with("0$") && self.eat("0");
    }

    /// A number, or an argument that ends with `$`; `Some(None)` if there is neither.
    #[expect(clippy::option_option, reason = "an error, nothing, or a count")]
    fn count(&mut self) -> Option<Option<Count>> {
        let before = self.rest;
        let start = self.rest.chars().next()?;
        if let Some(number) = self.number() {
            if !self.rest.starts_with('$') {
                return Some(Some(Count::Is(number)));
            }
        } else if !(start == '_' || start.is_alphabetic()) {
            // A number above the limit is not a count.
            return (!start.is_ascii_digit()).then_some(None);
        }
        self.rest = before;
        let name_ends = before.find(|one: char| !(one == '_' || one.is_alphanumeric()))?;
        if !before[name_ends..].starts_with('$') {
            // It names a trait.
            return Some(None);
        }
        let argument = self.place()??;
        self.eat("$").then_some(Some(Count::Argument(argument)))
    }

    fn number(&mut self) -> Option<u16> {
        let end = self
            .rest
            .find(|one: char| !one.is_ascii_digit())
            .unwrap_or(self.rest.len());
        let number = self.rest[..end].parse().ok()?;
        self.rest = &self.rest[end..];
        Some(number)
    }

    /// An argument by number or name; `Some(None)` if none is written.
    #[expect(clippy::option_option, reason = "an error, nothing, or an argument")]
    fn place(&mut self) -> Option<Option<usize>> {
        if self.rest.starts_with(|one: char| one.is_ascii_digit()) {
            let index = usize::from(self.number()?);
            *self.used.get_mut(index)? = true;
            return Some(Some(index));
        }
        let end = self
            .rest
            .find(|one: char| !(one == '_' || one.is_alphanumeric()))?;
        let (name, rest) = self.rest.split_at(end);
        if name.is_empty() {
            return Some(None);
        }
        self.rest = rest;
        Some(Some(self.named(name)?))
    }

    fn named(&mut self, name: &str) -> Option<usize> {
        if let Some(index) = self.names.get(name) {
            self.used[*index] = true;
            return Some(*index);
        }
        let first = self.used.len();
        let captured = self.captures.as_mut()?;
        if !is_variable(name) {
            return None;
        }
        let known = captured.iter().position(|one| one == name);
        Some(
            first
                + known.unwrap_or_else(|| {
                    captured.push(name.to_owned());
                    captured.len() - 1
                }),
        )
    }

    /// The argument of a `{}`. It never refers to a named argument, although the compiler only warns.
    fn implicit(&mut self) -> Option<usize> {
        let index = self.next;
        self.next += 1;
        if index >= self.positional {
            return None;
        }
        self.used[index] = true;
        Some(index)
    }
}

/// Returns true if the compiler reads a name as one identifier.
fn is_variable(name: &str) -> bool {
    let tokens = name
        .parse::<proc_macro::TokenStream>()
        .map(|tokens| tokens.into_iter().collect::<Vec<_>>());
    matches!(tokens.as_deref(), Ok([proc_macro::TokenTree::Ident(_)])) && name != "_"
}
