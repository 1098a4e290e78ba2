//! Objects that carry the runtime link in every way that objects are linked, with no change to a link line.

use std::{fs, path::Path, process::Command};

use crate::toolchain::{CLANG, GCC, Toolchain, scratch, succeed};

const UNIT: &str = r#"
#include <stdio.h>
int NAME(char *to, size_t size, int number, const char *text, double share);
int NAME(char *to, size_t size, int number, const char *text, double share)
{
    return snprintf(to, size, "%d %s %.3f %x %5d", number, text, share, (unsigned)number, number);
}
"#;

const PROGRAM: &str = r#"
#include <stdio.h>
#include <string.h>
int one(char *to, size_t size, int number, const char *text, double share);
int two(char *to, size_t size, int number, const char *text, double share);
int main(void)
{
    char first[99], second[99];
    if (one(first, sizeof first, 5, "a", 1.5) != 17 || two(second, sizeof second, 5, "a", 1.5) != 17)
        return 1;
    printf("%s|%d\n", first, 1);
    return strcmp(first, second) != 0 || strcmp(first, "5 a 1.500 5     5") != 0;
}
"#;

#[test]
fn objects_link_in_every_way() {
    for toolchain in [GCC, CLANG] {
        let folder = scratch(&format!("linkage-{}", toolchain.name));
        let write =
            |name: &str, text: String| fs::write(folder.join(name), text).expect("the folder takes files");
        write("one.c", UNIT.replace("NAME", "one"));
        write("two.c", UNIT.replace("NAME", "two"));
        write("program.c", PROGRAM.to_owned());
        separately(&folder, &toolchain);
        optimized_at_link(&folder, &toolchain);
        instrumented(&folder, &toolchain);
    }
}

/// Objects of both compilers and of several levels in one program, by every kind of link.
fn separately(folder: &Path, toolchain: &Toolchain) {
    compile(
        folder,
        toolchain,
        &["-O2", "-fPIC", "-ffunction-sections", "-c", "one.c"],
    );
    compile(folder, &GCC, &["-O1", "-fPIC", "-c", "two.c"]);
    compile(folder, toolchain, &["-O3", "-c", "program.c"]);
    let link = |line: &str| {
        let words = line.split_whitespace().collect::<Vec<_>>();
        succeed(Command::new(words[0]).args(&words[1..]).current_dir(folder));
    };
    let check = |line: &str| {
        link(line);
        works(folder);
    };
    check("cc program.o one.o two.o -o run");
    check("cc -Wl,--gc-sections two.o program.o one.o -o run");
    check("c++ program.o one.o two.o -o run");
    link("ld -r one.o two.o -o both.o");
    check("cc program.o both.o -o run");
    link("ar rc libboth.a one.o two.o");
    check("cc program.o libboth.a -o run");
    link("cc -shared one.o two.o -Wl,-z,defs -o libboth.so");
    check("cc program.o ./libboth.so -o run");
    check("cc -static program.o one.o two.o -o run");
    let exported = succeed(
        Command::new("nm")
            .args(["-D", "--defined-only", "libboth.so"])
            .current_dir(folder),
    );
    let exported = String::from_utf8_lossy(&exported.stdout).into_owned();
    assert!(
        !exported.contains("qrintf"),
        "a library of the user's exports names of ours:\n{exported}"
    );
}

fn optimized_at_link(folder: &Path, toolchain: &Toolchain) {
    for unit in ["one.c", "two.c", "program.c"] {
        compile(folder, toolchain, &["-O2", "-flto", "-c", unit]);
    }
    compile(
        folder,
        toolchain,
        &["-O2", "-flto", "one.o", "two.o", "program.o", "-o", "run"],
    );
    works(folder);
}

/// Flags that add code of their own to every function.
fn instrumented(folder: &Path, toolchain: &Toolchain) {
    for flags in [
        "-O2 --coverage",
        "-O2 -pg",
        "-O2 -fno-inline",
        "-O1 -finstrument-functions",
        "-O2 -fstack-protector-all -fcf-protection=full",
        "-O2 -fsanitize=thread",
        "-O2 -fsanitize=undefined",
        "-O2 -ftrapv -fpack-struct -fshort-enums",
        "-O2 -static-pie -fPIE",
        "-O3 -march=x86-64-v3 -fno-plt",
        "-Og -g3 -gsplit-dwarf",
        "-Ofast -w",
    ] {
        let mut words = flags.split_whitespace().collect::<Vec<_>>();
        words.extend(["one.c", "two.c", "program.c", "-o", "run"]);
        compile(folder, toolchain, &words);
        works(folder);
    }
}

fn compile(folder: &Path, toolchain: &Toolchain, words: &[&str]) {
    succeed(toolchain.specialized().args(words).current_dir(folder));
}

fn works(folder: &Path) {
    let output = succeed(Command::new("./run").current_dir(folder));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "5 a 1.500 5     5|1\n");
    fs::remove_file(folder.join("run")).expect("it was just run");
}
