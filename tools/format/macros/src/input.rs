//! What a call of a macro consists of.
//!
//! A token stream can't be cut at commas without knowing expressions (`f::<A, B>()`, `|a, b| a`), and the compiler knows
//! them best. So a call is read in two steps: [`split`] marks the names of `name = value` with an `@`, then a
//! `macro_rules` rule of the main crate takes expressions apart, and gives each back in brackets of its own.

use crate::literal::unwrap;
use proc_macro::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};

/// A value that was handed to the macro.
pub(crate) struct Argument {
    /// Its name, if it was written `name = value`.
    pub(crate) name: Option<Ident>,
    /// The expression.
    pub(crate) value: TokenStream,
}

/// A call of a macro, taken apart.
pub(crate) struct Input {
    /// The tokens `$crate`: the main crate, by whatever name the caller knows it.
    pub(crate) krate: TokenStream,
    /// Where the bytes go.
    pub(crate) buffer: TokenStream,
    /// The format string, not yet looked at.
    pub(crate) format: TokenStream,
    /// What is formatted.
    pub(crate) arguments: Vec<Argument>,
}

impl Input {
    /// Reads `[crate] [buffer] [format] [name] [value] [name] [value]…`, as the main crate's rules write it.
    pub(crate) fn read(tokens: TokenStream) -> Option<Self> {
        let mut groups = tokens.into_iter().map(|token| match token {
            TokenTree::Group(group) => Some(group.stream()),
            _ => None,
        });
        let mut input = Self {
            krate: groups.next()??,
            buffer: groups.next()??,
            format: unwrap(groups.next()??),
            arguments: Vec::new(),
        };
        while let Some(name) = groups.next() {
            let name = unwrap(name?).into_iter().next().and_then(|token| match token {
                TokenTree::Ident(ident) => Some(ident),
                _ => None,
            });
            let value = groups.next()??;
            input.arguments.push(Argument { name, value });
        }
        Some(input)
    }
}

/// Rewrites `[crate] macro buffer, format, name = value` to `crate::__exprs!(macro buffer, format, @name value)`.
pub(crate) fn split(tokens: TokenStream) -> TokenStream {
    let mut tokens = tokens.into_iter();
    let Some(TokenTree::Group(krate)) = tokens.next() else {
        return TokenStream::new();
    };
    let mut marked: Vec<TokenTree> = Vec::new();
    let mut after_comma = false;
    let mut rest = tokens.peekable();
    while let Some(token) = rest.next() {
        let name = match (&token, rest.peek()) {
            (TokenTree::Ident(name), Some(TokenTree::Punct(equals))) if after_comma => {
                equals.as_char() == '=' && equals.spacing() == Spacing::Alone && name.to_string() != "_"
            }
            _ => false,
        };
        after_comma = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == ',');
        if name {
            rest.next();
            marked.push(Punct::new('@', Spacing::Alone).into());
        }
        marked.push(token);
    }
    let mut output = krate.stream();
    output.extend("::__exprs!".parse::<TokenStream>().unwrap_or_default());
    let mut group = Group::new(Delimiter::Brace, marked.into_iter().collect());
    group.set_span(Span::call_site());
    output.extend([TokenTree::Group(group)]);
    output
}
