//! The keys that a scan prints.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use clap::Args;
use kv::{Cursor, KEY_LENGTH_MAX};

/// The keys that a scan prints.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Range {
    /// Prefix of the keys
    #[arg(value_name = "PREFIX", conflicts_with = "prefix")]
    positional: Option<OsString>,
    /// Prefix of the keys
    #[arg(long)]
    prefix: Option<OsString>,
    /// First key, in the order of bytes; needs a tree store
    #[arg(long, value_name = "KEY")]
    from: Option<OsString>,
    /// Key before which to end; needs a tree store
    #[arg(long, value_name = "KEY")]
    to: Option<OsString>,
    /// The most keys to print
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

/// Where a key lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    Within,
    Behind,
}

impl Range {
    fn prefix(&self) -> &[u8] {
        let prefix = self.prefix.as_ref().or(self.positional.as_ref());
        prefix.map_or(&[], |prefix| prefix.as_bytes())
    }

    /// True if it asks for an order of the keys.
    pub(crate) fn needs_order(&self) -> bool {
        self.from.is_some() || self.to.is_some()
    }

    /// True if some keys are left out.
    pub(crate) fn is_partial(&self) -> bool {
        self.needs_order() || !self.prefix().is_empty()
    }

    /// The most keys to print.
    pub(crate) fn limit(&self) -> u64 {
        self.limit.unwrap_or(u64::MAX)
    }

    /// Compares a key with the range.
    pub(crate) fn side(&self, key: &[u8]) -> Side {
        let bytes = |key: &Option<OsString>| key.as_ref().map(|key| key.as_bytes().to_vec());
        let prefix = self.prefix();
        if key < prefix || bytes(&self.from).is_some_and(|from| *key < *from) {
            return Side::Before;
        }
        if !key.starts_with(prefix) || bytes(&self.to).is_some_and(|to| *key >= *to) {
            return Side::Behind;
        }
        Side::Within
    }

    /// The place before its first key, in an ordered store.
    pub(super) fn start(&self) -> Cursor {
        let from = self.from.as_ref().map_or(&[][..], |from| from.as_bytes());
        let first = from.max(self.prefix());
        let Some((last, rest)) = first.split_last() else {
            return Cursor::Start;
        };
        let mut before = rest.to_vec();
        // The last key before it: with a smaller byte in its last place, as long as a key can be.
        if let Some(smaller) = last.checked_sub(1) {
            before.push(smaller);
            before.resize(KEY_LENGTH_MAX.max(before.len()), u8::MAX);
        } else if before.is_empty() {
            // Only the empty key comes before a single zero byte.
            return Cursor::After(Box::default());
        }
        Cursor::After(before.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(prefix: &str, from: &str, to: &str) -> Range {
        let text = |text: &str| (!text.is_empty()).then(|| text.into());
        Range {
            prefix: text(prefix),
            from: text(from),
            to: text(to),
            ..Range::default()
        }
    }

    #[test]
    fn a_key_is_before_within_or_behind() {
        let wanted = range("b", "ba", "bx");
        for (key, side) in [
            ("a", Side::Before),
            ("b", Side::Before),
            ("ba", Side::Within),
            ("bw~", Side::Within),
            ("bx", Side::Behind),
            ("c", Side::Behind),
        ] {
            assert_eq!(wanted.side(key.as_bytes()), side, "{key}");
        }
        assert_eq!(range("", "", "").side(b""), Side::Within);
    }

    #[test]
    fn a_scan_starts_at_the_last_key_before() {
        assert_eq!(range("", "", "").start(), Cursor::Start);
        let Cursor::After(before) = range("b", "ba", "").start() else {
            panic!("it has a beginning");
        };
        assert_eq!((&before[..2], before[2], before.len()), (&b"b`"[..], 255, 255));
        assert_eq!(range("b", "a\0", "").start(), range("b", "", "").start());
        assert_eq!(range("", "a\0", "").start(), Cursor::After((*b"a").into()));
        assert_eq!(range("", "\0", "").start(), Cursor::After(Box::default()));
    }
}
