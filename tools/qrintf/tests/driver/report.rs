//! The report tells of each call, and changes nothing else.

use std::collections::BTreeSet;

use crate::sandbox::{DRIVER, Sandbox, compilers, run, text};

const CALLS: &str = r#"#include <stdio.h>
static inline int helper(char *out, int a) { return sprintf(out, "%05d", a); }
int calls(char *out, size_t size, const char *format, int a)
{
    int length = snprintf(out, size, "%d.%"
                          "d\n", a, a);
    length += snprintf(out, size, format, a);
    length += sprintf(out, "%s \"%x\"", format, a);
    length += snprintf(out, size, "%a", 1.0);
    length += helper(out, a);
    return length;
}
"#;

#[test]
fn each_call_is_listed_with_its_format_and_what_became_of_it() {
    let sandbox = Sandbox::new();
    sandbox.write("src/calls.c", CALLS);
    for compiler in compilers() {
        let line =
            format!("{compiler} --qrintf-report -O2 -Wall -Werror -Wno-error -MMD -c src/calls.c -o calls.o");
        let output = run(&mut sandbox.driver(&line));
        // Of a call on several lines gcc names the first and clang the last.
        let report = text(&output).replace("calls.c:6:", "calls.c:5:");
        let expected = r#"src/calls.c:2: sprintf "%05d": specialized
src/calls.c:5: snprintf "%d.%d\n": specialized
src/calls.c:7: snprintf: left: the format is not a string literal
src/calls.c:8: sprintf "%s \"%x\"": specialized
src/calls.c:9: snprintf "%a": left: the format has a conversion that stays with libc
src/calls.c: specialized 3 of 5 calls
"#;
        assert_eq!(report, expected, "{compiler}");
        assert!(sandbox.path("calls.d").exists());
    }
}

#[test]
fn a_report_is_asked_for_before_the_compiler_too() {
    let sandbox = Sandbox::new();
    sandbox.write("calls.c", CALLS);
    for compiler in compilers() {
        let line = format!("{compiler} --qrintf-report -O2 -c calls.c");
        let behind = text(&run(&mut sandbox.driver(&line)));
        let line = format!("--qrintf-report {compiler} -O2 -c calls.c");
        assert_eq!(text(&run(&mut sandbox.driver(&line))), behind);
        assert!(behind.contains("specialized 3 of 5 calls"), "{behind}");
    }
    let report = text(&run(&mut sandbox.driver("--qrintf-report -O2 -c calls.c")));
    assert!(report.contains("specialized 3 of 5 calls"), "{report}");
}

#[test]
fn a_report_changes_neither_objects_nor_dependencies_nor_leaves_files() {
    let sandbox = Sandbox::new();
    sandbox.write("calls.c", CALLS);
    sandbox.write("tmp/none", "");
    let names = |directory: &str| -> BTreeSet<_> {
        let entries = std::fs::read_dir(sandbox.path(directory)).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect()
    };
    for line in [
        "gcc -O2 -MD -save-temps -c calls.c",
        "clang -O2 -g -MMD -MF x.d -c calls.c -flto",
    ] {
        run(&mut sandbox.driver(line));
        let (object, files) = (sandbox.bytes("calls.o"), names("."));
        run(sandbox
            .driver(line)
            .env("TMPDIR", sandbox.path("tmp"))
            .env("QRINTF_REPORT", "tmp/report"));
        assert!(sandbox.bytes("calls.o") == object, "{line}");
        assert_eq!(names("."), files, "{line}");
        assert_eq!(names("tmp").len(), 2, "{line}");
    }
}

#[test]
fn reports_of_a_parallel_build_do_not_mix() {
    let sandbox = Sandbox::new();
    let mut makefile = String::from("all: $(patsubst %,%.o,$(shell seq 24))\n");
    for number in 1..=24 {
        let calls = "    sprintf(out, \"%d\", a);\n".repeat(20);
        sandbox.write(
            &format!("{number}.c"),
            &format!("#include <stdio.h>\nvoid f{number}(char *out, int a)\n{{\n{calls}}}\n"),
        );
    }
    makefile.push_str(&format!("%.o: %.c\n\t{DRIVER} gcc -O1 -c $< -o $@\n"));
    sandbox.write("Makefile", &makefile);
    run(sandbox
        .command("make", "-s -j8")
        .env("QRINTF_REPORT", sandbox.path("report")));
    let report = sandbox.read("report");
    let lines: Vec<&str> = report.lines().collect();
    assert_eq!(lines.len(), 24 * 21);
    for group in lines.chunks(21) {
        let (source, _) = group[0].split_once(':').unwrap();
        for (index, line) in group[..20].iter().enumerate() {
            assert_eq!(
                *line,
                format!("{source}:{}: sprintf \"%d\": specialized", index + 4)
            );
        }
        assert_eq!(group[20], format!("{source}: specialized 20 of 20 calls"));
    }
}

#[test]
fn whole_files_that_are_left_are_told_with_the_reason() {
    let sandbox = Sandbox::new();
    sandbox.write("calls.c", CALLS);
    sandbox.write("broken.c", "int x = ;\n");
    sandbox.write("empty.c", "int x;\n");
    sandbox.write("off.c", &format!("#define QRINTF_DISABLE\n{CALLS}"));
    sandbox.write("words", "-O2 -c calls.c");
    sandbox.write(
        "some.cpp",
        "#include <cstdio>\nint f(char *out) { return std::sprintf(out, \"%d\", 1); }\n",
    );
    for (line, expected) in [
        ("gcc -c calls.c", "calls.c: left: compiled without optimization\n"),
        (
            "gcc -O2 -ffreestanding -c calls.c",
            "calls.c: left: -ffreestanding\n",
        ),
        ("gcc -O2 -c empty.c", "empty.c: specialized 0 of 0 calls\n"),
        ("gcc -O2 -c broken.c", "broken.c: did not compile\n"),
        (
            "g++ -O2 -c some.cpp",
            "some.cpp: left: C++ without -DQRINTF_CXX\n",
        ),
        (
            "g++ -O2 -DQRINTF_CXX -c some.cpp",
            "some.cpp: calls of C++ are not listed: their formats are read when they run\n",
        ),
        (
            "gcc -O2 -c off.c",
            "off.c: left: QRINTF_DISABLE is defined in it\n",
        ),
        ("gcc @words", "@words: left: @words is not read\n"),
        ("gcc --version", ""),
        ("gcc -O2 -E calls.c", ""),
        ("gcc -O2 -S calls.c", "calls.c: left: -S\n"),
    ] {
        let _ = std::fs::remove_file(sandbox.path("report"));
        let output = sandbox
            .driver(line)
            .env("QRINTF_REPORT", "report")
            .output()
            .unwrap();
        assert_eq!(output.status.success(), !line.contains("broken"), "{line}");
        let report = std::fs::read_to_string(sandbox.path("report")).unwrap_or_default();
        assert_eq!(report, expected, "{line}");
    }
}

#[test]
fn several_sources_and_a_link_are_reported_source_by_source() {
    let sandbox = Sandbox::new();
    sandbox.write("calls.c", CALLS);
    sandbox.write(
        "main.c",
        "#include <stdio.h>\nint main(void) { char t[9]; return sprintf(t, \"%d\", 1) - 1; }\n",
    );
    let output = run(&mut sandbox.driver("gcc -O2 calls.c main.c -o program --qrintf-report -lm -Wl,-E"));
    let report = text(&output);
    assert!(report.contains("calls.c: specialized 3 of 5 calls\n"), "{report}");
    assert!(
        report.ends_with("main.c:2: sprintf \"%d\": specialized\nmain.c: specialized 1 of 1 calls\n"),
        "{report}"
    );
    run(&mut sandbox.command(sandbox.path("program"), ""));
}

#[test]
fn a_report_that_cannot_be_written_does_not_stop_the_compiler() {
    let sandbox = Sandbox::new();
    sandbox.write("calls.c", CALLS);
    let output = run(sandbox
        .driver("gcc -O2 -c calls.c")
        .env("QRINTF_REPORT", "no/such/directory"));
    assert!(text(&output).starts_with("qrintf-cc: no report: no/such/directory: "));
    assert!(sandbox.path("calls.o").exists());
}
