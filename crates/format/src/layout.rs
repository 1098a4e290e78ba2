//! Width, fill and precision of a value, and the padding that follows from them.

use crate::cursor::{Cursor, append};
use crate::digits::Fill;
use crate::word::{Lead, Word};

/// The part of a format between `:` and the trait.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// The character that pads the value to the width.
    pub fill: char,
    /// The side of the value.
    pub align: Align,
    /// `+`: positive numbers get a sign.
    pub plus: bool,
    /// `#`.
    pub alternate: bool,
    /// `0`: zeros between sign and digits pad the number to the width.
    pub zero: bool,
    /// The least number of characters.
    pub width: u16,
    /// `.3`.
    pub precision: Option<u16>,
}

/// The side of the width on which a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Numbers right, everything else left.
    Unknown,
    /// `<`
    Left,
    /// `^`
    Center,
    /// `>`
    Right,
}

/// A width or precision that an argument gives.
///
/// # Panics
/// When it exceeds 65535, as `core::fmt` does.
#[inline]
pub fn count(count: &usize) -> u16 {
    match u16::try_from(*count) {
        Ok(count) => count,
        Err(_) => panic!("Formatting argument out of range"),
    }
}

/// A width or precision for `core::fmt`.
#[inline(always)]
pub const fn wide(count: u16) -> usize {
    count as usize
}

impl Layout {
    /// `{:08}`
    #[inline]
    pub(crate) const fn zeros(width: u16) -> Self {
        Self {
            fill: ' ',
            align: Align::Unknown,
            plus: false,
            alternate: false,
            zero: true,
            width,
            precision: None,
        }
    }

    /// The padding on the left of an unsigned number, if the layout asks for nothing else.
    #[inline(always)]
    pub(crate) fn fill_on_the_left(&self) -> Option<Fill> {
        let right = matches!(self.align, Align::Unknown | Align::Right);
        match (self.plus || self.alternate, self.zero) {
            (false, true) => Some(Fill::Zeros),
            (false, false) if right && self.fill == ' ' => Some(Fill::Spaces),
            _ => None,
        }
    }

    /// The sign of a number.
    #[inline(always)]
    pub(crate) fn sign(&self, negative: bool) -> Word {
        Word::byte_if(if negative { b'-' } else { b'+' }, negative || self.plus)
    }

    /// Appends a number. Sign and prefix come before zeros that pad it.
    #[inline]
    pub(crate) fn number<'r, 's>(
        &self,
        mut out: Cursor<'r, 's>,
        lead: Lead,
        prefix: Word,
        digits: &[u8],
    ) -> Cursor<'r, 's> {
        let missing = usize::from(self.width).saturating_sub(prefix.length() + digits.len());
        if missing == 0 {
            out.words([lead.word(), prefix]);
            return append(out, Lead::EMPTY, digits);
        }
        out.word(lead.word());
        if self.zero {
            out.word(prefix);
            fill(&mut out, '0', missing);
            return append(out, Lead::EMPTY, digits);
        }
        let (left, right) = self.sides(missing, Align::Right);
        fill(&mut out, self.fill, left);
        out.word(prefix);
        out.hand(|out| append(out, Lead::EMPTY, digits));
        fill(&mut out, self.fill, right);
        out
    }

    /// Appends text, which the precision may truncate.
    #[inline]
    pub(crate) fn text<'r, 's>(&self, mut out: Cursor<'r, 's>, lead: Lead, text: &str) -> Cursor<'r, 's> {
        let text = self.precision.map_or(text, |precision| cut(text, precision));
        let missing = match self.width {
            0 => 0,
            width => usize::from(width).saturating_sub(text.chars().count()),
        };
        let (left, right) = self.sides(missing, Align::Left);
        if left > 0 {
            out.word(lead.word());
            fill(&mut out, self.fill, left);
            out.hand(|out| append(out, Lead::EMPTY, text.as_bytes()));
        } else {
            out.hand(|out| append(out, lead, text.as_bytes()));
        }
        fill(&mut out, self.fill, right);
        out
    }

    #[inline]
    fn sides(&self, missing: usize, unknown: Align) -> (usize, usize) {
        match if self.align == Align::Unknown {
            unknown
        } else {
            self.align
        } {
            Align::Left => (0, missing),
            Align::Center => (missing / 2, missing.div_ceil(2)),
            _ => (missing, 0),
        }
    }
}

/// The first characters of a text, at most `count`.
#[inline]
pub(crate) fn cut(text: &str, characters: u16) -> &str {
    match text.char_indices().nth(usize::from(characters)) {
        Some((at, _)) => &text[..at],
        None => text,
    }
}

/// Appends a character `count` times.
#[inline]
pub(crate) fn fill(out: &mut Cursor<'_, '_>, character: char, mut count: usize) {
    if !character.is_ascii() {
        let mut bytes = [0; 4];
        let character = character.encode_utf8(&mut bytes);
        (0..count).for_each(|_| out.str(character));
        return;
    }
    let word = u64::from_ne_bytes([character as u8; 8]);
    while count > 8 {
        out.word(Word::full(word));
        count -= 8;
    }
    out.word(Word::new(word, count));
}
