//! Which types have a fast form, and how the macros find out.
//!
//! The expansion of a macro doesn't know types, but method calls do: `(&Probe).__plain(…)` finds [`BySpecialization`],
//! which is there for `Probe` if the type has a fast form, one step before [`ByCore`], which is there for every `&Probe`.
//! In a generic function the type is known to have only what its bounds say, and `core::fmt` writes it.
//!
//! A probe is made by a function of the trait's name, which makes the compiler check that the type has the trait.

use crate::cursor::{Cursor, by_core};
use crate::layout::Layout;
use crate::word::Lead;
use core::fmt::{self, Arguments, Formatter};
use core::marker::PhantomData;

/// Names of the formatting traits, as types, and what makes a probe for each.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $probe:ident;)*) => {
        pub(crate) mod kinds {
            $(
                $(#[$doc])*
                #[derive(Debug)]
                pub enum $kind {}
            )*
        }

        /// Functions that make a probe.
        pub(crate) mod probes {
            use super::{Probe, kinds};
            use core::marker::PhantomData;
            $(
                $(#[$doc])*
                #[inline(always)]
                pub fn $probe<T: core::fmt::$kind + ?Sized>(value: &T) -> Probe<'_, kinds::$kind, T> {
                    Probe { value, core: <T as core::fmt::$kind>::fmt, kind: PhantomData }
                }
            )*
        }
    };
}

kinds! {
    /// `{}`
    Display display;
    /// `{:?}`
    Debug debug;
    /// `{:x}`
    LowerHex lower_hex;
    /// `{:X}`
    UpperHex upper_hex;
    /// `{:o}`
    Octal octal;
    /// `{:b}`
    Binary binary;
    /// `{:e}`
    LowerExp lower_exp;
    /// `{:E}`
    UpperExp upper_exp;
}

/// A type with a fast form for one of the formatting traits.
///
/// `lead` is text that comes before the value. `core` is the same value for `core::fmt`, for what the fast form can't do.
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

/// A value that is to be formatted by the trait `K`.
pub struct Probe<'a, K, T: ?Sized> {
    value: &'a T,
    core: Formatting<T>,
    kind: PhantomData<K>,
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

/// `{}` of a probe is the trait that it asks for.
impl<K, T: ?Sized> fmt::Display for Probe<'_, K, T> {
    #[inline]
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        (self.core)(self.value, f)
    }
}

/// What forwards to another type in `core` does so here.
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
