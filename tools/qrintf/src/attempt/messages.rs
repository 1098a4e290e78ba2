//! Reads a compiler's messages: are the headers involved in them?
//!
//! In case of doubt they are, and the compiler runs again without the headers.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The output of a compiler and of the linker that it ran.
pub(super) struct Messages<'a> {
    text: Vec<u8>,
    headers: &'a Path,
}

/// Functions of the C library that code of the headers calls: the linker may miss them on our account.
const CALLED: [&str; 7] = [
    "nl_langinfo",
    "write",
    "malloc",
    "memcpy",
    "memchr",
    "strlen",
    "strnlen",
];

impl<'a> Messages<'a> {
    pub(super) fn new(text: Vec<u8>, headers: &'a Path) -> Self {
        Self { text, headers }
    }

    /// True if one of them is about a call of the family. Its column may differ from the plain compiler's then, and it may
    /// be repeated.
    pub(super) fn mention_calls(&self) -> bool {
        self.has("printf") || self.has("qrintf") || contains(&self.text, self.headers.as_os_str().as_bytes())
    }

    /// True if the compiler is certain to fail without the headers too.
    pub(super) fn is_no_fault_of_ours(&self) -> bool {
        if self.mention_calls() {
            return false;
        }
        let linker = self.has("collect2: error: ") || self.has(": error: linker command failed");
        let missing = self.has(" fatal error: ") && self.has("No such file or directory");
        missing || (linker && !CALLED.iter().any(|name| self.has(name)))
    }

    fn has(&self, words: &str) -> bool {
        contains(&self.text, words.as_bytes())
    }
}

fn contains(text: &[u8], words: &[u8]) -> bool {
    text.windows(words.len()).any(|window| window == words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str) -> Messages<'static> {
        Messages::new(text.into(), Path::new("/usr/lib/q/include"))
    }

    #[test]
    fn messages_about_calls_are_seen() {
        assert!(messages("a.c:3:2: warning: x\n   3 |  snprintf(a, 1, x);\n").mention_calls());
        assert!(messages("In file included from /usr/lib/q/include/q.h:50:\n").mention_calls());
        assert!(!messages("a.c:3:2: warning: unused variable 'x'\n   3 |  int x;\n").mention_calls());
        assert!(!messages("").mention_calls());
    }

    #[test]
    fn failures_that_happen_anyway_are_told() {
        for text in [
            "a.c:1:10: fatal error: none.h: No such file or directory\ncompilation terminated.\n",
            "a.c:(.text+0x1): undefined reference to `nowhere'\ncollect2: error: ld returned 1 exit status\n",
            "ld: cannot find -lnone\nclang: error: linker command failed with exit code 1 (use -v)\n",
        ] {
            assert!(messages(text).is_no_fault_of_ours(), "{text}");
        }
        for text in [
            "a.c:1:1: error: expected ';'\n",
            "a.c:(.text+0x1): undefined reference to `nl_langinfo'\ncollect2: error: ld returned 1 exit status\n",
            "`.rodata.qrintf_copy_v3' referenced: discarded section\ncollect2: error: ld returned 1 exit status\n",
            "cc1: fatal error: /usr/lib/q/include/stdio.h: No such file or directory\n",
            "gcc: internal compiler error: Killed signal terminated program cc1\n",
            "",
        ] {
            assert!(!messages(text).is_no_fault_of_ours(), "{text}");
        }
    }
}
