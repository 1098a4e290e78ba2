//! `%d %i %u %o %x %X`

use super::layout::Layout;
use crate::based;
use crate::cursor::Cursor;
use crate::integer::{decimal_32, decimal_64};
use crate::scratch::Digits;

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

/// `%d`
#[inline(always)]
pub fn signed<L, T: Signed<L>, E>(_: L, out: &mut Cursor<'_, E>, value: &T, layout: Layout) {
    let value = value.value();
    let (negative, magnitude) = (value < 0, value.unsigned_abs());
    if layout.is_plain() {
        out.word(u64::from(b'-'), usize::from(negative));
        return plain::<T, E>(out, magnitude);
    }
    let digits = Digits::decimal(magnitude);
    laid_out(
        out,
        &layout,
        (layout.sign(negative), b""),
        magnitude,
        digits.as_bytes(),
    );
}

/// `%u`
#[inline(always)]
pub fn unsigned<L, T: Unsigned<L>, E>(_: L, out: &mut Cursor<'_, E>, value: &T, layout: Layout) {
    let value = value.bits();
    if (Layout {
        plus: false,
        space: false,
        alternate: false,
        ..layout
    })
    .is_plain()
    {
        return plain::<T, E>(out, value);
    }
    laid_out(out, &layout, (b"", b""), value, Digits::decimal(value).as_bytes());
}

/// A decimal number of a type whose size decides how large it can be.
#[inline(always)]
fn plain<T, E>(out: &mut Cursor<'_, E>, number: u64) {
    if size_of::<T>() <= 4 {
        decimal_32(out, number as u32)
    } else {
        decimal_64(out, number)
    }
}

/// `%x` and `%X`
#[inline(always)]
pub fn hexadecimal<L, T: Unsigned<L>, E>(
    _: L,
    upper: bool,
    out: &mut Cursor<'_, E>,
    value: &T,
    layout: Layout,
) {
    let value = value.bits();
    let layout = Layout {
        plus: false,
        space: false,
        ..layout
    };
    if layout.is_plain() {
        return based::hexadecimal(out, value, upper);
    }
    if let Layout {
        minus: false,
        zero: true,
        alternate: false,
        precision: None,
        width: 0..=8,
        ..
    } = layout
        && let Ok(value) = u32::try_from(value)
    {
        return based::zero_filled_hexadecimal(out, value, layout.width, upper);
    }
    let prefix: &[u8] = match (layout.alternate && value != 0, upper) {
        (true, false) => b"0x",
        (true, true) => b"0X",
        _ => b"",
    };
    laid_out(
        out,
        &layout,
        (b"", prefix),
        value,
        Digits::hexadecimal(value, upper).as_bytes(),
    );
}

/// `%o`
#[inline(always)]
pub fn octal<L, T: Unsigned<L>, E>(_: L, out: &mut Cursor<'_, E>, value: &T, layout: Layout) {
    let value = value.bits();
    let digits = Digits::octal(value);
    let digits = digits.as_bytes();
    let mut layout = layout;
    // `#` asks for one zero before the digits, which also the precision may bring.
    let zeros_enough = value == 0 && layout.precision != Some(0);
    let mut prefix: &[u8] = b"";
    if layout.alternate && !zeros_enough {
        match layout.precision {
            Some(precision) => {
                layout.precision = Some(precision.max(if value == 0 { 1 } else { digits.len() + 1 }))
            }
            None => prefix = b"0",
        }
    }
    laid_out(out, &layout, (b"", prefix), value, digits);
}

/// Appends a number whose precision is the least number of its digits.
#[inline]
fn laid_out<E>(out: &mut Cursor<'_, E>, layout: &Layout, before: (&[u8], &[u8]), number: u64, digits: &[u8]) {
    match layout.precision {
        // 0 has no digits then.
        Some(0) if number == 0 => layout.number(out, before, 0, b"", false),
        Some(precision) => layout.number(out, before, precision.saturating_sub(digits.len()), digits, false),
        None => layout.number(out, before, 0, digits, layout.zero),
    }
}

/// Appends an address as `%p` does.
#[inline]
pub(super) fn address<E>(out: &mut Cursor<'_, E>, address: usize, layout: &Layout) {
    let digits = Digits::hexadecimal(address as u64, false);
    laid_out(
        out,
        layout,
        (layout.sign(false), b"0x"),
        address as u64,
        digits.as_bytes(),
    );
}
