//! The compiler reports mistakes at their location, and those in Rust's formats as `format_args!` does.
//!
//! Each program is compiled against the library that this test was linked with.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;
use std::process::Command;

/// The newest compiled library beside this test.
fn library() -> PathBuf {
    let directory = directory();
    let libraries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    libraries
        .filter(|entry| {
            let name = entry.file_name().into_string().unwrap_or_default();
            name.starts_with("libformat-") && name.ends_with(".rlib")
        })
        .max_by_key(|entry| entry.metadata().unwrap().modified().unwrap())
        .unwrap()
        .path()
}

fn directory() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// The compiler's messages about a function body, as lines.
fn compile(body: &str) -> Vec<String> {
    compile_as("2024", "format", body)
}

/// The same in an edition, with the library by a name.
fn compile_as(edition: &str, name: &str, body: &str) -> Vec<String> {
    let source = std::env::temp_dir().join(format!("hikyaku-format-{}-{:p}.rs", std::process::id(), &body));
    std::fs::write(
        &source,
        format!("struct Foo;\nfn main() {{\nlet mut out = Vec::<u8>::new();\n{body}\n}}\n"),
    )
    .unwrap();
    // Not /dev/null: the compiler renames its output, and as root would replace the device by a plain file.
    let metadata = source.with_extension("rmeta");
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .arg(format!("--edition={edition}"))
        .args(["--emit=metadata", "--crate-type=bin", "-A", "warnings", "-o"])
        .arg(&metadata)
        .arg("--extern")
        .arg(format!("{name}={}", library().display()))
        .arg("-L")
        .arg(format!("dependency={}", directory().display()))
        .arg(&source)
        .output()
        .unwrap();
    std::fs::remove_file(source).unwrap();
    // A failed compilation leaves none.
    let _ = std::fs::remove_file(metadata);
    String::from_utf8(output.stderr)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

/// The text of the first error, and the source text that its first carets underline.
fn first_error(body: &str) -> (String, String) {
    let lines = compile(body);
    let at = lines
        .iter()
        .position(|line| line.starts_with("error"))
        .unwrap_or_else(|| panic!("{body} compiles"));
    let text = lines[at].split_once(": ").unwrap().1.to_owned();
    let carets = lines[at..]
        .iter()
        .position(|line| line.contains('|') && line.contains('^'))
        .unwrap()
        + at;
    let start = lines[carets].find('^').unwrap();
    let length = lines[carets][start..]
        .find(|one| one != '^')
        .unwrap_or(lines[carets].len() - start);
    (text, lines[carets - 1][start..start + length].to_owned())
}

#[test]
fn a_program_without_mistakes_compiles() {
    let lines = compile(
        r#"let x = 7; format::append!(out, "{x} {} {:>w$}", 1, "a", w = 3); format::c!(out, "%d", 1);"#,
    );
    assert_eq!(lines, [""; 0]);
}

#[test]
fn the_library_may_have_another_name() {
    let lines = compile_as(
        "2024",
        "lines",
        r#"lines::append!(out, "{:>4} {:?}", 1, Some(2)); lines::c!(out, "%5d", 1);"#,
    );
    assert_eq!(lines, [""; 0]);
}

#[test]
fn what_values_borrow_is_given_back_at_the_end_of_a_block() {
    for edition in ["2018", "2021", "2024"] {
        let lines = compile_as(
            edition,
            "format",
            r#"let cell = std::cell::RefCell::new(1); format::append!(out, "{}", cell.borrow())"#,
        );
        assert_eq!(lines, [""; 0], "{edition}");
    }
}

#[test]
fn a_mistake_is_told_once() {
    for (format, arguments) in [
        ("{}", "Foo"),
        ("{:>5}", "Foo"),
        ("{:?} {:05}", "Foo, 1"),
        ("{:.2}", "Foo"),
        ("{:x}", "1.5"),
        ("{:1$}", "1, 2u8"),
        ("{}", "1, 2"),
        ("{} {}", "1"),
    ] {
        let lines = compile(&format!("format::append!(out, \"{format}\", {arguments});"));
        let errors = lines.iter().filter(|line| line.starts_with("error"));
        // The last one counts the others.
        assert_eq!(errors.count(), 2, "{format}: {lines:#?}");
    }
}

#[test]
fn mistakes_in_rusts_formats_are_reported_as_by_format() {
    for (format, arguments, place) in [
        ("{} {}", ", 1", "{}"),
        ("{}", ", 1, 2 + 3", "2 + 3"),
        ("{}", ", 1, x = 3", "3"),
        ("{:y}", ", 1", "y"),
        ("{:!5}", ", 1", ""),
        ("{:5!}", ", 1", ""),
        ("{:99999999999}", ", 1", ""),
        ("{0} {x} {}", ", 1, 2", ""),
        ("{:w$}", ", 1, w = 2u8", ""),
        ("{", ", 1", ""),
        ("}", "", "}"),
        ("{:3$}", ", 1", "3$"),
        ("{2}", ", 1", "2"),
        ("{x}", ", x = 1, x = 2", "x"),
        ("{}", ", Foo", "Foo"),
        ("{:x}", ", 1.5", "1.5"),
        ("{:.*}", ", 1.5", "{:"),
        ("{r#type}", "", "type"),
    ] {
        let (ours, our_place) = first_error(&format!("format::append!(out, \"{format}\"{arguments});"));
        let (theirs, _) = first_error(&format!("let _ = format!(\"{format}\"{arguments});"));
        assert_eq!(ours, theirs, "{format}");
        assert!(our_place.starts_with(place), "{format}: {our_place}");
    }
}

#[test]
fn a_value_that_is_not_a_buffer_is_named_beside_the_buffers() {
    let display = "impl std::fmt::Display for Foo { \
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { CALL; Ok(()) } }";
    for (call, kind) in [
        (r#"format::append!(f, "{}", 1)"#, "&mut Formatter<'_>"),
        (r#"format::appendln!(f)"#, "&mut Formatter<'_>"),
        (r#"format::c!(f, "%d", 1)"#, "&mut Formatter<'_>"),
        (r#"format::append!(std::io::stdout(), "{}", 1)"#, "Stdout"),
        (r#"format::append!(Foo, "{}", 1)"#, "Foo"),
    ] {
        let lines = compile(&display.replace("CALL", call));
        let expected = format!("error[E0599]: `{kind}` is not a buffer that `append!` and `c!` can write to");
        assert_eq!(lines[0], expected, "{call}: {lines:#?}");
        let tells = |text: &str| lines.iter().any(|line| line.contains(text));
        assert!(tells("the buffers are `Vec<u8>`, `String`"), "{call}: {lines:#?}");
        assert!(tells("in an implementation of `Display`"), "{call}: {lines:#?}");
    }
}

#[test]
fn mistakes_in_lines_are_reported_as_by_format() {
    for (format, arguments) in [
        ("{} {}", ", 1"),
        ("{}", ", 1, 2"),
        ("{:y}", ", 1"),
        ("{}", ", Foo"),
    ] {
        let (ours, _) = first_error(&format!("format::appendln!(out, \"{format}\"{arguments});"));
        let (theirs, _) = first_error(&format!("let _ = format!(\"{format}\"{arguments});"));
        assert_eq!(ours, theirs, "{format}");
    }
}

#[test]
fn an_unknown_variable_is_reported_at_the_format() {
    let (text, place) = first_error(r#"format::append!(out, "{missing}");"#);
    assert_eq!(
        (text.as_str(), place.as_str()),
        ("cannot find value `missing` in this scope", r#""{missing}""#)
    );
}

#[test]
fn mistakes_in_cs_formats_are_underlined() {
    for (format, arguments, message, under) in [
        ("a%yb", ", 1", "`y` is no conversion", "%y"),
        ("50%", "", "the format ends within a conversion", "%"),
        ("%d %ld", ", 1", "there is no argument", "%ld"),
        ("%*d", ", 1", "there is no argument", "%*d"),
        ("%'d", ", 1", "the flag `'` depends on a locale", "%\\'"),
        ("%1$d", ", 1", "numbered arguments", "%1$"),
        ("%n", ", 1", "`%n` is not supported", "%n"),
        ("%m", "", "`%m` is not supported", "%m"),
        ("%a", ", 1.5", "`%a` is not supported", "%a"),
        ("%Lf", ", 1.5", "`long double`", "%L"),
        ("%ls", ", 1", "wide characters", "%ls"),
        ("%hf", ", 1.5", "`%hf` is no conversion", "%hf"),
        ("%99999999999d", ", 1", "larger than an `int`", "%99999999999"),
    ] {
        let lines = compile(&format!("format::c!(out, \"{format}\"{arguments});"));
        assert!(lines[0].contains(message), "{format}: {lines:?}");
        let start = lines[2].find('^').unwrap();
        let length = lines[2].trim_end().len() - start;
        assert_eq!(&lines[1][start..start + length], under, "{format}: {lines:?}");
    }
}

#[test]
fn wrong_types_for_c_are_reported_at_the_value() {
    for (format, arguments, message, place) in [
        (
            "%d",
            "5u64",
            "a signed conversion of this length can't take `u64`",
            "5u64",
        ),
        (
            "%ld",
            "5i32",
            "a signed conversion of this length can't take `i32`",
            "5i32",
        ),
        (
            "%u",
            "-5i64",
            "an unsigned conversion of this length can't take `i64`",
            "-5i64",
        ),
        (
            "%x",
            "1.5",
            "an unsigned conversion of this length can't take `{float}`",
            "1.5",
        ),
        ("%s", "5u8", "`%s` can't write `u8` to this buffer", "5u8"),
        (
            "%f",
            "\"x\"",
            "a conversion for `double` can't take `str`",
            "\"x\"",
        ),
        ("%p", "5u8", "`%p` can't take `u8`", "5u8"),
        ("%*d", "1u8, 2", "mismatched types", "1u8"),
        (
            "%d",
            "1, 2",
            "the format has no conversion for this argument",
            "2",
        ),
        ("%d", "x = 1", "C's formats have no names", "x"),
    ] {
        let (text, at) = first_error(&format!("format::c!(out, \"{format}\", {arguments});"));
        assert!(text.starts_with(message), "{format}: {text}");
        assert_eq!(at, place, "{format}");
    }
    let (text, at) = first_error(r#"format::c!(String::new(), "%s%c", "a", b'c');"#);
    assert_eq!(
        (text.as_str(), at.as_str()),
        ("`%c` can't write `u8` to this buffer", "b'c'")
    );
}
