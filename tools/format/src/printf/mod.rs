//! What `c!` writes: C's conversions, with the output of the GNU C library in the C locale.

mod float;
mod integer;
mod layout;
mod text;

pub use float::float;
pub use integer::{
    Char, Int, IntMax, Long, LongLong, PtrDiff, Short, Signed, Size, Unsigned, hexadecimal, octal, signed,
    unsigned,
};
pub use layout::Layout;
pub use text::{Character, Pointer, Str, character, pointer, string};
