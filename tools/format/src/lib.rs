//! Formatting at compile time, for Rust.
#![no_std]

extern crate alloc;

mod based;
mod buffer;
mod cursor;
mod digits;
mod fixed;
mod float;
mod hex;
mod integer;
mod layout;
#[doc(hidden)]
pub mod printf;
mod scratch;
mod shortest;
mod specialize;
mod text;

pub use buffer::Buffer;
pub use fixed::{Fixed, Full};

/// What the macros' expansions use. Nothing here is for use by hand, and all of it may change.
#[doc(hidden)]
pub mod __private {
    pub use crate::buffer::Buffer;
    pub use crate::layout::{Align, Layout, count};
    pub use crate::printf;
    pub use crate::specialize::kinds::{
        Binary, Debug, Display, LowerExp, LowerHex, Octal, UpperExp, UpperHex,
    };
    pub use crate::specialize::{ByCore, BySpecialization, Probe};
    pub use core::option::Option::{None, Some};
    pub use core::{compile_error, format_args};
    pub use format_macros::{append, c};
}

/// Appends formatted values to a buffer.
#[macro_export]
macro_rules! append {
    ($buffer:expr, $format:expr $(, $($arguments:tt)*)?) => {
        $crate::__call! { [append] [$buffer] [$format] [] $($($arguments)*)? }
    };
}

/// Appends values formatted as C's `printf` formats them.
#[macro_export]
macro_rules! c {
    ($buffer:expr, $format:expr $(, $($arguments:tt)*)?) => {
        $crate::__call! { [c] [$buffer] [$format] [] $($($arguments)*)? }
    };
}

/// Takes the arguments of a macro one by one, names apart from values, and then writes the call.
#[doc(hidden)]
#[macro_export]
macro_rules! __call {
    ([$macro:ident] [$buffer:expr] [$format:expr] [$([$($name:ident)?] [$value:expr])*]) => {{
        #[allow(unused_imports)]
        use $crate::__private::{Buffer as _, ByCore as _, BySpecialization as _};
        $buffer.__append(
            ($(&$value,)*),
            $crate::__private::$macro! { [$crate] [$format] $([$($name)?] [$value])* },
        )
    }};
    ($macro:tt $buffer:tt $format:tt [$($done:tt)*] $name:ident = $value:expr $(, $($rest:tt)*)?) => {
        $crate::__call! { $macro $buffer $format [$($done)* [$name] [$value]] $($($rest)*)? }
    };
    ($macro:tt $buffer:tt $format:tt [$($done:tt)*] $value:expr $(, $($rest:tt)*)?) => {
        $crate::__call! { $macro $buffer $format [$($done)* [] [$value]] $($($rest)*)? }
    };
}
