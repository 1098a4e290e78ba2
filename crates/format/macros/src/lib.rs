//! The macros behind `hikyaku-format`; use that crate, whose `append!` and `c!` call these.
//!
//! These macros are not for direct use: their input is private to the two crates.

mod append;
mod c;
mod input;
mod lead;
mod literal;
mod printf;
mod quote;
mod rust;

use input::Input;
use proc_macro::TokenStream;

/// The block of an `append!`.
#[proc_macro]
pub fn append(input: TokenStream) -> TokenStream {
    Input::read(input).map_or_else(TokenStream::new, |input| append::append(&input, ""))
}

/// The block of an `appendln!`.
#[proc_macro]
pub fn append_line(input: TokenStream) -> TokenStream {
    Input::read(input).map_or_else(TokenStream::new, |input| append::append(&input, "\n"))
}

/// The block of a `c!`.
#[proc_macro]
pub fn c(input: TokenStream) -> TokenStream {
    Input::read(input).map_or_else(TokenStream::new, |input| c::c(&input))
}
