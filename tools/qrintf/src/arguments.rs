//! Reads a compiler's command line: is there C to specialize, or must the command pass unchanged?
//!
//! **Invariant:** an argument of an option is never taken for an option: `-o -E.c`, `-Xlinker -E` and `-Wl,-E` do not
//! mean preprocessing.
//! **Invariant:** words are passed on as they came; nothing here edits one.

mod options;

use std::ffi::{OsStr, OsString};
use std::{fmt, iter};

use options::{asks, definition, optimization, stops, takes_next};

/// Our own option: list each call, and what became of it.
pub(crate) const REPORT: &str = "--qrintf-report";

/// A word with the next one, if that is its argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// The option or input as it was written.
    pub(crate) text: OsString,
    /// Its argument, if that is a separate word.
    pub(crate) argument: Option<OsString>,
}

/// The words after the compiler's name, and what they mean.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// The words for the compiler: all but our own.
    pub(crate) words: Vec<Word>,
    /// The sources among them that could be specialized, and files of words, which may name more.
    pub(crate) sources: Vec<OsString>,
    /// True if one of them is C++.
    pub(crate) cxx: bool,
    /// Why the command is none of our business, if it is not.
    pub(crate) left: Option<Left>,
    /// True if the object is for the link-time optimizer.
    pub(crate) lto: bool,
    /// Whether [`REPORT`] was among the words.
    pub(crate) report: bool,
    /// True with `-c`: the command makes objects only.
    pub(crate) compiles_only: bool,
    /// True with `-v`: the compiler shows the commands it runs.
    pub(crate) verbose: bool,
    /// Functions of the family whose calls must stay as they are: `-fno-builtin-printf`.
    pub(crate) kept: Vec<&'static str>,
}

/// Why a whole command is passed through unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// This word asks for something that the headers have no place in.
    Word(OsString),
    /// This word asks for something else than to compile, so there is not even something to report.
    NothingCompiled(OsString),
    /// No `-O`, or `-O0` came last.
    NotOptimized,
    /// Nothing to compile: a link, a question, or other languages only.
    NoSource,
    /// C++ is specialized with `-DQRINTF_CXX` only.
    CPlusPlus,
}

impl fmt::Display for Left {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) if is_file_of_words(word) => write!(out, "{} is not read", word.display()),
            Self::Word(word) | Self::NothingCompiled(word) => write!(out, "{}", word.display()),
            Self::NotOptimized => write!(out, "compiled without optimization"),
            Self::NoSource => write!(out, "no C source on the command line"),
            Self::CPlusPlus => write!(out, "C++ without -DQRINTF_CXX"),
        }
    }
}

impl Arguments {
    /// Each word by itself again, as they are passed on.
    pub(crate) fn flat(&self) -> impl Iterator<Item = &OsString> {
        self.words
            .iter()
            .flat_map(|word| iter::once(&word.text).chain(&word.argument))
    }
}

/// Reads `words`; `cxx` says that the compiler takes even `.c` for C++, as `g++` does.
pub(crate) fn read(mut words: impl Iterator<Item = OsString>, cxx: bool) -> Arguments {
    let mut scan = Scan::default();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        if word == REPORT {
            scan.report = true;
            continue;
        }
        let argument = if takes_next(&word) { words.next() } else { None };
        scan.see(&word, argument.as_deref(), cxx);
        kept.push(Word { text: word, argument });
    }
    let left = scan.verdict();
    Arguments {
        words: kept,
        sources: scan.sources,
        cxx: scan.cxx_seen,
        left,
        lto: scan.lto,
        report: scan.report,
        compiles_only: scan.compiles_only,
        verbose: scan.verbose,
        kept: scan.kept,
    }
}

/// The functions whose calls the headers specialize. A compiler that is told to know nothing about one of them must not be
/// told about it by the headers; what it knows about others (`-fno-builtin-strlen`) has no bearing on formats.
const FAMILY: [&str; 6] = ["printf", "fprintf", "dprintf", "sprintf", "snprintf", "asprintf"];

/// The state of a scan over the words. Of contradicting words the last one wins, as in the compilers.
#[derive(Default)]
struct Scan {
    stop: Option<OsString>,
    question: Option<OsString>,
    optimized: bool,
    freestanding: Option<OsString>,
    cxx_wanted: bool,
    cxx_seen: bool,
    inputs_only: bool,
    lto: bool,
    sources: Vec<OsString>,
    report: bool,
    compiles_only: bool,
    verbose: bool,
    kept: Vec<&'static str>,
}

impl Scan {
    fn see(&mut self, word: &OsStr, argument: Option<&OsStr>, cxx: bool) {
        let bytes = word.as_encoded_bytes();
        if argument.is_some_and(is_device) || is_device(word) {
            self.stop.get_or_insert_with(|| argument.unwrap_or(word).into());
        }
        if self.inputs_only || !bytes.starts_with(b"-") {
            return self.see_input(word, cxx);
        }
        if let Some(level) = optimization(bytes) {
            self.optimized = level.is_empty() || level.iter().any(|digit| *digit != b'0');
        } else if let Some(definition) = definition(bytes, argument) {
            self.see_definition(definition, word);
        } else if matches!(bytes, b"-ffreestanding" | b"-fno-hosted") {
            self.freestanding = Some(word.into());
        } else if matches!(bytes, b"-fhosted" | b"-fno-freestanding") {
            self.freestanding = None;
        } else if bytes == b"-fno-lto" || bytes.starts_with(b"-flto") {
            self.lto = bytes != b"-fno-lto";
        } else if matches!(bytes, b"-c" | b"--compile") {
            self.compiles_only = true;
        } else if matches!(bytes, b"-v" | b"--verbose") {
            self.verbose = true;
        } else if let Some(name) = bytes.strip_prefix(b"-fno-builtin-") {
            self.kept
                .extend(FAMILY.iter().filter(|function| function.as_bytes() == name));
        } else if bytes == b"--" {
            self.inputs_only = true;
        } else if asks(bytes) {
            self.question.get_or_insert_with(|| word.into());
        } else if stops(bytes) {
            self.stop.get_or_insert_with(|| word.into());
        }
    }

    fn see_input(&mut self, word: &OsStr, cxx: bool) {
        let bytes = word.as_encoded_bytes();
        if is_file_of_words(word) && !self.inputs_only {
            self.stop.get_or_insert_with(|| word.into());
            return self.sources.push(word.into());
        }
        match language(bytes) {
            Some(Language::C) if !cxx => self.sources.push(word.into()),
            Some(Language::C | Language::CPlusPlus) => {
                self.cxx_seen = true;
                self.sources.push(word.into());
            }
            None => {}
        }
    }

    fn see_definition(&mut self, definition: &[u8], word: &OsStr) {
        match definition.split(|byte| *byte == b'=').next() {
            Some(b"QRINTF_CXX") => self.cxx_wanted = true,
            Some(b"QRINTF_DISABLE") => {
                self.stop.get_or_insert_with(|| word.into());
            }
            _ => {}
        }
    }

    fn verdict(&self) -> Option<Left> {
        if let Some(word) = &self.question {
            return Some(Left::NothingCompiled(word.clone()));
        }
        let word = self.stop.as_ref().or(self.freestanding.as_ref());
        if let Some(word) = word {
            Some(Left::Word(word.clone()))
        } else if self.sources.is_empty() {
            Some(Left::NoSource)
        } else if self.cxx_seen && !self.cxx_wanted {
            Some(Left::CPlusPlus)
        } else if !self.optimized {
            Some(Left::NotOptimized)
        } else {
            None
        }
    }
}

/// `@file`, where compilers read more words.
fn is_file_of_words(word: &OsStr) -> bool {
    word.as_encoded_bytes().starts_with(b"@")
}

/// A file that may give its bytes only once, as a shell's `<(…)` does; the compiler may have to run twice.
fn is_device(word: &OsStr) -> bool {
    let bytes = word.as_encoded_bytes();
    (bytes.starts_with(b"/dev/") && bytes != b"/dev/null") || bytes.starts_with(b"/proc/")
}

enum Language {
    C,
    CPlusPlus,
}

/// The language of an input by its suffix, if it is one that we know to specialize.
fn language(input: &[u8]) -> Option<Language> {
    let name = input.rsplit(|byte| *byte == b'/').next()?;
    let dot = name.iter().rposition(|byte| *byte == b'.')?;
    match &name[dot + 1..] {
        b"c" => Some(Language::C),
        b"C" | b"cc" | b"cp" | b"cpp" | b"cxx" | b"c++" | b"CPP" => Some(Language::CPlusPlus),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Arguments {
        read(line.split_whitespace().map(OsString::from), false)
    }

    fn left(line: &str) -> Option<Left> {
        of(line).left
    }

    fn word(word: &str) -> Option<Left> {
        Some(Left::Word(word.into()))
    }

    #[test]
    fn optimized_c_is_ours() {
        for line in [
            "-O2 -c a.c",
            "-c a.c -O",
            "-O1 a.c -o a",
            "-Og -c a.c",
            "-Os -g -Wall -std=c99 -pedantic-errors -Werror -c dir.d/a.c -o a.o",
            "-O0 -O3 a.c b.c d.o -lm",
            "-O2 -MD -MP -MF a.d -MT a.o -c a.c",
            "-O2 -MMD -c a.c",
            "-O2 -flto -fPIC -pipe -save-temps -c a.c",
            "--optimize=2 -c a.c",
            "-O2 -ffreestanding -fhosted -c a.c",
            "-O2 -dumpbase a -c a.c",
            "-O2 a.c b.s",
            "-O2 -fno-builtin-strlen -fno-builtin-printf -c a.c -o /dev/null",
        ] {
            assert_eq!(left(line), None, "{line}");
        }
    }

    #[test]
    fn arguments_of_options_are_not_options() {
        for line in [
            "-O2 a.c -Wl,-E -o a",
            "-O2 a.c -Xlinker -E",
            "-O2 -c a.c -o -E.c",
            "-O2 -c a.c -o -E",
            "-O2 -c a.c -MF -M",
            "-O2 -c a.c -MT -S",
            "-O2 -I -x -c a.c",
            "-O2 -Wa,-S -Wp,-E -c a.c",
            "-O2 -include -nostdinc -c a.c",
            "-O2 -Xclang -S -mllvm -M -c a.c",
            "-O2 -Xassembler @here -c a.c",
            "-O2 --param -E -c a.c",
            "-O2 -Xpreprocessor - -c a.c",
        ] {
            assert_eq!(left(line), None, "{line}");
        }
        assert_eq!(left("-O2 -o a.c"), Some(Left::NoSource));
        assert_eq!(left("-O2 -include a.c b.o"), Some(Left::NoSource));
        assert_eq!(left("-c a.c -o -O2"), Some(Left::NotOptimized));
    }

    #[test]
    fn other_work_is_left_and_said_why() {
        for (line, why) in [
            ("-O2 -E a.c", "-E"),
            ("-O2 -M a.c", "-M"),
            ("-O2 -MM a.c", "-MM"),
            ("-O2 -S a.c", "-S"),
            ("-O2 --preprocess a.c", "--preprocess"),
            ("-O2 -x c a.c", "-x"),
            ("-O2 -xc++ a.c", "-xc++"),
            ("-O2 @args a.c", "@args is not read"),
            ("-O2 - a.c", "-"),
            ("-O2 -nostdinc -c a.c", "-nostdinc"),
            ("-O2 -ffreestanding -c a.c", "-ffreestanding"),
            ("-O2 -fno-builtin -c a.c", "-fno-builtin"),
            ("-O2 -wrapper gdb,--args -c a.c", "-wrapper"),
            ("-O2 -include /dev/fd/63 -c a.c", "/dev/fd/63"),
            ("-O2 /dev/stdin -c a.c", "/dev/stdin"),
            ("-O2 -print-file-name=libc.a a.c", "-print-file-name=libc.a"),
            ("-O2 -dumpversion a.c", "-dumpversion"),
            ("-O2 --version a.c", "--version"),
            ("-O2 -fsyntax-only a.c", "-fsyntax-only"),
            ("-O2 -DQRINTF_DISABLE -c a.c", "-DQRINTF_DISABLE"),
            ("-O2 -traditional-cpp -c a.c", "-traditional-cpp"),
        ] {
            let text = left(line).map(|left| left.to_string());
            assert_eq!(text.as_deref(), Some(why), "{line}");
        }
        assert_eq!(left("-O2 -S a.c"), word("-S"));
        assert_eq!(left("-O2 -S -E a.c"), Some(Left::NothingCompiled("-E".into())));
        assert_eq!(left("-O2 -D QRINTF_DISABLE=1 -c a.c"), word("-D"));
        for line in [
            "-c a.c",
            "-O2 -O0 -c a.c",
            "-O00 -c a.c",
            "-O2 --optimize=0 -c a.c",
        ] {
            assert_eq!(left(line), Some(Left::NotOptimized), "{line}");
        }
        for line in [
            "",
            "-O2 a.o -o a",
            "-O2 -c a.S b.s",
            "-O2 -c a.i",
            "-v",
            "-O2 a.h",
            "-O2 libc.c.so",
        ] {
            assert_eq!(left(line), Some(Left::NoSource), "{line}");
        }
    }

    #[test]
    fn link_time_optimization_is_seen() {
        for (line, expected) in [
            ("-O2 -c a.c", false),
            ("-O2 -flto -c a.c", true),
            ("-O2 -flto=auto -c a.c", true),
            ("-O2 -flto -fno-lto -c a.c", false),
            ("-O2 -c a.c -o -flto", false),
        ] {
            assert_eq!(of(line).lto, expected, "{line}");
        }
    }

    #[test]
    fn functions_that_are_no_builtins_are_kept() {
        let kept = |line: &str| of(line).kept;
        assert_eq!(kept("-O2 -fno-builtin-strlen -c a.c"), [""; 0]);
        assert_eq!(
            kept("-O2 -fno-builtin-printf -fno-builtin-snprintf a.c"),
            ["printf", "snprintf"]
        );
        assert_eq!(
            kept("-O2 -fno-builtin-printf_unlocked -o -fno-builtin-printf a.c"),
            [""; 0]
        );
    }

    #[test]
    fn c_plus_plus_is_asked_for() {
        assert_eq!(left("-O2 -c a.cpp"), Some(Left::CPlusPlus));
        assert_eq!(left("-O2 -c a.c b.cc"), Some(Left::CPlusPlus));
        assert_eq!(left("-O2 -DQRINTF_CXX -c a.cpp"), None);
        assert_eq!(left("-O2 -D QRINTF_CXX=1 -c a.C"), None);
        let words = || ["-O2", "-c", "a.c"].into_iter().map(OsString::from);
        assert_eq!(read(words(), true).left, Some(Left::CPlusPlus));
    }

    #[test]
    fn every_word_but_our_own_is_passed_on() {
        let arguments = of("-O2 --qrintf-report -c a.c -o --qrintf-report");
        assert!(arguments.report);
        let flat: Vec<_> = arguments.flat().collect();
        assert_eq!(flat, ["-O2", "-c", "a.c", "-o", "--qrintf-report"]);
        assert_eq!(arguments.sources, ["a.c"]);
        assert!(!of("-O2 -o --qrintf-report a.c").report);
        let unfinished = of("a.c -o");
        assert_eq!(unfinished.flat().collect::<Vec<_>>(), ["a.c", "-o"]);
    }
}
