//! The program that is run, and its words.

use std::env;

use crate::sandbox::{DRIVER, HEADERS, SOURCE, Sandbox, errors, run, text};

/// The words that the driver adds in front of the user's.
fn ours() -> Vec<String> {
    ["-isystem", HEADERS, "-DQRINTF_COMDAT"].map(str::to_owned).into()
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// A sandbox whose `bin`, alone in PATH before the system's, has a stand-in for each name.
fn with_stand_ins(names: &[&str]) -> Sandbox {
    let sandbox = Sandbox::with_source();
    for name in names {
        sandbox.stand_in(&format!("bin/{name}"));
    }
    sandbox
}

fn path(sandbox: &Sandbox, directories: &[&str]) -> String {
    let own = directories.iter().map(|name| sandbox.path(name));
    let system = env::split_paths(&env::var_os("PATH").unwrap()).collect::<Vec<_>>();
    env::join_paths(own.chain(system)).unwrap().into_string().unwrap()
}

#[test]
fn the_headers_come_before_the_users_words() {
    let sandbox = with_stand_ins(&["gcc"]);
    let path = path(&sandbox, &["bin"]);
    run(sandbox
        .driver("gcc -O2 -I. -isystem /x -c a.c -o a.o")
        .env("PATH", &path));
    let called = sandbox.called();
    assert_eq!(called[0], sandbox.path("bin/gcc").to_str().unwrap());
    assert_eq!(
        called[1..],
        [ours(), words("-O2 -I. -isystem /x -c a.c -o a.o")].concat()
    );
}

#[test]
fn sharing_of_functions_is_not_for_link_time_optimization() {
    let sandbox = with_stand_ins(&["gcc"]);
    run(sandbox
        .driver("gcc -O2 -flto -c a.c")
        .env("PATH", path(&sandbox, &["bin"])));
    assert_eq!(
        sandbox.called()[1..],
        [ours()[..2].to_vec(), words("-O2 -flto -c a.c")].concat()
    );
}

#[test]
fn functions_that_are_no_builtins_are_left_alone() {
    let sandbox = with_stand_ins(&["gcc"]);
    let path = path(&sandbox, &["bin"]);
    for (option, added) in [
        ("-fno-builtin-strlen", None),
        ("-fno-builtin-snprintf", Some("-DQRINTF_KEEP_snprintf")),
        ("-fno-builtin-printf", Some("-DQRINTF_KEEP_printf")),
    ] {
        let line = format!("-O2 {option} -c a.c");
        run(sandbox.driver(&format!("gcc {line}")).env("PATH", &path));
        let ours: Vec<String> = ours().into_iter().chain(added.map(str::to_owned)).collect();
        assert_eq!(sandbox.called()[1..], [ours, words(&line)].concat(), "{line}");
    }
    for compiler in ["gcc", "clang"] {
        for (option, specialized) in [("strlen", 1), ("snprintf", 0), ("printf", 1)] {
            let line = format!("{compiler} -O2 -fno-builtin-{option} -c a.c --qrintf-report");
            let report = text(&run(&mut sandbox.driver(&line)));
            assert_eq!(report.matches(": specialized\n").count(), specialized, "{line}");
        }
    }
}

#[test]
fn other_commands_pass_unchanged() {
    let sandbox = with_stand_ins(&["gcc"]);
    let path = path(&sandbox, &["bin"]);
    for line in [
        "",
        "-v",
        "--version",
        "-dumpmachine",
        "-print-prog-name=ld",
        "-O2 -E a.c",
        "-O2 -M a.c",
        "-O2 -MM a.c",
        "-O2 -S a.c",
        "-O2 -c a.s",
        "-O2 -c a.S",
        "-O2 -xc -c a.c",
        "-O2 -x assembler-with-cpp -c a.c",
        "-O2 @words a.c",
        "-O2 -c -",
        "-O2 -nostdinc -c a.c",
        "-O2 -ffreestanding -c a.c",
        "-O2 -fno-builtin -c a.c",
        "-O2 -wrapper env -c a.c",
        "-c a.c",
        "-O2 -O0 -c a.c",
        "-O2 -c a.cpp",
        "-O2 a.o b.o -Wl,-E -o a",
        "-O2 -DQRINTF_DISABLE -c a.c",
        "-O2 -o",
    ] {
        let output = run(sandbox.driver(&format!("gcc {line}")).env("PATH", &path));
        assert_eq!(sandbox.called()[1..], words(line), "{line}");
        assert_eq!(text(&output), "", "{line}");
    }
}

#[test]
fn words_that_look_like_others_are_not_misread() {
    let sandbox = with_stand_ins(&["clang"]);
    let path = path(&sandbox, &["bin"]);
    for line in [
        "-O2 a.c -Wl,-E",
        "-O2 a.c -Xlinker -E",
        "-O2 a.c -Xlinker -M -o a",
        "-O2 -c a.c -o -E.c",
        "-O2 -c a.c -MF -S",
        "-O2 -c a.c -I -x",
        "-O2 -D -E -c a.c",
        "-O2 -c -- a.c",
        "-O0 -O2 -c a.c b.o",
        "-O2 -DQRINTF_CXX -c a.cpp",
    ] {
        run(sandbox.driver(&format!("clang {line}")).env("PATH", &path));
        assert_eq!(sandbox.called()[1..], [ours(), words(line)].concat(), "{line}");
    }
}

#[test]
fn words_of_any_bytes_are_passed_on() {
    use std::os::unix::ffi::OsStringExt;
    let sandbox = with_stand_ins(&["gcc"]);
    let strange = std::ffi::OsString::from_vec(b"-DX=\xff'\"$(x) y".to_vec());
    let mut command = sandbox.driver("gcc -O2 -c a.c");
    run(command.arg(strange).env("PATH", path(&sandbox, &["bin"])));
    let log = sandbox.bytes("called");
    assert!(log.ends_with(b"a.c\n-DX=\xff'\"$(x) y\n"));
}

#[test]
fn the_compiler_is_the_first_word_or_a_variables_or_cc() {
    let sandbox = with_stand_ins(&["cc", "gcc", "gcc-13", "clang", "my-compiler", "gnu-cc"]);
    let path = path(&sandbox, &["bin"]);
    for (configured, line, expected) in [
        ("", "-O2 -c a.c", "cc"),
        ("", "a.c -O2", "cc"),
        ("", "main.cc a.c -DQRINTF_CXX -O2", "cc"),
        ("gcc-13", "-O2 -c a.c", "gcc-13"),
        ("gcc-13", "clang -O2 -c a.c", "clang"),
        ("", "gnu-cc -O2 -c a.c", "gnu-cc"),
    ] {
        let output = run(sandbox
            .driver(line)
            .env("PATH", &path)
            .env("QRINTF_CC", configured));
        let called = sandbox.called();
        assert_eq!(
            called[0],
            sandbox.path("bin").join(expected).to_str().unwrap(),
            "{line}"
        );
        let line = line.strip_prefix(expected).unwrap_or(line);
        assert_eq!(called[1..], [ours(), words(line)].concat(), "{}", text(&output));
    }
    run(sandbox
        .driver("-c a.c")
        .env("PATH", &path)
        .env("QRINTF_CC", " ccache  gcc-13 -m64 -O2 ")
        .env("CCACHE_DISABLE", "1"));
    let called = sandbox.called();
    assert_eq!(called[1..], [ours(), words("-m64 -O2 -c a.c")].concat());
}

#[test]
fn a_link_stands_for_the_next_compiler_of_its_name() {
    let sandbox = with_stand_ins(&["aarch64-linux-gnu-gcc", "gcc", "clang-14"]);
    for name in ["aarch64-linux-gnu-gcc", "gcc", "clang-14"] {
        sandbox.link(DRIVER, &format!("links/{name}"));
        // Once as a shell calls it, once as a build system does that has looked for it, once with our link beside PATH.
        for (program, directories) in [
            (name.into(), &["links", "bin"][..]),
            (sandbox.path("links").join(name), &["links", "bin"]),
            (sandbox.path("links").join(name), &["bin"]),
        ] {
            let mut command = sandbox.command("/usr/bin/env", "");
            run(command
                .arg(&program)
                .args(["-O2", "-c", "a.c"])
                .env("PATH", path(&sandbox, directories)));
            let called = sandbox.called();
            assert_eq!(called[0], sandbox.path("bin").join(name).to_str().unwrap());
            assert_eq!(called[1..], [ours(), words("-O2 -c a.c")].concat());
        }
    }
}

#[test]
fn a_target_before_our_name_chooses_the_compiler() {
    let sandbox = with_stand_ins(&["cc", "riscv64-linux-gnu-gcc", "arm-none-clang"]);
    for (link, expected) in [
        ("riscv64-linux-gnu-qrintf-cc", "riscv64-linux-gnu-gcc"),
        ("arm-none-qrintf-cc", "arm-none-clang"),
    ] {
        sandbox.link(DRIVER, &format!("links/{link}"));
        let mut command = sandbox.command(sandbox.path("links").join(link), "-O2 -c a.c");
        // A variable for the machine's own compiler must not take the place of a cross compiler.
        run(command
            .env("PATH", path(&sandbox, &["bin"]))
            .env("QRINTF_CC", "cc"));
        assert_eq!(
            sandbox.called()[0],
            sandbox.path("bin").join(expected).to_str().unwrap()
        );
    }
}

#[test]
fn a_launcher_may_stand_before_the_compiler() {
    let sandbox = with_stand_ins(&["ccache", "distcc"]);
    let path = path(&sandbox, &["bin"]);
    run(sandbox.driver("ccache distcc gcc -O2 -c a.c").env("PATH", &path));
    let called = sandbox.called();
    assert_eq!(called[0], sandbox.path("bin/ccache").to_str().unwrap());
    assert_eq!(
        called[1..],
        [words("distcc gcc"), ours(), words("-O2 -c a.c")].concat()
    );
    run(sandbox.driver("ccache -s").env("PATH", &path));
    assert_eq!(sandbox.called()[1..], ["-s"]);
}

#[test]
fn a_compiler_that_is_not_there_is_one_line() {
    let sandbox = Sandbox::with_source();
    sandbox.write("plain/gcc", "no program");
    sandbox.link(DRIVER, "links/gcc-99");
    let plain = sandbox.path("plain/gcc");
    let cases = [
        (
            sandbox.driver("gcc-99 -O2 -c a.c"),
            127,
            "gcc-99: there is no such compiler",
        ),
        (
            sandbox.driver("/nowhere/clang -c a.c"),
            127,
            "/nowhere/clang: there is no such compiler",
        ),
        (
            sandbox.driver(&format!("{} -c a.c", plain.display())),
            126,
            "plain/gcc: this compiler is not executable",
        ),
        (
            sandbox.driver(&format!("{DRIVER} -c a.c")),
            127,
            "leads to qrintf-cc itself",
        ),
        (
            sandbox.command(sandbox.path("links/gcc-99"), "-c a.c"),
            127,
            "gcc-99: ",
        ),
    ];
    for (mut command, status, expected) in cases {
        let output = command.output().unwrap();
        let errors = errors(&output);
        assert_eq!(output.status.code(), Some(status), "{command:?}: {errors}");
        assert!(
            errors.starts_with("qrintf-cc: ") && errors.contains(expected),
            "{errors}"
        );
        assert_eq!(errors.lines().count(), 1, "{errors}");
        assert!(output.stdout.is_empty());
    }
    let output = sandbox
        .driver("-c a.c")
        .env("QRINTF_CC", "nothing")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(127));
    assert!(errors(&output).contains("nothing: there is no such compiler"));
    let output = sandbox.driver("-c a.c").env("PATH", "/nowhere").output().unwrap();
    assert_eq!(output.status.code(), Some(127));
    assert!(errors(&output).starts_with("qrintf-cc: cc: "));
}

#[test]
fn an_old_or_unknown_compiler_gets_its_words_unchanged_and_one_line_is_said() {
    let sandbox = with_stand_ins(&["gcc-9", "clang-13", "tcc", "icc", "someprogram", "old/bin/gcc"]);
    sandbox.write("bin/old/lib/gcc/x86_64-redhat-linux/8/cc1", "");
    sandbox.link(sandbox.path("bin/old/bin/gcc"), "bin/gcc");
    let path = path(&sandbox, &["bin"]);
    for (compiler, expected) in [
        (
            "gcc-9",
            "qrintf-cc: gcc-9 is gcc 9, older than gcc 11: passed through unchanged\n",
        ),
        (
            "clang-13",
            "qrintf-cc: clang-13 is clang 13, older than clang 14: passed through unchanged\n",
        ),
        (
            "gcc",
            "qrintf-cc: gcc is gcc 8, older than gcc 11: passed through unchanged\n",
        ),
        (
            "tcc",
            "qrintf-cc: tcc is neither gcc nor clang: passed through unchanged\n",
        ),
        (
            "icc",
            "qrintf-cc: icc is neither gcc nor clang: passed through unchanged\n",
        ),
        (
            "someprogram",
            "qrintf-cc: someprogram is neither gcc nor clang: passed through unchanged\n",
        ),
    ] {
        let output = run(sandbox
            .driver(&format!("{compiler} -O2 -c a.c"))
            .env("PATH", &path));
        assert_eq!(errors(&output), expected);
        assert_eq!(sandbox.called()[1..], words("-O2 -c a.c"), "{compiler}");
        // Where nothing would have been specialized there is nothing to say.
        let output = run(sandbox
            .driver(&format!("{compiler} --version"))
            .env("PATH", &path));
        assert_eq!(errors(&output), "");
        sandbox.called();
    }
}

#[test]
fn a_command_with_nothing_to_specialize_becomes_the_compiler() {
    let sandbox = with_stand_ins(&[]);
    sandbox.script("bin/gcc", "echo $$ $PPID > ids");
    let mut child = sandbox
        .driver("gcc -O0 -c a.c")
        .env("PATH", path(&sandbox, &["bin"]))
        .spawn()
        .unwrap();
    let expected = format!("{} {}\n", child.id(), std::process::id());
    assert!(child.wait().unwrap().success());
    assert_eq!(sandbox.read("ids"), expected);
}

#[test]
fn questions_without_a_compiler_are_answered_here() {
    let sandbox = with_stand_ins(&["gcc"]);
    let path = path(&sandbox, &["bin"]);
    let ask = |line: &str| {
        text(&run(sandbox
            .driver(line)
            .env("PATH", &path)
            .env("QRINTF_CC", "gcc")))
    };
    assert!(ask("--help").starts_with("qrintf-cc ") && !sandbox.path("called").exists());
    // A build system learns from this which compiler it has; so that one comes first.
    assert_eq!(
        ask("--version"),
        format!("qrintf-cc {}\n", env!("CARGO_PKG_VERSION"))
    );
    assert_eq!(sandbox.called()[1..], ["--version"]);
    for line in ["--help", "--version"] {
        assert_eq!(ask(&format!("gcc {line}")), "");
        assert_eq!(sandbox.called()[1..], [line]);
    }
}

#[test]
fn an_installed_driver_finds_its_headers_beside_it() {
    let sandbox = with_stand_ins(&["gcc"]);
    sandbox.write("prefix/bin/none", "");
    std::fs::copy(DRIVER, sandbox.path("prefix/bin/qrintf-cc")).unwrap();
    let path = path(&sandbox, &["bin", "links"]);
    let mut command = sandbox.command(sandbox.path("prefix/bin/qrintf-cc"), "gcc -O2 -c a.c");
    let output = run(command.env("PATH", &path));
    let said = errors(&output);
    assert!(
        said.contains("prefix/lib/qrintf/include") && said.contains("make install"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    assert_eq!(sandbox.called()[1..], words("-O2 -c a.c"));

    sandbox.write("prefix/lib/qrintf/include/stdio.h", "#include_next <stdio.h>\n");
    sandbox.link(sandbox.path("prefix/bin/qrintf-cc"), "links/qrintf-cc");
    let expected = sandbox.path("prefix/lib/qrintf/include");
    for program in [
        sandbox.path("prefix/bin/qrintf-cc"),
        sandbox.path("links/qrintf-cc"),
        "qrintf-cc".into(),
    ] {
        let mut command = sandbox.command("/usr/bin/env", "");
        let output = run(command
            .arg(program)
            .args(["gcc", "-O2", "-c", "a.c"])
            .env("PATH", &path));
        assert_eq!(errors(&output), "");
        assert_eq!(sandbox.called()[2], expected.to_str().unwrap());
    }
}

#[test]
fn a_projects_own_stdio_comes_first_and_the_librarys_last() {
    let sandbox = Sandbox::new();
    sandbox.write("a.c", SOURCE);
    sandbox.write("own/stdio.h", "#define PROJECT 1\n#include_next <stdio.h>\n");
    sandbox.write(
        "b.c",
        "#include <stdio.h>\n#ifndef PROJECT\n#error not ours\n#endif\nint b(void) { return EOF; }\n",
    );
    for compiler in crate::sandbox::compilers() {
        // As -I before our header, as -isystem behind it, from the environment on either side: it is always there.
        run(&mut sandbox.driver(&format!("{compiler} -O2 -Iown -c b.c")));
        run(&mut sandbox.driver(&format!("{compiler} -O2 -isystem own -c b.c")));
        run(sandbox
            .driver(&format!("{compiler} -O2 -c b.c"))
            .env("CPATH", "own"));
        run(sandbox
            .driver(&format!("{compiler} -O2 -c b.c"))
            .env("C_INCLUDE_PATH", "own"));
        // A directory of the system's given again does not change whose header is found.
        run(&mut sandbox.driver(&format!("{compiler} -O2 -I/usr/include -c a.c -MD -MF a.d")));
        assert!(sandbox.read("a.d").contains("/include/qrintf.h"), "{compiler}");
    }
}

#[test]
fn help_tells_what_would_be_run() {
    let sandbox = with_stand_ins(&["gcc-13"]);
    let path = path(&sandbox, &["bin"]);
    let output = run(sandbox
        .driver("--qrintf-help")
        .env("PATH", path)
        .env("QRINTF_CC", "gcc-13"));
    let text = text(&output);
    let compiler = format!("Compiler:    {}\n", sandbox.path("bin/gcc-13").display());
    assert!(text.contains(&compiler), "{text}");
    assert!(text.contains(&format!("Headers:     {HEADERS} (")), "{text}");
}
