//! The grammar that classic and meta commands share: a line ends in `\n` or `\r\n`, and spaces separate its words.

use memchr::memchr;

/// The number of words that memcached's tokenizer takes from a line; it ignores the rest.
pub(crate) const WORDS_MAX: u8 = 23;

/// The line without a `\r` before its end.
#[inline]
pub(crate) fn trim(line: &[u8]) -> &[u8] {
    match line {
        [line @ .., b'\r'] => line,
        _ => line,
    }
}

/// The words of a line or of a part of it: at most 23, including the command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words<'a> {
    rest: &'a [u8],
    left: u8,
}

impl<'a> Words<'a> {
    /// The words of a whole line.
    #[inline]
    pub(crate) fn of_line(line: &'a [u8]) -> Self {
        Words {
            rest: line,
            left: WORDS_MAX,
        }
    }

    /// The words that follow a line's first `taken` words.
    #[inline]
    pub(crate) fn after(rest: &'a [u8], taken: u8) -> Self {
        Words {
            rest,
            left: WORDS_MAX - taken,
        }
    }

    /// The text that has not been returned yet, including spaces.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// True if the last word is `noreply`.
    #[inline]
    pub(crate) fn ends_with_noreply(self) -> bool {
        // Most lines have no word left.
        !self.rest.is_empty() && self.last() == Some(b"noreply")
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        while let [b' ', rest @ ..] = self.rest {
            self.rest = rest;
        }
        if self.left == 0 || self.rest.is_empty() {
            return None;
        }
        self.left -= 1;
        let (word, rest) = cut(self.rest);
        self.rest = rest;
        Some(word)
    }
}

/// Cuts a short word off at the first space, which stays with the rest.
#[inline]
pub(crate) fn cut(text: &[u8]) -> (&[u8], &[u8]) {
    // Verbs, numbers and flags are short: a loop ends sooner than the call of a vectorised search begins.
    let near = text.len().min(8);
    for (at, byte) in text[..near].iter().enumerate() {
        if *byte == b' ' {
            return text.split_at(at);
        }
    }
    match memchr(b' ', &text[near..]) {
        Some(at) => text.split_at(near + at),
        None => (text, &[]),
    }
}

/// Cuts a key off at the first space, which stays with the rest; spaces before the key are dropped.
#[inline]
pub(crate) fn cut_key(mut text: &[u8]) -> (&[u8], &[u8]) {
    while let [b' ', rest @ ..] = text {
        text = rest;
    }
    match memchr(b' ', text) {
        Some(at) => text.split_at(at),
        None => (text, &[]),
    }
}

/// The length of the line end at the head of `text`.
#[inline]
pub(crate) fn line_end(text: &[u8]) -> Option<usize> {
    match text {
        [b'\r', b'\n', ..] => Some(2),
        [b'\n', ..] => Some(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_parted_by_any_number_of_spaces() {
        let words: Vec<&[u8]> = Words::of_line(b"  a  abcdefghijk b\tc ").collect();
        assert_eq!(words, [b"a".as_slice(), b"abcdefghijk", b"b\tc"]);
    }

    #[test]
    fn words_past_the_limit_are_ignored() {
        let line = b"x ".repeat(40);
        assert_eq!(Words::of_line(&line).count(), usize::from(WORDS_MAX));
        assert_eq!(Words::after(&line, 1).count(), usize::from(WORDS_MAX) - 1);
    }
}
