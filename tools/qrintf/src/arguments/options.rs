//! The meaning of single options of gcc and clang.
//!
//! The lists are those of both compilers together: what only one of them knows is an error to the other anyway.

use std::ffi::OsStr;

/// The level of an `-O` option: empty for `-O` itself, which means 1.
pub(super) fn optimization(word: &[u8]) -> Option<&[u8]> {
    match word {
        b"--optimize" => Some(b""),
        _ => word.strip_prefix(b"--optimize=").or(word.strip_prefix(b"-O")),
    }
}

/// What a `-D` defines, be it joined or the next word.
pub(super) fn definition<'a>(word: &'a [u8], argument: Option<&'a OsStr>) -> Option<&'a [u8]> {
    match word {
        b"-D" | b"--define-macro" => argument.map(OsStr::as_encoded_bytes),
        _ => word.strip_prefix(b"--define-macro=").or(word.strip_prefix(b"-D")),
    }
}

/// True if this option alone leaves nothing to compile here: it wants the preprocessor only, an answer, or (`-cc1`) a part
/// of clang that has other options.
pub(super) fn asks(word: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[
        b"-###",
        b"-E",
        b"-M",
        b"-MM",
        b"-cc1",
        b"-cc1as",
        b"--dependencies",
        b"--help",
        b"--preprocess",
        b"--user-dependencies",
        b"--version",
        b"-fsyntax-only",
    ];
    const STARTS: &[&[u8]] = &[b"-print-", b"--print-", b"-dump"];
    // These name an auxiliary file, and go with compiling.
    const NOT: &[&[u8]] = &[b"-dumpbase", b"-dumpbase-ext", b"-dumpdir"];
    WORDS.contains(&word) || (STARTS.iter().any(|start| word.starts_with(start)) && !NOT.contains(&word))
}

/// True if this option alone makes a command pass unchanged.
pub(super) fn stops(word: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[
        b"-",
        b"-S",
        b"--assemble",
        b"-fpreprocessed",
        b"-fdirectives-only",
        b"-nostdinc",
        b"--no-standard-includes",
        b"-nostdlibinc",
        b"-traditional",
        b"-traditional-cpp",
        b"--traditional",
        b"--traditional-cpp",
        b"-fno-builtin",
        // Runs a debugger, say, which wants a terminal.
        b"-wrapper",
    ];
    const STARTS: &[&[u8]] = &[b"-x", b"--language"];
    WORDS.contains(&word) || STARTS.iter().any(|start| word.starts_with(start))
}

/// True if the next word is this one's argument. Joined forms (`-ofile`, `-Idir`, `--param=x`) need no mention.
pub(super) fn takes_next(word: &OsStr) -> bool {
    const WORDS: &[&str] = &[
        // Languages and files.
        "-o",
        "--output",
        "-x",
        "--language",
        "-include",
        "--include",
        "-imacros",
        "--imacros",
        "-include-pch",
        "-aux-info",
        "-wrapper",
        "-specs",
        "--specs",
        "--config",
        "-dumpbase",
        "-dumpbase-ext",
        "-dumpdir",
        "--dumpbase",
        "--dumpbase-ext",
        "--dumpdir",
        "--dump",
        "-dsym-dir",
        "-filelist",
        "-working-directory",
        "-serialize-diagnostics",
        "--serialize-diagnostics",
        "--analyzer-output",
        // Macros.
        "-A",
        "--assert",
        "-D",
        "--define-macro",
        "-U",
        "--undefine-macro",
        // Where headers are.
        "-I",
        "--include-directory",
        "--include-directory-after",
        "--include-prefix",
        "--include-with-prefix",
        "--include-with-prefix-after",
        "--include-with-prefix-before",
        "-F",
        "-isystem",
        "-isystem-after",
        "-iquote",
        "-idirafter",
        "-iprefix",
        "-iwithprefix",
        "-iwithprefixbefore",
        "-iwithsysroot",
        "-isysroot",
        "-imultilib",
        "-imultiarch",
        "-iframework",
        "-iframeworkwithsysroot",
        "-cxx-isystem",
        "-stdlib++-isystem",
        "-ivfsoverlay",
        "-fmodules-user-build-path",
        "--sysroot",
        "-resource-dir",
        "-B",
        "--prefix",
        // Dependencies.
        "-MF",
        "-MT",
        "-MQ",
        "-MJ",
        "-dependency-file",
        "-dependency-dot",
        "-module-dependency-dir",
        // Words for other programs.
        "-Xlinker",
        "--for-linker",
        "-Xassembler",
        "--for-assembler",
        "-Xpreprocessor",
        "-Xclang",
        "-Xanalyzer",
        "-Xcuda-fatbinary",
        "-Xcuda-ptxas",
        "-Xopenmp-target",
        "-mllvm",
        // Targets.
        "-target",
        "-arch",
        "-G",
        "-V",
        "-b",
        "-meabi",
        "-mthread-model",
        "-ccc-gcc-name",
        "-ccc-install-dir",
        "-gcc-toolchain",
        "--param",
        // The linker's.
        "-L",
        "--library-directory",
        "-l",
        "-T",
        "-Tbss",
        "-Tdata",
        "-Ttext",
        "-Ttext-segment",
        "-u",
        "--force-link",
        "--undefined",
        "-z",
        "-e",
        "--entry",
        "-h",
        "-R",
        "-J",
        "-Hd",
        "-rpath",
        "-init",
        "-framework",
        "-weak_library",
        "-force_load",
        "-lazy_library",
        "-lazy_framework",
        "-umbrella",
        "-undefined",
        "-install_name",
        "-current_version",
        "-compatibility_version",
        "-bundle_loader",
        "-exported_symbols_list",
    ];
    word.to_str()
        .is_some_and(|word| WORDS.contains(&word) || word.starts_with("-Xarch_"))
}
