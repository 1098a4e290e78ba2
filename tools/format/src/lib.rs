//! Formatting at compile time, for Rust.
#![no_std]

extern crate alloc;

mod buffer;
mod cursor;
mod digits;
mod fixed;
mod float;
mod hex;
mod integer;
mod layout;
mod specialize;
mod text;

pub use buffer::Buffer;
pub use fixed::{Fixed, Full};

/// What the macros' expansions use. Nothing here is for use by hand, and all of it may change.
#[doc(hidden)]
pub mod __private {
    pub use crate::buffer::Buffer;
    pub use crate::layout::{Align, Layout, count};
    pub use crate::specialize::kinds::{
        Binary, Debug, Display, LowerExp, LowerHex, Octal, UpperExp, UpperHex,
    };
    pub use crate::specialize::{ByCore, BySpecialization, Probe};
    pub use core::format_args;
    pub use core::option::Option::{None, Some};
    pub use format_macros::{append, split};
}

/// Appends formatted values to a buffer.
#[macro_export]
macro_rules! append {
    ($($input:tt)*) => {
        $crate::__private::split! { [$crate] append $($input)* }
    };
}

/// Takes apart what `split!` has marked.
#[doc(hidden)]
#[macro_export]
macro_rules! __exprs {
    ($macro:ident $buffer:expr, $format:expr $(, $(@ $name:ident)? $value:expr)* $(,)?) => {
        $crate::__private::$macro! { [$crate] [$buffer] [$format] $([$($name)?] [$value])* }
    };
}
