//! Flags, width and precision, and the padding that follows from them.

use crate::cursor::Cursor;
use crate::layout::fill;

/// What stands between `%` and the letter.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layout {
    pub(crate) minus: bool,
    pub(crate) plus: bool,
    pub(crate) space: bool,
    pub(crate) alternate: bool,
    pub(crate) zero: bool,
    pub(crate) width: usize,
    pub(crate) precision: Option<usize>,
}

impl Layout {
    /// The flags `-`, `+`, space, `#` and `0`.
    #[inline(always)]
    pub const fn new(minus: bool, plus: bool, space: bool, alternate: bool, zero: bool) -> Self {
        Self {
            minus,
            plus,
            space,
            alternate,
            zero,
            width: 0,
            precision: None,
        }
    }

    /// A width that is written in the format.
    #[inline(always)]
    pub const fn width(self, width: usize) -> Self {
        Self { width, ..self }
    }

    /// A width that an argument gives; a negative one means the flag `-` too.
    #[inline(always)]
    pub const fn width_given(self, width: &i32) -> Self {
        Self {
            width: width.unsigned_abs() as usize,
            minus: self.minus || *width < 0,
            ..self
        }
    }

    /// A precision that is written in the format.
    #[inline(always)]
    pub const fn precision(self, precision: usize) -> Self {
        Self {
            precision: Some(precision),
            ..self
        }
    }

    /// A precision that an argument gives; a negative one means none.
    #[inline(always)]
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

    /// Whether nothing is there but the letter.
    #[inline(always)]
    pub(crate) const fn is_plain(&self) -> bool {
        let Self {
            plus,
            space,
            alternate,
            width,
            precision,
            ..
        } = *self;
        !(plus || space || alternate || width > 0 || precision.is_some())
    }

    /// The sign of a signed number.
    #[inline(always)]
    pub(crate) const fn sign(&self, negative: bool) -> &'static [u8] {
        match (negative, self.plus, self.space) {
            (true, ..) => b"-",
            (false, true, _) => b"+",
            (false, false, true) => b" ",
            _ => b"",
        }
    }

    /// Appends a number: sign or prefix, zeros that the precision asks for, digits, padded to the width.
    ///
    /// `zero` says whether the flag `0` counts.
    #[inline]
    pub(crate) fn number<E>(
        &self,
        out: &mut Cursor<'_, E>,
        (sign, prefix): (&[u8], &[u8]),
        zeros: usize,
        digits: &[u8],
        zero: bool,
    ) {
        let missing = self
            .width
            .saturating_sub(sign.len() + prefix.len() + zeros + digits.len());
        let (left, inner, right) = match (self.minus, zero) {
            (true, _) => (0, 0, missing),
            (false, true) => (0, missing, 0),
            (false, false) => (missing, 0, 0),
        };
        fill(out, ' ', left);
        out.bytes(sign);
        out.bytes(prefix);
        fill(out, '0', inner + zeros);
        out.bytes(digits);
        fill(out, ' ', right);
    }

    /// Appends text, padded to the width with spaces.
    #[inline]
    pub(crate) fn text<E>(&self, out: &mut Cursor<'_, E>, text: &[u8]) {
        if self.width == 0 {
            return out.bytes(text);
        }
        self.number(out, (b"", b""), 0, text, false);
    }
}
