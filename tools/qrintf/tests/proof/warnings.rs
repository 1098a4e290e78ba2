//! The compilers' warnings of wrong calls stay, on their lines, and valid code gets none.
//!
//! clang keeps the column too. gcc points at the format's literal where plain gcc points into it, and adds a note with
//! that place; either is accepted.

use std::{collections::BTreeSet, path::Path};

use crate::toolchain::{self, CLANG, GCC, GCC_11, MUSL, Toolchain, scratch};

/// A diagnostic of the file itself: where it is, and the flag in brackets (or what else it says).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Diagnostic {
    line: u32,
    column: u32,
    kind: String,
}

#[test]
fn wrong_calls_warn_where_they_did() {
    let folder = scratch("wrong");
    let mut faults = String::new();
    for toolchain in [GCC, GCC_11, CLANG] {
        for flags in [
            &["-O1", "-Wall", "-Wextra"][..],
            &["-O2", "-Wall", "-Wextra", "-Wformat=2"],
            &["-Os", "-Wformat"],
        ] {
            let plain = diagnostics(&folder, &toolchain, flags, false);
            let ours = diagnostics(&folder, &toolchain, flags, true);
            let told = format!("{} {flags:?}", toolchain.name);
            assert!(plain.len() > 20, "{told}: {plain:?}");
            for expected in plain.iter().filter(|one| !one.is_note()) {
                if !has(&ours, expected, toolchain == CLANG) {
                    faults.push_str(&format!("{told} loses {expected:?}\n"));
                }
            }
            let lines = plain
                .iter()
                .map(|one| (one.line, &one.kind))
                .collect::<BTreeSet<_>>();
            for found in ours.iter().filter(|one| !one.is_note()) {
                if !lines.contains(&(found.line, &found.kind)) {
                    faults.push_str(&format!("{told} adds {found:?}\n"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

impl Diagnostic {
    fn is_note(&self) -> bool {
        self.kind.starts_with("note")
    }
}

/// Warnings that strict projects enable.
const STRICT: &str = "-Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wcast-qual -Wcast-align \
    -Wpointer-arith -Wundef -Wfloat-equal -Wunused -Wnested-externs -Wvla -Wwrite-strings -Wmissing-prototypes \
    -Wstrict-prototypes -Wold-style-definition -Wredundant-decls -Wdouble-promotion -Wswitch-default \
    -Wnull-dereference -Wformat=2 -Werror";

#[test]
fn valid_code_is_silent() {
    let folder = scratch("silent");
    let levels = [
        ("-O1", "gnu89"),
        ("-O2", "gnu11"),
        ("-O2", "c99"),
        ("-O3", "gnu2x"),
        ("-Os", "gnu89"),
    ];
    let more = [
        "-Wunused",
        "-Wpedantic",
        "-Wdeclaration-after-statement -D_FORTIFY_SOURCE=2",
    ];
    let mut faults = String::new();
    for toolchain in [GCC, GCC_11, CLANG, MUSL] {
        for (level, standard) in levels {
            for more in more {
                let mut compile = toolchain.specialized();
                compile
                    .args([level, "-c", "-o"])
                    .arg(folder.join("silent.o"))
                    .arg(format!("-std={standard}"));
                compile
                    .args(STRICT.split_whitespace())
                    .args(more.split_whitespace());
                let source = toolchain::sources().join("cases/silent.c");
                let output = compile.arg(source).output().expect("the compiler runs");
                if !output.status.success() {
                    let said = String::from_utf8_lossy(&output.stderr);
                    let first = said
                        .lines()
                        .find(|line| line.contains("error"))
                        .unwrap_or_default();
                    faults.push_str(&format!(
                        "{} {level} {standard} {more}: {first}\n",
                        toolchain.name
                    ));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

fn has(ours: &BTreeSet<Diagnostic>, expected: &Diagnostic, exactly: bool) -> bool {
    if ours.contains(expected) {
        return true;
    }
    let same_kind = ours
        .iter()
        .any(|one| one.line == expected.line && one.kind == expected.kind);
    let noted = ours.iter().any(|one| {
        one.line == expected.line
            && one.column == expected.column
            && one.kind.contains("format string is defined here")
    });
    !exactly
        && same_kind
        && (noted
            || ours
                .iter()
                .any(|one| one.line == expected.line && one.column <= expected.column))
}

fn diagnostics(
    folder: &Path,
    toolchain: &Toolchain,
    flags: &[&str],
    specialized: bool,
) -> BTreeSet<Diagnostic> {
    let mut compile = if specialized {
        toolchain.specialized()
    } else {
        toolchain.plain()
    };
    compile
        .args(flags)
        .args(["-std=gnu11", "-c", "-o"])
        .arg(folder.join("warned.o"))
        .arg("warned.c");
    compile
        .args(["-Wno-format-truncation", "-Wno-format-overflow", "-Wno-restrict"])
        .env("LC_ALL", "C");
    if *toolchain == CLANG {
        compile.args(["-fmacro-backtrace-limit=1", "-Wno-unknown-warning-option"]);
    }
    let output = compile
        .current_dir(toolchain::sources().join("cases"))
        .output()
        .expect("the compiler runs");
    String::from_utf8_lossy(&output.stderr)
        .lines()
        .filter_map(parse)
        .collect()
}

/// Reads `warned.c:LINE:COLUMN: warning: text [-Wflag]`.
fn parse(line: &str) -> Option<Diagnostic> {
    let mut fields = line.strip_prefix("warned.c:")?.splitn(3, ':');
    let line = fields.next()?.parse().ok()?;
    let column = fields.next()?.parse().ok()?;
    let text = fields.next()?.trim();
    let kind = match text.rfind('[') {
        Some(at) if text.ends_with(']') => text[at..].to_owned(),
        _ if text.starts_with("note: format string") => text.to_owned(),
        _ if text.starts_with("note") => return None,
        _ => "error".to_owned(),
    };
    Some(Diagnostic { line, column, kind })
}
