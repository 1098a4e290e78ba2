//! Writes sites as a file of C that the harness can run.

use std::fmt::Write as _;

use crate::{
    directive::Promise,
    random::Random,
    site::{Form, Site, Spelling},
    value,
};

/// A file with these sites.
pub(crate) fn file(sites: &[Site], random: &mut Random) -> String {
    let mut text = String::from(PRELUDE);
    for site in sites {
        text.push_str(&one(site, random));
    }
    text.push_str("void sites_run(void)\n{\n");
    for site in sites {
        writeln!(text, "    run_{}();", site.number).expect("a String takes all");
    }
    text.push_str("}\n");
    text
}

const PRELUDE: &str = "\
#define _GNU_SOURCE
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>
#include \"harness.h\"

static volatile int noted;
static void note(void) { noted++; }
static long long ours_stored, theirs_stored;

";

fn one(site: &Site, random: &mut Random) -> String {
    let mut text = String::new();
    tables(&mut text, site, random);
    let spelled = spell(&mut text, site);
    let promise = match site.promise {
        Promise::Folds => "HARNESS_FOLDS",
        Promise::Pointers => "HARNESS_POINTERS",
        Promise::Floats => "HARNESS_FLOATS",
        Promise::Nothing => "HARNESS_NOTHING",
    };
    let number = site.number;
    let shown = value::quoted(site.format.as_bytes());
    let form = format!("{:?}", site.form).replace('"', "");
    let objects = objects(site.form);
    write!(
        text,
        "static const struct harness_site site_{number} = {{{number}, \"{form}\", {shown}, {promise}}};\n\
         static void run_{number}(void)\n{{\n    \
         unsigned i;\n    int r, length;\n    size_t n;\n    char *p;\n{objects}    \
         for (i = 0; i < {rows}; i++) {{\n        \
         p = NULL; n = 0; (void)p; (void)n; harness_errno();\n        \
         length = real_snprintf(NULL, 0, {format}{arguments});\n        \
         ours_stored = theirs_stored = 0;\n{body}    }}\n}}\n\n",
        rows = site.rows,
        format = site.format,
        arguments = arguments(site, "theirs"),
        body = body(site, &spelled),
    )
    .expect("a String takes all");
    text
}

fn tables(text: &mut String, site: &Site, random: &mut Random) {
    for (index, argument) in site.arguments.iter().enumerate() {
        if argument.values.is_empty() {
            continue;
        }
        let (number, declared) = (site.number, &argument.declared);
        let constant = if declared.ends_with('*') { "" } else { "const " };
        writeln!(
            text,
            "static {constant}{declared} s{number}_{index}[] = {{{}}};",
            argument.values.join(", ")
        )
        .expect("a String takes all");
    }
    let sizes = (0..site.rows)
        .map(|_| size(random, site.form))
        .collect::<Vec<_>>()
        .join(", ");
    writeln!(
        text,
        "static const size_t s{}_sizes[] = {{{sizes}}};",
        site.number
    )
    .expect("a String takes all");
}

fn size(random: &mut Random, form: Form) -> String {
    match form {
        Form::SnprintfHuge => random
            .pick(&[
                "2147483647u",
                "2147483648u",
                "4294967296",
                "(size_t)-1",
                "(size_t)-1 / 2",
            ])
            .to_owned(),
        Form::SnprintfObjectPart(object) => random.below(object + 1).to_string(),
        _ => match random.below(12) {
            0..=2 => "HARNESS_ROOMY".to_owned(),
            3 | 4 => "HARNESS_FITS".to_owned(),
            5 => "HARNESS_ONE_SHORT".to_owned(),
            6 => "HARNESS_TWO_SHORT".to_owned(),
            7 => "HARNESS_ONE_OVER".to_owned(),
            8 => "HARNESS_HALF".to_owned(),
            9 => random.below(3).to_string(),
            _ => random.below(301).to_string(),
        },
    }
}

/// The arguments of one half, each after a comma.
fn arguments(site: &Site, half: &str) -> String {
    let mut text = String::new();
    for (index, argument) in site.arguments.iter().enumerate() {
        let table = format!("s{}_{index}[i]", site.number);
        let expression = argument.expression.replace('$', &table).replace('@', half);
        write!(text, ", {expression}").expect("a String takes all");
    }
    text
}

/// Declares what the spelling needs before the function; gives the format as it stands at the call under test.
fn spell(text: &mut String, site: &Site) -> String {
    let (number, format) = (site.number, &site.format);
    let declaration = match site.spelling {
        Spelling::Literal | Spelling::Parenthesized => return format.clone(),
        Spelling::Macro => format!("#define FORMAT_{number} {format}"),
        Spelling::Array => format!("static const char format_{number}[] = {format};"),
        Spelling::InlineParameter => {
            format!("static __inline__ const char *format_{number}(const char *f) {{ return f; }}")
        }
        Spelling::RunTime => format!("static const char *volatile format_{number} = {format};"),
    };
    writeln!(text, "{declaration}").expect("a String takes all");
    match site.spelling {
        Spelling::Macro => format!("FORMAT_{number}"),
        Spelling::InlineParameter => format!("format_{number}({format})"),
        _ => format!("format_{number}"),
    }
}

fn objects(form: Form) -> String {
    let size = match form {
        Form::SnprintfObject(size) | Form::SnprintfObjectPart(size) => size,
        Form::SprintfObject => 24_000,
        Form::Asprintf => return "    char *string;\n".to_owned(),
        _ => return String::new(),
    };
    let object = format!("struct {{ char before[16]; char bytes[{size}]; char after[16]; }}");
    if size > 1000 {
        return format!("    static {object} ours, theirs;\n");
    }
    format!("    {object} ours, theirs;\n")
}

/// Both halves of a row and the comparison.
fn body(site: &Site, spelled: &str) -> String {
    let (prepare, fits) = preparation(site);
    let mut text = prepare;
    text.push_str(&half(site, "ours", spelled));
    text.push_str(&half(site, "theirs", &site.format));
    writeln!(text, "        harness_compare(&site_{}, i, {fits});", site.number).expect("a String takes all");
    text
}

/// The code before the halves, and the condition of the site's promise.
fn preparation(site: &Site) -> (String, &'static str) {
    let number = site.number;
    let table = format!("        n = harness_size(s{number}_sizes[i], length);\n");
    match site.form {
        Form::Snprintf => (table, "length >= 0 && n >= (size_t)length + 1000"),
        Form::SnprintfObject(_) => ("        n = sizeof ours.bytes;\n".to_owned(), "0"),
        Form::SnprintfObjectPart(_) => (table, "0"),
        Form::SnprintfNull => (String::new(), "0"),
        Form::SnprintfHuge => (table, "0"),
        Form::Sprintf => (String::new(), "length >= 0"),
        Form::SprintfObject => (
            "        if (length >= 20000) continue;\n".to_owned(),
            "length >= 0",
        ),
        Form::Asprintf | Form::Dprintf { .. } | Form::Printf | Form::Fprintf("HARNESS_BUFFERED") => {
            (String::new(), "length >= 0 && length < 200")
        }
        Form::Fprintf(_) => (String::new(), "0"),
    }
}

fn half(site: &Site, half: &str, format: &str) -> String {
    let ours = half == "ours";
    let rest = format!("{format}{}", arguments(site, half));
    let name = |plain: &str| match (ours, site.spelling) {
        (false, _) => format!("real_{plain}"),
        (true, Spelling::Parenthesized) => format!("({plain})"),
        (true, _) => plain.to_owned(),
    };
    let room = "length < 0 ? 8192 : (size_t)length + 1";
    let call = match site.form {
        Form::Snprintf => format!("p = harness_{half}(n); r = {}(p, n, {rest});", name("snprintf")),
        Form::SnprintfHuge => format!(
            "p = harness_{half}({room}); r = {}(p, n, {rest});",
            name("snprintf")
        ),
        Form::SnprintfObject(_) => format!(
            "harness_{half}_object(&{half}, sizeof {half}); r = {}({half}.bytes, sizeof {half}.bytes, {rest});",
            name("snprintf")
        ),
        Form::SnprintfObjectPart(_) => format!(
            "harness_{half}_object(&{half}, sizeof {half}); r = {}({half}.bytes, n, {rest});",
            name("snprintf")
        ),
        Form::SnprintfNull => format!(
            "p = harness_{half}(0); r = {}(NULL, 0, {rest});",
            name("snprintf")
        ),
        Form::Sprintf => format!("p = harness_{half}({room}); r = {}(p, {rest});", name("sprintf")),
        Form::SprintfObject => format!(
            "harness_{half}_object(&{half}, sizeof {half}); r = {}({half}.bytes, {rest});",
            name("sprintf")
        ),
        Form::Asprintf => format!(
            "string = NULL; p = harness_{half}(0); r = {}(&string, {rest}); harness_{half}_string(string, r);",
            name("asprintf")
        ),
        Form::Fprintf(kind) => {
            format!(
                "{{ FILE *f = (FILE *)harness_{half}_stream({kind}); r = {}(f, {rest}); }}",
                name("fprintf")
            )
        }
        Form::Printf => format!("harness_{half}_stdout(); r = {}({rest});", name("printf")),
        Form::Dprintf { broken } => format!(
            "{{ int fd = harness_{half}_descriptor({}); r = {}(fd, {rest}); }}",
            i32::from(broken),
            name("dprintf")
        ),
    };
    let stored = if ours { "ours_stored" } else { "theirs_stored" };
    format!("        {call}\n        harness_{half}_stored({stored}); harness_{half}_done(r);\n")
}
