//! What `c!` becomes: a closure with one call for each conversion, whose traits check the types.

use crate::append::closure;
use crate::input::{Binding, Input};
use crate::literal::Format;
use crate::printf::{Count, Directive, Piece, Wrong, parse};
use crate::quote::fill;
use proc_macro::{Literal, Span, TokenStream, TokenTree};

/// Expands one call.
pub(crate) fn c(input: &Input) -> TokenStream {
    let names = input.bindings();
    let body = body(input, &names).unwrap_or_else(|(message, span)| {
        let mut message = TokenTree::Literal(Literal::string(&message));
        message.set_span(span);
        let error = fill("__format::compile_error!", &[]);
        let mut group = proc_macro::Group::new(proc_macro::Delimiter::Brace, message.into());
        group.set_span(span);
        error
            .into_iter()
            .map(|mut token| {
                token.set_span(token.span().located_at(span));
                token
            })
            .chain([TokenTree::Group(group)])
            .collect()
    });
    closure(&input.krate, &names, &body)
}

fn body(input: &Input, names: &[Binding]) -> Result<TokenStream, (String, Span)> {
    let first = input
        .format
        .clone()
        .into_iter()
        .next()
        .map_or_else(Span::call_site, |token| token.span());
    let format = Format::read(input.format.clone()).ok_or_else(|| {
        (
            "the format must be a string literal, or a `concat!` of literals".to_owned(),
            first,
        )
    })?;
    if let Some(name) = input.arguments.iter().find_map(|argument| argument.name.as_ref()) {
        return Err((
            format!("C's formats have no names; leave out `{name} =`"),
            name.span(),
        ));
    }
    let wrong = |wrong: Wrong| (pointed(&format.text, &wrong), format.span);
    let pieces = parse(&format.text).map_err(wrong)?;
    let mut next = names.iter();
    let mut body = TokenStream::new();
    for piece in &pieces {
        body.extend(match piece {
            Piece::Text(text) => fill(
                "__out.text(TEXT);",
                &[("TEXT", &TokenTree::Literal(Literal::string(text)).into())],
            ),
            Piece::Directive(directive) => call(directive, &mut next).ok_or_else(|| {
                let place = directive.place.clone();
                let message = "there is no argument for this conversion".to_owned();
                wrong(Wrong { message, place })
            })?,
        });
    }
    match next.count() {
        0 => Ok(body),
        left => {
            let unused = &input.arguments[names.len() - left];
            Err((
                "the format has no conversion for this argument".to_owned(),
                unused.span.0,
            ))
        }
    }
}

/// The message with the place in the text underlined.
fn pointed(text: &str, wrong: &Wrong) -> String {
    let shown = |text: &str| text.escape_debug().to_string();
    let before = shown(&text[..wrong.place.start]).chars().count();
    let under = shown(&text[wrong.place.clone()]).chars().count().max(1);
    format!(
        "{}\n \"{}\"\n {:before$} {:^<under$}",
        wrong.message,
        shown(text),
        "",
        ""
    )
}

/// The call for one conversion; `None` if the arguments are used up.
fn call<'a>(directive: &Directive, next: &mut impl Iterator<Item = &'a Binding>) -> Option<TokenStream> {
    let mut layout = fill(
        &format!(
            "__format::printf::Layout::new({}, {}, {}, {}, {})",
            directive.minus, directive.plus, directive.space, directive.alternate, directive.zero
        ),
        &[],
    );
    for (method, count) in [("width", directive.width), ("precision", directive.precision)] {
        layout.extend(match count {
            None => TokenStream::new(),
            Some(Count::Is(number)) => fill(&format!(".{method}({number})"), &[]),
            Some(Count::Argument) => fill(
                &format!(".{method}_given(VALUE)"),
                &[("VALUE", &next.next()?.reference)],
            ),
        });
    }
    let length = match directive.length {
        "hh" => "Char",
        "h" => "Short",
        "l" => "Long",
        "ll" => "LongLong",
        "j" => "IntMax",
        "z" => "Size",
        "t" => "PtrDiff",
        _ => "Int",
    };
    let length = format!("__format::printf::{length}, ");
    // What says more than the function's name comes as a value, the first: types that were written in angle brackets would
    // draw the compiler's errors to themselves, and it would believe a value more than what comes after it.
    let (function, more) = match directive.conversion {
        'd' | 'i' => ("signed", length),
        'u' => ("unsigned", length),
        'o' => ("octal", length),
        'x' => ("hexadecimal", format!("{length}false, ")),
        'X' => ("hexadecimal", format!("{length}true, ")),
        'c' => ("character", String::new()),
        's' => ("string", String::new()),
        'p' => ("pointer", String::new()),
        letter => ("float", format!("{letter:?}, ")),
    };
    let value = next.next()?;
    Some(fill(
        &format!("__format::printf::{function}({more}__out, VALUE, LAYOUT);"),
        &[("VALUE", &value.reference), ("LAYOUT", &layout)],
    ))
}
