//! The macros behind `hikyaku-format`; use that crate, whose `append!` and `c!` call these.
//!
//! There is nothing here to be called by hand: the shapes of the input are private to the two crates.

mod append;
mod input;
mod literal;
mod quote;
mod rust;

use input::Input;
use proc_macro::TokenStream;

/// Marks the names of named arguments, so that `macro_rules` can take the call apart.
#[proc_macro]
pub fn split(input: TokenStream) -> TokenStream {
    input::split(input)
}

/// `append!`, taken apart.
#[proc_macro]
pub fn append(input: TokenStream) -> TokenStream {
    Input::read(input).map_or_else(TokenStream::new, |input| append::append(&input))
}
