//! C's format strings, as C11 7.21.6.1 describes them.

/// A part of a format string.
pub(crate) enum Piece {
    /// Text, with `%%` replaced by `%`.
    Text(String),
    /// A conversion.
    Directive(Directive),
}

/// `%-08.3lx`
pub(crate) struct Directive {
    /// Its byte range in the text.
    pub(crate) place: std::ops::Range<usize>,
    /// `-`
    pub(crate) minus: bool,
    /// `+`
    pub(crate) plus: bool,
    /// A space.
    pub(crate) space: bool,
    /// `#`
    pub(crate) alternate: bool,
    /// `0`
    pub(crate) zero: bool,
    /// The least width.
    pub(crate) width: Option<Count>,
    /// The precision.
    pub(crate) precision: Option<Count>,
    /// `hh`, `h`, `l`, `ll`, `j`, `z`, `t` or nothing.
    pub(crate) length: &'static str,
    /// The conversion specifier.
    pub(crate) conversion: char,
}

/// A width or a precision.
#[derive(Clone, Copy)]
pub(crate) enum Count {
    /// As written.
    Is(u32),
    /// `*`
    Argument,
}

/// A mistake in a format string.
pub(crate) struct Wrong {
    /// A description, one sentence.
    pub(crate) message: String,
    /// The bytes of the text at fault.
    pub(crate) place: std::ops::Range<usize>,
}

/// Parses a format string.
pub(crate) fn parse(text: &str) -> Result<Vec<Piece>, Wrong> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut at = 0;
    while let Some(found) = text[at..].find('%') {
        literal.push_str(&text[at..at + found]);
        at += found;
        if text[at..].starts_with("%%") {
            literal.push('%');
            at += 2;
            continue;
        }
        if !literal.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut literal)));
        }
        let directive = Scanner {
            text,
            start: at,
            at: at + 1,
        }
        .directive()?;
        at = directive.place.end;
        pieces.push(Piece::Directive(directive));
    }
    literal.push_str(&text[at..]);
    if !literal.is_empty() {
        pieces.push(Piece::Text(literal));
    }
    Ok(pieces)
}

struct Scanner<'a> {
    text: &'a str,
    start: usize,
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn eat(&mut self, wanted: &str) -> bool {
        let found = self.text[self.at..].starts_with(wanted);
        self.at += if found { wanted.len() } else { 0 };
        found
    }

    fn wrong(&self, message: impl Into<String>) -> Wrong {
        let end = self.at + self.peek().map_or(0, char::len_utf8);
        Wrong {
            message: message.into(),
            place: self.start..end,
        }
    }

    fn directive(mut self) -> Result<Directive, Wrong> {
        let mut directive = Directive {
            place: 0..0,
            minus: false,
            plus: false,
            space: false,
            alternate: false,
            zero: false,
            width: None,
            precision: None,
            length: "",
            conversion: ' ',
        };
        self.flags(&mut directive)?;
        directive.width = self.count()?;
        if self.peek() == Some('$') {
            return Err(
                self.wrong("numbered arguments are not supported; write the arguments in the format's order")
            );
        }
        if self.eat(".") {
            // Nothing after the point means 0.
            directive.precision = Some(self.count()?.unwrap_or(Count::Is(0)));
        }
        directive.length = ["hh", "h", "ll", "l", "j", "z", "t"]
            .into_iter()
            .find(|length| self.eat(length))
            .unwrap_or_default();
        directive.conversion = self.conversion(directive.length)?;
        directive.place = self.start..self.at;
        Ok(directive)
    }

    fn flags(&mut self, directive: &mut Directive) -> Result<(), Wrong> {
        while let Some(flag) = self.peek() {
            match flag {
                '-' => directive.minus = true,
                '+' => directive.plus = true,
                ' ' => directive.space = true,
                '#' => directive.alternate = true,
                '0' => directive.zero = true,
                '\'' | 'I' => {
                    return Err(self.wrong(format!(
                        "the flag `{flag}` depends on a locale, which is not supported"
                    )));
                }
                _ => break,
            }
            self.at += 1;
        }
        Ok(())
    }

    fn count(&mut self) -> Result<Option<Count>, Wrong> {
        if self.eat("*") {
            return Ok(Some(Count::Argument));
        }
        let rest = &self.text[self.at..];
        let digits = rest.len() - rest.trim_start_matches(|one: char| one.is_ascii_digit()).len();
        if digits == 0 {
            return Ok(None);
        }
        let number = rest[..digits]
            .parse()
            .ok()
            .filter(|number| *number <= i32::MAX as u32);
        self.at += digits;
        number.map(|number| Some(Count::Is(number))).ok_or_else(|| {
            self.at -= 1;
            self.wrong("the number is larger than an `int` can be")
        })
    }

    fn conversion(&mut self, length: &str) -> Result<char, Wrong> {
        let Some(conversion) = self.peek() else {
            return Err(self.wrong("the format ends within a conversion; write `%%` for a percent sign"));
        };
        let message = match conversion {
            'd' | 'i' | 'u' | 'o' | 'x' | 'X' => None,
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' => {
                // C allows `%lf` as another spelling of `%f`.
                (!matches!(length, "" | "l"))
                    .then(|| format!("`%{length}{conversion}` is no conversion of C's"))
            }
            'c' | 's' | 'p' => (!length.is_empty()).then(|| match (length, conversion) {
                ("l", 'c' | 's') => {
                    format!("wide characters are not supported: give `%{conversion}` a `char` or `&str`")
                }
                _ => format!("`%{length}{conversion}` is no conversion of C's"),
            }),
            'n' => Some("`%n` is not supported: the buffer knows its length".to_owned()),
            'm' => Some("`%m` is not supported: give `%s` the text of an `std::io::Error`".to_owned()),
            'a' | 'A' => Some(format!("`%{conversion}` is not supported")),
            'L' | 'q' => Some("`long double` is not supported".to_owned()),
            'C' | 'S' => Some("wide characters are not supported: use `%c` and `%s`".to_owned()),
            _ => Some(format!(
                "`{conversion}` is no conversion of C's; write `%%` for a percent sign"
            )),
        };
        match message {
            Some(message) => Err(self.wrong(message)),
            None => {
                self.at += 1;
                Ok(conversion)
            }
        }
    }
}
