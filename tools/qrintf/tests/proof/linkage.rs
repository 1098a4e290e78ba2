//! Objects that carry the runtime link in every way that objects are linked, with no change to a link line.

use std::{fs, path::Path, process::Command};

use crate::toolchain::{AARCH64, CLANG, GCC, GCC_11, Toolchain, scratch, succeed};

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

/// A file whose literals and tables are those of the runtime: the compiler shares equal ones, and a linker that drops this
/// object's copy of the runtime must not drop what the file refers to.
const LITERALS: &str = r#"
#include <stdio.h>
static const unsigned long tens[20] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000, 1000000000000,
    10000000000000, 100000000000000, 1000000000000000, 10000000000000000, 100000000000000000, 1000000000000000000,
    10000000000000000000u
};
const char *literal(int index);
const char *literal(int index)
{
    static char text[99];
    switch (index) {
    case 0: return "";
    case 1: return "%s";
    case 2: return "infINF";
    case 3: return "(nil)";
    case 4: snprintf(text, sizeof text, "%g %p %5s %x", index * 0.5, (void *)0, "", index); return text;
    case 5: printf("%05d %f %lu\n", index, index * 0.5, tens[index]); return "nanNAN";
    }
    return 0;
}
"#;

const PRINTER: &str = r#"
#include <stdio.h>
#include <string.h>
const char *literal(int index);
int main(int argc, char **argv)
{
    char text[99];
    (void)argv;
    snprintf(text, sizeof text, "%d %s %g %-5s|%x %p", argc, literal(0), argc * 0.5, literal(1), argc, (void *)0);
    printf("%s %s%d %f %s\n", text, literal(4), argc, 1.0, literal(5));
    return strcmp(literal(0), "") || strcmp(literal(1), "%s") || strcmp(literal(2), "infINF") || strcmp(literal(3), "(nil)");
}
"#;

/// Once gcc placed literals of the runtime into the groups of its functions under the first pair of these flags, and
/// shared them with the program's own code: "defined in discarded section". The last three only gcc knows.
const PLACEMENTS: [&str; 8] = [
    "-ffunction-sections -fdata-sections",
    "-fdata-sections",
    "-ffunction-sections -fdata-sections -fmerge-all-constants",
    "-fPIC -fno-plt",
    "-fpatchable-function-entry=4",
    "-fno-section-anchors -fno-merge-constants",
    "-fno-toplevel-reorder",
    "-fkeep-static-functions",
];

#[test]
fn no_literal_of_the_program_goes_with_a_shared_function() {
    for toolchain in [GCC, GCC_11, CLANG, AARCH64] {
        let folder = scratch(&format!("literals-{}", toolchain.name));
        fs::write(folder.join("printer.c"), PRINTER).expect("the folder takes files");
        fs::write(folder.join("literals.c"), LITERALS).expect("the folder takes files");
        let known = PLACEMENTS.len() - if toolchain == CLANG { 3 } else { 0 };
        for (index, placement) in PLACEMENTS[..known].iter().enumerate() {
            let level = ["-Os", "-O2", "-O1", "-O3"][index % 4];
            for source in ["printer.c", "literals.c"] {
                let words = [level, "-c", source].into_iter().chain(placement.split(' '));
                compile(&folder, &toolchain, &words.collect::<Vec<_>>());
            }
            // Every linker for the first pair, one of them for each of the others.
            let linkers = linkers(&toolchain);
            let linkers = if index == 0 {
                linkers
            } else {
                &linkers[index % linkers.len()..][..1]
            };
            for linker in linkers {
                for link in [
                    "printer.o literals.o",
                    "-Wl,--gc-sections printer.o literals.o",
                    "partial.o",
                ] {
                    if link == "partial.o" {
                        let words = ["-nostdlib", "-r", linker, "printer.o", "literals.o", "-o", link];
                        succeed(toolchain.plain().args(words).current_dir(&folder));
                    }
                    let words = link.split(' ').chain([linker, "-o", "run"]);
                    succeed(toolchain.plain().args(words).current_dir(&folder));
                    let output = succeed(toolchain.run(Path::new("./run")).current_dir(&folder));
                    assert_eq!(
                        String::from_utf8_lossy(&output.stdout),
                        "00005 2.500000 100000\n1  0.5 %s   |1 (nil) 2 (nil)       41 1.000000 nanNAN\n",
                        "{} {level} {placement} {linker} {link}",
                        toolchain.name
                    );
                }
            }
        }
    }
}

/// The linkers that a toolchain can be told to use; GNU's cross package has a name of its own for each.
fn linkers(toolchain: &Toolchain) -> &'static [&'static str] {
    if *toolchain == AARCH64 {
        &["-fuse-ld=bfd", "-fuse-ld=gold"]
    } else {
        &["-fuse-ld=bfd", "-fuse-ld=gold", "-fuse-ld=lld"]
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
