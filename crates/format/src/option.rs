//! `{:?}` of an `Option` whose value has a fast form.

use crate::cursor::{Cursor, by_core};
use crate::layout::Layout;
use crate::specialize::Specialized;
use crate::specialize::kinds::Debug;
use crate::word::{Lead, Word};
use core::fmt::Arguments;

const NONE: Word = Word::literal(b"None");
const OPENING: Lead = Lead::literal(b"Some(");
const CLOSING: Word = Word::literal(b")");

/// Appends the lead, then `None`, or the value between `Some(` and `)`.
#[inline(always)]
fn around<T>(
    option: Option<&T>,
    out: &mut Cursor<'_, '_>,
    lead: Lead,
    value: impl FnOnce(&T, &mut Cursor<'_, '_>, Lead),
) {
    match option {
        None => out.words([lead.word(), NONE]),
        Some(inner) => {
            out.word(lead.word());
            value(inner, out, OPENING);
            out.word(CLOSING);
        }
    }
}

// Precision and width apply to the value: `{:05?}` of `Some(1)` is `Some(00001)`, and of `None` it is `None`.
impl<T: Specialized<Debug>> Specialized<Debug> for Option<T> {
    #[inline(always)]
    fn plain(&self, out: &mut Cursor<'_, '_>, lead: Lead) {
        around(self.as_ref(), out, lead, |value, out, lead| {
            value.plain(out, lead)
        });
    }

    #[inline(always)]
    fn precise(&self, out: &mut Cursor<'_, '_>, lead: Lead, precision: u16) {
        around(self.as_ref(), out, lead, |value, out, lead| {
            value.precise(out, lead, precision);
        });
    }

    #[inline(always)]
    fn with_zeros(&self, out: &mut Cursor<'_, '_>, lead: Lead, width: u16) {
        around(self.as_ref(), out, lead, |value, out, lead| {
            value.with_zeros(out, lead, width);
        });
    }

    #[inline(always)]
    fn laid_out(&self, out: &mut Cursor<'_, '_>, lead: Lead, _: &Layout, core: Arguments<'_>) {
        out.hand(|out| by_core(out, lead, core));
    }
}
