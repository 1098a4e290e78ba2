//! Expands `c!` to one call per conversion; traits check the types.

use crate::append::block;
use crate::input::{Binding, Input};
use crate::lead::Statements;
use crate::literal::Format;
use crate::printf::{Count, Directive, Piece, Wrong, parse};
use crate::quote::fill;
use proc_macro::{Literal, Span, TokenStream, TokenTree};

/// Expands one call.
pub(crate) fn c(input: &Input) -> TokenStream {
    let names = input.bindings();
    let (about, body) = body(input, &names).unwrap_or_else(|(message, span)| {
        let mut message = TokenTree::Literal(Literal::string(&message));
        message.set_span(span);
        let error = fill("__format::compile_error!", &[]);
        let mut group = proc_macro::Group::new(proc_macro::Delimiter::Brace, message.into());
        group.set_span(span);
        let error = error
            .into_iter()
            .map(|mut token| {
                token.set_span(token.span().located_at(span));
                token
            })
            .chain([TokenTree::Group(group)])
            .collect();
        (0, error)
    });
    block(input, "__output", about, &body)
}

fn body(input: &Input, names: &[Binding]) -> Result<(usize, TokenStream), (String, Span)> {
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
    let mut statements = Statements::default();
    for piece in &pieces {
        match piece {
            Piece::Text(text) => statements.text(text),
            Piece::Directive(directive) => {
                let lead = statements.lead();
                statements.push(call(directive, &mut next, &lead).ok_or_else(|| {
                    let place = directive.place.clone();
                    let message = "there is no argument for this conversion".to_owned();
                    wrong(Wrong { message, place })
                })?);
            }
        }
    }
    match next.count() {
        0 => Ok((statements.about, statements.finish())),
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
fn call<'a>(
    directive: &Directive,
    next: &mut impl Iterator<Item = &'a Binding>,
    lead: &TokenStream,
) -> Option<TokenStream> {
    let layout = layout(directive, next)?;
    let value = next.next()?;
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
    let signed = matches!(directive.conversion, 'd' | 'i');
    let plain = directive.width.is_none()
        && directive.precision.is_none()
        && !directive.alternate
        && !(signed && (directive.plus || directive.space));
    let upper = format!("{}, ", directive.conversion.is_ascii_uppercase());
    // A marker value selects the conversion, as the first argument: with types in angle brackets the compiler would report
    // errors at those types instead of at the caller's value.
    let (function, more) = match directive.conversion {
        'd' | 'i' => ("signed", length),
        'u' => ("unsigned", length),
        'x' | 'X' => ("hexadecimal", length + &upper),
        'c' => ("character", String::new()),
        's' => ("string", String::new()),
        'o' => return Some(written("octal", &length, lead, value, Some(&layout))),
        'p' => return Some(written("pointer", "", lead, value, Some(&layout))),
        'f' if plain_but_for_precision(directive) => {
            let decimals = match directive.precision {
                Some(Count::Is(decimals)) => decimals,
                _ => 6,
            };
            let decimals: TokenStream = TokenTree::Literal(Literal::u32_unsuffixed(decimals)).into();
            return Some(written("fixed", "", lead, value, Some(&decimals)));
        }
        letter => {
            let letter = format!("{letter:?}, ");
            return Some(written("float", &letter, lead, value, Some(&layout)));
        }
    };
    Some(if plain {
        written(function, &more, lead, value, None)
    } else if let (Some(width), 'd' | 'i' | 'u' | 'x' | 'X') = (only_zeros(directive), directive.conversion) {
        let width: TokenStream = TokenTree::Literal(Literal::u16_suffixed(width)).into();
        written(
            &format!("{function}_with_zeros"),
            &more,
            lead,
            value,
            Some(&width),
        )
    } else {
        written(&format!("{function}_laid_out"), &more, lead, value, Some(&layout))
    })
}

/// The width of a conversion that has only the flag `0` and a constant width.
fn only_zeros(directive: &Directive) -> Option<u16> {
    match directive.width {
        Some(Count::Is(width))
            if directive.zero
                && directive.precision.is_none()
                && !(directive.minus || directive.plus || directive.space || directive.alternate) =>
        {
            u16::try_from(width).ok()
        }
        _ => None,
    }
}

/// Returns true for a conversion without flags and width, whose precision is absent or a small constant.
fn plain_but_for_precision(directive: &Directive) -> bool {
    let usual = match directive.precision {
        None => true,
        Some(Count::Is(precision)) => precision <= 19,
        Some(Count::Argument) => false,
    };
    usual && directive.width.is_none() && !(directive.plus || directive.space || directive.alternate)
}

/// The call of a function of `printf`, with its last arguments.
fn written(
    function: &str,
    more: &str,
    lead: &TokenStream,
    value: &Binding,
    last: Option<&TokenStream>,
) -> TokenStream {
    let last = last.map_or_else(TokenStream::new, |last| fill(", LAST", &[("LAST", last)]));
    fill(
        &format!("__format::printf::{function}({more}&mut __out, LEAD, VALUE LAST);"),
        &[("LEAD", lead), ("VALUE", &value.reference), ("LAST", &last)],
    )
}

/// Flags, width and precision; `None` if the arguments are used up.
fn layout<'a>(directive: &Directive, next: &mut impl Iterator<Item = &'a Binding>) -> Option<TokenStream> {
    let width = match directive.width {
        Some(Count::Is(width)) => width,
        _ => 0,
    };
    let precision = match directive.precision {
        Some(Count::Is(precision)) => format!("__format::Some({precision})"),
        _ => String::from("__format::None"),
    };
    let mut layout = fill(
        &format!(
            "__format::printf::Layout {{ minus: {}, plus: {}, space: {}, alternate: {}, zero: {},
             width: {width}, precision: {precision} }}",
            directive.minus, directive.plus, directive.space, directive.alternate, directive.zero
        ),
        &[],
    );
    for (method, count) in [("width", directive.width), ("precision", directive.precision)] {
        if let Some(Count::Argument) = count {
            layout.extend(fill(
                &format!(".{method}_given(VALUE)"),
                &[("VALUE", &next.next()?.reference)],
            ));
        }
    }
    Some(fill("& LAYOUT", &[("LAYOUT", &layout)]))
}
