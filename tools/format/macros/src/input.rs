//! What a call of a macro consists of.
//!
//! **Invariant:** the expressions of a call are compiled as the main crate's `macro_rules` wrote them, and never go through
//! here: a procedural macro that hands on `$a * 2` loses the invisible parentheses around `$a`. What comes here of a
//! value tells only where it stands.

use crate::literal::unwrap;
use proc_macro::{Ident, Span, TokenStream, TokenTree};

/// A value that was handed to the macro.
pub(crate) struct Argument {
    /// Its name, if it was written `name = value`.
    pub(crate) name: Option<Ident>,
    /// Where it stands.
    pub(crate) span: Span,
}

/// A call of a macro, taken apart.
pub(crate) struct Input {
    /// The tokens `$crate`: the main crate, by whatever name the caller knows it.
    pub(crate) krate: TokenStream,
    /// The format string, not yet looked at.
    pub(crate) format: TokenStream,
    /// What is formatted.
    pub(crate) arguments: Vec<Argument>,
}

impl Input {
    /// Reads `[crate] [format] [name] [value] [name] [value]…`, as the main crate's rules write it.
    pub(crate) fn read(tokens: TokenStream) -> Option<Self> {
        let mut groups = tokens.into_iter().map(|token| match token {
            TokenTree::Group(group) => Some(group.stream()),
            _ => None,
        });
        let mut input = Self {
            krate: groups.next()??,
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

    /// The names that the arguments have in the closure, which takes them in a tuple.
    pub(crate) fn bindings(&self) -> Vec<TokenStream> {
        self.arguments
            .iter()
            .enumerate()
            .map(|(index, argument)| binding(index, argument.span))
            .collect()
    }
}

/// Where an expression stands: all of it, as `macro_rules` has kept it together.
fn location(value: TokenStream) -> Span {
    value
        .into_iter()
        .next()
        .map_or_else(Span::call_site, |token| token.span())
}

/// The name of a reference to a value; what is wrong with the value is shown where it stands.
pub(crate) fn binding(index: usize, span: Span) -> TokenStream {
    let name = Ident::new(
        &format!("__argument_{index}"),
        Span::mixed_site().located_at(span),
    );
    TokenTree::Ident(name).into()
}
