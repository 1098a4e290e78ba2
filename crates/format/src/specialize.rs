//! Selects the fast form of a type, if it has one.
//!
//! A macro does not know types, but method resolution does: `(&Probe).__plain(…)` first finds [`BySpecialization`], which
//! `Probe` implements for types with a fast form, and only then [`ByCore`], which every `&Probe` implements. In a generic
//! function only the bounds of the type are known, so `core::fmt` writes the value.
//!
//! A function named after the formatting trait creates the probe; its bound makes the compiler check the trait.

use crate::cursor::{Cursor, by_core};
use crate::layout::Layout;
use crate::word::Lead;
use core::fmt::{self, Arguments, Formatter};
use core::marker::PhantomData;

/// Names of the formatting traits, as types.
pub(crate) mod kinds {
    /// `{}`
    #[derive(Debug)]
    pub enum Display {}
    /// `{:?}`
    #[derive(Debug)]
    pub enum Debug {}
    /// `{:x}`
    #[derive(Debug)]
    pub enum LowerHex {}
    /// `{:X}`
    #[derive(Debug)]
    pub enum UpperHex {}
    /// `{:o}`
    #[derive(Debug)]
    pub enum Octal {}
    /// `{:b}`
    #[derive(Debug)]
    pub enum Binary {}
    /// `{:e}`
    #[derive(Debug)]
    pub enum LowerExp {}
    /// `{:E}`
    #[derive(Debug)]
    pub enum UpperExp {}
}

/// Functions that create a probe. They are written out because compiler errors about a value show them.
pub(crate) mod probes {
    use super::{Probe, kinds};
    use core::fmt;

    /// `{}`
    #[inline(always)]
    pub fn display<T: fmt::Display + ?Sized>(value: &T) -> Probe<'_, kinds::Display, T> {
        Probe::new(value, <T as fmt::Display>::fmt)
    }

    /// `{:?}`
    #[inline(always)]
    pub fn debug<T: fmt::Debug + ?Sized>(value: &T) -> Probe<'_, kinds::Debug, T> {
        Probe::new(value, <T as fmt::Debug>::fmt)
    }

    /// `{:x}`
    #[inline(always)]
    pub fn lower_hex<T: fmt::LowerHex + ?Sized>(value: &T) -> Probe<'_, kinds::LowerHex, T> {
        Probe::new(value, <T as fmt::LowerHex>::fmt)
    }

    /// `{:X}`
    #[inline(always)]
    pub fn upper_hex<T: fmt::UpperHex + ?Sized>(value: &T) -> Probe<'_, kinds::UpperHex, T> {
        Probe::new(value, <T as fmt::UpperHex>::fmt)
    }

    /// `{:o}`
    #[inline(always)]
    pub fn octal<T: fmt::Octal + ?Sized>(value: &T) -> Probe<'_, kinds::Octal, T> {
        Probe::new(value, <T as fmt::Octal>::fmt)
    }

    /// `{:b}`
    #[inline(always)]
    pub fn binary<T: fmt::Binary + ?Sized>(value: &T) -> Probe<'_, kinds::Binary, T> {
        Probe::new(value, <T as fmt::Binary>::fmt)
    }

    /// `{:e}`
    #[inline(always)]
    pub fn lower_exp<T: fmt::LowerExp + ?Sized>(value: &T) -> Probe<'_, kinds::LowerExp, T> {
        Probe::new(value, <T as fmt::LowerExp>::fmt)
    }

    /// `{:E}`
    #[inline(always)]
    pub fn upper_exp<T: fmt::UpperExp + ?Sized>(value: &T) -> Probe<'_, kinds::UpperExp, T> {
        Probe::new(value, <T as fmt::UpperExp>::fmt)
    }
}

/// A type with a fast form for one of the formatting traits.
///
/// `lead` is the text before the value. `core` is the same value for `core::fmt`, for formats without a fast form.
pub trait Specialized<K> {
    /// `{}`
    fn plain(&self, out: &mut Cursor<'_, '_>, lead: Lead);

    /// `{:.3}`
    #[inline(always)]
    fn precise(&self, out: &mut Cursor<'_, '_>, lead: Lead, precision: u16) {
        let _ = precision;
        self.plain(out, lead);
    }

    /// `{:02}`
    fn with_zeros(&self, out: &mut Cursor<'_, '_>, lead: Lead, width: u16);

    /// Everything else.
    fn laid_out(&self, out: &mut Cursor<'_, '_>, lead: Lead, layout: &Layout, core: Arguments<'_>);
}

/// A value to format by the trait `K`.
pub struct Probe<'a, K, T: ?Sized> {
    value: &'a T,
    core: Formatting<T>,
    kind: PhantomData<K>,
}

impl<'a, K, T: ?Sized> Probe<'a, K, T> {
    #[inline(always)]
    fn new(value: &'a T, core: Formatting<T>) -> Self {
        Self {
            value,
            core,
            kind: PhantomData,
        }
    }
}

/// The method of a formatting trait.
type Formatting<T> = fn(&T, &mut Formatter<'_>) -> fmt::Result;

/// The methods for types with a fast form.
pub trait BySpecialization {
    /// `{}`
    fn __plain(&self, out: &mut Cursor<'_, '_>, lead: Lead);
    /// `{:.3}`
    fn __precise(&self, out: &mut Cursor<'_, '_>, lead: Lead, precision: u16);
    /// `{:02}`
    fn __with_zeros(&self, out: &mut Cursor<'_, '_>, lead: Lead, width: u16);

    /// Everything else.
    fn __laid_out(&self, out: &mut Cursor<'_, '_>, lead: Lead, layout: &Layout, core: Arguments<'_>);
}

impl<K, T: Specialized<K> + ?Sized> BySpecialization for Probe<'_, K, T> {
    #[inline(always)]
    fn __plain(&self, out: &mut Cursor<'_, '_>, lead: Lead) {
        self.value.plain(out, lead);
    }

    #[inline(always)]
    fn __precise(&self, out: &mut Cursor<'_, '_>, lead: Lead, precision: u16) {
        self.value.precise(out, lead, precision);
    }

    #[inline(always)]
    fn __with_zeros(&self, out: &mut Cursor<'_, '_>, lead: Lead, width: u16) {
        self.value.with_zeros(out, lead, width);
    }

    #[inline(always)]
    fn __laid_out(&self, out: &mut Cursor<'_, '_>, lead: Lead, layout: &Layout, core: Arguments<'_>) {
        self.value.laid_out(out, lead, layout, core);
    }
}

/// The same methods for every type.
pub trait ByCore {
    /// `{}`
    fn __plain(&self, out: &mut Cursor<'_, '_>, lead: Lead);
    /// `{:.3}`
    fn __precise(&self, out: &mut Cursor<'_, '_>, lead: Lead, precision: u16);
    /// `{:02}`
    fn __with_zeros(&self, out: &mut Cursor<'_, '_>, lead: Lead, width: u16);

    /// Everything else.
    fn __laid_out(&self, out: &mut Cursor<'_, '_>, lead: Lead, layout: &Layout, core: Arguments<'_>);
}

impl<K, T: ?Sized> ByCore for &Probe<'_, K, T> {
    #[inline]
    fn __plain(&self, out: &mut Cursor<'_, '_>, lead: Lead) {
        out.__arguments(lead, format_args!("{}", self));
    }

    #[inline]
    fn __precise(&self, out: &mut Cursor<'_, '_>, lead: Lead, precision: u16) {
        let precision = usize::from(precision);
        out.__arguments(lead, format_args!("{:.precision$}", self));
    }

    #[inline]
    fn __with_zeros(&self, out: &mut Cursor<'_, '_>, lead: Lead, width: u16) {
        let width = usize::from(width);
        out.__arguments(lead, format_args!("{:0width$}", self));
    }

    #[inline(always)]
    fn __laid_out(&self, out: &mut Cursor<'_, '_>, lead: Lead, _: &Layout, core: Arguments<'_>) {
        out.hand(|out| by_core(out, lead, core));
    }
}

/// `{}` of a probe formats the value by the probe's trait.
impl<K, T: ?Sized> fmt::Display for Probe<'_, K, T> {
    #[inline]
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        (self.core)(self.value, f)
    }
}

/// Implements [`Specialized`] for pointers to a type, as `core` forwards its traits.
macro_rules! forward {
    ($($type:ty),*) => {$(
        impl<K, T: Specialized<K> + ?Sized> Specialized<K> for $type {
            #[inline(always)]
            fn plain(&self, out: &mut Cursor<'_, '_>, lead: Lead) {
                (**self).plain(out, lead);
            }

            #[inline(always)]
            fn precise(&self, out: &mut Cursor<'_, '_>, lead: Lead, precision: u16) {
                (**self).precise(out, lead, precision);
            }

            #[inline(always)]
            fn with_zeros(&self, out: &mut Cursor<'_, '_>, lead: Lead, width: u16) {
                (**self).with_zeros(out, lead, width);
            }

            #[inline(always)]
            fn laid_out(&self, out: &mut Cursor<'_, '_>, lead: Lead, layout: &Layout, core: Arguments<'_>) {
                (**self).laid_out(out, lead, layout, core);
            }
        }
    )*};
}

// `Box`, `Rc` and `Arc` forward `{}` and `{:?}` but not `{:x}`.
forward!(&T, &mut T);
