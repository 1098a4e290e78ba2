//! Tokens from a template.

use proc_macro::{Group, TokenStream, TokenTree};

/// The tokens of `template`, with each name of `substitutions` replaced by its tokens.
///
/// # Panics
/// If the template is not Rust, which is a mistake in this crate.
pub(crate) fn fill(template: &str, substitutions: &[(&str, &TokenStream)]) -> TokenStream {
    let tokens: TokenStream = match template.parse() {
        Ok(tokens) => tokens,
        Err(error) => panic!("the template {template:?} is no Rust: {error}"),
    };
    replace(tokens, substitutions)
}

fn replace(tokens: TokenStream, substitutions: &[(&str, &TokenStream)]) -> TokenStream {
    let mut output = TokenStream::new();
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                let name = ident.to_string();
                match substitutions.iter().find(|(known, _)| *known == name) {
                    Some((_, tokens)) => output.extend((*tokens).clone()),
                    None => output.extend([TokenTree::Ident(ident)]),
                }
            }
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), replace(group.stream(), substitutions));
                inner.set_span(group.span());
                output.extend([TokenTree::Group(inner)]);
            }
            other => output.extend([other]),
        }
    }
    output
}
