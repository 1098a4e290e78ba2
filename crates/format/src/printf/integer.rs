//! `%d %i %u %o %x %X`

use super::layout::Layout;
use crate::based;
use crate::cursor::Cursor;
use crate::encoding::Output;
use crate::integer::{self, signed_32, signed_64, unsigned_32, unsigned_64};
use crate::scratch::Digits;
use crate::word::{Lead, Word};

/// Names C types that a length modifier stands for.
macro_rules! lengths {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;
    )*};
}

lengths! {
    /// `hh`
    Char;
    /// `h`
    Short;
    /// No modifier.
    Int;
    /// `l`
    Long;
    /// `ll`
    LongLong;
    /// `j`
    IntMax;
    /// `z`
    Size;
    /// `t`
    PtrDiff;
}

/// A value that a signed conversion takes.
#[diagnostic::on_unimplemented(
    message = "a signed conversion of this length can't take `{Self}`",
    label = "`{Self}` is not what the conversion says",
    note = "`%d` takes i32, `%hhd` i8, `%hd` i16, `%ld`, `%lld` and `%jd` i64, `%zd` and `%td` isize; what C would promote to `int` is taken by `%d`"
)]
pub trait Signed<L> {
    /// Its value.
    fn value(&self) -> i64;
}

/// A value that an unsigned conversion takes.
#[diagnostic::on_unimplemented(
    message = "an unsigned conversion of this length can't take `{Self}`",
    label = "`{Self}` is not what the conversion says",
    note = "`%u` and `%x` take u32, `%hhu` u8, `%hu` u16, `%lu`, `%llu` and `%ju` u64, `%zu` and `%tu` usize; a signed number of the same size stands for its bits"
)]
pub trait Unsigned<L> {
    /// Its bits.
    fn bits(&self) -> u64;
}

macro_rules! signed {
    ($($length:ty: $($type:ty)*;)*) => {$($(
        impl Signed<$length> for $type {
            #[inline(always)]
            fn value(&self) -> i64 {
                *self as i64
            }
        }
    )*)*};
}

macro_rules! unsigned {
    ($($length:ty: $($type:ty as $unsigned:ty),*;)*) => {$($(
        impl Unsigned<$length> for $type {
            #[inline(always)]
            fn bits(&self) -> u64 {
                *self as $unsigned as u64
            }
        }
    )*)*};
}

signed! {
    Char: i8;
    Short: i16 i8 u8;
    Int: i32 i16 i8 u16 u8;
    LongLong: i64;
    IntMax: i64;
    Size: isize;
    PtrDiff: isize;
}

// A negative number is promoted to `int` before its bits are taken.
unsigned! {
    Char: u8 as u8, i8 as u8;
    Short: u16 as u16, u8 as u16, i16 as u16, i8 as u16;
    Int: u32 as u32, u16 as u32, u8 as u32, i32 as u32, i16 as u32, i8 as u32;
    LongLong: u64 as u64, i64 as u64;
    IntMax: u64 as u64, i64 as u64;
    Size: usize as usize, isize as usize;
    PtrDiff: usize as usize, isize as usize;
}

// C's `long` is as wide as a pointer on the systems that this is for, and 32 bits on Windows.
#[cfg(not(any(windows, target_pointer_width = "32")))]
signed! { Long: i64 isize; }
#[cfg(not(any(windows, target_pointer_width = "32")))]
unsigned! { Long: u64 as u64, i64 as u64, usize as usize, isize as usize; }
#[cfg(any(windows, target_pointer_width = "32"))]
signed! { Long: i32; }
#[cfg(any(windows, target_pointer_width = "32"))]
unsigned! { Long: u32 as u32, i32 as u32; }

/// The value behind a reference, as with `{}`.
impl<L, T: Signed<L> + ?Sized> Signed<L> for &T {
    #[inline(always)]
    fn value(&self) -> i64 {
        (**self).value()
    }
}

impl<L, T: Unsigned<L> + ?Sized> Unsigned<L> for &T {
    #[inline(always)]
    fn bits(&self) -> u64 {
        (**self).bits()
    }
}

/// `%d` without flags, width or precision.
#[inline(always)]
pub fn signed<L, T: Signed<L>, E>(_: L, out: &mut Output<'_, '_, E>, lead: Lead, value: &T) {
    let value = value.value();
    if size_of::<T>() <= 4 {
        out.hand(|out| signed_32(out, lead, value as i32));
    } else {
        out.hand(|out| signed_64(out, lead, value));
    }
}

/// `%d`
#[inline(always)]
pub fn signed_laid_out<L, T: Signed<L>, E>(
    _: L,
    out: &mut Output<'_, '_, E>,
    lead: Lead,
    value: &T,
    layout: &Layout,
) {
    let value = value.value();
    out.hand(|out| any_signed(out, lead, value, layout));
}

/// `%u` without flags, width or precision.
#[inline(always)]
pub fn unsigned<L, T: Unsigned<L>, E>(_: L, out: &mut Output<'_, '_, E>, lead: Lead, value: &T) {
    let value = value.bits();
    if size_of::<T>() <= 4 {
        out.hand(|out| unsigned_32(out, lead, value as u32));
    } else {
        out.hand(|out| unsigned_64(out, lead, value));
    }
}

/// `%u`
#[inline(always)]
pub fn unsigned_laid_out<L, T: Unsigned<L>, E>(
    _: L,
    out: &mut Output<'_, '_, E>,
    lead: Lead,
    value: &T,
    layout: &Layout,
) {
    let value = value.bits();
    out.hand(|out| any_unsigned(out, lead, value, layout));
}

/// `%x` and `%X` without flags, width or precision.
#[inline(always)]
pub fn hexadecimal<L, T: Unsigned<L>, E>(
    _: L,
    upper: bool,
    out: &mut Output<'_, '_, E>,
    lead: Lead,
    value: &T,
) {
    let value = value.bits();
    out.hand(|out| based::hexadecimal(out, lead, value, 0, upper));
}

/// `%x` and `%X`
#[inline(always)]
pub fn hexadecimal_laid_out<L, T: Unsigned<L>, E>(
    _: L,
    upper: bool,
    out: &mut Output<'_, '_, E>,
    lead: Lead,
    value: &T,
    layout: &Layout,
) {
    let value = value.bits();
    out.hand(|out| any_hexadecimal(out, lead, value, upper, layout));
}

/// `%o`
#[inline(always)]
pub fn octal<L, T: Unsigned<L>, E>(
    _: L,
    out: &mut Output<'_, '_, E>,
    lead: Lead,
    value: &T,
    layout: &Layout,
) {
    let value = value.bits();
    out.hand(|out| any_octal(out, lead, value, layout));
}

/// `%05d`
#[inline(always)]
pub fn signed_with_zeros<L, T: Signed<L>, E>(
    _: L,
    out: &mut Output<'_, '_, E>,
    lead: Lead,
    value: &T,
    width: u16,
) {
    let value = value.value();
    out.hand(|out| integer::signed_with_zeros(out, lead, value, width));
}

/// `%05u`
#[inline(always)]
pub fn unsigned_with_zeros<L, T: Unsigned<L>, E>(
    _: L,
    out: &mut Output<'_, '_, E>,
    lead: Lead,
    value: &T,
    width: u16,
) {
    let value = value.bits();
    out.hand(|out| integer::unsigned_with_zeros(out, lead, value, width));
}

/// `%05x` and `%05X`
#[inline(always)]
pub fn hexadecimal_with_zeros<L, T: Unsigned<L>, E>(
    _: L,
    upper: bool,
    out: &mut Output<'_, '_, E>,
    lead: Lead,
    value: &T,
    width: u16,
) {
    let value = value.bits();
    // Types of up to four bytes are promoted to 32 bits.
    if width == 8 && size_of::<T>() <= 4 {
        return out.hand(|out| based::eight_digits(out, lead, value as u32, upper));
    }
    out.hand(|out| based::hexadecimal(out, lead, value, width, upper));
}

#[inline(never)]
fn any_signed<'r, 's>(out: Cursor<'r, 's>, lead: Lead, value: i64, layout: &Layout) -> Cursor<'r, 's> {
    if let Some(layout) = layout.in_rust() {
        return integer::signed_laid_out(out, lead, value, &layout);
    }
    let (sign, magnitude) = (layout.sign(value < 0), value.unsigned_abs());
    let digits = Digits::decimal(magnitude);
    laid_out(out, lead, layout, sign, magnitude, digits.as_bytes())
}

#[inline(never)]
fn any_unsigned<'r, 's>(out: Cursor<'r, 's>, lead: Lead, value: u64, layout: &Layout) -> Cursor<'r, 's> {
    // The flags for signs apply to signed conversions only.
    let layout = Layout {
        plus: false,
        space: false,
        ..*layout
    };
    if let Some(layout) = layout.in_rust() {
        return integer::unsigned_laid_out(out, lead, value, &layout);
    }
    let digits = Digits::decimal(value);
    laid_out(out, lead, &layout, Word::EMPTY, value, digits.as_bytes())
}

#[inline(never)]
fn any_hexadecimal<'r, 's>(
    out: Cursor<'r, 's>,
    lead: Lead,
    value: u64,
    upper: bool,
    layout: &Layout,
) -> Cursor<'r, 's> {
    let prefix = if layout.alternate && value != 0 {
        let letter = if upper { b'X' } else { b'x' };
        Word::byte_if(b'0', true).then(Word::byte_if(letter, true))
    } else {
        Word::EMPTY
    };
    let digits = Digits::hexadecimal(value, upper);
    laid_out(out, lead, layout, prefix, value, digits.as_bytes())
}

#[inline(never)]
fn any_octal<'r, 's>(out: Cursor<'r, 's>, lead: Lead, value: u64, layout: &Layout) -> Cursor<'r, 's> {
    let digits = Digits::octal(value);
    let digits = digits.as_bytes();
    let mut layout = *layout;
    // `#` asks for one leading zero, which the precision may supply.
    let zeros_enough = value == 0 && layout.precision != Some(0);
    let mut prefix = Word::EMPTY;
    if layout.alternate && !zeros_enough {
        match layout.precision {
            Some(precision) => {
                layout.precision = Some(precision.max(if value == 0 { 1 } else { digits.len() + 1 }))
            }
            None => prefix = Word::byte_if(b'0', true),
        }
    }
    laid_out(out, lead, &layout, prefix, value, digits)
}

/// Appends a number whose precision is the least number of its digits.
#[inline]
fn laid_out<'r, 's>(
    mut out: Cursor<'r, 's>,
    lead: Lead,
    layout: &Layout,
    before: Word,
    number: u64,
    digits: &[u8],
) -> Cursor<'r, 's> {
    out.word(lead.word());
    match layout.precision {
        // Then 0 has no digits.
        Some(0) if number == 0 => layout.number(&mut out, before, 0, b"", false),
        Some(precision) => layout.number(
            &mut out,
            before,
            precision.saturating_sub(digits.len()),
            digits,
            false,
        ),
        None => layout.number(&mut out, before, 0, digits, layout.zero),
    }
    out
}

/// Appends an address as `%p` does.
#[inline]
pub(super) fn address<'r, 's>(
    out: Cursor<'r, 's>,
    lead: Lead,
    address: usize,
    layout: &Layout,
) -> Cursor<'r, 's> {
    let digits = Digits::hexadecimal(address as u64, false);
    let prefix = Word::byte_if(b'0', true).then(Word::byte_if(b'x', true));
    laid_out(
        out,
        lead,
        layout,
        layout.sign(false).then(prefix),
        address as u64,
        digits.as_bytes(),
    )
}
