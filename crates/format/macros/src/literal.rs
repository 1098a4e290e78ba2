//! The text of a literal token.
//!
//! A macro receives the token as it was written. This module resolves its escapes, and `concat!` of literals, which
//! procedural macros receive unexpanded.

use proc_macro::{Delimiter, Group, Literal, Span, TokenStream, TokenTree};

/// A format string.
pub(crate) struct Format {
    /// Its text.
    pub(crate) text: String,
    /// The location for errors.
    pub(crate) span: Span,
    /// True for a literal in the call itself, which may capture variables.
    pub(crate) captures: bool,
}

impl Format {
    /// Reads a string literal or a `concat!` of literals; `None` for every other expression.
    pub(crate) fn read(tokens: TokenStream) -> Option<Self> {
        let tokens: Vec<_> = unwrap(tokens).into_iter().collect();
        match tokens.as_slice() {
            [TokenTree::Literal(literal)] => Some(Self {
                text: string(&literal.to_string())?,
                span: literal.span(),
                captures: true,
            }),
            [.., TokenTree::Punct(bang), TokenTree::Group(group)] if bang.as_char() == '!' => Some(Self {
                text: concat(&tokens[..tokens.len() - 2], group)?,
                span: group.span(),
                captures: false,
            }),
            _ => None,
        }
    }
}

/// Removes the invisible parentheses that `macro_rules` puts around an expression.
pub(crate) fn unwrap(tokens: TokenStream) -> TokenStream {
    let mut iterator = tokens.clone().into_iter();
    match (iterator.next(), iterator.next()) {
        (Some(TokenTree::Group(group)), None) if group.delimiter() == Delimiter::None => {
            unwrap(group.stream())
        }
        _ => tokens,
    }
}

/// The tokens without invisible parentheses, which literals from another macro have.
fn flat(tokens: TokenStream) -> Vec<TokenTree> {
    tokens
        .into_iter()
        .flat_map(|token| match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => flat(group.stream()),
            other => vec![other],
        })
        .collect()
}

/// `concat`, `core::concat` or `std::concat` and its arguments.
fn concat(path: &[TokenTree], arguments: &Group) -> Option<String> {
    let path: String = path.iter().map(ToString::to_string).collect();
    let path = path.trim_start_matches("::");
    if !matches!(path, "concat" | "core::concat" | "std::concat") {
        return None;
    }
    let mut text = String::new();
    let mut after_comma = true;
    let mut negative = false;
    let mut tokens = flat(arguments.stream()).into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ',' && !after_comma => after_comma = true,
            TokenTree::Punct(punct) if punct.as_char() == '-' && after_comma => negative = true,
            TokenTree::Literal(literal) if after_comma => {
                text.push_str(if std::mem::take(&mut negative) { "-" } else { "" });
                text.push_str(&plain(&literal)?);
                after_comma = false;
            }
            TokenTree::Ident(ident) if after_comma => {
                let word = ident.to_string();
                match tokens.peek() {
                    None => (),
                    Some(TokenTree::Punct(next)) if next.as_char() == ',' => (),
                    Some(_) => return None,
                }
                text.push_str(["true", "false"].into_iter().find(|known| *known == word)?);
                after_comma = false;
            }
            _ => return None,
        }
    }
    Some(text)
}

/// The text that `concat!` produces for a literal. Numbers are accepted only in the spelling in which they are printed.
fn plain(literal: &Literal) -> Option<String> {
    let token = literal.to_string();
    if token.starts_with(['"', 'r']) {
        return string(&token);
    }
    if let Some(inner) = token.strip_prefix('\'') {
        return escapes(inner.strip_suffix('\'')?);
    }
    let simple = token.bytes().all(|byte| byte.is_ascii_digit()) && (token == "0" || !token.starts_with('0'));
    simple.then_some(token)
}

/// The text of a string token, raw or not.
fn string(token: &str) -> Option<String> {
    if let Some(raw) = token.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let quoted = raw.get(hashes..raw.len() - hashes)?;
        return Some(quoted.strip_prefix('"')?.strip_suffix('"')?.to_owned());
    }
    escapes(token.strip_prefix('"')?.strip_suffix('"')?)
}

/// Resolves the escapes of a string or character literal, which the compiler has checked.
fn escapes(written: &str) -> Option<String> {
    let mut text = String::with_capacity(written.len());
    let mut rest = written.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        text.push(match rest.next()? {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            '0' => '\0',
            same @ ('\\' | '\'' | '"') => same,
            'x' => {
                let digits = rest.as_str().get(..2)?;
                rest.nth(1);
                char::from(u8::from_str_radix(digits, 16).ok()?)
            }
            'u' => {
                let (digits, after) = rest.as_str().strip_prefix('{')?.split_once('}')?;
                rest = after.chars();
                char::from_u32(u32::from_str_radix(&digits.replace('_', ""), 16).ok()?)?
            }
            // A backslash before the end of a line skips the whitespace at the start of the next line.
            '\n' => {
                rest = rest.as_str().trim_start_matches([' ', '\t', '\n', '\r']).chars();
                continue;
            }
            '\r' if rest.as_str().starts_with('\n') => {
                rest = rest.as_str().trim_start_matches([' ', '\t', '\n', '\r']).chars();
                continue;
            }
            _ => return None,
        });
    }
    Some(text)
}
