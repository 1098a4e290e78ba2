//! Strings, characters and truth values.

use crate::cursor::{Cursor, append};
use crate::layout::{Layout, cut};
use crate::specialize::Specialized;
use crate::specialize::kinds::{Debug, Display};
use crate::word::{Lead, Word};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt::Arguments;

#[inline(never)]
fn precise<'r, 's>(out: Cursor<'r, 's>, lead: Lead, text: &str, precision: u16) -> Cursor<'r, 's> {
    append(out, lead, cut(text, precision).as_bytes())
}

#[inline(never)]
fn wide<'r, 's>(out: Cursor<'r, 's>, lead: Lead, text: &str, width: u16) -> Cursor<'r, 's> {
    // The flag `0` applies to numbers only.
    let layout = Layout {
        zero: false,
        ..Layout::zeros(width)
    };
    laid_out(out, lead, text, &layout)
}

#[inline(never)]
fn laid_out<'r, 's>(out: Cursor<'r, 's>, lead: Lead, text: &str, layout: &Layout) -> Cursor<'r, 's> {
    layout.text(out, lead, text)
}

#[inline(never)]
fn character<'r, 's>(mut out: Cursor<'r, 's>, lead: Lead, character: char) -> Cursor<'r, 's> {
    let mut bytes = [0; 4];
    let length = character.encode_utf8(&mut bytes).len();
    out.words([lead.word(), Word::new(u32::from_le_bytes(bytes).into(), length)]);
    out
}

impl Specialized<Display> for str {
    #[inline(always)]
    fn plain(&self, out: &mut Cursor<'_, '_>, lead: Lead) {
        out.hand(|out| append(out, lead, self.as_bytes()));
    }

    #[inline(always)]
    fn precise(&self, out: &mut Cursor<'_, '_>, lead: Lead, precision: u16) {
        out.hand(|out| precise(out, lead, self, precision));
    }

    #[inline(always)]
    fn with_zeros(&self, out: &mut Cursor<'_, '_>, lead: Lead, width: u16) {
        out.hand(|out| wide(out, lead, self, width));
    }

    #[inline(always)]
    fn laid_out(&self, out: &mut Cursor<'_, '_>, lead: Lead, layout: &Layout, _: Arguments<'_>) {
        out.hand(|out| laid_out(out, lead, self, layout));
    }
}

impl Specialized<Display> for char {
    #[inline(always)]
    fn plain(&self, out: &mut Cursor<'_, '_>, lead: Lead) {
        out.hand(|out| character(out, lead, *self));
    }

    #[inline]
    fn precise(&self, out: &mut Cursor<'_, '_>, lead: Lead, precision: u16) {
        Specialized::<Display>::precise(&*self.encode_utf8(&mut [0; 4]), out, lead, precision);
    }

    #[inline]
    fn with_zeros(&self, out: &mut Cursor<'_, '_>, lead: Lead, width: u16) {
        Specialized::<Display>::with_zeros(&*self.encode_utf8(&mut [0; 4]), out, lead, width);
    }

    #[inline]
    fn laid_out(&self, out: &mut Cursor<'_, '_>, lead: Lead, layout: &Layout, core: Arguments<'_>) {
        Specialized::<Display>::laid_out(&*self.encode_utf8(&mut [0; 4]), out, lead, layout, core);
    }
}

/// Types that are written as a string.
macro_rules! as_str {
    ($($type:ty, $kind:ty, |$value:ident| $text:expr;)*) => {$(
        impl Specialized<$kind> for $type {
            #[inline(always)]
            fn plain(&self, out: &mut Cursor<'_, '_>, lead: Lead) {
                let $value = self;
                Specialized::<Display>::plain($text, out, lead);
            }

            #[inline(always)]
            fn precise(&self, out: &mut Cursor<'_, '_>, lead: Lead, precision: u16) {
                let $value = self;
                Specialized::<Display>::precise($text, out, lead, precision);
            }

            #[inline(always)]
            fn with_zeros(&self, out: &mut Cursor<'_, '_>, lead: Lead, width: u16) {
                let $value = self;
                Specialized::<Display>::with_zeros($text, out, lead, width);
            }

            #[inline(always)]
            fn laid_out(&self, out: &mut Cursor<'_, '_>, lead: Lead, layout: &Layout, core: Arguments<'_>) {
                let $value = self;
                Specialized::<Display>::laid_out($text, out, lead, layout, core);
            }
        }
    )*};
}

as_str! {
    String, Display, |string| string.as_str();
    Box<str>, Display, |string| &**string;
    Cow<'_, str>, Display, |string| &**string;
    bool, Display, |value| if *value { "true" } else { "false" };
    bool, Debug, |value| if *value { "true" } else { "false" };
}
