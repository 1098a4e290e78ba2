//! The text of a format between its values.
//!
//! Short text is passed with the next value, in two registers, instead of by a call of its own.

use crate::quote::fill;
use proc_macro::{Literal, TokenStream, TokenTree};

/// The estimated length of a value, for a buffer that has to grow; most values are shorter.
const VALUE_LENGTH: usize = 16;

/// The statements of a call, and the estimated length of its output.
#[derive(Default)]
pub(crate) struct Statements {
    statements: TokenStream,
    /// Text without a statement so far.
    text: String,
    /// The estimated number of bytes that the statements write.
    pub(crate) about: usize,
}

impl Statements {
    /// Adds text.
    pub(crate) fn text(&mut self, text: &str) {
        self.text.push_str(text);
        self.about += text.len();
    }

    /// The text to pass with the next value.
    pub(crate) fn lead(&mut self) -> TokenStream {
        self.about += VALUE_LENGTH;
        let text = std::mem::take(&mut self.text);
        let (first, rest) = halves(&text);
        if !first.is_empty() {
            self.write(first);
        }
        lead(rest).unwrap_or_else(|| {
            self.write(rest);
            fill("__format::Lead::new(0, 0)", &[])
        })
    }

    /// Adds a call that writes text.
    fn write(&mut self, text: &str) {
        self.statements.extend(match lead(text) {
            Some(lead) => fill("__out.__lead(LEAD);", &[("LEAD", &lead)]),
            None => long(text),
        });
    }

    /// Adds a statement that writes a value.
    pub(crate) fn push(&mut self, statement: TokenStream) {
        self.statements.extend(statement);
    }

    /// All of them.
    pub(crate) fn finish(mut self) -> TokenStream {
        let text = std::mem::take(&mut self.text);
        let (first, rest) = halves(&text);
        for half in [first, rest] {
            if !half.is_empty() {
                self.write(half);
            }
        }
        self.statements
    }
}

/// Splits text that fits two words: writing them is faster than a copy of variable length.
fn halves(text: &str) -> (&str, &str) {
    match text.len() {
        9..=16 if text.is_ascii() => text.split_at(8),
        _ => ("", text),
    }
}

/// Short text as a word, whose lowest byte comes first.
fn lead(text: &str) -> Option<TokenStream> {
    let mut bytes = [0; 8];
    bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
    text.is_ascii().then(|| {
        fill(
            &format!(
                "__format::Lead::new({}, {})",
                u64::from_le_bytes(bytes),
                text.len()
            ),
            &[],
        )
    })
}

fn long(text: &str) -> TokenStream {
    fill(
        "__out.__text(TEXT);",
        &[("TEXT", &TokenTree::Literal(Literal::string(text)).into())],
    )
}
