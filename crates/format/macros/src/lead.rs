//! The text of a format between its values.
//!
//! Text that is short goes with the value behind it, in two registers, instead of by a call of its own.

use crate::quote::fill;
use proc_macro::{Literal, TokenStream, TokenTree};

/// Room that a value is thought to take, for when the buffer has to grow: most are shorter.
const VALUE_LENGTH: usize = 16;

/// The statements of a call, and what it is about to write.
#[derive(Default)]
pub(crate) struct Statements {
    statements: TokenStream,
    /// Text that is not yet among the statements.
    text: String,
    /// About how many bytes the statements write.
    pub(crate) about: usize,
}

impl Statements {
    /// Text that is to be written.
    pub(crate) fn text(&mut self, text: &str) {
        self.text.push_str(text);
        self.about += text.len();
    }

    /// The text before a value which is to go with it.
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

    /// Writes text by a call of its own.
    fn write(&mut self, text: &str) {
        self.statements.extend(match lead(text) {
            Some(lead) => fill("__out.__lead(LEAD);", &[("LEAD", &lead)]),
            None => long(text),
        });
    }

    /// A statement that writes a value.
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

/// Text that makes two words, as these: that is faster than copying memory of any length.
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
