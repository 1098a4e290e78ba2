//! What `append!` becomes.
//!
//! ```text
//! buffer.__append((&a, &b), |out, (a, b)| { out.text("x="); probe(a).plain(out, format_args!("{}", a)); … })
//! ```
//!
//! The main crate's rules write the call, this module the closure. So the buffer and then the arguments are evaluated
//! once, in order, outside of the closure, and what they borrow lives to the end of the statement, as it does for
//! `write!`. The `format_args!` beside each value is what types without a fast form are written with. It is also what
//! makes the compiler check that the value's type has the trait at all.

use crate::input::{Argument, Binding, Input};
use crate::literal::Format;
use crate::quote::fill;
use crate::rust::{Count, Layout, Parsed, Piece, parse};
use proc_macro::{Ident, Literal, Span, TokenStream, TokenTree};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Expands one call to the closure that writes its pieces.
pub(crate) fn append(input: &Input) -> TokenStream {
    let parsed = Format::read(input.format.clone()).and_then(|format| {
        let names = names(&input.arguments)?;
        let parsed = parse(&format.text, input.arguments.len(), &names, format.captures)?;
        Some((format.span, parsed))
    });
    let body = match parsed {
        Some((span, parsed)) => specialized(input, span, &parsed),
        None => left_to_core(input),
    };
    closure(&input.krate, &input.bindings(), &body)
}

/// The closure that takes the values by their names.
///
/// Everything in it is reached by the name `__format`: a path that began with `$crate` would belong to another macro than
/// the values in it, and the compiler then shows an error at the whole call.
pub(crate) fn closure(krate: &TokenStream, names: &[Binding], body: &TokenStream) -> TokenStream {
    let pattern: TokenStream = names
        .iter()
        .flat_map(|name| fill("NAME,", &[("NAME", &name.name)]))
        .collect();
    fill(
        "|__out, (PATTERN)| { #[allow(unused_imports)] use CRATE::__private as __format; BODY }",
        &[("CRATE", krate), ("PATTERN", &pattern), ("BODY", body)],
    )
}

/// The names of the arguments with their positions; `None` when the compiler would complain.
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
fn left_to_core(input: &Input) -> TokenStream {
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
    fill(
        "__out.arguments(__format::format_args!(ARGUMENTS));",
        &[("ARGUMENTS", &arguments)],
    )
}

fn specialized(input: &Input, span: Span, parsed: &Parsed) -> TokenStream {
    let mut names = input.bindings();
    let mut body = TokenStream::new();
    for captured in &parsed.captured {
        let name = Binding::new(names.len(), (span, span));
        let variable = variable(captured, span);
        body.extend(fill(
            "let NAME = & VARIABLE;",
            &[("NAME", &name.name), ("VARIABLE", &variable)],
        ));
        names.push(name);
    }
    let site = Site { names: &names, span };
    body.extend(parsed.pieces.iter().map(|piece| site.piece(piece)));
    body
}

/// A captured variable: what the format string's own surroundings know by that name.
fn variable(name: &str, span: Span) -> TokenStream {
    let tokens: TokenStream = name.parse().unwrap_or_default();
    tokens
        .into_iter()
        .map(|mut token| {
            token.set_span(span);
            token
        })
        .collect()
}

/// One call, for the writing of its pieces.
struct Site<'a> {
    names: &'a [Binding],
    /// Where the format string stands.
    span: Span,
}

impl Site<'_> {
    fn piece(&self, piece: &Piece) -> TokenStream {
        match piece {
            Piece::Text(text) => fill(
                "__out.text(TEXT);",
                &[("TEXT", &TokenTree::Literal(Literal::string(text)).into())],
            ),
            Piece::Value {
                argument,
                kind,
                layout,
            } => self.value(&self.names[*argument], kind, layout),
        }
    }

    fn value(&self, name: &Binding, kind: &str, layout: &Layout) -> TokenStream {
        let core = self.core(name, kind, layout);
        let kind = match kind {
            "" => "Display",
            "?" => "Debug",
            "x" => "LowerHex",
            "X" => "UpperHex",
            "o" => "Octal",
            "b" => "Binary",
            "e" => "LowerExp",
            "E" => "UpperExp",
            _ => return fill("__out.arguments(CORE);", &[("CORE", &core)]),
        };
        let method = match (layout == &Layout::default(), layout) {
            (true, _) => "plain(__out, CORE)",
            (
                _,
                Layout {
                    fill: None,
                    align: None,
                    sign: None,
                    alternate: false,
                    width: None,
                    ..
                },
            ) if layout.precision.is_some() && !layout.zero => "precise(__out, PRECISION, CORE)",
            _ => "laid_out(__out, __format::Layout { FIELDS }, CORE)",
        };
        let fields = self.fields(layout);
        let precision = self.count(layout.precision);
        let kind = Ident::new(kind, Span::call_site());
        fill(
            &format!("(&__format::Probe::<__format::KIND, _>::new(NAME)).{method};"),
            &[
                ("KIND", &TokenTree::Ident(kind).into()),
                ("NAME", &name.name),
                ("CORE", &core),
                ("FIELDS", &fields),
                ("PRECISION", &precision),
            ],
        )
    }

    /// `format_args!` of this value alone.
    fn core(&self, name: &Binding, kind: &str, layout: &Layout) -> TokenStream {
        let mut format = String::from("{0:");
        let mut arguments = name.value.clone();
        format.extend(layout.fill.into_iter().chain(layout.align).chain(layout.sign));
        format.push_str(if layout.alternate { "#" } else { "" });
        format.push_str(if layout.zero { "0" } else { "" });
        let mut extra = 0;
        for (dot, count) in [("", layout.width), (".", layout.precision)] {
            // Writing to a string can't fail.
            let _ = match count {
                None => Ok(()),
                Some(Count::Is(number)) => write!(format, "{dot}{number}"),
                Some(Count::Argument(index)) => {
                    extra += 1;
                    arguments.extend(fill(", VALUE", &[("VALUE", &self.names[index].value)]));
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

    fn fields(&self, layout: &Layout) -> TokenStream {
        let align = match layout.align {
            None => "Unknown",
            Some('<') => "Left",
            Some('^') => "Center",
            Some(_) => "Right",
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
            &[
                ("WIDTH", &self.count(layout.width.or(Some(Count::Is(0))))),
                ("PRECISION", &self.optional(layout.precision)),
            ],
        )
    }

    fn optional(&self, count: Option<Count>) -> TokenStream {
        match count {
            None => fill("__format::None", &[]),
            Some(_) => fill("__format::Some(COUNT)", &[("COUNT", &self.count(count))]),
        }
    }

    fn count(&self, count: Option<Count>) -> TokenStream {
        match count {
            None => TokenStream::new(),
            Some(Count::Is(number)) => TokenTree::Literal(Literal::u16_suffixed(number)).into(),
            Some(Count::Argument(index)) => {
                fill("__format::count(NAME)", &[("NAME", &self.names[index].name)])
            }
        }
    }
}
