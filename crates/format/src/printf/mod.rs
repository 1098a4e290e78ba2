//! C's conversions for `c!`, with the output of the GNU C library in the C locale.

mod float;
mod integer;
mod layout;
mod text;

pub use float::{Double, fixed, float};
pub use integer::{
    Char, Int, IntMax, Long, LongLong, PtrDiff, Short, Signed, Size, Unsigned, hexadecimal,
    hexadecimal_laid_out, hexadecimal_with_zeros, octal, signed, signed_laid_out, signed_with_zeros,
    unsigned, unsigned_laid_out, unsigned_with_zeros,
};
pub use layout::Layout;
pub use text::{Character, Pointer, Str, character, character_laid_out, pointer, string, string_laid_out};
