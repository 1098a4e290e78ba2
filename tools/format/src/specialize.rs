//! Which types have a fast form, and how the macros find out.
//!
//! The expansion of a macro doesn't know types, but method calls do: `(&Probe).plain(…)` finds [`BySpecialization`],
//! which is there for `Probe` if the type has a fast form, one step before [`ByCore`], which is there for every `&Probe`.
//! In a generic function the type is known to have only what its bounds say, and `core::fmt` writes it.

use crate::cursor::Cursor;
use crate::layout::Layout;
use core::fmt::Arguments;
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

/// A type with a fast form for one of the formatting traits.
///
/// `core` is the same value for `core::fmt`, for what the fast form can't do.
pub trait Specialized<K> {
    /// `{}`
    fn plain<E>(&self, out: &mut Cursor<'_, E>, core: Arguments<'_>);

    /// `{:.3}`
    #[inline(always)]
    fn precise<E>(&self, out: &mut Cursor<'_, E>, precision: u16, core: Arguments<'_>) {
        let _ = precision;
        self.plain(out, core);
    }

    /// Everything else.
    fn laid_out<E>(&self, out: &mut Cursor<'_, E>, layout: Layout, core: Arguments<'_>);
}

/// A value that is to be formatted by the trait `K`.
#[derive(Debug)]
pub struct Probe<'a, K, T: ?Sized> {
    value: &'a T,
    kind: PhantomData<K>,
}

impl<'a, K, T: ?Sized> Probe<'a, K, T> {
    /// Asks for this value.
    #[inline(always)]
    pub fn new(value: &'a T) -> Self {
        Self {
            value,
            kind: PhantomData,
        }
    }
}

/// The methods for types with a fast form.
pub trait BySpecialization {
    /// `{}`
    fn plain<E>(&self, out: &mut Cursor<'_, E>, core: Arguments<'_>);
    /// `{:.3}`
    fn precise<E>(&self, out: &mut Cursor<'_, E>, precision: u16, core: Arguments<'_>);
    /// Everything else.
    fn laid_out<E>(&self, out: &mut Cursor<'_, E>, layout: Layout, core: Arguments<'_>);
}

impl<K, T: Specialized<K> + ?Sized> BySpecialization for Probe<'_, K, T> {
    #[inline(always)]
    fn plain<E>(&self, out: &mut Cursor<'_, E>, core: Arguments<'_>) {
        self.value.plain(out, core);
    }

    #[inline(always)]
    fn precise<E>(&self, out: &mut Cursor<'_, E>, precision: u16, core: Arguments<'_>) {
        self.value.precise(out, precision, core);
    }

    #[inline(always)]
    fn laid_out<E>(&self, out: &mut Cursor<'_, E>, layout: Layout, core: Arguments<'_>) {
        self.value.laid_out(out, layout, core);
    }
}

/// The same methods for every type.
pub trait ByCore {
    /// `{}`
    #[inline(always)]
    fn plain<E>(&self, out: &mut Cursor<'_, E>, core: Arguments<'_>) {
        out.arguments(core);
    }

    /// `{:.3}`
    #[inline(always)]
    fn precise<E>(&self, out: &mut Cursor<'_, E>, _: u16, core: Arguments<'_>) {
        out.arguments(core);
    }

    /// Everything else.
    #[inline(always)]
    fn laid_out<E>(&self, out: &mut Cursor<'_, E>, _: Layout, core: Arguments<'_>) {
        out.arguments(core);
    }
}

impl<K, T: ?Sized> ByCore for &Probe<'_, K, T> {}

/// What forwards to another type in `core` does so here.
macro_rules! forward {
    ($($type:ty),*) => {$(
        impl<K, T: Specialized<K> + ?Sized> Specialized<K> for $type {
            #[inline(always)]
            fn plain<E>(&self, out: &mut Cursor<'_, E>, core: Arguments<'_>) {
                (**self).plain(out, core);
            }

            #[inline(always)]
            fn precise<E>(&self, out: &mut Cursor<'_, E>, precision: u16, core: Arguments<'_>) {
                (**self).precise(out, precision, core);
            }

            #[inline(always)]
            fn laid_out<E>(&self, out: &mut Cursor<'_, E>, layout: Layout, core: Arguments<'_>) {
                (**self).laid_out(out, layout, core);
            }
        }
    )*};
}

// `Box`, `Rc` and `Arc` forward `{}` and `{:?}` but not `{:x}`.
forward!(&T, &mut T);
