//! Expands `append!` and `appendln!`.
//!
//! ```text
//! match buffer.__open((&a, &b)) {
//!     opened => { let (mut opened, (a, b)) = opened; let mut out = opened.cursor(34);
//!                 display(a).plain(&mut out, Lead("x=")); … out.done(); opened.close() }
//! }
//! ```
//!
//! The rules of the main crate write the `match`; this module writes the arm. The buffer and then the arguments are
//! therefore evaluated once, in order, by the caller's own tokens, and borrows in them end with the statement, as they do
//! with `write!`. The functions named after the traits make the compiler check the trait of a value. A value with a layout
//! also gets a `format_args!`, for types without a fast form.

use crate::input::{Argument, Binding, Input};
use crate::lead::Statements;
use crate::literal::Format;
use crate::quote::fill;
use crate::rust::{Count, Layout, Parsed, Piece, parse};
use proc_macro::{Ident, Literal, Span, TokenStream, TokenTree};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Expands one call to what writes its pieces and then the ending.
pub(crate) fn append(input: &Input, ending: &str) -> TokenStream {
    let parsed = Format::read(input.format.clone()).and_then(|format| {
        let names = names(&input.arguments)?;
        let parsed = parse(&format.text, input.arguments.len(), &names, format.captures)?;
        Some((format.span, parsed))
    });
    let (about, body) = match parsed {
        Some((span, parsed)) => specialized(input, span, &parsed, ending),
        None => (0, left_to_core(input, ending)),
    };
    block(input, "__cursor", about, &body)
}

/// The block that binds the values to names and writes `about` bytes, an estimate.
///
/// Its paths start with the name `__format`. If a path started with `$crate`, it would come from another macro than the
/// values, and the compiler would report errors at the whole call.
pub(crate) fn block(input: &Input, cursor: &str, about: usize, body: &TokenStream) -> TokenStream {
    let pattern: TokenStream = input
        .bindings()
        .iter()
        .flat_map(|name| fill("NAME,", &[("NAME", &name.name)]))
        .collect();
    fill(
        &format!(
            "{{
                #[allow(unused_imports)] use CRATE::__private as __format;
                let (mut __opened, (PATTERN)) = OPENED;
                #[allow(unused_mut)] let mut __out = __opened.{cursor}({about});
                BODY
                __out.done();
                __opened.close()
            }}"
        ),
        &[
            ("CRATE", &input.krate),
            ("OPENED", &input.opened),
            ("PATTERN", &pattern),
            ("BODY", body),
        ],
    )
}

/// The names of the arguments with their positions; `None` if the compiler rejects them.
fn names(arguments: &[Argument]) -> Option<BTreeMap<String, usize>> {
    let mut names = BTreeMap::new();
    for (index, argument) in arguments.iter().enumerate() {
        match &argument.name {
            Some(name) => {
                let twice = names.insert(name.to_string(), index).is_some();
                (!twice).then_some(())?;
            }
            None => names.is_empty().then_some(())?,
        }
    }
    Some(names)
}

/// The call as `write!` would make it.
fn left_to_core(input: &Input, ending: &str) -> TokenStream {
    let mut arguments = input.format.clone();
    for (argument, value) in input.arguments.iter().zip(input.bindings()) {
        let name = argument
            .name
            .clone()
            .map(|name| TokenStream::from(TokenTree::Ident(name)));
        let template = if name.is_some() {
            ", NAME = VALUE"
        } else {
            ", VALUE"
        };
        let name = name.unwrap_or_default();
        arguments.extend(fill(template, &[("NAME", &name), ("VALUE", &value.value)]));
    }
    let mut statements = Statements::default();
    statements.push(fill(
        "__out.__arguments(__format::Lead::new(0, 0), __format::format_args!(ARGUMENTS));",
        &[("ARGUMENTS", &arguments)],
    ));
    statements.text(ending);
    statements.finish()
}

fn specialized(input: &Input, span: Span, parsed: &Parsed, ending: &str) -> (usize, TokenStream) {
    let mut names = input.bindings();
    let mut statements = Statements::default();
    for captured in &parsed.captured {
        let name = Binding::new(names.len(), (span, span));
        let variable = variable(captured, span);
        statements.push(fill(
            "let NAME = & VARIABLE;",
            &[("NAME", &name.name), ("VARIABLE", &variable)],
        ));
        names.push(name);
    }
    let site = Site { names: &names, span };
    for piece in &parsed.pieces {
        match piece {
            Piece::Text(text) => statements.text(text),
            Piece::Value {
                argument,
                kind,
                layout,
            } => {
                let lead = statements.lead();
                statements.push(site.value(&names[*argument], kind, layout, &lead));
            }
        }
    }
    statements.text(ending);
    (statements.about, statements.finish())
}

/// A captured variable, resolved where the format string was written.
fn variable(name: &str, span: Span) -> TokenStream {
    // A raw name is the same name, and as for the compiler's own macros `{type}` is the variable `r#type`.
    let variable = match name {
        "self" | "Self" | "super" | "crate" => Ident::new(name, span),
        _ => Ident::new_raw(name, span),
    };
    TokenTree::Ident(variable).into()
}

/// A call whose pieces are to be written.
struct Site<'a> {
    names: &'a [Binding],
    /// The location of the format string.
    span: Span,
}

impl Site<'_> {
    fn value(&self, name: &Binding, kind: &str, layout: &Layout, lead: &TokenStream) -> TokenStream {
        let probe = match kind {
            "" => "display",
            "?" => "debug",
            "x" => "lower_hex",
            "X" => "upper_hex",
            "o" => "octal",
            "b" => "binary",
            "e" => "lower_exp",
            "E" => "upper_exp",
            _ => return self.by_core(name, kind, layout, lead),
        };
        let only_precision = Layout {
            precision: layout.precision,
            ..Layout::default()
        };
        let only_zeros = Layout {
            zero: true,
            width: layout.width,
            ..Layout::default()
        };
        let method = if layout == &Layout::default() {
            fill("__plain(&mut __out, LEAD)", &[("LEAD", lead)])
        } else if layout == &only_precision {
            fill(
                "__precise(&mut __out, LEAD, PRECISION)",
                &[("LEAD", lead), ("PRECISION", &self.count(layout.precision))],
            )
        } else if let (&Some(Count::Is(_)), true) = (&layout.width, layout == &only_zeros) {
            fill(
                "__with_zeros(&mut __out, LEAD, WIDTH)",
                &[("LEAD", lead), ("WIDTH", &self.count(layout.width))],
            )
        } else {
            return self.laid_out(probe, name, layout, lead);
        };
        fill(
            &format!("(&__format::{probe}(NAME)).METHOD;"),
            &[("NAME", &name.reference), ("METHOD", &method)],
        )
    }

    /// A value with more than a precision or zeros. The `let`s contain everything that can fail to compile, once.
    fn laid_out(&self, probe: &str, name: &Binding, layout: &Layout, lead: &TokenStream) -> TokenStream {
        let mut lets = fill(
            &format!("let __probe = __format::{probe}(NAME);"),
            &[("NAME", &name.reference)],
        );
        let mut given = |variable: &str, count: Option<Count>| match count {
            Some(Count::Argument(_)) => {
                let template = format!("let {variable} = COUNT;");
                lets.extend(fill(&template, &[("COUNT", &self.count(count))]));
                fill(variable, &[])
            }
            _ => self.count(count),
        };
        let width = given("__width", layout.width);
        let precision = given("__precision", layout.precision);
        let wide = |count: &TokenStream| fill("__format::wide(COUNT)", &[("COUNT", count)]);
        // A probe implements `{}` for every trait.
        let core = self.core(
            &fill("__probe", &[]),
            "",
            layout,
            [wide(&width), wide(&precision)],
        );
        fill(
            "{ LETS (&__probe).__laid_out(&mut __out, LEAD, &__format::Layout { FIELDS }, CORE); }",
            &[
                ("LETS", &lets),
                ("LEAD", lead),
                ("FIELDS", &fields(layout, &width, &precision)),
                ("CORE", &core),
            ],
        )
    }

    /// A value with a format that `core::fmt` always writes.
    fn by_core(&self, name: &Binding, kind: &str, layout: &Layout, lead: &TokenStream) -> TokenStream {
        let counts = [layout.width, layout.precision].map(|count| match count {
            Some(Count::Argument(index)) => self.names[index].value.clone(),
            _ => TokenStream::new(),
        });
        let core = self.core(&name.value, kind, layout, counts);
        fill(
            "__out.__arguments(LEAD, CORE);",
            &[("LEAD", lead), ("CORE", &core)],
        )
    }

    /// `format_args!` of one value, with the width and the precision if arguments give them.
    fn core(
        &self,
        value: &TokenStream,
        kind: &str,
        layout: &Layout,
        [width, precision]: [TokenStream; 2],
    ) -> TokenStream {
        let mut format = String::from("{0:");
        let mut arguments = value.clone();
        format.extend(layout.fill.into_iter().chain(layout.align).chain(layout.sign));
        format.push_str(if layout.alternate { "#" } else { "" });
        format.push_str(if layout.zero { "0" } else { "" });
        let mut extra = 0;
        for (dot, count, given) in [("", layout.width, width), (".", layout.precision, precision)] {
            // Writing to a string can't fail.
            let _ = match count {
                None => Ok(()),
                Some(Count::Is(number)) => write!(format, "{dot}{number}"),
                Some(Count::Argument(_)) => {
                    extra += 1;
                    arguments.extend(fill(", VALUE", &[("VALUE", &given)]));
                    write!(format, "{dot}{extra}$")
                }
            };
        }
        format.push_str(kind);
        format.push('}');
        let mut literal = Literal::string(&format);
        literal.set_span(Span::mixed_site().located_at(self.span));
        fill(
            "__format::format_args!(FORMAT, ARGUMENTS)",
            &[
                ("FORMAT", &TokenTree::Literal(literal).into()),
                ("ARGUMENTS", &arguments),
            ],
        )
    }

    /// A width or precision, nothing if there is none.
    fn count(&self, count: Option<Count>) -> TokenStream {
        match count {
            None => TokenStream::new(),
            Some(Count::Is(number)) => TokenTree::Literal(Literal::u16_suffixed(number)).into(),
            Some(Count::Argument(index)) => {
                fill("__format::count(NAME)", &[("NAME", &self.names[index].reference)])
            }
        }
    }
}

/// The fields of the main crate's `Layout`.
fn fields(layout: &Layout, width: &TokenStream, precision: &TokenStream) -> TokenStream {
    let align = match layout.align {
        None => "Unknown",
        Some('<') => "Left",
        Some('^') => "Center",
        Some(_) => "Right",
    };
    let width = match layout.width {
        None => fill("0", &[]),
        Some(_) => width.clone(),
    };
    let precision = match layout.precision {
        None => fill("__format::None", &[]),
        Some(_) => fill("__format::Some(PRECISION)", &[("PRECISION", precision)]),
    };
    fill(
        &format!(
            "fill: {:?}, align: __format::Align::{align}, plus: {}, alternate: {}, zero: {},
             width: WIDTH, precision: PRECISION",
            layout.fill.unwrap_or(' '),
            layout.sign == Some('+'),
            layout.alternate,
            layout.zero,
        ),
        &[("WIDTH", &width), ("PRECISION", &precision)],
    )
}
