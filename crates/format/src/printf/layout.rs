//! Flags, width and precision, and the padding that follows from them.

use crate::cursor::{Cursor, append};
use crate::layout::{Align, fill};
use crate::word::{Lead, Word};

/// The part of a conversion between `%` and its specifier.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layout {
    /// `-`
    pub minus: bool,
    /// `+`
    pub plus: bool,
    /// A space.
    pub space: bool,
    /// `#`
    pub alternate: bool,
    /// `0`
    pub zero: bool,
    /// The least width.
    pub width: usize,
    /// The precision.
    pub precision: Option<usize>,
}

impl Layout {
    /// Sets the width from an argument; a negative width sets the flag `-`.
    #[inline]
    pub const fn width_given(self, width: &i32) -> Self {
        Self {
            width: width.unsigned_abs() as usize,
            minus: self.minus || *width < 0,
            ..self
        }
    }

    /// Sets the precision from an argument; a negative precision means none.
    #[inline]
    pub const fn precision_given(self, precision: &i32) -> Self {
        Self {
            precision: if *precision < 0 {
                None
            } else {
                Some(*precision as usize)
            },
            ..self
        }
    }

    /// The equivalent layout of Rust's formats, if it exists.
    #[inline]
    pub(crate) fn in_rust(&self) -> Option<crate::layout::Layout> {
        if self.space || self.precision.is_some() {
            return None;
        }
        Some(crate::layout::Layout {
            fill: ' ',
            align: if self.minus { Align::Left } else { Align::Right },
            plus: self.plus,
            alternate: false,
            zero: self.zero && !self.minus,
            width: u16::try_from(self.width).ok()?,
            precision: None,
        })
    }

    /// The sign of a signed number.
    #[inline(always)]
    pub(crate) const fn sign(&self, negative: bool) -> Word {
        let sign = match (negative, self.plus) {
            (true, _) => b'-',
            (false, true) => b'+',
            _ => b' ',
        };
        Word::byte_if(sign, negative || self.plus || self.space)
    }

    /// Appends a number: sign or prefix, zeros for the precision, and digits, padded to the width.
    ///
    /// `zero` says whether the flag `0` counts.
    #[inline]
    pub(crate) fn number(
        &self,
        out: &mut Cursor<'_, '_>,
        before: Word,
        zeros: usize,
        digits: &[u8],
        zero: bool,
    ) {
        let missing = self.width.saturating_sub(before.length() + zeros + digits.len());
        let (left, inner, right) = match (self.minus, zero) {
            (true, _) => (0, 0, missing),
            (false, true) => (0, missing, 0),
            (false, false) => (missing, 0, 0),
        };
        fill(out, ' ', left);
        out.word(before);
        fill(out, '0', inner + zeros);
        out.hand(|out| append(out, Lead::EMPTY, digits));
        fill(out, ' ', right);
    }

    /// Appends text, padded to the width with spaces.
    #[inline]
    pub(crate) fn text<'r, 's>(&self, mut out: Cursor<'r, 's>, lead: Lead, text: &[u8]) -> Cursor<'r, 's> {
        if self.width == 0 {
            return append(out, lead, text);
        }
        out.word(lead.word());
        self.number(&mut out, Word::EMPTY, 0, text, false);
        out
    }
}
