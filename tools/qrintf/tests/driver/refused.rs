//! Programs that the plain compiler accepts are accepted, and the user sees its messages.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};

use crate::sandbox::{DRIVER, Sandbox, compilers, errors, run, text};

/// Valid programs that do not compile, or once did not, where `snprintf` and its kin are macros; each prints "1 2".
const ACCEPTED: [(&str, &str); 21] = [
    (
        "a compound literal with a comma",
        r#"struct s { int a, b; };
        int main(void) { printf("%d %d\n", (struct s){ 1, 2 }.a, (int[]){ 1, 2 }[1]); return 0; }"#,
    ),
    (
        "a statement expression with a comma",
        r#"
        int main(void) { printf("%d %d\n", ({ int a = 1, b = 0; a + b; }), 2); return 0; }"#,
    ),
    (
        "a pragma without optimization",
        r#"
        #pragma GCC optimize("O0")
        int main(int argc, char **argv) { (void)argv; printf("%d %d\n", argc, argc + 1); return 0; }"#,
    ),
    (
        "a function without optimization",
        r#"
        __attribute__((optimize("O0"))) static void print(int a) { printf("%d %d\n", a, a + 1); }
        int main(void) { print(1); return 0; }"#,
    ),
    (
        "prototypes of the program's own",
        r#"
        int printf(const char *, ...);
        extern int snprintf(char *, size_t, const char *, ...);
        int sprintf(char *out, const char *format, ...);
        int main(void) { char t[9]; snprintf(t, sizeof t, "%d", 1); printf("%s %d\n", t, 2); return 0; }"#,
    ),
    (
        "members with the names",
        r#"
        struct out { int (*printf)(const char *, ...); int (*snprintf)(char *, size_t, const char *, ...); };
        int main(void)
        {
            struct out o = { .printf = printf, .snprintf = snprintf }, *p = &o;
            char t[9];
            o.snprintf(t, sizeof t, "%d", 1);
            p->printf("%s %d\n", t, 2);
            return 0;
        }"#,
    ),
    (
        "local variables with the names",
        r#"#include <stdarg.h>
        static int twice(const char *format, ...)
        {
            va_list list;
            va_start(list, format);
            int length = vprintf(format, list);
            va_end(list);
            return length;
        }
        static int print(int (*printf)(const char *, ...)) { return printf("%d ", 1); }
        int main(void) { if (print(twice) == 2) printf("%d\n", 2); return 0; }"#,
    ),
    (
        "a function of the program's own",
        r#"
        int sprintf(char *out, const char *format, ...) { out[0] = format[0] == '%' ? '1' : '2'; return out[1] = 0; }
        int main(void) { char t[9]; sprintf(t, "%x", 7); printf("%s %d\n", t, 2); return 0; }"#,
    ),
    (
        "addresses and parentheses",
        r#"
        int main(void) { int (*f)(const char *, ...) = &printf; f("%d ", 1); (printf)("%d\n", 2); return 0; }"#,
    ),
    (
        "no macro any more",
        r#"
        #undef printf
        #undef snprintf
        int printf(const char *, ...);
        int main(void) { printf("%d %d\n", 1, 2); return 0; }"#,
    ),
    (
        "a macro of the program's own",
        r#"
        #define printf(format, ...) fprintf(stdout, format " %d\n", __VA_ARGS__)
        int main(void) { printf("%d", 1, 2); return 0; }"#,
    ),
    (
        "another stdout",
        r#"
        #undef stdout
        #define stdout stderr
        int main(void) { printf("%d %d\n", 1, 2); return 0; }"#,
    ),
    (
        "a size at file scope",
        r#"
        static char room[sizeof(printf("%d", 1))];
        int main(void) { printf("%d %d\n", 1, (int)sizeof room / 2); return 0; }"#,
    ),
    (
        "a label in an argument",
        r#"
        int main(void) { int n = 0; printf("%d %d\n", ({ again: if (n++ < 1) goto again; n - 1; }), 2); return 0; }"#,
    ),
    (
        "a static in an argument",
        r#"
        static int next(void) { return 1; }
        int main(void) { printf("%d %d\n", ({ static int n; n += next(); n; }), 2); return 0; }"#,
    ),
    (
        "directives in a call",
        r#"
        int main(void)
        {
            printf("%d %d\n",
        #ifdef NOTHING
                   7,
        #else
                   1,
        #endif
                   2);
            return 0;
        }"#,
    ),
    (
        "an initializer with a comma",
        r#"
        struct pair { int a, b; };
        static int sum(struct pair p) { return p.a + p.b; }
        int main(void) { char t[9]; sprintf(t, "%d", sum((struct pair){ .a = 1, .b = 0 })); printf("%s %d\n", t, 2); return 0; }"#,
    ),
    (
        "another target",
        r#"
        __attribute__((target("general-regs-only"))) static void print(int a) { printf("%d %d\n", a, a + 1); }
        int main(void) { print(1); return 0; }"#,
    ),
    (
        "a parameter list of old",
        r#"
        int main(argc, argv) int argc; char **argv; { printf("%d %d\n", argc, argv ? 2 : 0); return 0; }"#,
    ),
    (
        "the names of a type and a label",
        r#"
        int main(void) { struct printf { int printf; } p = { 1 }; goto printf; printf: printf("%d %d\n", p.printf, 2); return 0; }"#,
    ),
    (
        "the words of our own macros",
        r#"
        #define FILE no such type
        #define qrintf none
        #define length 1 +
        int main(void) { printf("%d %d\n", 1, 2); return 0; }"#,
    ),
];

fn directory(sandbox: &Sandbox, name: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(sandbox.path(name))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .map(|path| {
            (
                path.file_name().unwrap().to_str().unwrap().to_owned(),
                fs::read(&path).unwrap(),
            )
        })
        .collect()
}

#[test]
fn programs_that_compile_alone_compile() {
    let sandbox = Sandbox::new();
    for (name, program) in ACCEPTED {
        sandbox.write("a.c", &format!("#include <stdio.h>\n{program}\n"));
        for compiler in ["gcc", "gcc-11", "clang"] {
            for flags in ["-O2", "-Os -D_FORTIFY_SOURCE=2"] {
                let line = format!("{compiler} -std=gnu11 {flags} a.c -o a");
                let alone = sandbox.command("/usr/bin/env", &line).output().unwrap();
                let driven = sandbox.driver(&line).output().unwrap();
                assert_eq!(
                    alone.status.code(),
                    driven.status.code(),
                    "{name}: {line}\n{}",
                    text(&driven)
                );
                assert_eq!(errors(&alone), errors(&driven), "{name}: {line}");
                if alone.status.success() {
                    assert_eq!(
                        text(&run(&mut Command::new(sandbox.path("a")))),
                        "1 2\n",
                        "{name}: {line}"
                    );
                }
            }
        }
    }
}

/// Sources that are compiled by each command of the next tests: fit, refused with the headers, warned about, and wrong.
fn sources(sandbox: &Sandbox, folder: &str) {
    let fit =
        "int fit(char *out, int a);\nint fit(char *out, int a) { return sprintf(out, \"%d %x\", a, a); }\n";
    let comma =
        "int comma(char *out);\nint comma(char *out) { return sprintf(out, \"%d\", (int[]){ 1, 2 }[0]); }\n";
    let main = "int main(void) { char t[20]; printf(\"%d\\n\", sprintf(t, \"%05d\", 7)); return 0; }\n";
    let warned =
        "int warned(long a);\nint warned(long a) { int unused; return printf(\"%d %d\\n\", a, 1 / 0); }\n";
    let wrong = "int wrong(char *out) { return sprintf(out, \"%d\", missing) + nothing; }\n";
    for (name, text) in [
        ("fit", fit),
        ("comma", comma),
        ("main", main),
        ("warned", warned),
        ("wrong", wrong),
    ] {
        sandbox.write(
            &format!("{folder}/{name}.c"),
            &format!("#include <stdio.h>\n{text}"),
        );
    }
}

#[test]
fn messages_status_and_files_are_those_of_the_compiler() {
    for compiler in compilers() {
        for line in [
            "-c comma.c",
            "-c comma.c -o out.o -MD -MF out.d",
            "-c fit.c comma.c -MMD -MP",
            "-c comma.c -save-temps",
            "-c comma.c -pipe -MD -MF -",
            "-Wall -Wextra -c warned.c -MMD -o out.o",
            "-Wall -Wextra -Werror -c warned.c -MD",
            "-Wall -Werror=format -fmax-errors=1 -c warned.c",
            "-Wall -c warned.c fit.c",
            "-Wall main.c warned.c -o out",
            "-Wall -c wrong.c -o out.o -MD",
            "-Wall -c fit.c wrong.c comma.c",
            "-Wall fit.c wrong.c main.c -o out",
            "main.c fit.c comma.c -o out",
            "fit.c -o out",
            "main.c -o out -lnone",
            "-c none.c",
            "-c fit.c -o none/out.o",
            "-include none.h -c fit.c",
            "-c --no-such-option fit.c",
            "main.c fit.c -Wl,--trace-symbol=fit -o out",
        ] {
            let (mut outputs, mut files) = (Vec::new(), Vec::new());
            for driver in ["", DRIVER] {
                let sandbox = Sandbox::new();
                sources(&sandbox, "in");
                let mut command = sandbox.command("/usr/bin/env", &format!("{driver} {compiler} -O2 {line}"));
                outputs.push(command.current_dir(sandbox.path("in")).output().unwrap());
                files.push(directory(&sandbox, "in"));
            }
            let [alone, driven] = &outputs[..] else {
                unreachable!()
            };
            assert_eq!(alone.status, driven.status, "{compiler} {line}\n{}", text(driven));
            assert_eq!(said(alone), said(driven), "{compiler} {line}");
            let names = |files: &BTreeMap<_, _>| files.keys().cloned().collect::<Vec<String>>();
            assert_eq!(names(&files[0]), names(&files[1]), "{compiler} {line}");
            for (name, contents) in &files[0] {
                let specialized =
                    line.contains("warned") && !line.contains("main") || line.starts_with("main.c fit.c -Wl");
                if !(specialized && (name.ends_with(".o") || name.ends_with(".d") || name == "out")) {
                    assert!(
                        *contents == files[1][name] || name == "fit.o",
                        "{compiler} {line}: {name}"
                    );
                }
            }
        }
    }
}

/// Output without the names of temporary files, which are others each time.
fn said(output: &Output) -> String {
    let text = text(output);
    let words = text.split_inclusive(char::is_whitespace);
    words
        .map(|word| if word.contains("/tmp/") { "TEMPORARY" } else { word })
        .collect()
}

#[test]
fn a_second_run_takes_place_only_where_it_may_help() {
    let sandbox = Sandbox::with_source();
    for (status, message, runs) in [
        (0, "", 1),
        (0, "a.c:1:2: warning: unused variable 'x'", 1),
        (0, "a.c:1:2: warning: snprintf", 2),
        (1, "a.c:1:2: error: x", 2),
        (4, "", 2),
        (1, "a.c:1:10: fatal error: x.h: No such file or directory", 1),
        (
            1,
            "ld: undefined reference to `x'\ncollect2: error: ld returned 1 exit status",
            1,
        ),
        (
            1,
            "ld: undefined reference to `nl_langinfo'\ncollect2: error: ld returned 1 exit status",
            2,
        ),
    ] {
        let log = sandbox.path("runs");
        fs::write(&log, "").unwrap();
        sandbox.script(
            "bin/gcc",
            &format!(
                "echo run >> {}\ncat >&2 <<'END'\n{message}\nEND\nexit {status}",
                log.display()
            ),
        );
        let output = sandbox
            .driver(&format!("{} -O2 -c a.c", sandbox.path("bin/gcc").display()))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(status), "{message}");
        assert_eq!(errors(&output), format!("{message}\n"));
        assert_eq!(sandbox.read("runs").lines().count(), runs, "{message}");
    }
}

#[test]
fn signals_reach_the_compiler_and_end_the_driver() {
    let sandbox = Sandbox::with_source();
    // Says that it runs, then waits for its end.
    sandbox.script("bin/gcc", "trap 'echo ended >> seen; trap - TERM; kill -TERM $$' TERM\necho ready >> seen\nmkfifo wait\nread line < wait 2>/dev/null");
    let mut command = sandbox.driver(&format!("{} -O2 -c a.c", sandbox.path("bin/gcc").display()));
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    while !sandbox.path("wait").exists() {
        std::thread::yield_now();
    }
    run(Command::new("kill").args(["-TERM", &child.id().to_string()]));
    // The shell acts on a signal when its `read` ends.
    let _ = fs::OpenOptions::new()
        .write(true)
        .read(true)
        .open(sandbox.path("wait"))
        .map(|mut pipe| std::io::Write::write_all(&mut pipe, b"\n"));
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), Some(15), "{status}");
    assert_eq!(sandbox.read("seen"), "ready\nended\n");
}

#[test]
fn inputs_that_can_be_read_once_are_read_by_the_plain_compiler() {
    let sandbox = Sandbox::with_source();
    for compiler in ["gcc", "clang"] {
        for line in ["-x c -", "-x c /dev/stdin", "-include /dev/stdin a.c"] {
            let mut command = sandbox.driver(&format!("{compiler} -O2 -c {line} -o a.o"));
            command.stdin(fs::File::open(sandbox.path("a.c")).unwrap());
            if line.starts_with("-include") {
                command.arg("-Dmain=other");
                command.stdin(Stdio::null());
            }
            run(&mut command);
        }
    }
    run(&mut sandbox.command("mkfifo", "pipe.c"));
    let mut writer = sandbox.command("cp", "a.c pipe.c").spawn().unwrap();
    run(&mut sandbox.driver("gcc -O2 -c pipe.c -o pipe.o"));
    writer.wait().unwrap();
}

#[test]
fn a_report_says_that_a_file_does_not_compile_with_the_headers() {
    let sandbox = Sandbox::new();
    sources(&sandbox, ".");
    for compiler in ["gcc", "clang"] {
        for (line, report) in [
            (
                "-c comma.c",
                "comma.c: left: it does not compile with the headers\n",
            ),
            ("-c wrong.c", "wrong.c: did not compile\n"),
            (
                "-Wno-format -w -c fit.c",
                "fit.c:3: sprintf \"%d %x\": specialized\nfit.c: specialized 1 of 1 calls\n",
            ),
            (
                "main.c warned.c -o out",
                "main.c: left: the compiler warns about a call, and links in the same command\nwarned.c: left: the compiler warns about a call, and links in the same command\n",
            ),
        ] {
            let output = sandbox
                .driver(&format!("{compiler} -O2 -Wall {line} --qrintf-report"))
                .output()
                .unwrap();
            assert_eq!(
                String::from_utf8_lossy(&output.stdout),
                report,
                "{compiler} {line}"
            );
        }
    }
}

#[test]
fn caches_before_and_behind_keep_what_came_out() {
    for order in ["ccache DRIVER gcc", "DRIVER ccache gcc"] {
        let sandbox = Sandbox::new();
        sources(&sandbox, ".");
        let mut objects = Vec::new();
        for _ in 0..3 {
            let line = format!(
                "{} -O2 -c comma.c -MD -o comma.o",
                order.replace("DRIVER", DRIVER)
            );
            let output = run(sandbox
                .command("/usr/bin/env", &line)
                .env("CCACHE_DIR", sandbox.path("cache")));
            assert_eq!(text(&output), "", "{line}");
            objects.push((sandbox.bytes("comma.o"), sandbox.bytes("comma.d")));
        }
        run(&mut sandbox.command("gcc", "-O2 -c comma.c -MD -o plain.o -MF plain.d -MT comma.o"));
        for (object, dependencies) in objects {
            assert!(object == sandbox.bytes("plain.o"), "{order}");
            assert_eq!(dependencies, sandbox.bytes("plain.d"), "{order}");
        }
    }
}
