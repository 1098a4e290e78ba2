//! Strings, characters and truth values.

use crate::cursor::Cursor;
use crate::layout::Layout;
use crate::specialize::Specialized;
use crate::specialize::kinds::{Debug, Display};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt::Arguments;

impl Specialized<Display> for str {
    #[inline(always)]
    fn plain<E>(&self, out: &mut Cursor<'_, E>, _: Arguments<'_>) {
        out.text(self);
    }

    #[inline]
    fn precise<E>(&self, out: &mut Cursor<'_, E>, precision: u16, _: Arguments<'_>) {
        out.text(crate::layout::cut(self, precision));
    }

    #[inline]
    fn laid_out<E>(&self, out: &mut Cursor<'_, E>, layout: Layout, _: Arguments<'_>) {
        layout.text(out, self);
    }
}

/// Types that are written as the string that they stand for.
macro_rules! as_str {
    ($($type:ty, $kind:ty, |$value:ident| $text:expr;)*) => {$(
        impl Specialized<$kind> for $type {
            #[inline(always)]
            fn plain<E>(&self, out: &mut Cursor<'_, E>, core: Arguments<'_>) {
                let $value = self;
                Specialized::<Display>::plain($text, out, core);
            }

            #[inline]
            fn precise<E>(&self, out: &mut Cursor<'_, E>, precision: u16, core: Arguments<'_>) {
                let $value = self;
                Specialized::<Display>::precise($text, out, precision, core);
            }

            #[inline]
            fn laid_out<E>(&self, out: &mut Cursor<'_, E>, layout: Layout, core: Arguments<'_>) {
                let $value = self;
                Specialized::<Display>::laid_out($text, out, layout, core);
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
    char, Display, |character| &*character.encode_utf8(&mut [0; 4]);
}
