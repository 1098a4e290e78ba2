//! A compiler prints and writes the same through the driver as by itself.

use std::collections::BTreeSet;
use std::process::Command;

use crate::sandbox::{DRIVER, SOURCE, Sandbox, compilers, errors, installed, run, text};

/// Runs one command by itself and through the driver; both must end alike. Their errors are returned.
fn both(sandbox: &Sandbox, compiler: &str, line: &str) -> (String, String) {
    let alone = sandbox.command(compiler, line).output().unwrap();
    let driven = sandbox.driver(&format!("{compiler} {line}")).output().unwrap();
    assert_eq!(
        alone.status.code(),
        driven.status.code(),
        "{compiler} {line}\n{}",
        text(&driven)
    );
    assert_eq!(alone.stdout, driven.stdout, "{compiler} {line}");
    (errors(&alone), errors(&driven))
}

/// Lines that name a place and a fault: `a.c:4:20: warning: …`.
fn faults(errors: &str) -> BTreeSet<&str> {
    errors
        .lines()
        .filter(|line| line.contains(": warning: ") || line.contains(": error: "))
        .collect()
}

#[test]
fn clean_code_is_compiled_in_silence_under_every_standard() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.c",
        r#"#include <stdio.h>
#include <string.h>
static const char *const names[] = { "zero", "one" };
int write_line(char *out, unsigned long size, unsigned a, const char *name, double seconds)
{
    int length = sprintf(out, "%u.%u", a & 255u, a >> 8);
    if (length < 0)
        return -1;
    return snprintf(out, size, "%s %-10s %08x %.3f %c\n", name, names[a & 1u], a, seconds, 'x');
}
int main(void)
{
    char text[100];
    int length = write_line(text, sizeof text, 7, "name", 0.5);
    printf("%d %s", length, text);
    fprintf(stderr, "%s", strchr(text, '\0'));
    return 0;
}
"#,
    );
    for compiler in compilers() {
        for standard in ["c89", "gnu89", "c99", "gnu99", "c11", "gnu17", "gnu2x"] {
            let line =
                format!("-O2 -D_GNU_SOURCE -std={standard} -pedantic-errors -Wall -Wextra -Werror a.c -o a");
            let mut command = sandbox.driver(&format!("{compiler} {line}"));
            let output = command.env("QRINTF_STRICT", "1").output().unwrap();
            let errors = errors(&output);
            assert!(
                output.status.success() && errors.is_empty(),
                "{compiler} {line}\n{errors}"
            );
        }
    }
}

/// Warnings that projects enable beyond `-Wall -Wextra`, by compiler. Those that contradict the code below are not among them.
const STRICT: &str = "-Wshadow -Wcast-qual -Wcast-align -Wconversion -Wsign-conversion -Wundef -Wvla -Wnested-externs \
    -Wstrict-prototypes -Wmissing-prototypes -Wredundant-decls -Wunused -Wunused-macros -Wswitch-default -Wswitch-enum \
    -Wpointer-arith -Wbad-function-cast -Wdeclaration-after-statement -Wformat=2 -Wdouble-promotion -Wwrite-strings \
    -Winline -Wnull-dereference -Wfloat-equal -Wdisabled-optimization -Wunreachable-code -Wstrict-overflow=2 \
    -Wmissing-noreturn -Wc++-compat -Wjump-misses-init";

#[test]
fn strict_projects_see_no_warning_of_ours() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.c",
        r#"#include <stdio.h>
int write_line(char *out, unsigned long size, unsigned a, const char *name, double seconds, long long big);
int write_line(char *out, unsigned long size, unsigned a, const char *name, double seconds, long long big)
{
    int length;
    if (a > 3)
        length = sprintf(out, "%u.%u", a & 255U, a >> 8);
    else
        length = sprintf(out, "%-5d|%c|%5s", (int)a, 'x', name);
    length += snprintf(out, size, "%s %-10s %08x %.3f %g %lld %zu%%\n", name, name, a, seconds, seconds, big, sizeof a);
    printf("%d %p\n", length, (void *)out);
    fprintf(stderr, "%s=%*.*d\n", name, 4, 2, length);
    return snprintf(out, 10, "%d", length);
}
"#,
    );
    for compiler in compilers() {
        // Each compiler leaves out what it does not know.
        let known = if compiler.contains("clang") {
            "-Weverything -Wno-unknown-warning-option -Wno-disabled-macro-expansion -Wno-used-but-marked-unused -Wno-tautological-value-range-compare".to_owned()
        } else {
            format!("{STRICT} -Wlogical-op -Wduplicated-branches -Wduplicated-cond -Wtrampolines -Wno-padded")
        };
        for level in ["-O1", "-O3"] {
            let line = format!("{level} -Wall -Wextra -Werror {known} -D_GNU_SOURCE -c a.c");
            let mut command = sandbox.driver(&format!("{compiler} {line}"));
            let output = run(command.env("QRINTF_STRICT", "1"));
            assert_eq!(text(&output), "", "{compiler} {line}");
        }
    }
}

/// clang once warned of each call that is a statement.
#[test]
fn preprocessed_text_is_compiled_in_silence() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.c",
        r#"#include <stdio.h>
int write_lines(char *out, unsigned long size, int number, const char *name, FILE *file);
int write_lines(char *out, unsigned long size, int number, const char *name, FILE *file)
{
    sprintf(out, "%d", number);
    snprintf(out, size, "%s %d%%", name, number);
    printf("%d %s\n", number, name);
    fprintf(file, "%5.2f %p", 0.5, (void *)out);
    dprintf(1, "%x", (unsigned)number);
    (void)sprintf(out, "%g", 0.5);
    return sprintf(out, "%*d", number, number);
}
"#,
    );
    for compiler in compilers() {
        let line = format!("{compiler} -O2 -Wall -Wextra -Werror -save-temps -c a.c");
        let mut command = sandbox.driver(&line);
        let output = run(command.env("QRINTF_STRICT", "1"));
        assert_eq!(text(&output), "", "{line}");
    }
}

#[test]
fn dependencies_are_the_same() {
    let sandbox = Sandbox::with_source();
    for compiler in compilers() {
        both(&sandbox, compiler, "-O2 -M a.c");
        both(&sandbox, compiler, "-O2 -MM a.c");
        both(&sandbox, compiler, "-O2 -E a.c");
        both(&sandbox, compiler, "-O2 -S a.c -o -");
        let mut written = Vec::new();
        for driver in ["", DRIVER] {
            let line = format!("{driver} {compiler} -O2 -MMD -MP -MF a.d -c a.c -o a.o");
            run(&mut sandbox.command("/usr/bin/env", &line));
            written.push(sandbox.read("a.d"));
        }
        assert_eq!(written[0], written[1], "{compiler}");
    }
}

#[test]
fn all_dependencies_name_our_headers_besides() {
    let sandbox = Sandbox::with_source();
    for compiler in compilers() {
        let mut files = Vec::new();
        for driver in ["", DRIVER] {
            let line = format!("{driver} {compiler} -O2 -MD -MF a.d -c a.c -o a.o");
            run(&mut sandbox.command("/usr/bin/env", &line));
            let words = sandbox.read("a.d").replace("\\\n", " ");
            files.push(
                words
                    .split_whitespace()
                    .map(str::to_owned)
                    .collect::<BTreeSet<_>>(),
            );
        }
        let missing: Vec<_> = files[0].difference(&files[1]).collect();
        assert!(missing.is_empty(), "{compiler}: {missing:?}");
        let added: Vec<_> = files[1].difference(&files[0]).collect();
        assert!(
            added.iter().any(|name| name.ends_with("/stdio.h")),
            "{compiler}: {added:?}"
        );
        assert!(
            added.iter().all(|name| name.contains("/qrintf/include/")),
            "{compiler}: {added:?}"
        );
    }
}

#[test]
fn errors_are_the_compilers_own() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "error.c",
        "#include <stdio.h>\nint main(void) { return undeclared; }\n",
    );
    sandbox.write("syntax.c", "#include <stdio.h>\nint main(void) { return 1 }\n");
    sandbox.write(
        "link.c",
        "extern int nowhere(void);\nint main(void) { return nowhere(); }\n",
    );
    for compiler in compilers() {
        for line in [
            "-O2 -c error.c",
            "-O2 -c syntax.c",
            "-O2 -c missing.c",
            "-O2 -c --no-such-option error.c",
            "-O2 missing.o",
            "-O2 -c -o",
            "-std=c99 -O2 -Wall -c error.c",
            "",
        ] {
            let (alone, driven) = both(&sandbox, compiler, line);
            assert_eq!(alone, driven, "{compiler} {line}");
            assert!(!alone.is_empty(), "{compiler} {line}");
        }
        let (alone, driven) = both(&sandbox, compiler, "-O2 link.c -o link");
        for errors in [alone, driven] {
            assert!(errors.contains("nowhere"), "{errors}");
        }
    }
}

#[test]
fn warnings_about_formats_keep_their_line_and_column() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.c",
        r#"#include <stdio.h>
int wrong(char *out, unsigned long size, long number, const char *text)
{
    int length = snprintf(out, size, "%d", number);
    length += sprintf(out, "a %s b", 42);
    length += snprintf(out, size,
                       "%d %d\n", 1);
    length += snprintf(out, size, "%d\n", 1, 2);
    length += sprintf(out, "%y", 1);
    length += snprintf(out, size, text);
    printf("%s\n", number);
    fprintf(stderr, "%lu\n", text);
    return length;
}
"#,
    );
    for compiler in compilers() {
        let (alone, driven) = both(&sandbox, compiler, "-O2 -Wall -Wextra -Wformat=2 -c a.c");
        let alone = places(&alone);
        let lines: BTreeSet<_> = alone.iter().map(|(line, _)| line).collect();
        assert_eq!(lines.len(), 8, "{compiler}: {alone:?}");
        assert_eq!(alone, places(&driven), "{compiler}");
    }
}

/// The line of each fault, and the option that asked for it; columns have a test of their own.
fn places(errors: &str) -> Vec<(String, String)> {
    let mut places: Vec<_> = faults(errors)
        .iter()
        .map(|fault| {
            let line = fault.split(':').nth(1).unwrap_or_default();
            let option = fault.rsplit(' ').next().unwrap_or_default();
            (line.to_owned(), option.to_owned())
        })
        .collect();
    places.sort();
    places
}

#[test]
fn warnings_about_formats_point_at_the_directive() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.c",
        "#include <stdio.h>\nint f(char *out, long n)\n{\n    return sprintf(out, \"%d\", n);\n}\n",
    );
    for compiler in compilers() {
        let (alone, driven) = both(&sandbox, compiler, "-O2 -Wall -c a.c");
        assert_eq!(alone, driven);
        assert!(!alone.is_empty(), "{compiler}");
    }
}

#[test]
fn objects_are_reproducible() {
    let sandbox = Sandbox::new();
    for directory in ["one", "two"] {
        sandbox.write(&format!("{directory}/a.c"), SOURCE);
    }
    for compiler in compilers() {
        for line in [
            "-O2 -c a.c -o a.o",
            "-O2 -g -fdebug-prefix-map=PWD=. -c a.c -o a.o",
        ] {
            let mut objects = Vec::new();
            for directory in ["one", "two", "two"] {
                let path = sandbox.path(directory);
                let line = line.replace("PWD", path.to_str().unwrap());
                run(sandbox.driver(&format!("{compiler} {line}")).current_dir(&path));
                objects.push(sandbox.bytes(&format!("{directory}/a.o")));
            }
            assert!(
                objects[0] == objects[1] && objects[1] == objects[2],
                "{compiler} {line}"
            );
        }
    }
}

#[test]
fn programs_of_several_files_link_by_any_linker() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.c",
        &SOURCE.replace("return 0", "extern int b(void); return b()"),
    );
    sandbox.write(
        "b.c",
        "#include <stdio.h>\nint b(void) { return printf(\"%d-%x\\n\", 12, 255) - 6; }\n",
    );
    for compiler in ["gcc", "clang"] {
        for line in [
            "-O2 a.c b.c -o a -Wl,-E",
            "-O2 a.c b.c -Xlinker -E -o a",
            "-O3 -flto a.c b.c -o a",
            "-Os -static a.c b.c -o a",
            "-O1 -shared -fPIC a.c b.c -o a.so",
        ] {
            run(&mut sandbox.driver(&format!("{compiler} {line}")));
            if !line.contains("-shared") {
                let output = run(&mut Command::new(sandbox.path("a")));
                assert_eq!(text(&output), "1.2.x\n12-ff\n", "{compiler} {line}");
            }
        }
        // Objects of both compilers and of the plain one, linked by a C++ driver that knows nothing of this.
        run(&mut sandbox.driver(&format!("{compiler} -O2 -c a.c -o a.o")));
        run(&mut sandbox.driver("gcc -O2 -c b.c -o b.o"));
        run(&mut sandbox.command("c++", "a.o b.o -o a"));
        assert_eq!(text(&run(&mut Command::new(sandbox.path("a")))), "1.2.x\n12-ff\n");
    }
}

#[test]
fn calls_are_really_specialized() {
    let sandbox = Sandbox::with_source();
    // musl-gcc gives its library's headers by an -isystem of its own, which must come behind ours.
    let musl = installed("musl-gcc").then_some("musl-gcc");
    for compiler in compilers().into_iter().chain(musl) {
        let undefined = |line: &str| {
            run(&mut sandbox.command("/usr/bin/env", &format!("{line} -c a.c -o a.o")));
            text(&run(&mut sandbox.command("nm", "-u a.o")))
        };
        let alone = undefined(&format!("{compiler} -O2"));
        assert!(alone.contains("snprintf"), "{compiler}: {alone}");
        let pass = undefined(&format!("{DRIVER} {compiler} -O2 -O0"));
        assert!(pass.contains("snprintf"), "{compiler}: {pass}");
        // The libc's function stays as the way for what does not fit; the call itself goes through ours.
        run(&mut sandbox.driver(&format!("{compiler} -O2 -c a.c -o a.o")));
        let symbols = text(&run(&mut sandbox.command("nm", "a.o")));
        assert!(symbols.contains("qrintf_"), "{compiler}: {symbols}");
    }
}

#[test]
fn c_plus_plus_is_specialized_where_it_is_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.cpp",
        r#"#include <cstdio>
#include <cstring>
struct Printer { int snprintf(int a) { return a; } };
int main()
{
    char text[64];
    Printer member;
    int (*library)(char *, std::size_t, const char *, ...) = &std::snprintf;
    int length = std::snprintf(text, sizeof text, "%d.%s %08x", 7, "x", 255u) + member.snprintf(1);
    library(text + std::strlen(text), 8, "-%d", 3);
    std::printf("%s %d\n", text, length);
    return 0;
}
"#,
    );
    for compiler in ["g++", "clang++"] {
        for standard in ["c++11", "c++17", "c++20"] {
            for asked in ["", "-DQRINTF_CXX"] {
                let line = format!("{compiler} -O2 {asked} -std={standard} -Wall -Wextra -Werror a.cpp -o a");
                assert_eq!(text(&run(&mut sandbox.driver(&line))), "", "{line}");
                assert_eq!(
                    text(&run(&mut Command::new(sandbox.path("a")))),
                    "7.x 000000ff-3 13\n",
                    "{line}"
                );
                let symbols = text(&run(&mut sandbox.command("nm", "a")));
                assert_eq!(symbols.contains("qrintf_"), !asked.is_empty(), "{line}");
            }
        }
    }
}

#[test]
fn precompiled_headers_work() {
    let sandbox = Sandbox::new();
    sandbox.write("all.h", "#include <stdio.h>\n#include <stdlib.h>\n");
    sandbox.write("a.c", SOURCE);
    for (compiler, header) in [("gcc", "all.h.gch"), ("clang", "all.h.pch")] {
        run(&mut sandbox.driver(&format!("{compiler} -O2 -x c-header all.h -o {header}")));
        run(&mut sandbox.driver(&format!(
            "{compiler} -O2 -Winvalid-pch -Werror -include all.h a.c -o a"
        )));
        assert_eq!(text(&run(&mut Command::new(sandbox.path("a")))), "1.2.x\n");
    }
}
