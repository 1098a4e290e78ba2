//! The parts of a macro call.
//!
//! **Invariant:** the compiler sees the expressions of a call as the `macro_rules` of the main crate wrote them. They never
//! pass through this crate: a procedural macro that returns `$a * 2` loses the invisible parentheses around `$a`. This
//! module uses the tokens of a value only for their location.

use crate::literal::unwrap;
use proc_macro::{Delimiter, Ident, Punct, Spacing, Span, TokenStream, TokenTree};

/// A value that was passed to the macro.
pub(crate) struct Argument {
    /// Its name, in the form `name = value`.
    pub(crate) name: Option<Ident>,
    /// Its first and last token.
    pub(crate) span: (Span, Span),
}

/// A call of a macro, taken apart.
pub(crate) struct Input {
    /// The tokens `$crate`: the main crate, by whatever name the caller knows it.
    pub(crate) krate: TokenStream,
    /// The opened buffer, with the values.
    pub(crate) opened: TokenStream,
    /// The format string, not parsed.
    pub(crate) format: TokenStream,
    /// The values.
    pub(crate) arguments: Vec<Argument>,
}

impl Input {
    /// Reads `[crate] [opened] [format] [name] [value] [name] [value]…`, as the main crate's rules write it.
    pub(crate) fn read(tokens: TokenStream) -> Option<Self> {
        let mut groups = tokens.into_iter().map(|token| match token {
            TokenTree::Group(group) => Some(group.stream()),
            _ => None,
        });
        let mut input = Self {
            krate: groups.next()??,
            opened: groups.next()??,
            format: unwrap(groups.next()??),
            arguments: Vec::new(),
        };
        while let Some(name) = groups.next() {
            let name = unwrap(name?).into_iter().next().and_then(|token| match token {
                TokenTree::Ident(ident) => Some(ident),
                _ => None,
            });
            let span = location(groups.next()??);
            input.arguments.push(Argument { name, span });
        }
        Some(input)
    }

    /// The names of the arguments in the block, which destructures a tuple.
    pub(crate) fn bindings(&self) -> Vec<Binding> {
        self.arguments
            .iter()
            .enumerate()
            .map(|(index, argument)| Binding::new(index, argument.span))
            .collect()
    }
}

/// The first and the last token of an expression.
fn location(value: TokenStream) -> (Span, Span) {
    let mut tokens = unwrap(value).into_iter();
    let first = tokens.next().map_or_else(Span::call_site, |token| start(&token));
    (first, tokens.last().map_or(first, |token| token.span()))
}

/// The start of a token; the location of invisible parentheses is meaningless.
fn start(token: &TokenTree) -> Span {
    match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => location(group.stream()).0,
        other => other.span(),
    }
}

/// A reference to a value, within the block.
///
/// The location of a token cannot span several others. But in `*name` the star can have the location of the value's first
/// token, and the name that of its last; the compiler then reports an error at the whole value.
#[derive(Clone)]
pub(crate) struct Binding {
    /// The name of the reference.
    pub(crate) name: TokenStream,
    /// The value behind it.
    pub(crate) value: TokenStream,
    /// `&*name`: the reference with the location of the value.
    pub(crate) reference: TokenStream,
}

impl Binding {
    /// The reference with this number, for a value between two tokens.
    pub(crate) fn new(index: usize, (first, last): (Span, Span)) -> Self {
        let at = |span| Span::call_site().located_at(span);
        let name: TokenTree = Ident::new(&format!("__argument_{index}"), at(last)).into();
        let punct = |character, spacing| {
            let mut punct = Punct::new(character, spacing);
            punct.set_span(at(first));
            TokenTree::Punct(punct)
        };
        let star = punct('*', Spacing::Alone);
        Self {
            value: [star.clone(), name.clone()].into_iter().collect(),
            reference: [punct('&', Spacing::Alone), star, name.clone()]
                .into_iter()
                .collect(),
            name: name.into(),
        }
    }
}
